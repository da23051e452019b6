"""Index arithmetic that `lower` rules share."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import reduce
from typing import Any

from jacana.core import dtypes
from jacana.kernel.build import Writer
from jacana.kernel.expr import Expr
from jacana.ops.lowering import Build, Index, Tensor


def minimum(a: Expr, b: Expr | int) -> Expr:
    return a.graph.op("min", a, b)


def maximum(a: Expr, b: Expr | int) -> Expr:
    return a.graph.op("max", a, b)


def clamp(i: Expr, low: int, high: int) -> Expr:
    """i limited to low .. high (inclusive)."""
    return maximum(minimum(i, high), low)


def all_of(conditions: Iterable[Expr]) -> Expr | None:
    """The conjunction, or None for no conditions."""
    found = list(conditions)
    return reduce(lambda a, b: a & b, found) if found else None


def conjunction(conditions: Iterable[Expr]) -> Expr:
    """The conjunction of one condition or more."""
    return reduce(lambda a, b: a & b, conditions)


def select_if(build: Build, condition: Expr | None, a: Any, b: Any) -> Any:
    """a where the condition holds or there is none, else b."""
    return a if condition is None else build.select(condition, a, b)


def join_index(build: Build, index: Index, shape: Sequence[int]) -> Expr:
    """The row-major position of an index in an array of the shape."""
    at = build.index(0)
    for i, n in zip(index, shape, strict=True):
        at = at * n + i
    return at


def flat_index(shape: Sequence[int], at: Expr) -> list[Expr]:
    """An index of the element of a stored array at a place in its memory."""
    return [at.graph.index(0)] * (len(shape) - 1) + [at]


def split_index(at: Expr, shape: Sequence[int]) -> list[Expr]:
    """The index of the row-major position `at` in an array of the shape."""
    index: list[Expr] = []
    for n in reversed(shape[1:]):
        index.append(at % n)
        at = at / n
    return [at, *index[::-1]] if shape else []


def reshape_groups(source: Sequence[int], target: Sequence[int]) -> list[tuple[range, range]]:
    """The shortest runs of axes of equal size that a row-major reshape maps to each other.

    Axes of extent 1 join the run before them. The shapes hold the same number of elements, not 0.
    """
    groups: list[tuple[range, range]] = []
    i = j = 0
    while i < len(source) or j < len(target):
        first_i, first_j = i, j
        m = n = 1
        if i < len(source):
            m, i = source[i], i + 1
        if j < len(target):
            n, j = target[j], j + 1
        while m != n:
            if m < n:
                m, i = m * source[i], i + 1
            else:
                n, j = n * target[j], j + 1
        groups.append((range(first_i, i), range(first_j, j)))
    return groups


def to_index(build: Build, value: Any, dtype: Any, high: int) -> Expr:
    """An integer value as an index; what no index can hold becomes `high` + 1."""
    if dtypes.bit_width(dtype) == 64 and dtypes.is_unsigned_integer(dtype):
        value = minimum(value, build.scalar(high + 1, dtype))  # type: ignore[arg-type]
    return value.convert("index")  # type: ignore[no-any-return]


def bounded_index(build: Build, x: Tensor, index: Index, high: int) -> Expr:
    """The element of an integer tensor as an index, clamped to 0 .. high."""
    return clamp(to_index(build, x[index], x.dtype, high), 0, high)


@contextmanager
def nested_loops(
    writer: Writer, build: Build, shape: Sequence[int], grid: bool = False, vector: bool = True
) -> Iterator[list[Expr]]:
    """`with nested_loops(...) as i:` writes one loop for each axis longer than 1; i is the index.

    `grid`: the outermost may be split among threads; `vector`: iterations of the innermost are
    independent.
    """
    long = [axis for axis, n in enumerate(shape) if n != 1]
    with ExitStack() as stack:
        index = [build.index(0)] * len(shape)
        for axis in long:
            kind = "vector" if vector and axis == long[-1] else "serial"
            loop = writer.loop(build.index(shape[axis]), kind, grid and axis == long[0])
            index[axis] = stack.enter_context(loop)
        yield index

"""Cases: sample operands of primitives, which the laws are checked on.

cases = Cases()
cases.add(ops.mul, normal(3, 4), normal(3, 4)).linear((0,), (1,))
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from jacana.core import dtypes
from jacana.core.avals import ShapedArray
from jacana.core.primitive import Primitive
from jacana.ops.families import Elementwise
from jacana.runtime.array import from_numpy

# Makes an array from random numbers: cases say what operands look like, laws draw them.
Maker = Callable[[np.random.Generator], Any]


class Case:
    """Operands and params of a primitive, and what is known of its result there.

    `ulps` bounds the distance of the compiled result from the reference, in units in the last
    place of the reference (of its size where it is complex); 0 means the same bits. `batch_ulps`
    bounds that of a batched result from the results one by one.
    """

    def __init__(self, primitive: Primitive, makers: Sequence[Maker], params: dict[str, Any]):
        self.primitive, self.makers, self.params = primitive, tuple(makers), params
        self.ulps = 0.0
        self.batch_ulps = 0.0
        self.slope_tolerance = 1e-6
        self.linear_in: tuple[tuple[int, ...], ...] = ()
        self.excluded: frozenset[str] = frozenset()
        # Elementwise rules are made of elementwise primitives; others say so with `twice`.
        self.is_twice_smooth = isinstance(primitive, Elementwise)
        self.smooth_in: tuple[int, ...] | None = None

    def within(self, ulps: float, batched: float = 0.0) -> "Case":
        """The compiled result is an approximation with this error."""
        self.ulps, self.batch_ulps = ulps, batched
        return self

    def linear(self, *operands: tuple[int, ...]) -> "Case":
        """The primitive is linear, jointly, in each of these sets of operands."""
        self.linear_in = operands
        return self

    def twice(self) -> "Case":
        """The jvp rule is itself differentiable here: the law `second` is checked."""
        self.is_twice_smooth = True
        return self

    def without(self, *laws: str) -> "Case":
        """Laws that say nothing about these operands, such as `jvp` where there is a kink."""
        self.excluded |= set(laws)
        return self

    def smooth(self, *operands: int, tolerance: float = 1e-6) -> "Case":
        """Which operands the jvp rule is checked in; all floats if none are named."""
        self.smooth_in, self.slope_tolerance = operands or None, tolerance
        return self

    def operands(self, rng: np.random.Generator) -> list[Any]:
        return [maker(rng) for maker in self.makers]

    def __repr__(self) -> str:
        rng = np.random.default_rng(0)
        types = ", ".join(_type_text(x) for x in self.operands(rng))
        params = "".join(f", {name}={value}" for name, value in self.params.items())
        return f"{self.primitive.name}({types}{params})"


def _type_text(x: Any) -> str:
    return f"{dtypes.short_name(x.dtype)}[{','.join(map(str, x.shape))}]"


class Cases:
    """A registry of cases by the name of their primitive."""

    def __init__(self) -> None:
        self.by_name: dict[str, list[Case]] = {}

    def add(self, primitive: Primitive, *makers: Maker, **params: Any) -> Case:
        case = Case(primitive, makers, params)
        self.by_name.setdefault(primitive.name, []).append(case)
        return case

    def __iter__(self) -> Iterator[Case]:
        return (case for cases in self.by_name.values() for case in cases)


# --- makers -------------------------------------------------------------------------------------


def plain_dtype(dtype: Any) -> np.dtype[Any]:
    """The NumPy dtype of that name; random keys have none."""
    found = dtypes.dtype(dtype)
    assert isinstance(found, np.dtype)
    return found


def normal(*shape: int, dtype: Any = "float64") -> Maker:
    """Normally distributed numbers; complex ones in both parts."""
    wanted = plain_dtype(dtype)

    def make(rng: np.random.Generator) -> Any:
        x = np.asarray(rng.normal(size=shape))
        if dtypes.is_complex(wanted):
            x = x + 1j * rng.normal(size=shape)
        return x.astype(wanted)

    return make


def uniform(low: float, high: float, *shape: int, dtype: Any = "float64") -> Maker:
    """Numbers of low <= x < high; complex ones in both parts."""
    wanted = plain_dtype(dtype)

    def make(rng: np.random.Generator) -> Any:
        x = np.asarray(rng.uniform(low, high, shape))
        if dtypes.is_complex(wanted):
            x = x + 1j * rng.uniform(low, high, shape)
        return x.astype(wanted)

    return make


def integers(low: int, high: int, *shape: int, dtype: Any = "int32") -> Maker:
    """Integers of low <= n < high."""
    return lambda rng: np.asarray(rng.integers(low, high, shape)).astype(plain_dtype(dtype))


def keys(*shape: int) -> Maker:
    """Random keys, of all words."""

    def make(rng: np.random.Generator) -> Any:
        words = rng.integers(0, 2**64, shape, dtype=np.uint64)
        return from_numpy(np.asarray(words), ShapedArray(shape, dtypes.KeyDType("fry")))

    return make


def full_range(*shape: int, dtype: Any) -> Maker:
    """Integers of every size, or booleans; the first ones are the extremes, -1, 0 and 1."""
    wanted = plain_dtype(dtype)
    if dtypes.is_bool(wanted):
        return lambda rng: np.asarray(rng.integers(0, 2, shape)).astype(wanted)
    info = dtypes.iinfo(wanted)
    low, high = int(info.min), int(info.max)

    def make(rng: np.random.Generator) -> Any:
        count = int(np.prod(shape))
        size = rng.integers(0, high.bit_length() + 1, count)
        values = [int(rng.integers(0, 2**62)) & (1 << int(n)) - 1 for n in size]
        if low < 0:
            values = [-v if rng.random() < 0.5 else v for v in values]
        values[:5] = [low, high, max(-1, low), 0, 1][:count]
        rng.shuffle(values)
        return np.array(values, object).astype(wanted).reshape(shape)

    return make


def special(*shape: int, dtype: Any, low: float = -np.inf, high: float = np.inf) -> Maker:
    """Zeros, infinities, nan, subnormal, tiny, huge and ordinary floats within low .. high."""
    wanted = plain_dtype(dtype)
    info = dtypes.finfo(wanted)
    tiny, least, largest = (float(v) for v in (info.tiny, info.smallest_subnormal, info.max))
    sizes = [0.0, np.inf, np.nan, least, 7 * least, tiny, largest, 1.0, 0.5, 1.5, 2.0, 2.5, 3.0]
    pool = np.array([s * v for v in sizes for s in (1, -1)])
    with np.errstate(invalid="ignore"):
        pool = pool[np.isnan(pool) | (pool >= low) & (pool <= high)]

    def make(rng: np.random.Generator) -> Any:
        ordinary = rng.normal(size=shape) * 10.0 ** rng.integers(-3, 4, shape)
        bounded = np.clip(ordinary, max(low, -largest), min(high, largest))
        chosen = rng.choice(pool, shape)
        return np.where(rng.random(shape) < 0.4, chosen, bounded).astype(wanted)

    return make


def exactly(value: Any, dtype: Any = None) -> Maker:
    """The same array each time."""
    array = np.asarray(value) if dtype is None else np.asarray(value).astype(plain_dtype(dtype))
    return lambda rng: array.copy()


def zeros(*shape: int, dtype: Any = "float64") -> Maker:
    return exactly(np.zeros(shape), dtype)

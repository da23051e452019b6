"""Small real matrices: factors, solutions and cofactors written out, one matrix in each lane.

A LAPACK call costs more than all of their arithmetic. The size alone decides, never the batch, so
that a matrix has the same factors wherever it stands.
"""

from collections.abc import Sequence
from functools import reduce
from typing import Any

from jacana.core import dtypes
from jacana.core.avals import ShapedArray
from jacana.kernel.build import Writer
from jacana.kernel.expr import Expr
from jacana.kernel.math.define import format_of, power_of_two, to_bits
from jacana.ops.indexing import bounded_index, clamp, maximum, nested_loops
from jacana.ops.lowering import Build, Output, Tensor

# Up to this size everything about a matrix fits in registers.
SIZE = 4
# Right sides of one matrix from which on they are the lanes.
COLUMNS = 16

# Elements are real, but the types of `Tensor` and `Build.select` allow for complex ones.
Rows = list[list[Any]]


def is_small(a: Tensor) -> bool:
    """Whether matrices [..., m, n] are to be written out."""
    sides = a.shape[-2:]
    return 0 not in a.shape and max(sides) <= SIZE and not dtypes.is_complex(a.dtype)


def lu(build: Build, a: Tensor, results: Sequence[ShapedArray]) -> list[Tensor]:
    """lu, pivots and permutation, as the primitive `lu` has them."""
    lead = a.shape[:-2]

    def body(writer: Writer, outs: Sequence[Output], ins: Sequence[Tensor]) -> None:
        with nested_loops(writer, build, lead, grid=True) as at:
            rows = loaded(ins[0], at)
            pivots, order = eliminate(build, rows)
            for i, row in enumerate(rows):
                for j, value in enumerate(row):
                    outs[0].store([*at, i, j], value)
                outs[2].store([*at, i], order[i])
            for k, pivot in enumerate(pivots):
                outs[1].store([*at, k], pivot)

    return build.loops([(x.shape, x.dtype) for x in results], [a], body)


def loaded(a: Tensor, at: Sequence[Expr]) -> Rows:
    """The elements of the matrix at an index."""
    m, n = a.shape[-2:]
    return [[a[(*at, i, j)] for j in range(n)] for i in range(m)]


def eliminate(build: Build, rows: Rows) -> tuple[list[Any], list[Any]]:
    """Make `rows` their factors; the pivot of each column, and where each row came from."""
    m, n = len(rows), len(rows[0])
    order: list[Any] = [build.const(i, dtypes.int32) for i in range(m)]
    pivots: list[Any] = []
    for k in range(min(m, n)):
        best: Any = abs(rows[k][k])
        pivot: Any = build.const(k, dtypes.int32)
        for i in range(k + 1, m):
            size = abs(rows[i][k])
            larger = size > best
            best = build.select(larger, size, best)
            pivot = build.select(larger, build.const(i, dtypes.int32), pivot)
        pivots.append(pivot)
        for i in range(k + 1, m):
            exchanged = pivot.eq(i)
            above, below = [*rows[k], order[k]], [*rows[i], order[i]]
            *rows[k], order[k] = [build.select(exchanged, y, x) for x, y in zip(above, below)]
            *rows[i], order[i] = [build.select(exchanged, x, y) for x, y in zip(above, below)]
        head = rows[k][k]
        for i in range(k + 1, m):
            # All of a column whose pivot is zero are zero, and stay so.
            factor = build.select(head.eq(0), rows[i][k], rows[i][k] / head)
            rest = [rows[i][j] - factor * rows[k][j] for j in range(k + 1, n)]
            rows[i] = [*rows[i][:k], factor, *rest]
    return pivots, order


def solve(build: Build, factors: Tensor, permutation: Tensor, b: Tensor, transpose: bool) -> Tensor:
    """x with op(a) x = b, where op is a itself or its transpose."""
    *lead, n, count = b.shape
    across = count >= COLUMNS

    def body(writer: Writer, outs: Sequence[Output], ins: Sequence[Tensor]) -> None:
        factors, permutation, b = ins
        with (
            nested_loops(writer, build, lead, grid=True, vector=not across) as at,
            nested_loops(writer, build, [count], vector=across) as column,
        ):
            places = [bounded_index(build, permutation, [*at, i], n - 1) for i in range(n)]
            rows = loaded(factors, at)
            plain: Sequence[Any] = range(n)
            read, stored = (plain, places) if transpose else (places, plain)
            given = [b[(*at, i, *column)] for i in read]
            found = substitute(rows, given, transpose)
            for i, x in zip(stored, found, strict=True):
                outs[0].store([*at, i, *column], x)

    return build.loops([(b.shape, b.dtype)], [factors, permutation, b], body)[0]


def substitute(rows: Rows, b: Sequence[Any], transpose: bool) -> list[Any]:
    """The solution for one right side, by factors whose lower one has ones on its diagonal."""
    n = len(rows)
    x = list(b)
    if transpose:
        for i in range(n):
            for j in range(i):
                x[i] = x[i] - rows[j][i] * x[j]
            x[i] = x[i] / rows[i][i]
        for i in reversed(range(n)):
            for j in range(i + 1, n):
                x[i] = x[i] - rows[j][i] * x[j]
        return x
    for i in range(n):
        for j in range(i):
            x[i] = x[i] - rows[i][j] * x[j]
    for i in reversed(range(n)):
        for j in range(i + 1, n):
            x[i] = x[i] - rows[i][j] * x[j]
        x[i] = x[i] / rows[i][i]
    return x


def cofactors(build: Build, a: Tensor) -> Tensor:
    """The cofactors of matrices of size 4, by the minors of pairs of rows.

    Rows are scaled first, so that no product leaves the range unless the result does.
    """
    *lead, n, _ = a.shape

    def body(writer: Writer, outs: Sequence[Output], ins: Sequence[Tensor]) -> None:
        with nested_loops(writer, build, lead, grid=True) as at:
            rows, exponents = scaled(loaded(ins[0], at))
            for i in range(n):
                p, q, r = (k for k in range(n) if k != i)
                factors = powers(rows[0][0], [exponents[k] for k in (p, q, r)])
                for j in range(n):
                    u, v, w = (k for k in range(n) if k != j)
                    minor = (
                        rows[p][u] * pair(rows, q, r, v, w)
                        - rows[p][v] * pair(rows, q, r, u, w)
                        + rows[p][w] * pair(rows, q, r, u, v)
                    )
                    signed = minor if (i + j) % 2 == 0 else -minor
                    outs[0].store([*at, i, j], signed * factors[0] * factors[1])

    return build.loops([(a.shape, a.dtype)], [a], body)[0]


def scaled(rows: Rows) -> tuple[Rows, list[Expr]]:
    """Rows with a greatest element near 1, and the exponents of the powers of two taken out."""
    f = format_of(rows[0][0])
    made, exponents = [], []
    for row in rows:
        greatest = reduce(maximum, map(abs, row))
        exponent = clamp((to_bits(greatest) >> f.mantissa) - f.bias, 1 - f.bias, f.bias - 1)
        scale = power_of_two(-exponent, f)
        made.append([x * scale for x in row])
        exponents.append(exponent)
    return made, exponents


def powers(like: Expr, exponents: Sequence[Expr]) -> tuple[Expr, Expr]:
    """Two factors whose product is 2 to the sum of the exponents, where that is near the range."""
    f = format_of(like)
    total = clamp(reduce(lambda a, b: a + b, exponents), 2 - 2 * f.bias, 2 * f.bias - 2)
    half = total >> 1
    return power_of_two(half, f), power_of_two(total - half, f)


def pair(rows: Rows, p: int, q: int, u: int, v: int) -> Any:
    """The minor of two rows and two columns."""
    return rows[p][u] * rows[q][v] - rows[p][v] * rows[q][u]

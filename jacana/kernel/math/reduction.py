"""x = q * pi / 2 + r with |r| <= pi / 4, for the trigonometric functions."""

from itertools import pairwise

from jacana.core.records import record
from jacana.kernel import build, ir
from jacana.kernel.expr import Expr
from jacana.kernel.math.define import INF, NAN, fma, format_of, once, select, to_bits
from jacana.kernel.math.pairs import fast_two_sum

TWO_OVER_PI = 0.6366197723675814
# pi / 2 as a sum of positive parts. The middle ones are so short that their product with a
# quotient of an argument below LIMIT is exact.
PARTS = {
    "float32": ("0x1.921fb4p+0", "0x1.44p-24", "0x1.0bp-34", "0x1.184698p-44"),
    "float64": (
        "0x1.921fb54442d18p+0", "0x1.1a626p-54", "0x1.98a2e0p-77", "0x1.b839a252049c1p-104",
    ),
}  # fmt: skip
LIMIT = {"float32": 48000.0, "float64": 1e9}

# The bits of 2 / pi after the binary point: floor(2**1280 * 2 / pi).
TWO_OVER_PI_BITS = (
    "a2f9836e4e441529fc2757d1f534ddc0db6295993c439041fe5163abdebbc561b7246e3a424dd2e0"
    "06492eea09d1921cfe1deb1cb129a73ee88235f52ebb4484e99c7026b45f7e413991d639835339f4"
    "9c845f8bbdf9283b1ff897ffde05980fef2f118b5a0a6d1f6d367ecf27cb09b74f463f669e5fea2d"
    "7527bac7ebe5f17b3d0739f78a5292ea6bfb5fb11f8d5d0856033046fc7b6babf0cfbc209af4361d"
)
PI_HALF = (float.fromhex("0x1.921fb54442d18p+0"), float.fromhex("0x1.1a62633145c07p-54"))


@record
class Reduced:
    """x = q * pi / 2 + r + low, where q is known modulo 4.

    `rough` is r to 2**-18 or better, known some operations before it.
    """

    q: Expr
    r: Expr
    low: Expr
    rough: Expr


def reduce(x: Expr) -> Reduced:
    """The reduced form of any finite x."""
    size = abs(x)
    large, usual = _reductions(x.type)
    return Reduced(*x.graph.branch(size > LIMIT[x.type], large, usual, [x]))


@once
def _reductions(type: str) -> tuple[ir.Function, ir.Function]:
    return (
        build.function(f"reduce_large_{type}", type)(_reduce_large),
        build.function(f"reduce_usual_{type}", type)(_reduce_usual),
    )


def _reduce_usual(x: Expr) -> tuple[Expr, ...]:
    """For |x| <= LIMIT, by subtraction of q * pi / 2 (Cody and Waite)."""
    parts = [float.fromhex(p) for p in PARTS[x.type]]
    shifter = format_of(x).shifter
    count = fma(x, TWO_OVER_PI, shifter)
    n = count - shifter
    first = fma(n, -parts[0], x)  # exact
    second = fma(n, -parts[1], first)
    error = fma(n, -parts[1], first - second)
    # r as early as possible: what depends on it is a long chain.
    r = fma(n, -parts[2], second)
    low = fma(n, -parts[2], second - r) + fma(n, -parts[3], error)
    return to_bits(count), r, low, second


def _reduce_large(x: Expr) -> tuple[Expr, ...]:
    """For any x, with the bits of 2 / pi that matter (Payne and Hanek)."""
    q, r, low = _reduce_double(x) if x.type == "float64" else _reduce_single(x)
    return q, r, low, r


def _reduce_single(x: Expr) -> tuple[Expr, Expr, Expr]:
    bits = abs(x).bitcast("uint32")
    whole = (bits & (1 << 23) - 1 | 1 << 23).convert("uint64")
    # |x| * 2 / pi = whole * window * 2**-94 modulo 4; the window has 96 bits.
    start = (bits >> 23) - (127 - 32 + 25)
    a, b, c = _window(start, _table("uint32"), 3)
    half = (1 << 32) - 1
    middle = whole * b + (whole * c >> 32)
    high = (whole * a + (middle >> 32) << 32) | (middle & half)
    q = high + (1 << 61) >> 62
    r = (high - (q << 62)).bitcast("int64").convert("float64") * (PI_HALF[0] * 2.0**-62)
    near = r.convert("float32")
    low = (r - near.convert("float64")).convert("float32")
    count, negative = q.bitcast("int64").convert("int32"), x < 0.0
    near = select(abs(x) < INF, select(negative, -near, near), NAN)
    return select(negative, -count, count), near, select(negative, -low, low)


def _reduce_double(x: Expr) -> tuple[Expr, Expr, Expr]:
    bits = abs(x).bitcast("uint64")
    whole = bits & (1 << 52) - 1 | 1 << 52
    # |x| * 2 / pi = whole * window * 2**-190 modulo 4; the lowest 64 of 192 bits do not matter.
    start = (bits >> 52) - (1023 - 64 + 54)
    high, middle = _upper_product(whole, *_window(start, _table("uint64"), 3))
    q = high + (1 << 61) >> 62
    fraction = (high - (q << 62)).bitcast("int64")
    half = (1 << 32) - 1
    total, rest = (fraction >> 32).convert("float64") * 2.0**-30, x.const(0.0)
    # Each piece is smaller than the last digit of those before it.
    for piece, exponent in ((fraction & half, -62), (middle >> 32, -94), (middle & half, -126)):
        total, error = fast_two_sum(total, piece.convert("float64") * 2.0**exponent)
        rest = rest + error
    total, rest = fast_two_sum(total, rest)
    r = total * PI_HALF[0]
    r_low = fma(total, PI_HALF[0], -r) + fma(total, PI_HALF[1], rest * PI_HALF[0])
    r, r_low = fast_two_sum(r, r_low)
    count, negative = q.bitcast("int64"), x < 0.0
    r = select(abs(x) < INF, select(negative, -r, r), NAN)
    return select(negative, -count, count), r, select(negative, -r_low, r_low)


def _upper_product(whole: Expr, a: Expr, b: Expr, c: Expr) -> tuple[Expr, Expr]:
    """The two upper words of whole * (a, b, c) modulo 2**192."""
    graph = whole.graph
    part = whole * b
    middle = part + graph.op("mulhi", whole, c)
    carry = select(middle < part, middle.const(1), middle.const(0))
    return whole * a + graph.op("mulhi", whole, b) + carry, middle


def _window(start: Expr, table: ir.Table, count: int) -> list[Expr]:
    """`count` words (as uint64) of the table's bits, from bit `start` on."""
    graph, width = start.graph, ir.WIDTH[table.type]
    words, shift = start >> (width.bit_length() - 1), (start & width - 1).convert("uint64")
    first = words.convert("index")
    loaded = [graph.load(table, first + i).convert("uint64") for i in range(count + 1)]
    if width == 64:
        return [(a << shift) | (b >> 64 - shift) for a, b in pairwise(loaded)]
    return [((a << 32 | b) << shift) >> 32 for a, b in pairwise(loaded)]


@once
def _table(type: str) -> ir.Table:
    """A word of zeros and the bits of 2 / pi, in words of the type."""
    digits = ir.WIDTH[type] // 4
    words = [
        int(TWO_OVER_PI_BITS[i : i + digits], 16) for i in range(0, len(TWO_OVER_PI_BITS), digits)
    ]
    return ir.Table(f"two_over_pi_{type}", type, (0, *words))

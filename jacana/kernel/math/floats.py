"""Operations on the parts of a float, for every float type."""

from jacana.kernel import ir
from jacana.kernel.expr import Expr
from jacana.kernel.math.define import INF, copysign, select

# Stored bits of the mantissa, and the bias of the exponent.
LAYOUT = {
    "float16": (10, 15), "bfloat16": (7, 127), "float32": (23, 127), "float64": (52, 1023),
    "float4_e2m1fn": (1, 1), "float8_e3m4": (4, 3), "float8_e4m3": (3, 7), "float8_e4m3fn": (3, 7),
    "float8_e4m3fnuz": (3, 8), "float8_e4m3b11fnuz": (3, 11), "float8_e5m2": (2, 15),
    "float8_e5m2fnuz": (2, 16), "float8_e8m0fnu": (0, 127),
}  # fmt: skip


def _bits(x: Expr) -> Expr:
    return x.bitcast(f"int{ir.WIDTH[x.type]}")


def is_finite(x: Expr) -> Expr:
    return abs(x.convert("float32") if x.type in ir.SMALL_FLOATS else x) < INF


def sign_bit(x: Expr) -> Expr:
    """Whether the sign bit is set, of any value, -0.0 and nan included."""
    return _bits(x) < 0


def sign(x: Expr) -> Expr:
    """-1.0, 1.0, or x itself where that is a zero or nan."""
    return select(x.ne(0.0) & x.eq(x), copysign(x.const(1.0), x), x)


def round_away_from_zero(x: Expr) -> Expr:
    """The nearest integer, halves away from zero."""
    whole = x.graph.op("trunc", x)
    up = copysign(select(abs(x - whole) >= 0.5, 1.0, x.const(0.0)), x)
    return copysign(whole + up, x)


def nextafter(x: Expr, toward: Expr) -> Expr:
    """The neighbour of x in the direction of `toward`, which is the result where both are equal."""
    bits, zero = _bits(x), x.eq(0.0)
    # The bits of a float grow with its size: away from zero is one more.
    step = select((x < toward) ^ (bits < 0), 1, bits.const(-1))
    tiny = copysign(bits.const(1).bitcast(x.type), toward)
    moved = select(zero, tiny, (bits + step).bitcast(x.type))
    made = select(x.eq(toward), toward, moved)
    return select(x.isnan(), x, select(toward.isnan(), toward, made))


def ldexp(x: Expr, n: Expr) -> Expr:
    """x * 2**n rounded once, for an integer n."""
    if x.type in ir.NARROW_FLOATS:
        return ldexp(x.convert("float32"), n).convert(x.type)
    mantissa, bias = LAYOUT[x.type]
    graph, bits = x.graph, f"int{ir.WIDTH[x.type]}"
    n = graph.op("max", graph.op("min", n.convert("int32"), 3 * bias), -3 * bias).convert(bits)
    # Three factors reach from one end of the range to the other. A step down leaves so much to go
    # that its result is exact or all that follows is zero.
    for _ in range(2):
        down = select(n < 1 - bias, 2 - bias + mantissa, n)
        part = select(n > bias, bias, down)
        x, n = x * _power(part, x), n - part
    return x * _power(graph.op("max", graph.op("min", n, bias), 1 - bias), x)


def _power(n: Expr, like: Expr) -> Expr:
    mantissa, bias = LAYOUT[like.type]
    return ((n + bias) << mantissa).bitcast(like.type)


def frexp(x: Expr) -> tuple[Expr, Expr]:
    """m of size 0.5 <= m < 1 and an int32 e with x = m * 2**e; (x, 0) where there are none."""
    if x.type in ir.NARROW_FLOATS:
        mantissa, exponent = frexp(x.convert("float32"))
        return mantissa.convert(x.type), exponent
    stored, bias = LAYOUT[x.type]
    lift = stored + 1
    small = abs(x) < 2.0 ** (1 - bias)
    bits = _bits(select(small, x * 2.0**lift, x))
    width = ir.WIDTH[x.type] - 1 - stored
    exponent = (bits >> stored & (1 << width) - 1) - (bias - 1)
    exponent = exponent - select(small, lift, exponent.const(0))
    kept = bits & ~((1 << width) - 1 << stored) | bias - 1 << stored
    usual = is_finite(x) & x.ne(0.0)
    made = select(usual, kept.bitcast(x.type), x)
    return made, select(usual, exponent, exponent.const(0)).convert("int32")

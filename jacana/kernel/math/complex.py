"""Complex numbers as pairs of expressions: arithmetic, and the elementary functions on them.

Branch cuts and special values are those of C99 (Annex G), which NumPy has too. The distance to the
exact result is at most 3 epsilon of its size; that of `pow` grows with w * log(z), that of `exp2`
with imaginary parts beyond 2**20 in float32 and 2**50 in float64.
"""

import math
import operator
from collections.abc import Callable

from jacana.core.records import record
from jacana.kernel import build, ir, math as real
from jacana.kernel.expr import Expr, Number
from jacana.kernel.math.define import (
    INF,
    copysign,
    fma,
    format_of,
    maximum,
    minimum,
    once,
    power_of_two,
    select,
    to_bits,
)
from jacana.kernel.math.exponential import LN2, reduce_exponent
from jacana.kernel.math.norm import Norm, hypot, log_hypot
from jacana.kernel.math.pairs import two_product
from jacana.kernel.math.trigonometric import sin_cos

size = operator.abs


@record
class Complex:
    """re + i im."""

    re: Expr
    im: Expr

    def _coerce(self, other: "Complex | Expr | Number") -> "Complex":
        if isinstance(other, Complex):
            return other
        re = other if isinstance(other, Expr) else self.re.const(other)
        return Complex(re, re.const(0.0))

    def __add__(self, other: "Complex | Expr | Number") -> "Complex":
        other = self._coerce(other)
        return Complex(self.re + other.re, self.im + other.im)

    __radd__ = __add__

    def __sub__(self, other: "Complex | Expr | Number") -> "Complex":
        other = self._coerce(other)
        return Complex(self.re - other.re, self.im - other.im)

    def __rsub__(self, other: "Expr | Number") -> "Complex":
        return self._coerce(other) - self

    def __mul__(self, other: "Complex | Expr | Number") -> "Complex":
        a, b = self, self._coerce(other)
        return Complex(a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re)

    __rmul__ = __mul__

    def __truediv__(self, other: "Complex | Expr | Number") -> "Complex":
        return divide(self, self._coerce(other))

    def __rtruediv__(self, other: "Expr | Number") -> "Complex":
        return divide(self._coerce(other), self)

    def __neg__(self) -> "Complex":
        return Complex(-self.re, -self.im)

    def __abs__(self) -> Expr:
        return hypot(self.re, self.im)

    def conjugate(self) -> "Complex":
        return Complex(self.re, -self.im)

    def times_i(self) -> "Complex":
        return Complex(-self.im, self.re)

    def over_i(self) -> "Complex":
        return Complex(self.im, -self.re)


def abs(z: Complex) -> Expr:
    """sqrt(re**2 + im**2), as accurate as hypot."""
    return hypot(z.re, z.im)


class ComplexElementary:
    """A function on complex numbers, as a call of an ir.Function made for the type of the parts."""

    def __init__(self, body: Callable[..., Complex]):
        self.body = body
        self.__name__ = body.__name__
        self.__doc__ = body.__doc__
        self.function = once(self._function)

    def __call__(self, *args: Complex) -> Complex:
        parts = [p for z in args for p in (z.re, z.im)]
        re, im = parts[0].graph.call(self.function(parts[0].type), parts)
        return Complex(re, im)

    def _function(self, type: str) -> ir.Function:
        def parts(*args: Expr) -> tuple[Expr, ...]:
            made = self.body(*map(Complex, args[::2], args[1::2]))
            return made.re, made.im

        count = 2 * self.body.__code__.co_argcount
        return build.function(f"complex_{self.__name__}_{type}", *[type] * count)(parts)


complex_elementary = ComplexElementary


# --- arithmetic -------------------------------------------------------------------------------


@complex_elementary
def divide(a: Complex, b: Complex) -> Complex:
    """a / b by the quotient of the parts of b that is at most one in size (Smith)."""
    wide = size(b.re) >= size(b.im)
    large, small = select(wide, b.re, b.im), select(wide, b.im, b.re)
    ratio = small / large
    first, second = select(wide, a.re, a.im), select(wide, a.im, a.re)
    re, im = first + second * ratio, second - first * ratio
    im = select(wide, im, -im)
    # Division by zero is that of the parts by the size of b.
    by_zero = b.re.eq(0.0) & b.im.eq(0.0)
    bottom = select(by_zero, size(large), large + small * ratio)
    return Complex(select(by_zero, a.re, re) / bottom, select(by_zero, a.im, im) / bottom)


@complex_elementary
def sign(z: Complex) -> Complex:
    """z / abs(z), and zero where z is zero."""
    norm = Norm(z.re, z.im)
    bottom = select(norm.square.eq(0.0), 1.0, norm.square.graph.op("sqrt", norm.square))
    return Complex(z.re * norm.scale / bottom, z.im * norm.scale / bottom)


# --- exponential and logarithm ----------------------------------------------------------------

# Where the exponential times a sine or cosine surely overflows or vanishes.
FAR = {"float32": 160.0, "float64": 1400.0}


@complex_elementary
def exp(z: Complex) -> Complex:
    """e**z."""
    x, y = z.re, z.im
    f = format_of(x)
    s, c = sin_cos(y)
    reduced = reduce_exponent(maximum(minimum(x, FAR[x.type]), -FAR[x.type]))
    n = to_bits(reduced.count) - to_bits(x.const(f.shifter))
    half = n >> 1
    value, up, rest = reduced.value(), power_of_two(half, f), power_of_two(n - half, f)
    re, im = value * c * up * rest, value * s * up * rest
    lost = ~real.is_finite(y)
    re = select(lost & x.eq(INF), INF, select(lost & x.eq(-INF), 0.0, re))
    im = select(lost & x.eq(-INF), 0.0, im)
    return Complex(re, select(y.eq(0.0), y, im))


@complex_elementary
def exp2(z: Complex) -> Complex:
    """2**z, whose angle is im * log(2) in twice the precision; its size is 2**re in any case."""
    grown, (ln2, ln2_low) = real.exp2(z.re), LN2[z.re.type]
    angle, low = two_product(z.im, z.im.const(ln2))
    s, c = sin_cos(angle)
    low_s, low_c = sin_cos(fma(z.im, ln2_low, low))
    re, im = grown * fma(-low_s, s, c * low_c), grown * fma(low_s, c, s * low_c)
    return Complex(re, select(z.im.eq(0.0), z.im, im))


@complex_elementary
def expm1(z: Complex) -> Complex:
    """e**z - 1, without cancellation near zero."""
    grown = exp(z)
    s, _ = sin_cos(0.5 * z.im)
    _, c = sin_cos(z.im)
    near = real.expm1(z.re) * c - 2.0 * (s * s)
    return Complex(select(size(z.re) < 16.0, near, grown.re - 1.0), grown.im)


@complex_elementary
def log(z: Complex) -> Complex:
    """The logarithm with an imaginary part from -pi to pi."""
    return Complex(log_hypot(z.re, z.im), real.atan2(z.im, z.re))


@complex_elementary
def log1p(z: Complex) -> Complex:
    """log(1 + z), without cancellation near zero."""
    x, y = z.re, z.im
    shifted = 1.0 + x
    near = 0.5 * real.log1p(x.graph.op("fma", x, 2.0 + x, y * y))
    small = maximum(size(x), size(y)) < 0.5
    return Complex(select(small, near, log_hypot(shifted, y)), real.atan2(y, shifted))


@complex_elementary
def logistic(z: Complex) -> Complex:
    """1 / (1 + e**-z)."""
    back = z.re < 0.0
    decay = exp(Complex(select(back, z.re, -z.re), select(back, z.im, -z.im)))
    one, zero = z.re.const(1.0), z.re.const(0.0)
    top = Complex(select(back, decay.re, one), select(back, decay.im, zero))
    far = top / (1.0 + decay)
    # Where 1 + e**-z may be small.
    half = Complex(0.5 * z.re, 0.5 * z.im)
    near = exp(half) / (cosh(half) * 2.0)
    use_near = size(z.re) < 1.0
    return Complex(select(use_near, near.re, far.re), select(use_near, near.im, far.im))


# --- powers -----------------------------------------------------------------------------------


@complex_elementary
def sqrt(z: Complex) -> Complex:
    """The square root with a real part that is not negative."""
    x, y = z.re, z.im
    norm = Norm(x, y)
    root = x.graph.op("sqrt", norm.square)
    t = x.graph.op("sqrt", 0.5 * (size(x) * norm.scale + root))
    other = size(y) * norm.scale / (t + t)
    back = norm.back(0.5)
    t, other = t * back, select(norm.square.eq(0.0), 0.0, other * back)
    right = x >= 0.0
    re, im = select(right, t, other), select(right, other, t)
    # An infinite part decides the result whatever the other one is.
    flat = size(x).eq(INF)
    re = select(flat, select(right, INF, select(y.isnan(), y, 0.0)), re)
    im = select(flat, select(right, select(y.isnan(), y, 0.0), INF), im)
    tall = size(y).eq(INF)
    return Complex(select(tall, INF, re), copysign(select(tall, INF, im), y))


@complex_elementary
def rsqrt(z: Complex) -> Complex:
    """1 / sqrt(z)."""
    return 1.0 / sqrt(z)


@complex_elementary
def pow(z: Complex, w: Complex) -> Complex:
    """z**w = e**(w * log(z)); 0**w is 1 for w = 0 and 0 for w with a positive real part."""
    grown = exp(w * log(z))
    zero, one = z.re.const(0.0), z.re.const(1.0)
    vanishes = z.re.eq(0.0) & z.im.eq(0.0) & (w.re > 0.0)
    is_one = w.re.eq(0.0) & w.im.eq(0.0)
    re = select(vanishes, zero, grown.re)
    im = select(vanishes | is_one, zero, grown.im)
    return Complex(select(is_one, one, re), im)


# --- hyperbolic and trigonometric -------------------------------------------------------------

# From the first on, sinh and cosh are taken that much closer to zero and multiplied by e**that.
SHIFTS = {"float32": (80.0, 16.0), "float64": (700.0, 64.0)}


def _sinh_cosh(x: Expr) -> tuple[Expr, Expr, Expr]:
    """sinh(x) and cosh(x), both still to be multiplied by the third."""
    limit, shift = SHIFTS[x.type]
    far = size(x) > limit
    near = select(far, x - copysign(x.const(shift), x), x)
    return real.sinh(near), real.cosh(near), select(far, math.exp(shift), x.const(1.0))


@complex_elementary
def sinh(z: Complex) -> Complex:
    """(e**z - e**-z) / 2."""
    x, y = z.re, z.im
    sh, ch, more = _sinh_cosh(x)
    s, c = sin_cos(y)
    re, im = sh * c * more, ch * s * more
    re = select((x.eq(0.0) | size(x).eq(INF)) & ~real.is_finite(y), x, re)
    return Complex(re, select(y.eq(0.0) & im.isnan(), y, im))


@complex_elementary
def cosh(z: Complex) -> Complex:
    """(e**z + e**-z) / 2."""
    x, y = z.re, z.im
    sh, ch, more = _sinh_cosh(x)
    s, c = sin_cos(y)
    re = select(size(x).eq(INF) & ~real.is_finite(y), INF, ch * c * more)
    zero = copysign(x.const(0.0), copysign(x.const(1.0), x) * copysign(x.const(1.0), y))
    return Complex(re, select(x.eq(0.0) | y.eq(0.0), zero, sh * s * more))


# Beyond it tanh(z) has a real part of one.
TANH_FAR = {"float32": 11.0, "float64": 22.0}


@complex_elementary
def tanh(z: Complex) -> Complex:
    """sinh(z) / cosh(z)."""
    x, y = z.re, z.im
    far = size(x) > TANH_FAR[x.type]
    near = select(far, 1.0, x)
    sh, ch = real.sinh(near), real.cosh(near)
    s, c = sin_cos(y)
    bottom = sh * sh + c * c
    re = select(far, copysign(x.const(1.0), x), sh * ch / bottom)
    im = select(far, 4.0 * real.exp(-2.0 * size(x)), 1.0 / bottom) * (s * c)
    im = select(size(x).eq(INF) & ~real.is_finite(y), copysign(x.const(0.0), y), im)
    return Complex(select(x.eq(0.0), x, re), select(y.eq(0.0), y, im))


@complex_elementary
def sin(z: Complex) -> Complex:
    """The sine."""
    return sinh(z.times_i()).over_i()


@complex_elementary
def cos(z: Complex) -> Complex:
    """The cosine."""
    return cosh(z.times_i())


@complex_elementary
def tan(z: Complex) -> Complex:
    """The tangent."""
    return tanh(z.times_i()).over_i()


# --- inverses ---------------------------------------------------------------------------------

# Beyond it the inverses have reached their form at infinity.
HUGE = {"float32": 2.0**28, "float64": 2.0**60}


def _is_huge(z: Complex) -> Expr:
    return (size(z.re) > HUGE[z.re.type]) | (size(z.im) > HUGE[z.re.type])


def _log_of_double(z: Complex) -> Expr:
    return log_hypot(z.re, z.im) + math.log(2)


@complex_elementary
def asin(z: Complex) -> Complex:
    """The arc sine with a real part from -pi / 2 to pi / 2 (Kahan)."""
    x, y = z.re, z.im
    a, b = sqrt(Complex(1.0 - x, -y)), sqrt(Complex(1.0 + x, y))
    huge = _is_huge(z)
    cosine = a.re * b.re - a.im * b.im
    re = real.atan2(x, select(huge, size(y), cosine))
    im = select(huge, _log_of_double(z), real.asinh(a.re * b.im - a.im * b.re))
    return Complex(select(x.eq(0.0), x, re), select(huge, copysign(im, y), im))


@complex_elementary
def acos(z: Complex) -> Complex:
    """The arc cosine with a real part from 0 to pi (Kahan)."""
    x, y = z.re, z.im
    a, b = sqrt(Complex(1.0 - x, -y)), sqrt(Complex(1.0 + x, y))
    huge = _is_huge(z)
    half = real.atan2(select(huge, size(y), a.re), select(huge, x, b.re))
    re = select(x.eq(0.0) & y.isnan(), math.pi / 2, select(huge, half, half + half))
    im = real.asinh(b.re * a.im - b.im * a.re)
    return Complex(re, select(huge, copysign(_log_of_double(z), -y), im))


@complex_elementary
def atanh(z: Complex) -> Complex:
    """The inverse of tanh with an imaginary part from -pi / 2 to pi / 2."""
    x, y = z.re, z.im
    a, b, huge = size(x), size(y), _is_huge(z)
    rest = 1.0 - a
    square = rest * rest + b * b
    near = square < format_of(x).smallest_normal ** 0.5
    re = 0.25 * real.log1p(4.0 * a / square)
    re = select(near, 0.5 * (math.log(2) - log_hypot(rest, b)), re)
    length = hypot(a, b)
    re = select(huge, select(length.eq(INF), 0.0, a / length / length), re)
    im = 0.5 * real.atan2(b + b, rest * (1.0 + a) - b * b)
    re = select(a.eq(0.0), 0.0, re)
    im = select(y.isnan(), y, select(huge, math.pi / 2, im))
    return Complex(copysign(re, x), copysign(im, y))


@complex_elementary
def asinh(z: Complex) -> Complex:
    """The inverse of sinh with an imaginary part from -pi / 2 to pi / 2."""
    return asin(z.times_i()).over_i()


@complex_elementary
def acosh(z: Complex) -> Complex:
    """The inverse of cosh with a real part that is not negative (Kahan)."""
    x, y = z.re, z.im
    a, b = sqrt(Complex(x - 1.0, y)), sqrt(Complex(x + 1.0, y))
    huge = _is_huge(z)
    half = real.atan2(select(huge, y, a.im), select(huge, x, b.re))
    re = select(huge, _log_of_double(z), real.asinh(a.re * b.re + a.im * b.im))
    im = select(x.eq(0.0) & y.isnan(), math.pi / 2, select(huge, half, half + half))
    return Complex(re, im)


@complex_elementary
def atan(z: Complex) -> Complex:
    """The arc tangent with a real part from -pi / 2 to pi / 2."""
    return atanh(z.times_i()).over_i()

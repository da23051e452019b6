"""How an elementary function is declared: one body for every float type, built when first used."""

from collections.abc import Callable
from threading import RLock
from typing import TypeVar

from jacana.core.records import record
from jacana.kernel import build, ir
from jacana.kernel.expr import Expr

Body = Callable[..., Expr]
Made = TypeVar("Made")

_making = RLock()


def once(make: Callable[[str], Made]) -> Callable[[str], Made]:
    """Decorator: for each type the value that was made first, by whichever thread.

    An ir.Function is known by its name, so there must not be two of one.
    """
    made: dict[str, Made] = {}

    def get(type: str) -> Made:
        if type not in made:
            with _making:
                if type not in made:
                    made[type] = make(type)
        return made[type]

    return get


class Elementary:
    """A function on floats of one type, as a call of an ir.Function made for that type.

    The body is given for float32 and float64. Narrower floats are computed in float32 and
    rounded once.
    """

    def __init__(self, body: Body):
        self.body = body
        self.__name__ = body.__name__
        self.__doc__ = body.__doc__
        self.function = once(self._function)

    def __call__(self, *args: Expr) -> Expr:
        type = args[0].type
        if type in ir.NARROW_FLOATS:
            wide = [a.convert("float32") for a in args]
            return self(*wide).convert(type)
        return args[0].graph.call(self.function(type), args)[0]

    def _function(self, type: str) -> ir.Function:
        if type in ir.NARROW_FLOATS:
            return build.function(f"{self.__name__}_{type}", *[type] * self.arity)(self)
        if type not in ("float32", "float64"):
            raise TypeError(f"{self.__name__} is a function of floats, got {type}")
        return build.function(f"{self.__name__}_{type}", *[type] * self.arity)(self.body)

    @property
    def arity(self) -> int:
        return self.body.__code__.co_argcount


def elementary(body: Body) -> Elementary:
    """Decorator: the Elementary whose value is what `body` builds from its arguments."""
    return Elementary(body)


@record
class Format:
    """The layout and limits of a float type."""

    type: str
    bits: str  # the signed integer type of the same width
    mantissa: int  # stored bits
    bias: int
    # Adding this rounds a small number to an integer and leaves that in the low bits.
    shifter: float
    largest: float
    smallest_normal: float


FORMATS = {
    "float32": Format(
        "float32", "int32", 23, 127, 1.5 * 2.0**23, 2.0**128 - 2.0**104, 2.0**-126
    ),
    "float64": Format(
        "float64", "int64", 52, 1023, 1.5 * 2.0**52, float.fromhex("0x1.fffffffffffffp1023"),
        2.0**-1022,
    ),
}  # fmt: skip

INF = float("inf")
NAN = float("nan")


def format_of(x: Expr) -> Format:
    return FORMATS[x.type]


def fma(a: Expr | float, b: Expr | float, c: Expr | float) -> Expr:
    """a * b + c rounded once; at least one operand is an expression."""
    graph = next(v for v in (a, b, c) if isinstance(v, Expr)).graph
    return graph.op("fma", a, b, c)


def polynomial(x: Expr, coefficients: tuple[float, ...]) -> Expr:
    """The sum of coefficients[i] * x**i."""
    total = x.const(coefficients[-1])
    for c in reversed(coefficients[:-1]):
        total = fma(total, x, c)
    return total


def select(cond: Expr, a: Expr | float, b: Expr | float) -> Expr:
    return cond.graph.select(cond, a, b)


def copysign(size: Expr | float, sign: Expr) -> Expr:
    return sign.graph.op("copysign", size, sign)


def sqrt(x: Expr) -> Expr:
    return x.graph.op("sqrt", x)


def minimum(x: Expr, y: Expr | float) -> Expr:
    """The smaller one; nan where x is nan."""
    # With a number in front there is no nan to look for in the first operand.
    return x.graph.op("min", x, y) if isinstance(y, Expr) else x.graph.op("min", y, x)


def maximum(x: Expr, y: Expr | float) -> Expr:
    """The larger one; nan where x is nan."""
    return x.graph.op("max", x, y) if isinstance(y, Expr) else x.graph.op("max", y, x)


def to_bits(x: Expr) -> Expr:
    return x.bitcast(format_of(x).bits)


def power_of_two(n: Expr, f: Format) -> Expr:
    """2**n for an integer n (of type f.bits) in the range of normal exponents."""
    return (n + f.bias << f.mantissa).bitcast(f.type)

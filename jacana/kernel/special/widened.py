"""Functions whose float32 values are computed in float64."""

from collections.abc import Callable

from jacana.kernel import build, ir
from jacana.kernel.expr import Expr
from jacana.kernel.math.define import Elementary


class Widened(Elementary):
    """An Elementary whose body is given for float64; float32 values are those, rounded."""

    def _function(self, type: str) -> ir.Function:
        if type != "float32":
            return super()._function(type)

        def body(*args: Expr) -> Expr:
            wide = [a.convert("float64") for a in args]
            return self(*wide).convert(type)

        return build.function(f"{self.__name__}_{type}", *[type] * self.arity)(body)


def widened(body: Callable[..., Expr]) -> Widened:
    """Decorator: the Widened function with this body."""
    return Widened(body)

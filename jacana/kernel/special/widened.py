"""Functions whose float32 values are computed in float64."""

from collections.abc import Callable

from jacana.kernel import build, ir
from jacana.kernel.expr import Expr
from jacana.kernel.math.define import Elementary

# Iterations stop when a term is this part of the whole: well below the last place of the result.
SINGLE, DOUBLE = 2.0**-30, 2.0**-53


class Widened(Elementary):
    """An Elementary whose body is given for float64; float32 values are those, rounded.

    A body that iterates has a keyword `epsilon`, the part of the whole that may be neglected.
    """

    def _function(self, type: str) -> ir.Function:
        if type != "float32":
            return super()._function(type)

        def body(*args: Expr) -> Expr:
            wide = [a.convert("float64") for a in args]
            iterates = self.body.__kwdefaults__
            made = self.body(*wide, epsilon=SINGLE) if iterates else self(*wide)
            return made.convert(type)

        return build.function(f"{self.__name__}_{type}", *[type] * self.arity)(body)


def widened(body: Callable[..., Expr]) -> Widened:
    """Decorator: the Widened function with this body."""
    return Widened(body)

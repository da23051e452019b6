"""Operations: a primitive on operands of certain types, as a program of one command."""

from typing import Any

from jacana.core.avals import ShapedArray
from jacana.core.jaxpr import Jaxpr, JaxprEqn, Var
from jacana.core.primitive import Primitive
from jacana.runtime.array import Array
from jacana.runtime.executable import Executable, executable_for

# From this size on, reading and writing an array costs more than thinking about it.
LARGE = 1 << 20


class Operation:
    """What one equation does. It is compiled when it first runs by itself."""

    __slots__ = ("primitive", "params", "inputs", "outputs", "makes_large", "joins", "_executable")

    def __init__(self, primitive: Primitive, inputs: tuple[ShapedArray, ...], params: Any):
        self.primitive, self.params, self.inputs = primitive, params, inputs
        out = primitive.type_rule(*inputs, **params)
        self.outputs: tuple[ShapedArray, ...] = tuple(out) if primitive.multiple_results else (out,)
        self.makes_large = any(a.nbytes >= LARGE for a in self.outputs)
        # Whether it may be put off (see runtime.lazy).
        large = self.makes_large or any(a.nbytes >= LARGE for a in inputs)
        self.joins = primitive.joins and large
        self._executable: Executable | None = None

    def equation(self, invars: list[Var], outvars: list[Var]) -> JaxprEqn:
        return JaxprEqn(invars, outvars, self.primitive, self.params)

    def run(self, arrays: list[Array]) -> list[Array]:
        """The results, by themselves."""
        executable = self._executable
        if executable is None:
            invars, outvars = [Var(a) for a in self.inputs], [Var(a) for a in self.outputs]
            jaxpr = Jaxpr([], invars, outvars, [self.equation(invars, outvars)])
            executable = self._executable = executable_for(jaxpr)
        return executable.run(arrays)

"""Operations: a primitive on operands of certain types, as a program of one command."""

from typing import Any

from jacana import ops
from jacana.core import errors
from jacana.core.avals import ShapedArray, is_ref_type
from jacana.core.jaxpr import Jaxpr, JaxprEqn, Var
from jacana.core.primitive import Primitive
from jacana.runtime.array import Array
from jacana.runtime.placement import Run, placed_run
from jacana.runtime.ref import Ref, memory

# From so many bytes on, of elements of at least four each, reading and writing an array costs more
# than thinking about it. Masks count like what they are masks of.
LARGE = 1 << 20


def is_large(aval: ShapedArray) -> bool:
    return max(aval.nbytes, 4 * aval.size) >= LARGE


class Operation:
    """What one equation does. It is compiled when it first runs by itself."""

    __slots__ = ("primitive", "params", "inputs", "outputs", "makes_large", "joins", "_run")

    def __init__(self, primitive: Primitive, inputs: tuple[ShapedArray, ...], params: Any):
        self.primitive, self.params, self.inputs = primitive, params, inputs
        if not primitive.takes_refs and any(map(is_ref_type, inputs)):
            raise errors.RefOperandError(primitive.name)
        out = primitive.type_rule(*[a.plain for a in inputs], **params)
        self.outputs: tuple[ShapedArray, ...] = tuple(out) if primitive.multiple_results else (out,)
        self.makes_large = any(map(is_large, self.outputs))
        # Whether it may be put off (see runtime.lazy).
        large = self.makes_large or any(a.nbytes >= LARGE for a in inputs)
        self.joins = primitive.joins and large and not self._is_placed()
        self._run: Run | None = None

    def _is_placed(self) -> bool:
        """Whether results are divided between devices."""
        asked = self.params.get("sharding")
        return asked is not None or any(a.sharding is not None for a in self.inputs)

    def equation(self, invars: list[Var], outvars: list[Var]) -> JaxprEqn:
        return JaxprEqn(invars, outvars, self.primitive, self.params)

    def run(self, arrays: list[Array]) -> list[Array]:
        """The results, by themselves."""
        run = self._run
        if run is None:
            run = self._run = self._compiled()
        return run(arrays)

    def _compiled(self) -> Run:
        if any(map(is_ref_type, self.outputs)):
            # A reference that is made has memory of its own.
            copied = Operation(ops.copy, self.inputs, {})
            return lambda arrays: list[Any](map(Ref, copied.run(arrays)))
        invars, outvars = [Var(a.plain) for a in self.inputs], [Var(a) for a in self.outputs]
        jaxpr = Jaxpr([], invars, outvars, [self.equation(invars, outvars)])
        shardings = tuple([a.sharding for a in self.inputs])
        run = placed_run(jaxpr, shardings, self.primitive.name)
        if any(map(is_ref_type, self.inputs)):
            return lambda arrays: run([memory(a) for a in arrays])
        return run

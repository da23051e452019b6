"""check: an assertion in a program, which checkify turns into a value that says whether it held."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from jacana import ops
from jacana.core.avals import ShapedArray
from jacana.core.primitive import Inapplicable, Primitive
from jacana.core.records import record
from jacana.ops.families import move_axis, spread_axis
from jacana.transforms.batch import BatchTrace

# The effect of programs that hold checks.
CHECK = "check"


class JaxRuntimeError(ValueError):
    """A check failed."""


class FailedCheckError(JaxRuntimeError):
    """What the user checks."""


class NaNError(JaxRuntimeError):
    """An operation gave nan."""


class DivisionByZeroError(JaxRuntimeError):
    """A divisor was zero."""


class OOBError(JaxRuntimeError):
    """An index was out of bounds."""


@record
class Site:
    """A place where programs check something: the kind, its text, and what the text is made of."""

    kind: type[JaxRuntimeError]
    text: str
    # The structure of (args, kwargs) that the text is formatted with.
    structure: Any = None
    # The shape of what is indexed.
    shape: tuple[int, ...] = ()
    # Whether nothing is left of it where nobody records it.
    debug: bool = False

    def message(self, payload: Sequence[Any]) -> str:
        """The text for what was found."""
        if self.kind is OOBError:
            index, axis = map(int, payload)
            return (
                f"out-of-bounds indexing for array of shape {self.shape}: index {index} is out of "
                f"bounds for axis {axis} with size {self.shape[axis]}. "
            )
        if self.kind is not FailedCheckError:
            return self.text
        args, named = self.structure.unflatten(payload)
        return self.text.format(*args, **named) + " (`check` failed)"


class Check(Primitive):
    """Nothing, if the first operand holds; the others are what the message says of it."""

    name = "check"
    multiple_results = True
    jvp = Inapplicable("jvp_rule drops tangents")
    transpose = Inapplicable("a check is not linear")
    batch = Inapplicable("batch_rule joins the checks of a batch")

    def effects(self, params: dict[str, Any]) -> frozenset[str]:
        return frozenset((CHECK,))

    def type_rule(self, *xs: ShapedArray, site: Site) -> list[ShapedArray]:
        return []

    def reference(self, holds: Any, *payload: Any, site: Site) -> list[Any]:
        if not holds:
            raise site.kind(site.message(payload))
        return []

    def jvp_rule(self, primals: list[Any], tangents: list[Any], params: dict[str, Any]) -> Any:
        return self(*primals, **params), []

    def batch_rule(
        self, trace: BatchTrace, values: list[Any], axes: list[Any], params: dict[str, Any]
    ) -> tuple[list[Any], list[Any]]:
        holds, *payload = [
            spread_axis(x, trace.size) if a is None else move_axis(x, a, 0)
            for x, a in zip(values, axes, strict=True)
        ]
        # All of them hold, or the message is about the last that does not, as in JAX.
        backwards = ops.rev(ops.convert_element_type(holds, new_dtype=np.dtype(np.int32)),
                            dimensions=(0,))  # fmt: skip
        first = ops.argmin(backwards, axes=(0,), index_dtype=np.dtype(np.int32))
        place = ops.sub(np.int32(trace.size - 1), first)
        chosen = [
            ops.squeeze(
                ops.dynamic_slice(x, place, *[np.int32(0)] * (np.ndim(x) - 1),
                                  slice_sizes=(1, *np.shape(x)[1:])), dimensions=(0,),
            ) for x in payload
        ]  # fmt: skip
        return self(ops.reduce_and(holds, axes=(0,)), *chosen, **params), []

    def lower(self, build: Any, *xs: Any, site: Site) -> Any:
        if site.debug:
            return []
        raise ValueError(
            "Cannot abstractly evaluate a checkify.check which was not functionalized. This "
            "probably means you tried to stage (jit/scan/...) a `check` without functionalizing it "
            "through `checkify.checkify`. Call checkify.checkify(function) and jit what it gives."
        )

    def shown_params(self, params: dict[str, Any]) -> dict[str, Any]:
        return {"text": params["site"].text}


check = Check()

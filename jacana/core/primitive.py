"""Primitive: an operation and its six rules, all in one class.

Each rule is written, supplied by the primitive's family, or stated to be Inapplicable with a
reason; a class that misses one cannot be constructed.
"""

from collections.abc import Sequence
from typing import Any, ClassVar

from jacana.core.avals import ShapedArray
from jacana.core.dimensions import Dimensions, kept_dimensions
from jacana.core.jaxpr import Jaxpr, subjaxprs
from jacana.core.trace import Tracer, current

RULES = ("type_rule", "reference", "jvp", "transpose", "batch", "lower")

registry: dict[str, "Primitive"] = {}


class Inapplicable:
    """Stands for a rule that cannot exist, and says why."""

    def __init__(self, reason: str):
        self.reason = reason

    def __set_name__(self, owner: type, name: str) -> None:
        self.rule = name

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise TypeError(f"no such rule: {self.reason}")


class Linear:
    """Stands in `transpose` for an operand that the cotangent is wanted of."""

    __slots__ = ("aval",)

    def __init__(self, aval: ShapedArray):
        self.aval = aval

    @property
    def shape(self) -> tuple[int, ...]:
        return self.aval.shape

    @property
    def dtype(self) -> Any:
        return self.aval.dtype


class Primitive:
    """An operation on arrays. Calling it binds it: the current trace decides what happens.

    type_rule(*avals, **params)              output aval, or a tuple of them
    reference(*arrays, **params)             the meaning, in NumPy
    jvp(i, t, out, *primals, **params)       what operand i's nonzero tangent t adds to the output's
    transpose(ct, *operands, **params)       cotangents of the Linear operands (None elsewhere)
    batch(size, operands, batch_axes, **params)   (output, batch axis), for axes None = unbatched
    lower(build, *operands, **params)        the output as tensors of the builder

    With `multiple_results`, outputs, ct and jvp's result are lists; an entry of ct may be None for
    a zero cotangent, and an entry of jvp's result None for a zero tangent.
    """

    name: str
    multiple_results = False
    # Whether its type rule says over which mesh axes results vary; others vary as operands do.
    tells_variance: ClassVar[bool] = False
    # Whether un-jitted work on large arrays may be put off, to be fused with what follows.
    joins = False

    type_rule: Any
    reference: Any
    jvp: Any
    transpose: Any
    batch: Any
    lower: Any

    # Entry points for primitives that hold programs; each replaces the rule named after it.
    # jvp_rule(primals, tangents, params) -> (out, tangent of out)
    jvp_rule: Any = None
    # linearize_rule(primals, nonzero, params) -> (out, record); record maps the nonzero tangents,
    # variables of the tape that is current, to the tangents of out.
    linearize_rule: Any = None
    # batch_rule(trace, values, axes, params) -> (out, axes of out)
    batch_rule: Any = None
    # Whether operands may be references to arrays.
    takes_refs = False
    # discharge_rule(values, refs, params, final) -> (outs, changes): what it computes where
    # references are replaced by what they refer to. refs has what tells references apart (None for
    # arrays), changes the new values of those that it writes (None elsewhere).
    discharge_rule: Any = None
    # equation_doc(eqn, names): its equation as text, if not `outs = name[params] operands`.
    equation_doc: Any = None
    # Whether its transpose calls the user's Python, which may look at concrete values.
    calls_python = False
    # Whether it has no rule of its own: it means what its callee means, to derivatives as well.
    is_plain_call = False
    # Whether it ends, and leaves no trace, also on operands that are not meant for it.
    is_total = True
    # What an element costs, in additions: fusion weighs computing it again against storing it.
    cost: ClassVar[float] = 1.0

    def __init__(self) -> None:
        missing = [r for r in RULES if getattr(type(self), r, None) is None]
        if missing:
            raise TypeError(
                f"{type(self).__name__} lacks the rules {', '.join(missing)}: write them, or state "
                f"that they are Inapplicable and why."
            )
        if self.name in registry:
            raise ValueError(f"a primitive named {self.name} exists already")
        registry[self.name] = self

    def __call__(self, *args: Any, **params: Any) -> Any:
        return current().process(self, args, params)

    bind = __call__

    def get_bind_params(self, params: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        """Functions and params that `bind` takes to repeat an equation; the functions are none."""
        return [], dict(params)

    def has_rule(self, rule: str) -> bool:
        return not isinstance(getattr(type(self), rule), Inapplicable)

    def effects(self, params: dict[str, Any]) -> frozenset[str]:
        """What running it does beyond computing its outputs (nothing for most)."""
        effects: frozenset[str] = frozenset()
        for jaxpr in subjaxprs(params):
            effects |= jaxpr.effects
        return effects

    def shown_params(self, params: dict[str, Any]) -> dict[str, Any]:
        """The params that a printed program shows."""
        return params

    def axis_names(self, params: dict[str, Any]) -> tuple[Any, ...]:
        """The named axes that an equation communicates over."""
        return tuple([n for jaxpr in subjaxprs(params) for n in jaxpr.axis_names])

    def work(
        self, operands: list[ShapedArray], outs: list[ShapedArray], params: dict[str, Any]
    ) -> float:
        """Scalar operations that computing the outputs takes, about."""
        inner = [jaxpr.work for jaxpr in subjaxprs(params)]
        if inner:
            return sum(inner)
        return self.cost * max([a.size for a in (*operands, *outs)], default=1)

    def callee(self, params: dict[str, Any]) -> Jaxpr | None:
        """The program, of the operands alone, that an equation stands for if it is a plain call."""
        return None

    def spec_rule(
        self,
        specs: Sequence[Dimensions],
        avals: Sequence[ShapedArray],
        outs: Sequence[ShapedArray],
        params: dict[str, Any],
    ) -> list[Dimensions]:
        """The mesh axes that divide the outputs' dimensions, where `specs` divide the operands'."""
        shapes = [a.shape for a in avals]
        return [kept_dimensions(specs, shapes, a.shape) for a in outs]

    def __repr__(self) -> str:
        return self.name

    __str__ = __repr__


__all__ = ["Inapplicable", "Linear", "Primitive", "Tracer", "registry"]

"""What programs import from `jax.interpreters.mlir`: how primitives are compiled.

Nothing here is MLIR: a primitive is compiled as the program of a function written with jax.numpy.
"""

from collections.abc import Callable
from typing import Any

from jacana.core.avals import ShapedArray
from jacana.core.stage import stage_closed
from jacana.higher_order.rule_tables import lowering_rules


class LowerFun:
    """The lowering of a primitive as the program of a function."""

    def __init__(self, function: Callable[..., Any], multiple_results: bool):
        self.function, self.multiple_results = function, multiple_results

    def lower(self, build: Any, *tensors: Any, **params: Any) -> Any:
        """The function's results as tensors of the builder."""

        def flat(*args: Any) -> list[Any]:
            out = self.function(*args, **params)
            return list(out) if self.multiple_results else [out]

        avals = [ShapedArray(x.shape, x.dtype) for x in tensors]
        outs = build.call(stage_closed(flat, avals), tensors)
        return outs if self.multiple_results else outs[0]

    def __call__(self, ctx: Any, *args: Any, **params: Any) -> Any:
        raise NotImplementedError(BY_HAND)


BY_HAND = (
    "lowerings cannot be written in StableHLO here, since jacana has a compiler of its own. Use "
    "mlir.register_lowering(p, mlir.lower_fun(f, multiple_results=...)) with f written in "
    "jax.numpy, or p.def_lowering."
)


def lower_fun(fun: Callable[..., Any], multiple_results: bool = True) -> LowerFun:
    """The lowering that computes what fun(*operands, **params) does, for register_lowering."""
    return LowerFun(fun, multiple_results)


def register_lowering(
    prim: Any,
    rule: Any,
    platform: str | None = None,
    inline: bool = True,
    cacheable: bool = True,
) -> Any:
    """Set how a primitive is compiled: a rule of lower_fun. Others raise when they are used.

    Rules for platforms other than the CPU are not needed, so nothing is done with them.
    """
    if platform in (None, "cpu"):
        lowering_rules[prim] = rule.lower if isinstance(rule, LowerFun) else refuse
    return rule


def refuse(build: Any, *tensors: Any, **params: Any) -> Any:
    """Stands for a rule that makes StableHLO."""
    raise NotImplementedError(BY_HAND)


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    raise AttributeError(f"jax.interpreters.mlir.{name} is not there: {BY_HAND}")

"""What programs import from `jax.custom_derivatives`."""

from typing import Any

from jacana.api.closures import closure_convert as closure_convert
from jacana.api.custom import (
    CustomVJPPrimal as CustomVJPPrimal,
    SymbolicZero as SymbolicZero,
    custom_gradient as custom_gradient,
    custom_jvp as custom_jvp,
    custom_vjp as custom_vjp,
)
from jacana.core import tree as trees
from jacana.core.values import aval_of
from jacana.higher_order.custom_jvp import custom_jvp_primitive as custom_jvp_call_p
from jacana.higher_order.custom_vjp import custom_vjp_primitive as custom_vjp_call_p
from jacana.transforms.jvp import zero_tangent

__all__ = [
    "custom_jvp_call_p",
    "custom_vjp_call_p",
    "custom_vjp_primal_tree_values",
    "zero_from_primal",
]


def zero_from_primal(val: Any, symbolic_zeros: bool = False) -> Any:
    """The zero in the tangent space of a value, as an array or as a SymbolicZero."""
    if symbolic_zeros:
        return SymbolicZero(aval_of(val).to_tangent_aval())
    return zero_tangent(val)


def custom_vjp_primal_tree_values(tree: Any) -> Any:
    """The values of the CustomVJPPrimal objects of a tree, in its structure."""
    return trees.map(lambda leaf: leaf.value, tree)

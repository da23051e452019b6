"""jax.custom_derivatives: functions whose derivatives the user writes, and what rules see."""

from jacana.api.closures import closure_convert as closure_convert
from jacana.api.custom import (
    CustomVJPPrimal as CustomVJPPrimal,
    SymbolicZero as SymbolicZero,
    custom_gradient as custom_gradient,
    custom_jvp as custom_jvp,
    custom_vjp as custom_vjp,
    custom_vjp_primal_tree_values as custom_vjp_primal_tree_values,
    zero_from_primal as zero_from_primal,
)
from jacana.api.linear_call import linear_call as linear_call
from jacana.higher_order.custom_jvp import custom_jvp_primitive as custom_jvp_call_p
from jacana.higher_order.custom_vjp import custom_vjp_primitive as custom_vjp_call_p

__all__ = [
    "CustomVJPPrimal", "SymbolicZero", "closure_convert", "custom_gradient", "custom_jvp",
    "custom_jvp_call_p", "custom_vjp", "custom_vjp_call_p", "custom_vjp_primal_tree_values",
    "linear_call", "zero_from_primal",
]  # fmt: skip

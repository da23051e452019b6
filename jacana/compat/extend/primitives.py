"""What programs import from `jax.extend.core.primitives`: the primitives, by JAX's names."""

from typing import Any

from jacana import lax, ops
from jacana.core.primitive import Primitive
from jacana.higher_order.call import jit_primitive as jit_p
from jacana.higher_order.checkpoint import checkpoint_primitive as remat_p
from jacana.higher_order.custom_jvp import custom_jvp_primitive as custom_jvp_call_p
from jacana.higher_order.custom_vjp import custom_vjp_primitive as custom_vjp_call_p

add_jaxvals_p = ops.add_any

__all__ = ["add_jaxvals_p", "custom_jvp_call_p", "custom_vjp_call_p", "jit_p", "remat_p"]


def __getattr__(name: str) -> Any:
    found = getattr(lax, name, None) if name.endswith("_p") else None
    if not isinstance(found, Primitive):
        raise AttributeError(f"jacana has no primitive of the name {name}")
    return found

"""What programs import from `jax.interpreters.xla`."""

from typing import Any

from jacana.core.trace import BaseTrace


def apply_primitive(prim: Any, *args: Any, **params: Any) -> Any:
    """What a primitive gives for the operands by its lowering, as a program of its own.

    For `p.def_impl(functools.partial(xla.apply_primitive, p))`.
    """
    return BaseTrace.evaluate(prim, args, params)

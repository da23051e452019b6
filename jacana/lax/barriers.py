"""Barriers: what a transformation does not look behind."""

from typing import Any

from jacana import ops
from jacana.core import dtypes, tree
from jacana.core.values import aval_of
from jacana.lax.operands import operand as operand_of


def stop_gradient(x: Any) -> Any:
    """x as a constant: its derivative is zero. x may be a pytree; integers pass through.

    >>> from jacana import grad
    >>> grad(lambda x: x * stop_gradient(x))(3.0)
    Array(3., dtype=float32, weak_type=True)
    """
    return tree.map(_stopped, x)


def _stopped(x: Any) -> Any:
    operand_of("stop_gradient", x)
    return ops.stop_gradient(x) if dtypes.is_differentiable(aval_of(x).dtype) else x


def optimization_barrier(operand: Any, /) -> Any:
    """The operand, a pytree: what is computed from it is not merged with what came before.

    >>> optimization_barrier(1.0)
    Array(1., dtype=float32, weak_type=True)
    """
    leaves, structure = tree.flatten(operand)
    for k, x in enumerate(leaves):
        operand_of("optimization_barrier", x, k)
    return structure.unflatten(ops.optimization_barrier(*leaves) if leaves else [])

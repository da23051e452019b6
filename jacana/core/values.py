"""What counts as an array: the aval of each kind of value that users may pass."""

from collections.abc import Callable
from typing import Any

import numpy as np

from jacana.core import config, dtypes, errors
from jacana.core.avals import AbstractRef, ShapedArray

# Type -> aval of a value of that type. Python scalars are weakly typed.
_rules: dict[type, Callable[[Any], ShapedArray]] = {}


def register(type_: type, rule: Callable[[Any], ShapedArray]) -> None:
    """Make values of a type count as arrays."""
    _rules[type_] = rule


def aval_of(value: Any) -> ShapedArray:
    """The aval of an array, tracer, NumPy value or Python scalar; TypeError for anything else."""
    aval = getattr(value, "aval", None)
    if aval is not None:
        # Programs are the same wherever their arguments are.
        return aval if aval.sharding is None else aval.plain  # type: ignore[no-any-return]
    rule = _rules.get(type(value))
    if rule is not None:
        return rule(value)
    return _aval_by_kind(value)


def _aval_by_kind(value: Any) -> ShapedArray:
    if isinstance(value, np.ndarray | np.generic):
        check_unmasked(value)
        return _numpy_aval(value)
    for kind, rule in _scalar_kinds:
        if isinstance(value, kind):
            return rule(value)
    raise errors.NotAnArrayError(value)


def check_unmasked(value: np.ndarray | np.generic) -> None:
    """Raise ValueError for an array of NumPy that has a mask."""
    if isinstance(value, np.ma.MaskedArray):
        raise ValueError(
            "numpy masked arrays are not supported: their masks would be lost. Use "
            "value.filled(...) to say what stands in the masked places."
        )


def is_array_like(value: Any) -> bool:
    """Whether the value may be an operand."""
    aval = getattr(value, "aval", None)
    if aval is not None:
        return type(aval) is not AbstractRef
    return isinstance(value, _ARRAY_LIKE) or type(value) in _rules


def is_ref(value: Any) -> bool:
    """Whether the value is a reference to an array, traced or not."""
    return type(getattr(value, "aval", None)) is AbstractRef


def is_argument(value: Any) -> bool:
    """Whether transformed functions take the value: an array, or a reference to one."""
    return is_array_like(value) or is_ref(value)


# A tuple of types is quicker to ask about than a union.
_ARRAY_LIKE = (np.ndarray, np.generic, bool, int, float, complex)


def _numpy_aval(value: np.ndarray | np.generic) -> ShapedArray:
    dtype = dtypes.canonicalize(value.dtype, config.current().enable_x64)
    if not dtypes.is_supported(dtype):
        raise errors.NotAnArrayError(value)
    return ShapedArray(value.shape, dtype)


def _scalar_rule(kind: type) -> Callable[[Any], ShapedArray]:
    avals = {
        x64: ShapedArray((), dtypes.python_scalar_dtype(kind, x64), kind is not bool)
        for x64 in (False, True)
    }
    return lambda value: avals[config.current().enable_x64]


_scalar_kinds = [(k, _scalar_rule(k)) for k in (bool, int, float, complex)]
_rules.update(_scalar_kinds)
_rules[np.ndarray] = _numpy_aval

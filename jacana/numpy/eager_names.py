"""Which public functions native code calls, and what Python scalars are in their arguments.

Within jnp, functions call each other as they are written; only what users see is replaced.
"""

from typing import Any

import numpy as np

from jacana.api.eager import INDEX, OPERAND, STATIC, eager

# Scalars are operands, as arrays of rank 0 would be.
ELEMENTWISE = """
    abs absolute acos acosh add arccos arccosh arcsin arcsinh arctan arctan2 arctanh asin asinh atan
    atan2 atanh bitwise_and bitwise_not bitwise_or bitwise_xor cbrt ceil copysign cos cosh deg2rad
    degrees divide divmod equal exp exp2 expm1 fabs float_power floor floor_divide fmax fmin fmod
    greater greater_equal heaviside hypot invert isfinite isinf isnan less less_equal log log10
    log1p log2 logaddexp logaddexp2 logical_and logical_not logical_or logical_xor maximum minimum
    mod multiply negative nextafter not_equal rad2deg radians reciprocal remainder rint sign signbit
    sin sinc sinh sqrt square subtract tan tanh true_divide trunc where clip
"""
# Scalars decide what is computed: axes, shapes, flags.
OTHERS = """
    all amax amin any arange argmax argmin argsort astype atleast_1d atleast_2d average
    broadcast_to column_stack concatenate conj conjugate copy cross cumprod cumsum diag diagonal
    diff dot dstack einsum empty expand_dims eye flip fliplr flipud full full_like hstack
    identity imag inner kron matmul max mean median min moveaxis nanmax nanmean nanmin nansum
    ones ones_like outer pad permute_dims power prod ptp ravel real repeat reshape roll rollaxis
    rot90 round sort split squeeze stack std sum swapaxes take_along_axis tensordot tile trace
    transpose tri tril triu unstack var vdot vsplit vstack zeros zeros_like
"""
# What Python scalars are in each positional argument.
PARTICULAR: dict[str, tuple[str, ...]] = {
    "take": (STATIC, INDEX),
}


def replace(names: dict[str, Any]) -> None:
    """Replace functions of a namespace by those that native code calls."""
    for name in ELEMENTWISE.split():
        _replace(names, name, (OPERAND,) * 3, OPERAND)
    for name in OTHERS.split():
        _replace(names, name, ())
    for name, roles in PARTICULAR.items():
        _replace(names, name, roles)
    for name in ("array", "asarray"):
        names[name] = eager(names[name], only=np.ndarray)


# Functions of two names stay one object.
_made: dict[Any, Any] = {}


def _replace(names: dict[str, Any], name: str, roles: tuple[str, ...], rest: str = STATIC) -> None:
    function = names[name]
    if function not in _made:
        _made[function] = eager(function, *roles, rest=rest)
    names[name] = _made[function]

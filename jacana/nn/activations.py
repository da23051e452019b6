"""Activation functions.

Each is elementwise, of floats (integers become floats, but for relu and hard_tanh, which keep
them), and compiled as one program. Formulas are chosen so that their plain derivatives are
right: finite where the function saturates, and at infinite arguments the limit.
"""

from typing import Any

import numpy as np

import jacana.numpy as jnp
from jacana import ops
from jacana.api.jit import jit
from jacana.core import dtypes
from jacana.core.values import aval_of
from jacana.numpy.promotion import as_array, literal, promote_args, promote_args_inexact


def inexact(function: str, x: Any) -> Any:
    """x in floating point."""
    return as_array(function, promote_args_inexact(function, x)[0])


def infinite(x: Any) -> Any:
    """Whether x is +-infinity."""
    return ops.eq(ops.abs(x), literal(np.inf, x))


def gated(x: Any, gate: Any) -> Any:
    """x * gate, for a gate that falls to 0 at -infinity and is 1 at +infinity.

    The limits are written out: they would be products of 0 and infinity, in derivatives too.
    """
    finite = jnp.where(infinite(x), 0, x)
    return jnp.where(ops.eq(x, literal(np.inf, x)), x, finite * gate)


# --- rectifiers -----------------------------------------------------------------------------------


@jit
def relu(x: Any) -> Any:
    """max(x, 0). Its derivative at 0 is 0.

    >>> relu(np.float32([-2, 0, 2]))
    Array([0., 0., 2.], dtype=float32)
    """
    (x,) = promote_args("relu", x)
    return jnp.where(ops.le(x, literal(0, x)), 0, x)


@jit
def relu6(x: Any) -> Any:
    """x limited to 0 .. 6. Its derivative at both ends is 0.

    >>> relu6(np.float32([-2, 3, 9]))
    Array([0., 3., 6.], dtype=float32)
    """
    x = inexact("relu6", x)
    return jnp.where(ops.le(x, literal(0, x)), 0, jnp.where(ops.ge(x, literal(6, x)), 6, x))


@jit
def leaky_relu(x: Any, negative_slope: Any = 0.01) -> Any:
    """x where it is not negative, else negative_slope * x.

    >>> leaky_relu(np.float32([-2, 3]))
    Array([-0.02,  3.  ], dtype=float32)
    """
    (x,) = promote_args("leaky_relu", x)
    return jnp.where(ops.ge(x, literal(0, x)), x, negative_slope * x)


@jit
def elu(x: Any, alpha: Any = 1.0) -> Any:
    """x above 0, else alpha * (exp(x) - 1).

    >>> elu(np.float32([-1, 2]))
    Array([-0.63212055,  2.        ], dtype=float32)
    """
    x = inexact("elu", x)
    above = ops.gt(x, literal(0, x))
    return jnp.where(above, x, alpha * ops.expm1(jnp.where(above, 0, x)))


@jit
def celu(x: Any, alpha: Any = 1.0) -> Any:
    """x above 0, else alpha * (exp(x / alpha) - 1): elu with a continuous derivative.

    >>> celu(np.float32([-1, 2]), 0.5)
    Array([-0.43233237,  2.        ], dtype=float32)
    """
    x = inexact("celu", x)
    above = ops.gt(x, literal(0, x))
    return jnp.where(above, x, alpha * jnp.expm1(jnp.where(above, 0, x) / alpha))


SELU_ALPHA = 1.6732632423543772848170429916717
SELU_SCALE = 1.0507009873554804934193349852946


@jit
def selu(x: Any) -> Any:
    """A scaled elu that keeps mean 0 and variance 1 through many layers.

    >>> selu(np.float32([-1, 2]))
    Array([-1.1113307,  2.101402 ], dtype=float32)
    """
    return SELU_SCALE * elu(x, SELU_ALPHA)


# --- smooth ---------------------------------------------------------------------------------------


@jit
def sigmoid(x: Any) -> Any:
    """1 / (1 + exp(-x)).

    >>> sigmoid(np.float32([-1, 0, 1]))
    Array([0.26894143, 0.5       , 0.7310586 ], dtype=float32)
    """
    return ops.logistic(inexact("sigmoid", x))


def softplus_of(x: Any) -> Any:
    """log(1 + exp(x)) of a float, exact to every derivative: each side of 0 is one formula."""
    above = ops.gt(x, literal(0, x))
    tail = ops.log1p(ops.exp(jnp.where(above, -x, x)))
    return jnp.where(above, x, 0) + tail


@jit
def softplus(x: Any) -> Any:
    """log(1 + exp(x)).

    >>> softplus(np.float32([-100, 0, 100]))
    Array([3.783506e-44, 6.931472e-01, 1.000000e+02], dtype=float32)
    """
    return softplus_of(inexact("softplus", x))


@jit
def log_sigmoid(x: Any) -> Any:
    """log(sigmoid(x)) without underflow: -softplus(-x).

    >>> log_sigmoid(np.float32([-100, 0]))
    Array([-100.       ,   -0.6931472], dtype=float32)
    """
    return -softplus_of(-inexact("log_sigmoid", x))


@jit
def soft_sign(x: Any) -> Any:
    """x / (1 + abs(x)).

    >>> soft_sign(np.float32([-1, 0, 3]))
    Array([-0.5 ,  0.  ,  0.75], dtype=float32)
    """
    x = inexact("soft_sign", x)
    largest = literal(float(dtypes.finfo(aval_of(x).dtype).max), x)
    x = ops.clamp(-largest, x, largest)
    return x / (ops.abs(x) + 1)


@jit
def silu(x: Any) -> Any:
    """x * sigmoid(x), also called swish.

    >>> silu(np.float32([-1, 0, 1]))
    Array([-0.26894143,  0.        ,  0.7310586 ], dtype=float32)
    """
    x = inexact("silu", x)
    return gated(x, ops.logistic(x))


swish = silu


@jit
def mish(x: Any) -> Any:
    """x * tanh(softplus(x)).

    >>> mish(np.float32([-1, 0, 1]))
    Array([-0.30340147,  0.        ,  0.8650984 ], dtype=float32)
    """
    x = inexact("mish", x)
    return gated(x, ops.tanh(softplus_of(x)))


def gelu(x: Any, approximate: bool = True) -> Any:
    """x times the normal distribution's probability of less than x; by tanh, if approximate.

    >>> gelu(np.float32([-1, 0, 1]), approximate=False)
    Array([-0.15865526,  0.        ,  0.8413447 ], dtype=float32)
    """
    return gelu_by_tanh(x) if approximate else gelu_by_erfc(x)


@jit
def gelu_by_tanh(x: Any) -> Any:
    """gelu, with 1/2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x**3))) for the probability."""
    x = inexact("gelu", x)
    # Beyond 10 the tangent is 1 to the last bit of any float; the cube would overflow.
    ten = literal(10, x)
    inner = ops.clamp(-ten, x, ten)
    inner = np.sqrt(2 / np.pi).item() * (inner + 0.044715 * ops.integer_pow(inner, y=3))
    return gated(x, 0.5 * (1.0 + ops.tanh(inner)))


@jit
def gelu_by_erfc(x: Any) -> Any:
    """gelu itself."""
    x = inexact("gelu", x)
    # Beyond 40 the probability is 0 or 1 to the last bit of any float.
    inner = ops.clamp(literal(-40, x), x, literal(40, x))
    return gated(x, 0.5 * ops.erfc(-inner * np.sqrt(0.5).item()))


@jit
def squareplus(x: Any, b: Any = 4) -> Any:
    """(x + sqrt(x**2 + b)) / 2, a softplus without exponentials; relu for b = 0.

    >>> squareplus(np.float32([-3, 0, 3]))
    Array([0.30277562, 1.        , 3.3027756 ], dtype=float32)
    """
    x = as_array("squareplus", promote_args_inexact("squareplus", x, b)[0])
    b = jnp.asarray(b, x.dtype)
    # Beyond sqrt(max) the square would overflow, and b is below rounding.
    limit = literal(float(np.sqrt(float(dtypes.finfo(x.dtype).max))) / 2, x)
    size = ops.abs(x)
    inside = ops.lt(size, limit)
    root = jnp.where(inside, jnp.sqrt(ops.square(jnp.where(inside, x, 0)) + b), size)
    return jnp.where(ops.le(x, -limit), 0, 0.5 * (x + root))


# --- by parts -------------------------------------------------------------------------------------


@jit
def hard_sigmoid(x: Any) -> Any:
    """relu6(x + 3) / 6: sigmoid by three lines.

    >>> hard_sigmoid(np.float32([-4, 0, 4]))
    Array([0. , 0.5, 1. ], dtype=float32)
    """
    return relu6(x + 3.0) / 6.0


@jit
def hard_silu(x: Any) -> Any:
    """x * hard_sigmoid(x), also called hard_swish.

    >>> hard_silu(np.float32([-4, 1, 4]))
    Array([-0.       ,  0.6666667,  4.       ], dtype=float32)
    """
    x = inexact("hard_silu", x)
    return gated(x, hard_sigmoid(x))


hard_swish = hard_silu


@jit
def hard_tanh(x: Any) -> Any:
    """x limited to -1 .. 1.

    >>> hard_tanh(np.float32([-4, 0.5, 4]))
    Array([-1. ,  0.5,  1. ], dtype=float32)
    """
    (x,) = promote_args("hard_tanh", x)
    return jnp.where(x > 1, 1, jnp.where(x < -1, -1, x))


@jit
def sparse_plus(x: Any) -> Any:
    """0 below -1, x above 1, and (x + 1)**2 / 4 between.

    >>> sparse_plus(np.float32([-2, 0, 2]))
    Array([0.  , 0.25, 2.  ], dtype=float32)
    """
    x = inexact("sparse_plus", x)
    low, high = ops.le(x, literal(-1, x)), ops.ge(x, literal(1, x))
    between = jnp.where(low | high, 0, x)
    return jnp.where(low, 0, jnp.where(high, x, ops.square(between + 1) / 4))


@jit
def sparse_sigmoid(x: Any) -> Any:
    """(x + 1) / 2 limited to 0 .. 1, the derivative of sparse_plus.

    >>> sparse_sigmoid(np.float32([-2, 0, 2]))
    Array([0. , 0.5, 1. ], dtype=float32)
    """
    return 0.5 * jnp.clip(x + 1.0, 0.0, 2.0)


# --- others ---------------------------------------------------------------------------------------


@jit
def identity(x: Any) -> Any:
    """x itself.

    >>> identity(np.float32([1, 2]))
    Array([1., 2.], dtype=float32)
    """
    return as_array("identity", x)


@jit
def log1mexp(x: Any) -> Any:
    """log(1 - exp(-x)) for x >= 0, accurate for small and for large x.

    >>> log1mexp(np.float32([0, 1e-6, 20]))
    Array([          -inf, -1.3815511e+01, -2.0611537e-09], dtype=float32)
    """
    x = inexact("log1mexp", x)
    near = ops.lt(x, literal(np.log(2), x))
    small = ops.log(-ops.expm1(-jnp.where(near, x, 0.5)))
    large = ops.log1p(-ops.exp(-jnp.where(near, 1, x)))
    return jnp.where(near, small, large)


def glu(x: Any, axis: int = -1) -> Any:
    """The first half of x along an axis, times the sigmoid of the second half.

    ValueError for an odd extent.

    >>> glu(np.float32([1, 2, 0, 0]))
    Array([0.5, 1. ], dtype=float32)
    """
    x = as_array("glu", x)
    extent = x.shape[axis]
    if extent % 2:
        raise ValueError(f"glu: axis size must be divisible by 2, got {extent} along axis {axis}.")
    first, second = jnp.split(x, 2, axis)
    return first * sigmoid(second)


def tanh(x: Any, /) -> Any:
    """The hyperbolic tangent, as jnp.tanh.

    >>> tanh(np.float32(1))
    Array(0.7615942, dtype=float32)
    """
    return jnp.tanh(x)

"""Neural networks as pairs of functions: (init, apply).

init(rng, input_shape) -> (output_shape, params), and apply(params, inputs, **kwargs) -> outputs, of
which keyword arguments go to all layers: `rng` is what dropout draws from.
"""

import functools
import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

from jacana import lax, numpy as jnp, random
from jacana.api.inspect import ShapeDtypeStruct, eval_shape
from jacana.nn import (
    elu,
    gelu,
    leaky_relu,
    log_softmax,
    relu,
    selu,
    sigmoid,
    softmax,
    softplus,
    standardize,
)
from jacana.nn.initializers import glorot_normal, normal, ones, zeros

Layer = tuple[Callable[..., Any], Callable[..., Any]]


def Dense(
    out_dim: int,
    W_init: Any = glorot_normal(),  # noqa: B008
    b_init: Any = normal(),  # noqa: B008
) -> Layer:
    """Each vector times a matrix, plus a vector.

    >>> init, apply = Dense(3)
    >>> shape, params = init(random.key(0), (5, 2))
    >>> shape, apply(params, jnp.ones((5, 2))).shape
    ((5, 3), (5, 3))
    """

    def init(rng: Any, input_shape: Any) -> Any:
        k1, k2 = random.split(rng)
        w, b = W_init(k1, (input_shape[-1], out_dim)), b_init(k2, (out_dim,))
        return (*input_shape[:-1], out_dim), (w, b)

    def apply(params: Any, inputs: Any, **kwargs: Any) -> Any:
        w, b = params
        return jnp.dot(inputs, w) + b

    return init, apply


def _convolution(
    dimension_numbers: Sequence[str],
    out_chan: int,
    filter_shape: Sequence[int],
    strides: Sequence[int] | None,
    padding: Any,
    W_init: Any,
    b_init: Any,
    convolve: Callable[..., Any],
) -> Layer:
    """A layer of convolve(inputs, weights, strides, padding, dimension_numbers=...)."""
    lhs_spec, rhs_spec, out_spec = dimension_numbers
    steps = tuple(strides or (1,) * len(filter_shape))
    draw = W_init or glorot_normal(rhs_spec.index("I"), rhs_spec.index("O"))

    def init(rng: Any, input_shape: Any) -> Any:
        sizes = iter(filter_shape)
        channels = {"O": out_chan, "I": input_shape[lhs_spec.index("C")]}
        kernel_shape = [channels[c] if c in channels else next(sizes) for c in rhs_spec]
        # The size of a batch need not be known: it is that of the inputs.
        batch = lhs_spec.index("N")
        one = [1 if i == batch else n for i, n in enumerate(input_shape)]
        types = (ShapeDtypeStruct(one, "float32"), ShapeDtypeStruct(kernel_shape, "float32"))
        shape = list(eval_shape(run, *types).shape)
        shape[out_spec.index("N")] = input_shape[batch]
        bias_shape = [out_chan if c == "C" else 1 for c in out_spec]
        k1, k2 = random.split(rng)
        return tuple(shape), (draw(k1, kernel_shape), b_init(k2, bias_shape))

    def run(inputs: Any, w: Any) -> Any:
        return convolve(inputs, w, steps, padding, dimension_numbers=dimension_numbers)

    def apply(params: Any, inputs: Any, **kwargs: Any) -> Any:
        w, b = params
        return run(inputs, w) + b

    return init, apply


def GeneralConv(
    dimension_numbers: Sequence[str],
    out_chan: int,
    filter_shape: Sequence[int],
    strides: Sequence[int] | None = None,
    padding: Any = "VALID",
    W_init: Any = None,
    b_init: Any = normal(1e-6),  # noqa: B008
) -> Layer:
    """A convolution plus a bias for each channel; dimension numbers as ("NHWC", "HWIO", "NHWC")."""
    return _convolution(
        dimension_numbers, out_chan, filter_shape, strides, padding, W_init, b_init,
        lax.conv_general_dilated,
    )  # fmt: skip


def GeneralConvTranspose(
    dimension_numbers: Sequence[str],
    out_chan: int,
    filter_shape: Sequence[int],
    strides: Sequence[int] | None = None,
    padding: Any = "VALID",
    W_init: Any = None,
    b_init: Any = normal(1e-6),  # noqa: B008
) -> Layer:
    """A transposed convolution (lax.conv_transpose) plus a bias for each channel."""
    return _convolution(
        dimension_numbers, out_chan, filter_shape, strides, padding, W_init, b_init,
        lax.conv_transpose,
    )  # fmt: skip


Conv = functools.partial(GeneralConv, ("NHWC", "HWIO", "NHWC"))
Conv1DTranspose = functools.partial(GeneralConvTranspose, ("NHC", "HIO", "NHC"))
ConvTranspose = functools.partial(GeneralConvTranspose, ("NHWC", "HWIO", "NHWC"))


def BatchNorm(
    axis: Any = (0, 1, 2),
    epsilon: float = 1e-5,
    center: bool = True,
    scale: bool = True,
    beta_init: Any = zeros,
    gamma_init: Any = ones,
) -> Layer:
    """Inputs with mean 0 and variance 1 over `axis`, times gamma if `scale`, plus beta if `center`.

    Statistics are those of the batch, at all times.
    """
    axes = (axis,) if isinstance(axis, int) else tuple(axis)

    def init(rng: Any, input_shape: Any) -> Any:
        shape = tuple(n for i, n in enumerate(input_shape) if i not in axes)
        k1, k2 = random.split(rng)
        beta = beta_init(k1, shape) if center else ()
        gamma = gamma_init(k2, shape) if scale else ()
        return input_shape, (beta, gamma)

    def apply(params: Any, x: Any, **kwargs: Any) -> Any:
        place = tuple(None if i in axes else slice(None) for i in range(jnp.ndim(x)))
        beta, gamma = params
        z = standardize(x, axes, epsilon=epsilon)
        z = gamma[place] * z if scale else z
        return z + beta[place] if center else z

    return init, apply


def elementwise(fun: Callable[..., Any], **fun_kwargs: Any) -> Layer:
    """A function of each element; it has no params."""

    def apply(params: Any, inputs: Any, **kwargs: Any) -> Any:
        return fun(inputs, **fun_kwargs)

    return lambda rng, input_shape: (input_shape, ()), apply


Tanh = elementwise(jnp.tanh)
Relu = elementwise(relu)
Exp = elementwise(jnp.exp)
LogSoftmax = elementwise(log_softmax, axis=-1)
Softmax = elementwise(softmax, axis=-1)
Softplus = elementwise(softplus)
Sigmoid = elementwise(sigmoid)
Elu = elementwise(elu)
LeakyRelu = elementwise(leaky_relu)
Selu = elementwise(selu)
Gelu = elementwise(gelu)


def _pooling(reducer: Callable[..., Any], init_val: float, is_mean: bool = False) -> Any:
    """A maker of layers that fold windows."""

    def make(
        window_shape: Sequence[int],
        strides: Sequence[int] | None = None,
        padding: str = "VALID",
        spec: str | None = None,
    ) -> Layer:
        """Windows folded; `spec` says where batch N and channels C are, "NHWC" where not given."""
        layout = spec or "N" + "?" * len(window_shape) + "C"
        others = [i for i, c in enumerate(layout) if c in "NC"]

        def full(sizes: Sequence[int]) -> tuple[int, ...]:
            rest = iter(sizes)
            return tuple(1 if i in others else next(rest) for i in range(len(layout)))

        dims = full(window_shape)
        steps = full(strides or (1,) * len(window_shape))

        def init(rng: Any, input_shape: Any) -> Any:
            sizes = [1 if i in others else n for i, n in enumerate(input_shape)]
            pads = lax.padtype_to_pads(sizes, dims, steps, padding)
            one = (1,) * len(layout)
            shape = lax.reduce_window_shape_tuple(sizes, dims, steps, pads, one, one)
            return tuple(input_shape[i] if i in others else n for i, n in enumerate(shape)), ()

        def apply(params: Any, inputs: Any, **kwargs: Any) -> Any:
            def fold(x: Any) -> Any:
                return lax.reduce_window(x, init_val, reducer, dims, steps, padding)

            if not is_mean:
                return fold(inputs)
            # At the border a window has fewer elements.
            return fold(inputs) / fold(jnp.ones_like(inputs))

        return init, apply

    return make


MaxPool = _pooling(lax.max, -math.inf)
SumPool = _pooling(lax.add, 0.0)
AvgPool = _pooling(lax.add, 0.0, is_mean=True)


def _flatten() -> Layer:
    def init(rng: Any, input_shape: Any) -> Any:
        return (input_shape[0], math.prod(input_shape[1:])), ()

    return init, lambda params, inputs, **kwargs: jnp.reshape(inputs, (inputs.shape[0], -1))


Flatten = _flatten()
Identity = (
    lambda rng, input_shape: (input_shape, ()),
    lambda params, inputs, **kwargs: inputs,
)


def FanOut(num: int) -> Layer:
    """The input `num` times."""
    return (
        lambda rng, input_shape: ([input_shape] * num, ()),
        lambda params, inputs, **kwargs: [inputs] * num,
    )


FanInSum = (
    lambda rng, input_shape: (input_shape[0], ()),
    lambda params, inputs, **kwargs: functools.reduce(operator.add, inputs),
)


def FanInConcat(axis: int = -1) -> Layer:
    """Inputs joined along an axis."""

    def init(rng: Any, input_shape: Any) -> Any:
        first = list(input_shape[0])
        first[axis] = sum(shape[axis] for shape in input_shape)
        return tuple(first), ()

    return init, lambda params, inputs, **kwargs: jnp.concatenate(inputs, axis)


def Dropout(rate: float, mode: str = "train") -> Layer:
    """Elements kept with probability `rate`, and made larger for it; all of them as they are in
    modes other than "train". `apply` needs the argument `rng`.
    """

    def apply(params: Any, inputs: Any, **kwargs: Any) -> Any:
        rng = kwargs.get("rng")
        if rng is None:
            raise ValueError(
                "Dropout layer requires apply_fun to be called with a PRNG key argument. That is, "
                "instead of `apply_fun(params, inputs)`, call it like `apply_fun(params, inputs, "
                "rng=key)` where `key` is a PRNG key, as from jax.random.key."
            )
        if mode != "train":
            return inputs
        keep = random.bernoulli(rng, rate, inputs.shape)
        return jnp.where(keep, inputs / rate, 0)

    return lambda rng, input_shape: (input_shape, ()), apply


def serial(*layers: Layer) -> Layer:
    """Layers one after the other.

    >>> init, apply = serial(Dense(4), Relu, Dense(1))
    >>> init(random.key(0), (-1, 3))[0]
    (-1, 1)
    """
    inits, applies = zip(*layers, strict=True) if layers else ((), ())

    def init(rng: Any, input_shape: Any) -> Any:
        params = []
        for layer_init in inits:
            rng, layer_rng = random.split(rng)
            input_shape, param = layer_init(layer_rng, input_shape)
            params.append(param)
        return input_shape, params

    def apply(params: Any, inputs: Any, **kwargs: Any) -> Any:
        rngs = _keys(kwargs, len(layers))
        for run, param, rng in zip(applies, params, rngs, strict=True):
            inputs = run(param, inputs, rng=rng, **kwargs)
        return inputs

    return init, apply


def parallel(*layers: Layer) -> Layer:
    """Layers side by side, each on its own of the inputs; see FanOut and FanInSum."""
    inits, applies = zip(*layers, strict=True)

    def init(rng: Any, input_shape: Any) -> Any:
        rngs = random.split(rng, len(layers))
        made = [f(k, shape) for f, k, shape in zip(inits, rngs, input_shape, strict=True)]
        return [shape for shape, _ in made], tuple(param for _, param in made)

    def apply(params: Any, inputs: Any, **kwargs: Any) -> Any:
        rngs = _keys(kwargs, len(layers))
        each = zip(applies, params, inputs, rngs, strict=True)
        return [f(p, x, rng=k, **kwargs) for f, p, x, k in each]

    return init, apply


def _keys(kwargs: dict[str, Any], count: int) -> Any:
    """A key for each layer, of the one among the arguments."""
    rng = kwargs.pop("rng", None)
    return (None,) * count if rng is None else random.split(rng, count)


def shape_dependent(make_layer: Callable[..., Layer]) -> Layer:
    """A layer that make_layer(input_shape) makes once the shape of its inputs is known."""

    def init(rng: Any, input_shape: Any) -> Any:
        return make_layer(input_shape)[0](rng, input_shape)

    def apply(params: Any, inputs: Any, **kwargs: Any) -> Any:
        return make_layer(inputs.shape)[1](params, inputs, **kwargs)

    return init, apply

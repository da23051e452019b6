"""Primitives that draw until a number is accepted: each lane of a kernel loops on its own.

The algorithms are in `rejection`. Keys count through an array of the operands' shape; random_gamma
has a key for each element.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np

from jacana import ops
from jacana.core import dtypes
from jacana.core.avals import ShapedArray
from jacana.kernel.expr import Expr
from jacana.ops.families import align_batch, like, spread
from jacana.ops.indexing import join_index
from jacana.ops.lowering import Build, Tensor
from jacana.ops.random_bits import (
    Counting,
    align_elementwise,
    joint_shape,
    positions,
    split_position,
    word_expressions,
    words_of,
)
from jacana.ops.rejection import (
    Arithmetic,
    InKernel,
    InNumPy,
    Place,
    binomial_by_gaps,
    binomial_candidate,
    binomial_constants,
    first_accepted,
    gamma,
    last_accepted,
    poisson_by_products,
    poisson_candidate,
    poisson_constants,
)


class RandomGamma(Counting):
    """A gamma variate for each key, of the shape parameter a, or its logarithm.

    16-bit numbers are drawn as float32 and rounded.
    """

    name = "random_gamma"
    defaults: ClassVar[dict[str, Any]] = {"log_space": False}

    def type_rule(
        self, keys: ShapedArray, a: ShapedArray, *, log_space: bool, partitionable: bool
    ) -> ShapedArray:
        self.check_keys(keys)
        if not dtypes.is_float(a.dtype):
            raise TypeError(f"random_gamma needs a floating-point shape parameter, got {a}.")
        return ShapedArray(joint_shape(self.name, (keys, a)), a.dtype)

    def reference(self, keys: Any, a: Any, *, log_space: bool, partitionable: bool) -> Any:
        shape = np.broadcast_shapes(np.shape(keys), np.shape(a))
        wide = computed_type(np.asarray(a).dtype)
        first, second = words_of(keys)
        key = np.broadcast_to(first, shape), np.broadcast_to(second, shape)
        a_wide = np.broadcast_to(np.asarray(a).astype(wide), shape)
        m = InNumPy(partitionable)
        with np.errstate(all="ignore"):
            return gamma(m, key, a_wide, wide, log_space).astype(np.asarray(a).dtype)

    def jvp(
        self, i: int, t: Any, out: Any, keys: Any, a: Any, *, log_space: bool, partitionable: bool
    ) -> Any:
        # The keys, operand 0, have no tangent. A sample moves so that its quantile stays.
        a, t = spread(a, out), spread(t, out)
        if not log_space:
            return ops.mul(t, ops.random_gamma_grad(a, out))
        x = ops.exp(out)
        one = like(1, a)
        # For x near 0 the distribution is x**a / gamma(a + 1), up to a factor 1 - O(x).
        near = ops.div(ops.sub(ops.digamma(ops.add(a, one)), out), a)
        is_near = ops.lt(x, like(float(dtypes.finfo(a.dtype).eps), a))
        safe = ops.select_n(is_near, x, ops.exp(ops.mul(out, like(0, a))))
        slope = ops.div(ops.random_gamma_grad(a, safe), safe)
        return ops.mul(t, ops.select_n(is_near, slope, near))

    def batch(
        self, size: int, operands: Sequence[Any], axes: Sequence[int | None], **params: Any
    ) -> tuple[Any, int]:
        return self(*align_elementwise(size, operands, axes), **params), 0

    def lower(
        self, build: Build, keys: Tensor, a: Tensor, *, log_space: bool, partitionable: bool
    ) -> Tensor:
        wide = computed_type(a.dtype)

        def element(key: Any, a: Any) -> Any:
            words = word_expressions(key)
            made = gamma(InKernel(partitionable), words, a.convert(wide), wide, log_space)
            return made.convert(a.type)

        return build.elementwise(element, [keys, a], a.dtype)


def computed_type(dtype: Any) -> str:
    return "float64" if dtype == dtypes.float64 else "float32"


Formula = Callable[..., Any]


class Variate(Counting):
    """A number for each element of the parameters, which have the shape of the keys and more.

    `formula(arithmetic, key, place, *parameters)` is the element. The last `per_key` operands have
    the shape of the keys only.
    """

    formula: ClassVar[Formula]
    per_key: ClassVar[int] = 0

    def type_rule(
        self, keys: ShapedArray, *parameters: ShapedArray, partitionable: bool
    ) -> ShapedArray:
        self.check_keys(keys)
        first = parameters[0]
        for i, x in enumerate(parameters):
            is_per_key = i >= len(parameters) - self.per_key
            shape = keys.shape if is_per_key else first.shape
            if x.shape != shape or x.dtype != first.dtype or first.shape[: keys.ndim] != keys.shape:
                found = ", ".join(map(str, (keys, *parameters)))
                raise TypeError(
                    f"{self.name} needs parameters of one dtype and shape, which begins with that "
                    f"of the keys, got {found}."
                )
        return ShapedArray(first.shape, first.dtype)

    def reference(self, keys: Any, *parameters: Any, partitionable: bool) -> Any:
        parameters = tuple(map(np.asarray, parameters))
        shape, rank = parameters[0].shape, np.ndim(keys)
        m, inner = InNumPy(partitionable), shape[rank:]
        spread = [x.reshape(x.shape + (1,) * (len(shape) - x.ndim)) for x in parameters]
        key = tuple([np.broadcast_to(w.reshape(w.shape + (1,) * len(inner)), shape)
                     for w in words_of(keys)])  # fmt: skip
        upper, lower = positions(inner)
        count = math.prod(inner)
        is_first = np.asarray(True)
        if not partitionable:
            upper, lower, is_first = paired_positions(lower, count, parameters[0].dtype)
        place = Place(*[np.broadcast_to(v, shape) for v in (upper, lower, is_first)])
        with np.errstate(all="ignore"):
            given = [np.broadcast_to(x, shape) for x in spread]
            return np.array(type(self).formula(m, key, place, *given), parameters[0].dtype)

    def batch(
        self, size: int, operands: Sequence[Any], axes: Sequence[int | None], **params: Any
    ) -> tuple[Any, int]:
        return self(*align_batch(size, operands, axes), **params), 0

    def lower(self, build: Build, keys: Tensor, *parameters: Tensor, partitionable: bool) -> Tensor:
        shape, rank = parameters[0].shape, keys.ndim
        inner, dtype = shape[rank:], parameters[0].dtype
        count = math.prod(inner)

        def element(*i: Expr) -> Any:
            key = word_expressions(keys[i[:rank]])
            at = join_index(build, i[rank:], inner)
            upper, lower = split_position(at, count)
            is_first: Any = lower.graph.const(True, "bool")
            if not partitionable:
                upper, lower, is_first = paired_expressions(lower, count, dtype)
            given = [x[i[: x.ndim]] for x in parameters]
            place = Place(upper, lower, is_first)
            return type(self).formula(InKernel(partitionable), key, place, *given)

        return build.compute(shape, dtype, element, [keys, *parameters])


def paired_positions(at: Any, count: int, dtype: Any) -> tuple[Any, Any, Any]:
    """The words hashed for position `at`, and whether it takes the first word of the hash."""
    if dtype == dtypes.float64:
        return at, at + np.uint32(count), np.asarray(True)
    half = np.uint32((count + 1) // 2)
    is_first = at < half
    first = at - np.where(is_first, np.uint32(0), half)
    second = first + half
    return first, np.where(second < count, second, 0).astype(np.uint32), is_first


def paired_expressions(at: Any, count: int, dtype: Any) -> tuple[Any, Any, Any]:
    """The same for expressions."""
    if dtype == dtypes.float64:
        return at, at + count, at.graph.const(True, "bool")
    half, select = (count + 1) // 2, at.graph.select
    is_first = at < half
    first = select(is_first, at, at - half)
    second = first + half
    return first, select(second < count, second, 0), is_first


class RandomPoissonByProducts(Variate):
    """Poisson numbers of small means (0 for others is not meant), as floats."""

    name = "random_poisson_by_products"
    formula = poisson_by_products


def first_formula(candidate: Formula, constants: Formula) -> Formula:
    def formula(m: Arithmetic, key: Any, place: Place, *parameters: Any) -> Any:
        return first_accepted(m, key, place, candidate, constants(m, *parameters))

    return formula


def last_formula(candidate: Formula, constants: Formula) -> Formula:
    def formula(m: Arithmetic, key: Any, place: Place, *given: Any) -> Any:
        *parameters, rounds = given
        return last_accepted(m, key, place, candidate, constants(m, *parameters), rounds)

    return formula


class RandomPoissonRounds(Variate):
    """In which round a Poisson candidate is accepted first, for means of 10 or more."""

    name = "random_poisson_rounds"
    formula = first_formula(poisson_candidate, poisson_constants)


class RandomPoisson(Variate):
    """The Poisson candidate accepted last within the rounds of its key (operands lam, rounds)."""

    name = "random_poisson"
    formula = last_formula(poisson_candidate, poisson_constants)
    per_key = 1


class RandomBinomialByGaps(Variate):
    """Binomial numbers for n p up to 10 (operands n, p)."""

    name = "random_binomial_by_gaps"
    formula = binomial_by_gaps


class RandomBinomialRounds(Variate):
    """In which round a binomial candidate is accepted first, for n p of 10 or more."""

    name = "random_binomial_rounds"
    formula = first_formula(binomial_candidate, binomial_constants)


class RandomBinomial(Variate):
    """The binomial candidate accepted last within the rounds of its key (operands n, p, rounds)."""

    name = "random_binomial"
    formula = last_formula(binomial_candidate, binomial_constants)
    per_key = 1


random_gamma = RandomGamma()
random_poisson_by_products = RandomPoissonByProducts()
random_poisson_rounds = RandomPoissonRounds()
random_poisson = RandomPoisson()
random_binomial_by_gaps = RandomBinomialByGaps()
random_binomial_rounds = RandomBinomialRounds()
random_binomial = RandomBinomial()

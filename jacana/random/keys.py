"""Random keys: made from seeds, split and folded; typed keys and raw uint32 ones."""
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from jacana import ops
from jacana.core import config, dtypes
from jacana.core.trace import Tracer
from jacana.core.values import aval_of, is_array_like
from jacana.numpy.promotion import convert

IMPLEMENTATIONS = {"threefry2x32": "fry", "fry": "fry"}


def tag_of(impl: Any) -> str:
    """The short name of a kind of key; only threefry2x32 is there."""
    name = config.current().default_prng_impl if impl is None else getattr(impl, "name", impl)
    if name in IMPLEMENTATIONS:
        return IMPLEMENTATIONS[name]
    if name in ("rbg", "unsafe_rbg"):
        raise NotImplementedError(f"keys of kind {name!r} are not there yet; use 'threefry2x32'.")
    raise ValueError(f"unrecognized PRNG implementation {name!r}. Known: 'threefry2x32'.")


def key(seed: Any, *, impl: Any = None) -> Any:
    """A random key made from an integer seed.

    >>> key(0)
    Array((), dtype=key<fry>) overlaying:
    [0 0]
    """
    return ops.random_seed(seed_operand(seed), impl=tag_of(impl))


def PRNGKey(seed: Any, *, impl: Any = None) -> Any:
    """A key in the old style: its two words as a uint32 array."""
    if config.current().enable_custom_prng:
        return key(seed, impl=impl)
    return ops.random_unwrap(key(seed, impl=impl))


def seed_operand(seed: Any) -> Any:
    if isinstance(seed, int) and not isinstance(seed, bool):
        return seed_of_integer(seed)
    if not is_array_like(seed):
        raise TypeError(f"PRNG key seed must be an integer; got {seed!r}")
    aval = aval_of(seed)
    if dtypes.is_key(aval.dtype):
        raise TypeError("PRNGKey accepts a scalar seed, but was given a PRNG key; use it as it is.")
    if aval.shape:
        raise TypeError(
            f"PRNGKey accepts a scalar seed, but was given an array of shape {aval.shape} != (). "
            f"Use jax.vmap for batching."
        )
    if not dtypes.is_integer(aval.dtype):
        raise TypeError(f"PRNG key seed must be an integer; got {seed!r}")
    return seed


def seed_of_integer(seed: int) -> Any:
    """A Python integer as a scalar; without 64-bit types its low 32 bits count."""
    if config.current().enable_x64:
        if not -(1 << 63) <= seed < 1 << 64:
            raise OverflowError(f"Python int {seed} too large to convert to a 64-bit seed.")
        return np.int64(seed if seed < 1 << 63 else seed - (1 << 64))
    if not -(1 << 63) <= seed < 1 << 64:
        raise OverflowError(f"Python int {seed} too large to convert to a seed.")
    low = seed & 0xFFFFFFFF
    return np.int32(low - (1 << 32) if low >= 1 << 31 else low)


def wrap_key_data(data: Any, *, impl: Any = None) -> Any:
    """Keys whose words are the last axis of a uint32 array."""
    return ops.random_wrap(data, impl=tag_of(impl))


def key_data(keys: Any) -> Any:
    """The words of keys, along a new last axis of a uint32 array."""
    return ops.random_unwrap(typed(keys, "key_data")[0])


def key_impl(keys: Any) -> str:
    """The name of the kind of a key."""
    typed(keys, "key_impl")
    return "threefry2x32"


def typed(keys: Any, function: str, batched: bool = True) -> tuple[Any, bool]:
    """Keys as a typed array, and whether they were that; TypeError for anything else."""
    if not is_array_like(keys) or isinstance(keys, int | float | complex):
        raise TypeError(
            f"{function} needs a random key, made by jax.random.key(seed); got {keys!r}."
        )
    aval = aval_of(keys)
    if dtypes.is_key(aval.dtype):
        found, was_typed = keys, True
    elif aval.dtype == dtypes.uint32 and aval.shape[-1:] == (2,):
        found, was_typed = ops.random_wrap(keys, impl="fry"), False
    else:
        raise TypeError(
            f"{function} needs a random key: a key array, or uint32 words of shape (..., 2); got "
            f"{aval}. Make one with jax.random.key(seed)."
        )
    if not batched and np.shape(found):
        raise ValueError(
            f"{function} accepts a single key, but was given a key array of shape "
            f"{np.shape(found)} != (). Use jax.vmap for batching."
        )
    return found, was_typed


def split(key: Any, num: int | Sequence[int] = 2) -> Any:
    """`num` new keys (an array of that shape), independent of each other and of the old one."""
    found, was_typed = typed(key, "split", batched=False)
    shape = (int(num),) if not isinstance(num, tuple | list) else tuple(map(int, num))
    made = ops.random_split(found, shape=shape, partitionable=is_partitionable())
    return made if was_typed else ops.random_unwrap(made)


def fold_in(key: Any, data: Any) -> Any:
    """The key that a key and an integer give: another one for each integer."""
    found, was_typed = typed(key, "fold_in", batched=False)
    if np.ndim(data):
        raise TypeError(
            f"fold_in accepts a scalar, but was given an array of shape {np.shape(data)} != (). Use "
            f"jax.vmap for batching."
        )
    made = ops.random_fold_in(found, word(data))
    return made if was_typed else ops.random_unwrap(made)


def word(data: Any) -> Any:
    """An integer as a uint32 scalar, modulo 2**32."""
    if isinstance(data, int | np.integer) and not isinstance(data, Tracer):
        return np.uint32(int(data) & 0xFFFFFFFF)
    return convert(data, dtypes.uint32)


def clone(key: Any) -> Any:
    """The same key, as one that has not been used."""
    found, was_typed = typed(key, "clone")
    made = ops.random_clone(found)
    return made if was_typed else ops.random_unwrap(made)


def is_partitionable() -> bool:
    return config.current().threefry_partitionable


def random_bits(key: Any, bit_width: int, shape: tuple[int, ...]) -> Any:
    """Unsigned integers of random bits from one typed key."""
    return ops.random_bits(
        key, bit_width=bit_width, shape=shape, partitionable=is_partitionable()
    )


def bits(key: Any, shape: Sequence[int] = (), dtype: Any = None) -> Any:
    """Random bits as unsigned integers of a dtype (uint32 by default)."""
    found, _ = typed(key, "bits", batched=False)
    asked = np.uint64 if dtype is None else dtype
    chosen = dtypes.canonicalize(dtypes.dtype(asked), config.current().enable_x64)
    if dtype is not None and not dtypes.is_unsigned_integer(dtypes.dtype(dtype)):
        raise ValueError(f"dtype argument to `bits` must be an unsigned int dtype, got {dtype}")
    return random_bits(found, 8 * chosen.itemsize, canonical_shape(shape))


def canonical_shape(shape: Any) -> tuple[int, ...]:
    """A shape given as an integer or a sequence of them."""
    if isinstance(shape, int | np.integer):
        return (int(shape),)
    try:
        return tuple(n.__index__() for n in shape)
    except (TypeError, AttributeError):
        raise TypeError(
            f"Shapes must be sequences of integers, got {shape!r}. Shapes must be known when a "
            f"function is traced."
        ) from None


def element_count(shape: Sequence[int]) -> int:
    return math.prod(shape)

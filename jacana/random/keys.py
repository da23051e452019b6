"""Random keys: made from seeds, split and folded; typed keys and raw uint32 ones."""

import operator
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from jacana import ops
from jacana.core import config, dtypes
from jacana.core.values import aval_of, is_array_like
from jacana.numpy.promotion import convert

IMPLEMENTATIONS = {"threefry2x32": "fry", "fry": "fry"}


def tag_of(impl: Any) -> str:
    """The short name of a kind of key; only threefry2x32 is there."""
    name = config.current().default_prng_impl if impl is None else getattr(impl, "name", impl)
    if isinstance(impl, dtypes.KeyDType):
        return impl.tag
    if name in IMPLEMENTATIONS:
        return IMPLEMENTATIONS[name]
    if name in ("rbg", "unsafe_rbg"):
        raise NotImplementedError(f"keys of kind {name!r} are not there yet; use 'threefry2x32'.")
    raise ValueError(f'unrecognized PRNG implementation "{name}". Known: "threefry2x32".')


def key(seed: Any, *, impl: Any = None, dtype: Any = None) -> Any:
    """A random key, of shape (), made from an integer seed.

    Without 64-bit types the low 32 bits of the seed count. TypeError for seeds that are not
    integer scalars.

    >>> key(0)
    Array((), dtype=key<fry>) overlaying:
    [0 0]
    """
    return ops.random_seed(seed_operand(seed, "key"), impl=tag_of(dtype if impl is None else impl))


def PRNGKey(seed: Any, *, impl: Any = None) -> Any:
    """A key in the old style: its two words as a uint32 array of shape (2,)."""
    found = ops.random_seed(seed_operand(seed, "PRNGKey"), impl=tag_of(impl))
    return found if config.current().enable_custom_prng else ops.random_unwrap(found)


def key_dtype(impl_spec: Any = None) -> Any:
    """The dtype of keys of a kind."""
    return dtypes.KeyDType(tag_of(impl_spec))


def seed_operand(seed: Any, function: str) -> Any:
    """The integer scalar that a key is made from: the seed and the configured offset."""
    offset = config.current().random_seed_offset
    if isinstance(seed, int):
        return seed_of_integer(int(seed) + offset)
    if not is_array_like(seed):
        raise TypeError(f"PRNG key seed must be an integer; got {seed!r}")
    aval = aval_of(seed)
    if dtypes.is_key(aval.dtype):
        raise TypeError(
            f"{function} accepts a scalar seed, but was given a PRNG key. Use the key as it is."
        )
    if aval.shape:
        raise TypeError(
            f"{function} accepts a scalar seed, but was given an array of shape {aval.shape} "
            f"!= (). Use jax.vmap for batching"
        )
    if not dtypes.is_integer(aval.dtype):
        raise TypeError(f"PRNG key seed must be an integer; got {seed!r}")
    return seed + aval.dtype.type(offset) if offset else seed


def seed_of_integer(seed: int) -> Any:
    """A Python integer as a scalar; without 64-bit types its low 32 bits count."""
    if not -(1 << 63) <= seed < 1 << 63:
        raise OverflowError(f"Python int {seed} too large to convert to a 64-bit seed.")
    if config.current().enable_x64:
        return np.int64(seed)
    low = seed & 0xFFFFFFFF
    return np.int32(low - (1 << 32) if low >= 1 << 31 else low)


def wrap_key_data(key_bits_array: Any, *, impl: Any = None, dtype: Any = None) -> Any:
    """Keys whose words are the last axis of a uint32 array of shape (..., 2)."""
    check_words(key_bits_array)
    return ops.random_wrap(key_bits_array, impl=tag_of(dtype if impl is None else impl))


def key_data(keys: Any) -> Any:
    """The words of keys, along a new last axis of a uint32 array."""
    return keys if is_raw(keys, "key_data") else ops.random_unwrap(keys)


def key_impl(keys: Any) -> str:
    """The name of the kind of a key."""
    is_raw(keys, "key_impl")
    return "threefry2x32"


def is_raw(keys: Any, function: str) -> bool:
    """Whether keys are uint32 words rather than typed; TypeError for what is neither."""
    if not is_array_like(keys):
        raise TypeError(f"unexpected PRNG key type {type(keys)}: {function} needs a random key.")
    if dtypes.is_key(aval_of(keys).dtype):
        return False
    check_words(keys)
    check_raw_is_allowed(function)
    return True


def check_raw_is_allowed(function: str) -> None:
    """Raise or warn where the option jax_legacy_prng_key says so."""
    allowed = config.current().legacy_prng_key
    if allowed == "allow":
        return
    message = (
        f"Legacy uint32 key array passed as key to jax.random.{function}. Make keys with "
        f"jax.random.key(seed), or set jax_legacy_prng_key='allow'."
    )
    if allowed == "error":
        raise ValueError(message)
    warnings.warn(message, stacklevel=4)


def check_words(words: Any) -> None:
    """Raise TypeError unless these are words of keys: uint32, two along the last axis."""
    if not is_array_like(words) or isinstance(words, int | float | complex):
        found = f"expected an array of words; got {words!r}"
    elif aval_of(words).dtype != dtypes.uint32:
        found = f"expected key_data.dtype = uint32; got dtype={dtypes.name(aval_of(words).dtype)}"
    elif np.shape(words)[-1:] != (2,):
        found = f"expected key_data.shape to end with (2,); got shape={np.shape(words)}"
    else:
        return
    raise TypeError(f"invalid PRNG key data: {found}. Make a key with jax.random.key(seed).")


def check_key(key: Any, function: str) -> None:
    """Raise unless this is one key, typed or raw."""
    shape = np.shape(key)[:-1] if is_raw(key, function) else np.shape(key)
    if shape:
        raise ValueError(
            f"{function} accepts a single key, but was given a key array of shape "
            f"{np.shape(key)} != (). "
            f"Use jax.vmap for batching."
        )


def as_keys(keys: Any) -> Any:
    """Typed keys, of typed or raw ones."""
    return keys if dtypes.is_key(aval_of(keys).dtype) else ops.random_wrap(keys, impl="fry")


def like(made: Any, key: Any) -> Any:
    """New keys, typed or raw as the key they come from."""
    return made if dtypes.is_key(aval_of(key).dtype) else ops.random_unwrap(made)


def split(key: Any, num: int | Sequence[int] = 2) -> Any:
    """`num` new keys (an array of that shape), independent of each other and of the old one.

    The old key must not be used again. ValueError for an array of keys: use vmap.

    >>> split(key(0), 3).shape
    (3,)
    """
    check_key(key, "split")
    shape = (
        tuple([operator.index(n) for n in num]) if isinstance(num, Sequence)
        else (operator.index(num),)
    )  # fmt: skip
    return like(split_of(as_keys(key), shape), key)


def split_of(key: Any, shape: tuple[int, ...]) -> Any:
    return ops.random_split(key, shape=shape, partitionable=is_partitionable())


def pair_of(key: Any) -> tuple[Any, Any]:
    """Two new keys."""
    keys = split_of(key, (2,))
    return keys[0], keys[1]


def fold_in(key: Any, data: Any) -> Any:
    """The key that a key and an integer below 2**32 give: another one for each integer."""
    check_key(key, "fold_in")
    if np.ndim(data):
        raise TypeError(
            f"fold_in accepts a scalar, but was given an array of shape {np.shape(data)} != (). "
            f"Use jax.vmap for batching."
        )
    return like(ops.random_fold_in(as_keys(key), word(data)), key)


def word(data: Any) -> Any:
    """An integer as a uint32 scalar; Python integers must be in range, arrays wrap."""
    if isinstance(data, int):
        if not 0 <= data < 1 << 32:
            raise OverflowError(f"Python integer {data} out of bounds for uint32")
        return np.uint32(data)
    return convert(data, dtypes.uint32)


def clone(key: Any) -> Any:
    """The same key, as one that has not been used."""
    is_raw(key, "clone")
    return like(ops.random_clone(as_keys(key)), key)


def is_partitionable() -> bool:
    return config.current().threefry_partitionable


def bits_of(key: Any, bit_width: int, shape: tuple[int, ...]) -> Any:
    """Unsigned integers of random bits from one typed key."""
    return ops.random_bits(key, bit_width=bit_width, shape=shape, partitionable=is_partitionable())

"""Random bits: the threefry2x32 hash, and keys that count through it as JAX's do.

A key is one uint64 whose low half is its first word. Element n of what a key gives hashes n.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from jacana.core import config, dtypes
from jacana.core.avals import ShapedArray
from jacana.core.primitive import Primitive
from jacana.kernel.expr import Expr
from jacana.ops.families import (
    align_batch,
    move_axis,
    not_differentiable,
    not_linear,
    spread_axis,
)
from jacana.ops.indexing import join_index
from jacana.ops.lowering import Build, Tensor, Value
from jacana.ops.params import WithDefaults

Shape = tuple[int, ...]

ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
PARITY = 0x1BD11BDA
WORD = 0xFFFFFFFF


def threefry(key: Sequence[Any], count: Sequence[Any]) -> tuple[Any, Any]:
    """The hash of two words under a key of two words: NumPy arrays or expressions of uint32."""
    schedule = (key[0], key[1], key[0] ^ key[1] ^ PARITY)
    x, y = count[0] + schedule[0], count[1] + schedule[1]
    for i in range(5):
        for r in ROTATIONS[i % 2]:
            x = x + y
            y = ((y << r) | (y >> (32 - r))) ^ x
        x = x + schedule[(i + 1) % 3]
        y = y + schedule[(i + 2) % 3] + (i + 1)
    return x, y


def threefry_arrays(key: Sequence[Any], count: Sequence[Any]) -> tuple[np.ndarray, np.ndarray]:
    """`threefry` on NumPy arrays that broadcast."""
    words = [np.asarray(v, np.uint32) for v in (*key, *count)]
    with np.errstate(over="ignore"):
        x, y = threefry(words[:2], words[2:])
    return np.asarray(x), np.asarray(y)


def words_of(keys: Any) -> tuple[np.ndarray, np.ndarray]:
    """The two words of keys stored as uint64."""
    keys = np.asarray(keys, np.uint64)
    return (keys & np.uint64(WORD)).astype(np.uint32), (keys >> np.uint64(32)).astype(np.uint32)


def key_of(first: Any, second: Any) -> np.ndarray:
    """Keys stored as uint64, of their words."""
    high = np.asarray(second).astype(np.uint64) << np.uint64(32)
    return np.asarray(first).astype(np.uint64) | high


def word_expressions(key: Any) -> tuple[Expr, Expr]:
    return key.convert("uint32"), (key >> 32).convert("uint32")


def key_expression(first: Any, second: Any) -> Expr:
    return first.convert("uint64") | (second.convert("uint64") << 32)  # type: ignore[no-any-return]


class Threefry2x32(Primitive):
    """The hash of the words x, y under the key k, l; operands of rank 0 serve every element."""

    name = "threefry2x32"
    multiple_results = True
    jvp = not_differentiable
    transpose = not_linear

    def type_rule(self, *xs: ShapedArray) -> tuple[ShapedArray, ShapedArray]:
        if len(xs) != 4 or any(x.dtype != dtypes.uint32 for x in xs):
            raise TypeError(
                f"threefry2x32 needs four operands of dtype uint32, got {', '.join(map(str, xs))}."
            )
        shape = joint_shape(self.name, xs)
        return ShapedArray(shape, dtypes.uint32), ShapedArray(shape, dtypes.uint32)

    def reference(self, *xs: Any) -> list[Any]:
        shape = np.broadcast_shapes(*map(np.shape, xs))
        made = threefry_arrays(xs[:2], xs[2:])
        return [np.broadcast_to(v, shape).copy() for v in made]

    def batch(
        self, size: int, operands: Sequence[Any], axes: Sequence[int | None]
    ) -> tuple[list[Any], list[int]]:
        return list(self(*align_elementwise(size, operands, axes))), [0, 0]

    def lower(self, build: Build, *xs: Tensor) -> list[Tensor]:
        def part(k: int) -> Tensor:
            return build.elementwise(
                lambda *v: threefry(v[:2], v[2:])[k], xs, dtypes.uint32
            )  # fmt: skip

        return [part(0), part(1)]


def joint_shape(name: str, xs: Sequence[ShapedArray]) -> Shape:
    """The shape of all operands but those of rank 0."""
    shapes = {x.shape for x in xs if x.shape}
    if len(shapes) > 1:
        raise TypeError(
            f"{name} got incompatible shapes for broadcasting: {', '.join(map(str, xs))}. Shapes "
            f"must be equal; broadcast first."
        )
    return next(iter(shapes), ())


def align_elementwise(size: int, operands: Sequence[Any], axes: Sequence[int | None]) -> list[Any]:
    """Operands with their batch axis in front, all of one shape."""
    ranks = [np.ndim(x) - (a is not None) for x, a in zip(operands, axes)]
    if len({r for r, a in zip(ranks, axes) if a is not None} | {max(ranks)}) == 1:
        return [
            x if a is None and r == 0 else align_batch(size, [x], [a])[0]
            for x, a, r in zip(operands, axes, ranks)
        ]
    aligned = align_batch(size, operands, axes)
    shape = next(np.shape(x) for x, r in zip(aligned, ranks) if r == max(ranks))
    return [_spread_rest(x, shape) for x in aligned]


def _spread_rest(x: Any, shape: Shape) -> Any:
    for n in reversed(shape[np.ndim(x) :]):
        x = move_axis(spread_axis(x, n), 0, 1)
    return x


class RandomKeys(WithDefaults):
    """A primitive over keys: no derivative, batched over the leading axes of the keys."""

    jvp: Any = not_differentiable
    transpose: Any = not_linear

    def check_keys(self, keys: ShapedArray) -> None:
        if not dtypes.is_key(keys.dtype):
            raise TypeError(
                f"{self.name} needs random keys, got {keys}. jax.random.key makes them, and "
                f"jax.random.wrap_key_data of their words."
            )

    def batch(
        self, size: int, operands: Sequence[Any], axes: Sequence[int | None], **params: Any
    ) -> tuple[Any, int]:
        return self(align_batch(size, operands, axes)[0], **params), 0


class RandomSeed(RandomKeys):
    """The key of an integer: its upper 32 bits, if it has them, and its lower ones."""

    name = "random_seed"
    defaults = {"impl": "fry"}

    def type_rule(self, seeds: ShapedArray, *, impl: str = "fry") -> ShapedArray:
        if not dtypes.is_integer(seeds.dtype):
            raise TypeError(f"PRNG key seed must be an integer; got {seeds}.")
        return ShapedArray(seeds.shape, dtypes.KeyDType(impl))

    def reference(self, seeds: Any, *, impl: str = "fry") -> Any:
        seeds = np.asarray(seeds)
        low = seeds.astype(np.uint32)
        if seeds.dtype.itemsize < 8:
            return key_of(np.zeros_like(low), low)
        return key_of((seeds.astype(np.uint64) >> np.uint64(32)).astype(np.uint32), low)

    def lower(self, build: Build, seeds: Tensor, *, impl: str = "fry") -> Tensor:
        def element(v: Any) -> Value:
            low = v.convert("uint32")
            if dtypes.bit_width(seeds.dtype) < 64:
                return key_expression(low.const(0), low)
            return key_expression((v.convert("uint64") >> 32).convert("uint32"), low)

        return build.elementwise(element, [seeds], dtypes.KeyDType(impl))


class RandomWrap(RandomKeys):
    """The keys whose words are the last axis of a uint32 array."""

    name = "random_wrap"
    defaults = {"impl": "fry"}

    def type_rule(self, words: ShapedArray, *, impl: str = "fry") -> ShapedArray:
        if words.dtype != dtypes.uint32 or words.shape[-1:] != (2,):
            raise TypeError(
                f"random_wrap needs uint32 words, two for each key along the last axis, got "
                f"{words}."
            )
        return ShapedArray(words.shape[:-1], dtypes.KeyDType(impl))

    def reference(self, words: Any, *, impl: str = "fry") -> Any:
        words = np.asarray(words)
        return key_of(words[..., 0], words[..., 1])

    def lower(self, build: Build, words: Tensor, *, impl: str = "fry") -> Tensor:
        def element(*i: Expr) -> Value:
            return key_expression(words[[*i, 0]], words[[*i, 1]])

        return build.compute(words.shape[:-1], dtypes.KeyDType(impl), element, [words])


class RandomUnwrap(RandomKeys):
    """The words of keys, along a new last axis."""

    name = "random_unwrap"

    def type_rule(self, keys: ShapedArray) -> ShapedArray:
        self.check_keys(keys)
        return ShapedArray((*keys.shape, 2), dtypes.uint32)

    def reference(self, keys: Any) -> Any:
        return np.stack(words_of(keys), -1)

    def lower(self, build: Build, keys: Tensor) -> Tensor:
        def element(*i: Expr) -> Value:
            first, second = word_expressions(keys[i[:-1]])
            return build.select(i[-1].eq(0), first, second)

        return build.compute((*keys.shape, 2), dtypes.uint32, element, [keys])


class RandomClone(RandomKeys):
    """The same keys."""

    name = "random_clone"

    def type_rule(self, keys: ShapedArray) -> ShapedArray:
        self.check_keys(keys)
        return keys

    def reference(self, keys: Any) -> Any:
        return np.array(keys)

    def lower(self, build: Build, keys: Tensor) -> Tensor:
        return keys


class RandomFoldIn(RandomKeys):
    """The key that a key and a uint32 give."""

    name = "random_fold_in"

    def type_rule(self, keys: ShapedArray, data: ShapedArray) -> ShapedArray:
        self.check_keys(keys)
        if data.dtype != dtypes.uint32:
            raise TypeError(f"random_fold_in needs data of dtype uint32, got {data}.")
        return ShapedArray(joint_shape(self.name, (keys, data)), keys.dtype)

    def reference(self, keys: Any, data: Any) -> Any:
        return key_of(*threefry_arrays(words_of(keys), (np.zeros_like(data), data)))

    def batch(
        self, size: int, operands: Sequence[Any], axes: Sequence[int | None], **params: Any
    ) -> tuple[Any, int]:
        return self(*align_elementwise(size, operands, axes)), 0

    def lower(self, build: Build, keys: Tensor, data: Tensor) -> Tensor:
        def element(key: Any, word: Any) -> Value:
            return key_expression(*threefry(word_expressions(key), (word.const(0), word)))

        return build.elementwise(element, [keys, data], keys.dtype)


class Counting(RandomKeys):
    """A primitive that hashes the positions in an array of `shape`, for each key.

    `partitionable` says how positions are counted; it is the configuration's where left out.
    """

    def __call__(self, *args: Any, **params: Any) -> Any:
        if "partitionable" not in params:
            params["partitionable"] = config.current().threefry_partitionable
        return super().__call__(*args, **params)

    def shown_params(self, params: dict[str, Any]) -> dict[str, Any]:
        return {k: v for k, v in params.items() if k != "partitionable"}


def paired_words(key: Sequence[Any], count: int) -> np.ndarray:
    """Words 0 .. count - 1 under a key, where word n hashes with the one half the way further."""
    padded = np.zeros(count + count % 2, np.uint32)
    padded[:count] = np.arange(count)
    halves = np.split(padded, 2)
    return np.concatenate(threefry_arrays(key, halves))[:count]


def paired_word(build: Build, key: Sequence[Expr], at: Expr, count: int) -> Expr:
    """Word `at` of `paired_words`."""
    half = (count + 1) // 2
    is_first = at < half
    first: Any = build.select(is_first, at, at - half)
    second = first + half
    if count % 2:
        second = build.select(second < count, second, build.index(0))
    x, y = threefry(key, (first.convert("uint32"), second.convert("uint32")))
    return build.select(is_first, x, y)  # type: ignore[return-value]


def split_position(at: Expr, size: int) -> tuple[Expr, Expr]:
    """The upper and lower word of a position below `size`."""
    low = at.convert("uint32")
    if size <= 1 << 32:
        return low.const(0), low
    return (at >> 32).convert("uint32"), low


def positions(shape: Shape) -> tuple[np.ndarray, np.ndarray]:
    """The upper and lower words of the row-major positions of an array of the shape."""
    at = np.arange(math.prod(shape), dtype=np.uint64).reshape(shape)
    return (at >> np.uint64(32)).astype(np.uint32), (at & np.uint64(WORD)).astype(np.uint32)


class RandomSplit(Counting):
    """New keys of `shape` for each key."""

    name = "random_split"

    def type_rule(self, keys: ShapedArray, *, shape: Shape, partitionable: bool) -> ShapedArray:
        self.check_keys(keys)
        return ShapedArray((*keys.shape, *shape), keys.dtype)

    def reference(self, keys: Any, *, shape: Shape, partitionable: bool) -> Any:
        out = np.empty((*np.shape(keys), *shape), np.uint64)
        for at in np.ndindex(np.shape(keys)):
            key = words_of(np.asarray(keys)[at])
            if partitionable:
                out[at] = key_of(*threefry_arrays(key, positions(shape)))
            else:
                words = paired_words(key, 2 * math.prod(shape)).reshape(*shape, 2)
                out[at] = key_of(words[..., 0], words[..., 1])
        return out

    def lower(self, build: Build, keys: Tensor, *, shape: Shape, partitionable: bool) -> Tensor:
        size = math.prod(shape)

        def element(*i: Expr) -> Value:
            key = word_expressions(keys[i[: keys.ndim]])
            at = join_index(build, i[keys.ndim :], shape)
            if partitionable:
                return key_expression(*threefry(key, split_position(at, size)))
            words = [paired_word(build, key, at * 2 + k, 2 * size) for k in (0, 1)]
            return key_expression(*words)

        return build.compute((*keys.shape, *shape), keys.dtype, element, [keys])


class RandomBits(Counting):
    """Unsigned integers of bit_width random bits, of `shape` for each key."""

    name = "random_bits"

    def type_rule(
        self, keys: ShapedArray, *, bit_width: int, shape: Shape, partitionable: bool
    ) -> ShapedArray:
        self.check_keys(keys)
        if bit_width not in (8, 16, 32, 64):
            raise TypeError(f"random_bits needs bit_width 8, 16, 32 or 64, got {bit_width}.")
        return ShapedArray((*keys.shape, *shape), np.dtype(f"uint{bit_width}"))

    def reference(
        self, keys: Any, *, bit_width: int, shape: Shape, partitionable: bool
    ) -> np.ndarray:
        dtype = np.dtype(f"uint{bit_width}")
        out = np.empty((*np.shape(keys), *shape), dtype)
        size = math.prod(shape)
        for at in np.ndindex(np.shape(keys)):
            key = words_of(np.asarray(keys)[at])
            if partitionable:
                x, y = threefry_arrays(key, positions(shape))
                out[at] = key_of(y, x) if bit_width == 64 else (x ^ y).astype(dtype)
                continue
            words = paired_words(key, -(-bit_width * size // 32))
            if bit_width == 64:
                made = key_of(words[size:], words[:size])
            else:
                made = words.astype("<u4").view(dtype)[:size]
            out[at] = made.reshape(shape)
        return out

    def lower(
        self, build: Build, keys: Tensor, *, bit_width: int, shape: Shape, partitionable: bool
    ) -> Tensor:
        size, type_ = math.prod(shape), f"uint{bit_width}"
        count = -(-bit_width * size // 32)
        if not partitionable and count > WORD:
            raise NotImplementedError("more than 2**32 words of random bits, not partitionable.")

        def element(*i: Expr) -> Value:
            key = word_expressions(keys[i[: keys.ndim]])
            at = join_index(build, i[keys.ndim :], shape)
            if partitionable:
                x, y = threefry(key, split_position(at, size))
                return key_expression(y, x) if bit_width == 64 else (x ^ y).convert(type_)
            if bit_width == 64:
                words = [paired_word(build, key, at + k, count) for k in (size, 0)]
                return key_expression(*words)
            parts = 32 // bit_width
            word = paired_word(build, key, at / parts, count)
            shift = (at % parts).convert("uint32") * bit_width
            return (word >> shift).convert(type_)

        return build.compute((*keys.shape, *shape), np.dtype(type_), element, [keys])


threefry2x32 = Threefry2x32()
random_seed = RandomSeed()
random_wrap = RandomWrap()
random_unwrap = RandomUnwrap()
random_clone = RandomClone()
random_fold_in = RandomFoldIn()
random_split = RandomSplit()
random_bits = RandomBits()

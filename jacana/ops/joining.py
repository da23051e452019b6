"""Joining: concatenate and pad, whose elements come from one of several places."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from jacana import ops
from jacana.core.avals import ShapedArray
from jacana.core.dimensions import Dimensions, merged
from jacana.core.primitive import Primitive
from jacana.kernel.build import Writer
from jacana.kernel.expr import Expr
from jacana.ops.families import align_batch, is_linear, spread_axis
from jacana.ops.indexing import all_of, clamp, select_if
from jacana.ops.lowering import Build, Index, Output, Tensor, Value
from jacana.ops.shape import full, zero_of, zeros

# Up to so many operands are joined by selecting among their elements, more by copying each.
SELECTED_OPERANDS = 8

Config = tuple[tuple[int, int, int], ...]


class Concatenate(Primitive):
    """The operands one after the other along `dimension`."""

    joins = True

    name = "concatenate"

    def type_rule(self, *xs: ShapedArray, dimension: int) -> ShapedArray:
        if not xs:
            raise TypeError("concatenate expects at least one operand, got 0.")
        first = xs[0]
        found = ", ".join(map(str, xs))
        if any(x.ndim != first.ndim for x in xs):
            raise TypeError(f"cannot concatenate arrays with different numbers of axes: {found}.")
        if not 0 <= dimension < first.ndim:
            raise TypeError(f"concatenate dimension {dimension} is not an axis of {first}.")
        rests = {x.shape[:dimension] + x.shape[dimension + 1 :] for x in xs}
        if len(rests) > 1:
            raise TypeError(
                f"cannot concatenate arrays with shapes that differ in dimensions other than the "
                f"one being concatenated: concatenating along dimension {dimension} for {found}."
            )
        if any(x.dtype != first.dtype for x in xs):
            raise TypeError(
                f"concatenate requires arguments to have the same dtypes, got {found}. Convert "
                f"some first, for example with astype."
            )
        extent = sum(x.shape[dimension] for x in xs)
        shape = (*first.shape[:dimension], extent, *first.shape[dimension + 1 :])
        return ShapedArray(shape, first.dtype, all(x.weak_type for x in xs))

    def reference(self, *xs: Any, dimension: int) -> Any:
        return np.concatenate(xs, dimension)

    def jvp(self, i: int, t: Any, out: Any, *xs: Any, dimension: int) -> Any:
        before = sum(np.shape(x)[dimension] for x in xs[:i])
        after = sum(np.shape(x)[dimension] for x in xs[i + 1 :])
        config = [(0, 0, 0)] * len(np.shape(out))
        config[dimension] = (before, after, 0)
        return ops.pad(t, zero_of(t), padding_config=tuple(config))

    def transpose(self, ct: Any, *xs: Any, dimension: int) -> list[Any]:
        cts: list[Any] = []
        start = 0
        shape = np.shape(ct)
        for x in xs:
            n = np.shape(x)[dimension]
            low, high = [0] * len(shape), list(shape)
            low[dimension], high[dimension] = start, start + n
            start += n
            cts.append(
                ops.slice(ct, start_indices=tuple(low), limit_indices=tuple(high), strides=None)
                if is_linear(x) else None
            )  # fmt: skip
        return cts

    def batch(
        self, size: int, operands: Sequence[Any], axes: Sequence[int | None], *, dimension: int
    ) -> tuple[Any, int]:
        return self(*align_batch(size, operands, axes), dimension=dimension + 1), 0

    def lower(self, build: Build, *xs: Tensor, dimension: int) -> Tensor:
        return joined(build, xs, dimension)

    def spec_rule(
        self, specs: Sequence[Dimensions], avals: Any, outs: Any, params: dict[str, Any]
    ) -> list[Dimensions]:
        return [merged(specs)]


def joined(build: Build, xs: Sequence[Tensor], dimension: int) -> Tensor:
    """The tensors one after the other along an axis."""
    filled = [x for x in xs if x.shape[dimension]] or list(xs[:1])
    if len(filled) == 1:
        return filled[0]
    starts = [int(s) for s in np.cumsum([0, *[x.shape[dimension] for x in filled]])]
    first = xs[0]
    shape = (*first.shape[:dimension], starts[-1], *first.shape[dimension + 1 :])
    if len(filled) > SELECTED_OPERANDS:
        return _copied(build, filled, starts, shape, dimension)

    def element(*i: Expr) -> Value:
        def at(k: int) -> Value:
            inside = clamp(i[dimension] - starts[k], 0, filled[k].shape[dimension] - 1)
            return filled[k][[*i[:dimension], inside, *i[dimension + 1 :]]]

        value = at(len(filled) - 1)
        for k in range(len(filled) - 2, -1, -1):
            value = build.select(i[dimension] < starts[k + 1], at(k), value)
        return value

    return build.compute(shape, first.dtype, element, filled)


def _copied(
    build: Build, xs: Sequence[Tensor], starts: Sequence[int], shape: Sequence[int], dimension: int
) -> Tensor:
    def body(writer: Writer, outs: Sequence[Output], ins: Sequence[Tensor]) -> None:
        def copy(x: Tensor, start: int, index: list[Expr]) -> None:
            axis = len(index)
            if axis == x.ndim:
                to = [i + start if d == dimension else i for d, i in enumerate(index)]
                outs[0].store(to, x[index])
                return
            kind = "vector" if axis == x.ndim - 1 else "serial"
            with writer.loop(build.index(x.shape[axis]), kind) as i:
                copy(x, start, [*index, i])

        for x, start in zip(ins, starts):
            copy(x, start, [])

    return build.loops([(shape, xs[0].dtype)], xs, body)[0]


class Pad(Primitive):
    """x with padding_value around and between its elements; negative edges cut elements off.

    padding_config has (before, after, between) for each axis.
    """

    joins = True

    name = "pad"

    def type_rule(
        self, x: ShapedArray, padding_value: ShapedArray, *, padding_config: Config
    ) -> ShapedArray:
        if x.dtype != padding_value.dtype:
            raise TypeError(
                f"pad operand and padding_value must have the same dtype, got {x} and "
                f"{padding_value}."
            )
        if padding_value.shape:
            raise TypeError(f"padding_value must be a scalar, got {padding_value}.")
        if len(padding_config) != x.ndim:
            raise ValueError(
                f"pad needs one (before, after, between) for each axis, got {padding_config} for "
                f"{x}."
            )
        if any(between < 0 for _, _, between in padding_config):
            raise ValueError(f"interior padding must not be negative, got {padding_config}.")
        shape = padded_shape(x.shape, padding_config)
        if any(n < 0 for n in shape):
            raise ValueError(
                f"pad cuts off more than there is: {x} with padding_config={padding_config} would "
                f"have shape {shape}."
            )
        return ShapedArray(shape, x.dtype, x.weak_type and padding_value.weak_type)

    def reference(self, x: Any, padding_value: Any, *, padding_config: Config) -> Any:
        x = np.asarray(x)
        out = np.full(padded_shape(x.shape, padding_config), padding_value, x.dtype)
        source, target = [], []
        for n, size, (before, _, between) in zip(x.shape, out.shape, padding_config):
            step = between + 1
            first = max(0, -(before // step))
            last = min(n, -((before - size) // step)) if size else first
            source.append(slice(first, max(first, last)))
            target.append(slice(before + first * step, max(before + last * step, 0), step))
        if x[tuple(source)].size:
            out[tuple(target)] = x[tuple(source)]
        return out

    def jvp(
        self, i: int, t: Any, out: Any, x: Any, padding_value: Any, *, padding_config: Config
    ) -> Any:
        operands = (t, zero_of(t)) if i == 0 else (zeros(np.shape(x), t.dtype), t)
        return self(*operands, padding_config=padding_config)

    def transpose(
        self, ct: Any, x: Any, padding_value: Any, *, padding_config: Config
    ) -> list[Any]:
        ct_x = ct_value = None
        if is_linear(x):
            ct_x = _unpad(ct, np.shape(x), padding_config)
        if is_linear(padding_value):
            # Summing where x is not: subtracting x's part from the whole would lose digits.
            shape = np.shape(ct)
            is_padding = padding_mask(np.shape(x), padding_config)
            outside = ops.select_n(is_padding, zeros(shape, ct.dtype), ct)
            ct_value = ops.reduce_sum(outside, axes=tuple(range(len(shape))))
        return [ct_x, ct_value]

    def batch(
        self, size: int, operands: Sequence[Any], axes: Sequence[int | None], *,
        padding_config: Config,
    ) -> tuple[Any, int]:  # fmt: skip
        value = operands[1]
        x = align_batch(size, operands[:1], axes[:1])[0]
        config = ((0, 0, 0), *padding_config)
        if axes[1] is None:
            return self(x, value, padding_config=config), 0
        padded = self(x, zero_of(x), padding_config=config)
        shape = np.shape(padded)
        is_padding = spread_axis(padding_mask(np.shape(x)[1:], padding_config), size)
        values = ops.broadcast_in_dim(value, shape=shape, broadcast_dimensions=(0,))
        return ops.select_n(is_padding, padded, values), 0

    def lower(
        self, build: Build, x: Tensor, padding_value: Tensor, *, padding_config: Config
    ) -> Tensor:
        shape = padded_shape(x.shape, padding_config)
        if 0 in x.shape:
            return build.compute(shape, x.dtype, lambda *i: padding_value[()], [padding_value])
        if all(before <= 0 and after <= 0 and not step for before, after, step in padding_config):

            def cut(*i: Expr) -> Index:
                return [k - config[0] for k, config in zip(i, padding_config)]

            return build.view(x, shape, cut)

        def element(*i: Expr) -> Value:
            index: list[Expr] = []
            inside: list[Expr] = []
            for k, n, (before, after, between) in zip(i, x.shape, padding_config):
                at, span = k - before, (n - 1) * (between + 1)
                if before > 0:
                    inside.append(at >= 0)
                if after > 0:
                    inside.append(at <= span)
                if before > 0 or after > 0:
                    at = clamp(at, 0, span)
                if between:
                    inside.append((at % (between + 1)).eq(0))
                index.append(at / (between + 1))
            made: Value = select_if(build, all_of(inside), x[index], padding_value[()])
            return made

        return build.compute(shape, x.dtype, element, [x, padding_value])


def padded_shape(shape: Sequence[int], config: Config) -> tuple[int, ...]:
    return tuple(
        before + after + (n + (n - 1) * between if n else 0)
        for n, (before, after, between) in zip(shape, config, strict=True)
    )


def padding_mask(shape: Sequence[int], config: Config) -> Any:
    """Where an array of the shape has padding after `pad`."""
    inside = full(shape, False, np.bool_)
    return ops.pad(inside, np.bool_(True), padding_config=config)


def _unpad(ct: Any, shape: Sequence[int], config: Config) -> Any:
    """The elements of ct at the places that `pad` moved x's elements to; 0 for those cut off."""
    undone = tuple((-before, -after, 0) for before, after, _ in config)
    if 0 in shape:
        return zeros(shape, ct.dtype)
    if any(before or after for before, after, _ in config):
        ct = ops.pad(ct, zero_of(ct), padding_config=undone)
    strides = tuple(between + 1 for _, _, between in config)
    if all(s == 1 for s in strides):
        return ct
    return ops.slice(
        ct, start_indices=(0,) * len(shape), limit_indices=np.shape(ct), strides=strides
    )


concatenate = Concatenate()
pad = Pad()

"""Cumulative operations: every prefix of an axis folded, in one pass along it."""

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np

from jacana import ops
from jacana.core import dtypes
from jacana.core.avals import ShapedArray
from jacana.kernel import math
from jacana.kernel.build import Writer
from jacana.kernel.expr import Expr
from jacana.ops.extremes import greater_of, lesser_of
from jacana.ops.families import FLOAT, NUMERIC, PLAIN, align_batch, is_linear, not_linear
from jacana.ops.indexing import nested_loops
from jacana.ops.lowering import Build, Output, Tensor, Value
from jacana.ops.params import WithDefaults
from jacana.ops.reduction import accumulation_dtype, check_kind
from jacana.ops.shape import full

# The element of the output before (None at the first) and those of the inputs, to the next one.
Step = Callable[[Any, Sequence[Any]], Value]


def sequential(
    build: Build, inputs: Sequence[Tensor], step: Step, axis: int, reverse: bool
) -> Tensor:
    """The tensor like inputs[0] whose elements follow from the one before along the axis."""
    shape, dtype = inputs[0].shape, inputs[0].dtype
    if 0 in shape:
        return inputs[0]
    outer, n, inner = shape[:axis], shape[axis], shape[axis + 1 :]
    in_register = all(k == 1 for k in inner) and not dtypes.is_complex(dtype)

    def at(k: Any) -> Any:
        return n - 1 - k if reverse else k

    def body(writer: Writer, outs: Sequence[Output], ins: Sequence[Tensor]) -> None:
        (out,) = outs

        def row(before: Sequence[Expr]) -> None:
            start = [*before, at(build.index(0)), *[build.index(0)] * len(inner)]
            state: Any = step(None, [x[start] for x in ins])
            out.store(start, state)

            def is_inside(carried: Sequence[Expr]) -> Expr:
                return carried[0] < build.index(n)

            def following(carried: Sequence[Expr]) -> list[Any]:
                k, state = carried
                index = [*before, at(k), *start[axis + 1 :]]
                made = step(state, [x[index] for x in ins])
                out.store(index, made)
                return [k + 1, made]

            if n > 1:
                writer.carry([build.index(1), state], is_inside, following)

        def rows(before: Sequence[Expr]) -> None:
            with nested_loops(writer, build, inner) as i:
                index = [*before, at(build.index(0)), *i]
                out.store(index, step(None, [x[index] for x in ins]))
            if n == 1:
                return
            with writer.loop(build.index(n - 1)) as k, nested_loops(writer, build, inner) as i:
                index = [*before, at(k + 1), *i]
                previous = out.load([*before, at(k), *i])
                out.store(index, step(previous, [x[index] for x in ins]))

        with nested_loops(writer, build, outer, grid=True, vector=False) as before:
            (row if in_register else rows)(before)

    return build.loops([(shape, dtype)], inputs, body)[0]


class Cumulative(WithDefaults):
    """Folds every prefix (with `reverse`: suffix) along `axis`. Subclasses write `combine`."""

    defaults = {"reverse": False}
    kinds: ClassVar[frozenset[str]] = NUMERIC
    ufunc: ClassVar[Any]

    def combine(self, build: Build, a: Any, b: Any) -> Value:
        raise NotImplementedError

    def type_rule(self, x: ShapedArray, *, axis: int, reverse: bool = False) -> ShapedArray:
        check_kind(self.name, x, self.kinds)
        if not 0 <= axis < x.ndim:
            raise ValueError(f"{self.name} needs an axis of its operand, got axis={axis} for {x}.")
        return x

    def reference(self, x: Any, *, axis: int, reverse: bool = False) -> Any:
        x = np.asarray(x)
        # NumPy folds no integers of 4 bits.
        narrow = dtypes.is_integer(x.dtype) and dtypes.bit_width(x.dtype) < 8
        wide = x.astype(np.int16 if narrow else accumulation_dtype(x.dtype))
        wide = np.flip(wide, axis) if reverse else wide
        made = self.ufunc.accumulate(wide, axis, dtype=wide.dtype).astype(x.dtype)
        return np.flip(made, axis).copy() if reverse else made

    def batch(
        self, size: int, operands: Sequence[Any], axes: Sequence[Any], *, axis: int,
        reverse: bool = False,
    ) -> tuple[Any, int]:  # fmt: skip
        a = axes[0]
        return self(operands[0], axis=axis + (axis >= a), reverse=reverse), a

    def lower(self, build: Build, x: Tensor, *, axis: int, reverse: bool = False) -> Tensor:
        narrow, wide = x.dtype, accumulation_dtype(x.dtype)
        if wide != narrow:
            x = build.elementwise(lambda v: build.convert(v, wide), [x], wide)

        def step(previous: Any, elements: Sequence[Any]) -> Value:
            if previous is None:
                return elements[0]  # type: ignore[no-any-return]
            return self.combine(build, previous, elements[0])

        made = sequential(build, [x], step, axis, reverse)
        if wide != narrow:
            return build.elementwise(lambda v: build.convert(v, narrow), [made], narrow)
        return made


def before(x: Any, axis: int, reverse: bool, first: Any) -> Any:
    """The element before each along the axis; `first` where there is none."""
    config = [(0, 0, 0)] * len(np.shape(x))
    config[axis] = (-1, 1, 0) if reverse else (1, -1, 0)
    return ops.pad(x, x.dtype.type(first), padding_config=tuple(config))


class Cumsum(Cumulative):
    """Sums of prefixes."""

    name = "cumsum"
    ufunc = np.add

    def jvp(self, i: int, t: Any, out: Any, x: Any, **params: Any) -> Any:
        return self(t, **params)

    def transpose(self, ct: Any, x: Any, *, axis: int, reverse: bool = False) -> list[Any]:
        return [self(ct, axis=axis, reverse=not reverse)]

    def combine(self, build: Build, a: Any, b: Any) -> Value:
        return a + b  # type: ignore[no-any-return]


class Cumprod(Cumulative):
    """Products of prefixes."""

    name = "cumprod"
    ufunc = np.multiply
    transpose = not_linear

    def jvp(self, i: int, t: Any, out: Any, x: Any, *, axis: int, reverse: bool = False) -> Any:
        # d(p x) = x dp + p dx
        added = ops.mul(before(out, axis, reverse, 1), t)
        return ops.linear_recurrence(x, added, axis=axis, reverse=reverse)

    def combine(self, build: Build, a: Any, b: Any) -> Value:
        return a * b  # type: ignore[no-any-return]


class CumulativeExtreme(Cumulative):
    """The extreme element of each prefix; nan wins."""

    kinds = PLAIN
    transpose = not_linear

    def is_better(self, a: Any, b: Any) -> Any:
        raise NotImplementedError

    def jvp(self, i: int, t: Any, out: Any, x: Any, *, axis: int, reverse: bool = False) -> Any:
        # Where an element ties with the extreme before it, both have half of the derivative.
        previous = before(out, axis, reverse, 0)
        half, one, zero = (full(np.shape(x), v, t.dtype) for v in (0.5, 1, 0))
        kept = ops.select_n(self.is_better(x, previous), one, zero)
        kept = ops.select_n(ops.eq(x, previous), kept, half)
        position = ops.iota(dtype=dtypes.int32, shape=np.shape(x), dimension=axis)
        first = full(np.shape(x), np.shape(x)[axis] - 1 if reverse else 0, np.int32)
        kept = ops.select_n(ops.eq(position, first), kept, zero)
        added = ops.mul(ops.sub(one, kept), t)
        return ops.linear_recurrence(kept, added, axis=axis, reverse=reverse)


class Cummax(CumulativeExtreme):
    """Maxima of prefixes."""

    name = "cummax"
    ufunc = np.maximum

    def is_better(self, a: Any, b: Any) -> Any:
        return ops.gt(a, b)

    def combine(self, build: Build, a: Any, b: Any) -> Value:
        return greater_of(build, a, b)


class Cummin(CumulativeExtreme):
    """Minima of prefixes."""

    name = "cummin"
    ufunc = np.minimum

    def is_better(self, a: Any, b: Any) -> Any:
        return ops.lt(a, b)

    def combine(self, build: Build, a: Any, b: Any) -> Value:
        return lesser_of(build, a, b)


class Cumlogsumexp(Cumulative):
    """log(sum(exp(x))) of prefixes."""

    name = "cumlogsumexp"
    kinds = FLOAT
    ufunc = np.logaddexp
    transpose = not_linear

    def jvp(self, i: int, t: Any, out: Any, x: Any, *, axis: int, reverse: bool = False) -> Any:
        kept = share_of(before(out, axis, reverse, -np.inf), out)
        added = ops.mul(share_of(x, out), t)
        return ops.linear_recurrence(kept, added, axis=axis, reverse=reverse)

    def combine(self, build: Build, a: Any, b: Any) -> Value:
        high, low = a.graph.op("max", a, b), a.graph.op("min", a, b)
        # Equal infinities have no difference.
        gap = build.select(low.eq(high), high.const(0), low - high)
        return high + math.log1p(math.exp(gap))  # type: ignore[no-any-return,arg-type]


def share_of(x: Any, total: Any) -> Any:
    """exp(x - total), for an infinite total its limit: 1 where x is +inf too, else 0."""
    shape, infinity = np.shape(total), total.dtype.type(np.inf)
    zero, infinities = full(shape, 0, total.dtype), full(shape, infinity, total.dtype)
    is_infinite = ops.eq(ops.abs(total), infinities)
    finite_x, finite_total = (ops.select_n(is_infinite, v, zero) for v in (x, total))
    share = ops.exp(ops.sub(finite_x, finite_total))
    limit = ops.select_n(ops.eq(x, infinities), zero, full(shape, 1, total.dtype))
    return ops.select_n(is_infinite, share, limit)


class LinearRecurrence(WithDefaults):
    """h[k] = a[k] h[k - 1] + b[k] along `axis`, with h[-1] = 0; with `reverse` from the end."""

    name = "linear_recurrence"
    defaults = {"reverse": False}

    def type_rule(
        self, a: ShapedArray, b: ShapedArray, *, axis: int, reverse: bool = False
    ) -> ShapedArray:
        if a.shape != b.shape or a.dtype != b.dtype or not 0 <= axis < b.ndim:
            raise TypeError(
                f"linear_recurrence needs two operands of one type and an axis of them, got {a}, "
                f"{b} and axis={axis}."
            )
        return ShapedArray(b.shape, b.dtype)

    def reference(self, a: Any, b: Any, *, axis: int, reverse: bool = False) -> Any:
        wide = accumulation_dtype(np.asarray(b).dtype)
        a_rows, b_rows = (np.moveaxis(np.asarray(v, wide), axis, 0) for v in (a, b))
        out = np.empty_like(b_rows)
        state = np.zeros(b_rows.shape[1:], wide)
        for k in range(len(b_rows))[:: -1 if reverse else 1]:
            state = a_rows[k] * state + b_rows[k]
            out[k] = state
        return np.moveaxis(out, 0, axis).astype(np.asarray(b).dtype)

    def jvp(
        self, i: int, t: Any, out: Any, a: Any, b: Any, *, axis: int, reverse: bool = False
    ) -> Any:
        added = ops.mul(t, before(out, axis, reverse, 0)) if i == 0 else t
        return self(a, added, axis=axis, reverse=reverse)

    def transpose(self, ct: Any, a: Any, b: Any, *, axis: int, reverse: bool = False) -> list[Any]:
        assert not is_linear(a)
        following = before(a, axis, not reverse, 0)
        return [None, self(following, ct, axis=axis, reverse=not reverse)]

    def batch(
        self, size: int, operands: Sequence[Any], axes: Sequence[int | None], *, axis: int,
        reverse: bool = False,
    ) -> tuple[Any, int]:  # fmt: skip
        return self(*align_batch(size, operands, axes), axis=axis + 1, reverse=reverse), 0

    def lower(
        self, build: Build, a: Tensor, b: Tensor, *, axis: int, reverse: bool = False
    ) -> Tensor:
        narrow, wide = b.dtype, accumulation_dtype(b.dtype)
        operands = [b, a]
        if wide != narrow:
            operands = [
                build.elementwise(lambda v: build.convert(v, wide), [x], wide) for x in operands
            ]

        def step(previous: Any, elements: Sequence[Any]) -> Value:
            added, factor = elements
            if previous is None:
                return added  # type: ignore[no-any-return]
            return factor * previous + added  # type: ignore[no-any-return]

        made = sequential(build, operands, step, axis, reverse)
        if wide != narrow:
            return build.elementwise(lambda v: build.convert(v, narrow), [made], narrow)
        return made


cumsum = Cumsum()
cumprod = Cumprod()
cummax = Cummax()
cummin = Cummin()
cumlogsumexp = Cumlogsumexp()
linear_recurrence = LinearRecurrence()

"""Windows: folds over a window that slides along an array, and derivatives of their extremes."""

from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np

from jacana import ops
from jacana.core import dtypes
from jacana.core.avals import ShapedArray
from jacana.kernel.build import Writer
from jacana.kernel.expr import Expr
from jacana.ops.extremes import greater_of, greatest, is_before, least, lesser_of
from jacana.ops.families import align_batch, is_linear, not_linear
from jacana.ops.indexing import all_of, clamp, nested_loops, select_if, split_index
from jacana.ops.lowering import Build, Output, Tensor, Value
from jacana.ops.params import WithDefaults
from jacana.ops.reduction import accumulation_dtype

Axes = tuple[int, ...]
Padding = tuple[tuple[int, int], ...]


class Windows(NamedTuple):
    """How windows lie on an array: window element w of window o is at o * stride + w * dilation
    - padding before, in an array whose elements are base_dilation apart.
    """

    dimensions: Axes
    strides: Axes
    padding: Padding
    base_dilation: Axes
    dilation: Axes

    @staticmethod
    def of(params: dict[str, Any]) -> "Windows":
        """The windows that a primitive's params describe; dilations may be left out."""
        ones = (1,) * len(params["window_dimensions"])
        return Windows(
            params["window_dimensions"], params["window_strides"], params["padding"],
            params.get("base_dilation") or ones, params.get("window_dilation") or ones,
        )  # fmt: skip

    def params(self) -> dict[str, Any]:
        return {
            "window_dimensions": self.dimensions, "window_strides": self.strides,
            "padding": self.padding, "base_dilation": self.base_dilation,
            "window_dilation": self.dilation,
        }  # fmt: skip

    def with_batch_axis(self) -> "Windows":
        one = (1,)
        return Windows(
            one + self.dimensions, one + self.strides, ((0, 0), *self.padding),
            one + self.base_dilation, one + self.dilation,
        )  # fmt: skip

    def counts(self, shape: Sequence[int]) -> Axes:
        """The number of windows along each axis of an array of the shape."""
        counts = []
        for n, size, stride, (low, high), base, dilation in zip(shape, *self, strict=True):
            extent = low + high + ((n - 1) * base + 1 if n else 0)
            reach = (size - 1) * dilation + 1 if size else 0
            counts.append((extent - reach) // stride + 1 if extent >= reach else 0)
        return tuple(counts)

    def position(
        self, shape: Sequence[int], window: Sequence[Expr], within: Sequence[Expr]
    ) -> tuple[list[Expr], Expr | None]:
        """The index of a window's element, clamped to the array, and when it is inside."""
        index: list[Expr] = []
        inside: list[Expr] = []
        counts = self.counts(shape)
        for o, w, count, n, size, stride, (low, _), base, dilation in zip(
            window, within, counts, shape, *self, strict=True
        ):
            at = o * stride + w * dilation - low
            span = (n - 1) * base
            last = (count - 1) * stride + (size - 1) * dilation - low
            if low > 0:
                inside.append(at >= 0)
            if last > span:
                inside.append(at <= span)
            if low > 0 or last > span:
                at = clamp(at, 0, span)
            if base > 1:
                inside.append((at % base).eq(0))
            index.append(at / base)
        return index, all_of(inside)

    def reference(self, x: np.ndarray, outside: Any) -> np.ndarray:
        """All windows' elements: [*windows, *window], `outside` where there is none."""
        counts = self.counts(x.shape)
        grid = np.indices((*counts, *self.dimensions))
        rank, inside, index = x.ndim, np.ones(grid.shape[1:], bool), []
        for a, (n, _, stride, (low, _), base, dilation) in enumerate(zip(x.shape, *self)):
            at = grid[a] * stride + grid[rank + a] * dilation - low
            inside &= (at >= 0) & (at <= (n - 1) * base) & (at % base == 0)
            index.append(np.clip(at // base, 0, max(n - 1, 0)))
        if x.size == 0:
            return np.full(grid.shape[1:], outside, x.dtype)
        if rank == 0:
            return x
        return np.where(inside, x[tuple(index)], np.asarray(outside).astype(x.dtype))


def check_windows(name: str, shape: Sequence[int], windows: Windows) -> None:
    if any(len(part) != len(shape) for part in windows):
        raise TypeError(
            f"{name} needs one window dimension, stride, padding and dilation for each of the "
            f"{len(shape)} axes of its operand, got {windows.params()}."
        )
    parts = (windows.dimensions, windows.strides, windows.base_dilation, windows.dilation)
    if any(k < 1 for part in parts for k in part):
        raise TypeError(
            f"{name} needs positive window dimensions, strides and dilations, got "
            f"{windows.params()}."
        )


def elements_in_windows(build: Build, x: Tensor, windows: Windows, outside: Any) -> Tensor:
    """The tensor [*windows, *window] of x's elements; `outside` where there is none."""
    shape = (*windows.counts(x.shape), *windows.dimensions)
    if 0 in x.shape:
        return build.compute(shape, x.dtype, lambda *i: build.const(outside, x.dtype))

    def element(*i: Expr) -> Value:
        index, inside = windows.position(x.shape, i[: x.ndim], i[x.ndim :])
        made: Value = select_if(build, inside, x[index], build.const(outside, x.dtype))
        return made

    return build.compute(shape, x.dtype, element, [x])


DILATIONS = {"base_dilation": None, "window_dilation": None}


class ReduceWindow(WithDefaults):
    """Folds each window. Subclasses write `combine`, its identity and the derivative."""

    defaults = DILATIONS
    ufunc: ClassVar[Any]

    def __call__(self, *args: Any, **params: Any) -> Any:
        return super().__call__(*args, **{**params, **Windows.of(params).params()})

    def combine(self, build: Build, a: Any, b: Any) -> Value:
        raise NotImplementedError

    def init(self, dtype: Any) -> Any:
        raise NotImplementedError

    def type_rule(self, x: ShapedArray, **params: Any) -> ShapedArray:
        windows = Windows.of(params)
        check_windows(self.name, x.shape, windows)
        return ShapedArray(windows.counts(x.shape), x.dtype, x.weak_type)

    def reference(self, x: Any, **params: Any) -> Any:
        x = np.asarray(x)
        found = Windows.of(params).reference(
            x.astype(accumulation_dtype(x.dtype)), self.init(x.dtype)
        )
        axes = tuple(range(x.ndim, 2 * x.ndim))
        return np.asarray(self.ufunc.reduce(found, axes, dtype=found.dtype)).astype(x.dtype)

    def batch(
        self, size: int, operands: Sequence[Any], axes: Sequence[int | None], **params: Any
    ) -> tuple[Any, int]:
        x = align_batch(size, operands, axes)[0]
        return self(x, **Windows.of(params).with_batch_axis().params()), 0

    def lower(self, build: Build, x: Tensor, **params: Any) -> Tensor:
        narrow, wide = x.dtype, accumulation_dtype(x.dtype)
        if wide != narrow:
            x = build.elementwise(lambda v: build.convert(v, wide), [x], wide)
        init = self.init(wide)
        found = elements_in_windows(build, x, Windows.of(params), init)
        axes = tuple(range(x.ndim, 2 * x.ndim))
        out = build.reduce([found], axes, lambda a, b: [self.combine(build, a[0], b[0])], [init])[0]
        if wide != narrow:
            return build.elementwise(lambda v: build.convert(v, narrow), [out], narrow)
        return out


class ReduceWindowSum(ReduceWindow):
    """The sum of each window; nothing is added for places outside."""

    name = "reduce_window_sum"
    ufunc = np.add

    def init(self, dtype: Any) -> Any:
        return 0

    def combine(self, build: Build, a: Any, b: Any) -> Value:
        return a + b  # type: ignore[no-any-return]

    def jvp(self, i: int, t: Any, out: Any, x: Any, **params: Any) -> Any:
        return self(t, **params)

    def transpose(self, ct: Any, x: Any, **params: Any) -> list[Any]:
        # Element p of x meets windows o and elements w with o stride + w dilation = p base + low:
        # a sum over windows of ct, whose elements are `stride` apart.
        w = Windows.of(params)
        padding = []
        for n, count, size, stride, (low, _), base, dilation in zip(x.shape, np.shape(ct), *w):
            reach = (size - 1) * dilation
            spread = (count - 1) * stride + 1 if count else 0
            before = reach - low
            padding.append((before, (n - 1) * base + reach + 1 - before - spread))
        if 0 in x.shape:
            return [ops.reshape(ct, new_sizes=x.shape)] if 0 in np.shape(ct) else [
                ops.broadcast_in_dim(ct.dtype.type(0), shape=x.shape, broadcast_dimensions=())
            ]  # fmt: skip
        back = Windows(w.dimensions, w.base_dilation, tuple(padding), w.strides, w.dilation)
        return [self(ct, **back.params())]


class ReduceWindowExtreme(ReduceWindow):
    """The extreme of each window; the derivative is that of the first such element."""

    transpose = not_linear
    largest: ClassVar[bool]

    def init(self, dtype: Any) -> Any:
        return least(dtype) if self.largest else greatest(dtype)

    def jvp(self, i: int, t: Any, out: Any, x: Any, **params: Any) -> Any:
        select = ops.ge if self.largest else ops.le
        return ops.select_and_gather_add(t, x, select_prim=select, **params)


class ReduceWindowMax(ReduceWindowExtreme):
    """The maximum of each window."""

    name = "reduce_window_max"
    ufunc = np.maximum
    largest = True

    def combine(self, build: Build, a: Any, b: Any) -> Value:
        return greater_of(build, a, b)


class ReduceWindowMin(ReduceWindowExtreme):
    """The minimum of each window."""

    name = "reduce_window_min"
    ufunc = np.minimum
    largest = False

    def combine(self, build: Build, a: Any, b: Any) -> Value:
        return lesser_of(build, a, b)


# --- the element of each window that select_prim (ge or le) prefers -----------------------------


def is_largest(select_prim: Any) -> bool:
    if select_prim.name not in ("ge", "gt", "le", "lt"):
        raise TypeError(f"windows select by ge or le, got select_prim={select_prim}.")
    return select_prim.name in ("ge", "gt")


def selected_reference(x: np.ndarray, windows: Windows, largest: bool) -> np.ndarray:
    """The row-major position in x of each window's selected element, -1 for none."""
    positions = np.arange(x.size).reshape(x.shape)
    rank = x.ndim
    counts = windows.counts(x.shape)
    places = windows.reference(positions, -1).reshape(*counts, -1)
    worst = -np.inf if largest else np.inf
    values = windows.reference(x.astype(np.float64), worst).reshape(*counts, -1)
    values = np.where(places < 0, worst, values)
    best = np.argmax(values, rank) if largest else np.argmin(values, rank)
    # A window of nothing but the worst value selects its first element inside.
    tied = np.take_along_axis(values, best[..., None], rank) == values
    nan = np.isnan(values)
    tied = np.where(nan.any(rank, keepdims=True), nan, tied)
    first = np.argmax(tied & (places >= 0), rank)
    return np.take_along_axis(places, first[..., None], rank)[..., 0]


def selected(build: Build, x: Tensor, windows: Windows, largest: bool) -> Tensor:
    """The row-major position in x of each window's selected element, -1 for none."""
    worst = least(x.dtype) if largest else greatest(x.dtype)
    found = elements_in_windows(build, x, windows, worst)
    counting = dtypes.int32 if int(np.prod(x.shape)) < 2**31 else dtypes.int64
    nowhere = int(np.iinfo(counting).max)

    def place(*i: Expr) -> Value:
        index, inside = windows.position(x.shape, i[: x.ndim], i[x.ndim :])
        at = build.index(0)
        for k, n in zip(index, x.shape):
            at = at * n + k
        return select_if(  # type: ignore[no-any-return]
            build, inside, build.convert(at, counting), build.const(nowhere, counting)
        )

    places = build.compute(found.shape, counting, place)

    def combine(a: Sequence[Any], b: Sequence[Any]) -> list[Value]:
        wins = is_before(a[0], b[0], largest, a[1] < b[1])
        return [build.select(wins, a[0], b[0]), build.select(wins, a[1], b[1])]

    axes = tuple(range(x.ndim, 2 * x.ndim))
    best = build.reduce([found, places], axes, combine, [worst, nowhere])[1]

    def found_place(v: Any) -> Value:
        return build.select(v.eq(nowhere), v.const(-1), v)

    return build.elementwise(found_place, [best], counting)


class SelectAndGatherAdd(WithDefaults):
    """For each window the tangent of the operand's element that select_prim prefers."""

    name = "select_and_gather_add"
    defaults = DILATIONS

    def __call__(self, *args: Any, **params: Any) -> Any:
        return super().__call__(*args, **{**params, **Windows.of(params).params()})

    def type_rule(
        self, tangents: ShapedArray, x: ShapedArray, *, select_prim: Any, **params: Any
    ) -> ShapedArray:
        windows = Windows.of(params)
        check_windows(self.name, x.shape, windows)
        is_largest(select_prim)
        if tangents.shape != x.shape:
            raise TypeError(f"{self.name} needs operands of one shape, got {tangents} and {x}.")
        return ShapedArray(windows.counts(x.shape), tangents.dtype)

    def reference(self, tangents: Any, x: Any, *, select_prim: Any, **params: Any) -> Any:
        x, tangents = np.asarray(x), np.asarray(tangents)
        at = selected_reference(x, Windows.of(params), is_largest(select_prim))
        if x.size == 0:
            return np.zeros(at.shape, tangents.dtype)
        values = tangents.reshape(-1)[np.maximum(at, 0)]
        return np.where(at < 0, np.zeros((), tangents.dtype), values)

    def jvp(self, i: int, t: Any, out: Any, tangents: Any, x: Any, **params: Any) -> Any:
        # Which element is selected does not change.
        return self(t, x, **params) if i == 0 else None

    def transpose(self, ct: Any, tangents: Any, x: Any, **params: Any) -> list[Any]:
        return [ops.select_and_scatter_add(ct, x, **params), None]

    def batch(
        self, size: int, operands: Sequence[Any], axes: Sequence[int | None], *, select_prim: Any,
        **params: Any,
    ) -> tuple[Any, int]:  # fmt: skip
        windows = Windows.of(params).with_batch_axis()
        aligned = align_batch(size, operands, axes)
        return self(*aligned, select_prim=select_prim, **windows.params()), 0

    def lower(
        self, build: Build, tangents: Tensor, x: Tensor, *, select_prim: Any, **params: Any
    ) -> Tensor:
        windows = Windows.of(params)
        shape = windows.counts(x.shape)
        if 0 in x.shape:
            return build.compute(shape, tangents.dtype, lambda *i: build.const(0, tangents.dtype))
        at = selected(build, x, windows, is_largest(select_prim))

        def element(*i: Expr) -> Value:
            place: Any = at[i]
            where = clamp(place.convert("index"), 0, int(np.prod(x.shape)) - 1)
            value = tangents[split_index(where, x.shape)]
            return build.select(place < 0, build.const(0, tangents.dtype), value)

        return build.compute(shape, tangents.dtype, element, [at, tangents])


class SelectAndScatterAdd(WithDefaults):
    """Zeros like x with each window's source added to the element that select_prim prefers."""

    name = "select_and_scatter_add"
    defaults = DILATIONS

    def __call__(self, *args: Any, **params: Any) -> Any:
        return super().__call__(*args, **{**params, **Windows.of(params).params()})

    def shown_params(self, params: dict[str, Any]) -> dict[str, Any]:
        ones = {(1,) * len(params["window_dimensions"])}
        return {k: v for k, v in params.items() if k not in DILATIONS or v not in ones}

    def type_rule(
        self, source: ShapedArray, x: ShapedArray, *, select_prim: Any, **params: Any
    ) -> ShapedArray:
        windows = Windows.of(params)
        check_windows(self.name, x.shape, windows)
        is_largest(select_prim)
        if source.shape != windows.counts(x.shape):
            raise TypeError(
                f"{self.name} needs one source for each window, {windows.counts(x.shape)}, got "
                f"{source} for {x}."
            )
        return ShapedArray(x.shape, source.dtype)

    def reference(self, source: Any, x: Any, *, select_prim: Any, **params: Any) -> Any:
        x, source = np.asarray(x), np.asarray(source)
        at = selected_reference(x, Windows.of(params), is_largest(select_prim)).reshape(-1)
        out = np.zeros(x.size, source.dtype)
        for place, value in zip(at, source.reshape(-1)):
            if place >= 0:
                out[place] += value
        return out.reshape(x.shape)

    def jvp(self, i: int, t: Any, out: Any, source: Any, x: Any, **params: Any) -> Any:
        # Which element is selected does not change.
        return self(t, x, **params) if i == 0 else None

    def transpose(self, ct: Any, source: Any, x: Any, **params: Any) -> list[Any]:
        assert is_linear(source)
        return [ops.select_and_gather_add(ct, x, **params), None]

    def batch(
        self, size: int, operands: Sequence[Any], axes: Sequence[int | None], *, select_prim: Any,
        **params: Any,
    ) -> tuple[Any, int]:  # fmt: skip
        windows = Windows.of(params).with_batch_axis()
        aligned = align_batch(size, operands, axes)
        return self(*aligned, select_prim=select_prim, **windows.params()), 0

    def lower(
        self, build: Build, source: Tensor, x: Tensor, *, select_prim: Any, **params: Any
    ) -> Tensor:
        start = build.compute(x.shape, source.dtype, lambda *i: build.const(0, source.dtype))
        if 0 in x.shape or 0 in source.shape:
            return start
        at = selected(build, x, Windows.of(params), is_largest(select_prim))

        def body(writer: Writer, outs: Sequence[Output], ins: Sequence[Tensor]) -> None:
            with nested_loops(writer, build, source.shape, vector=False) as i:
                place: Any = ins[0][i]
                where = clamp(place.convert("index"), 0, int(np.prod(x.shape)) - 1)
                target = split_index(where, x.shape)
                with writer.when(place >= 0):
                    element: Any = outs[0].load(target)
                    outs[0].store(target, element + ins[1][i])

        return build.loops([(x.shape, source.dtype)], [at, source], body, {0: start})[0]


reduce_window_sum = ReduceWindowSum()
reduce_window_max = ReduceWindowMax()
reduce_window_min = ReduceWindowMin()
select_and_gather_add = SelectAndGatherAdd()
select_and_scatter_add = SelectAndScatterAdd()

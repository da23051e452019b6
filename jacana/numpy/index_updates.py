"""`x.at[index]`: what gives an array with some elements changed."""

from collections.abc import Callable
from typing import Any

import numpy as np

from jacana import ops
from jacana.api.eager import INDEX, STATIC, VALUE, eager
from jacana.core import dtypes
from jacana.core.trace import Tracer
from jacana.core.values import aval_of
from jacana.lax.control_flow import while_loop
from jacana.numpy.elementwise import (
    power,
    true_divide,
)
from jacana.numpy.index_plan import plan_index
from jacana.numpy.indexing import mode_of, read, update, with_axes_of_masks
from jacana.numpy.promotion import as_array, convert
from jacana.numpy.selection import where
from jacana.ops import GatherScatterMode
from jacana.ops.shape import full

_update = eager(update, STATIC, INDEX, STATIC, VALUE)


def _scattered(kind: str) -> Callable[..., Any]:
    return lambda x, index, values, **options: _update(x, index, kind, values, **options)


def _subtracted(x: Any, index: Any, values: Any, **options: Any) -> Any:
    return _update(x, index, "add", ops.neg(convert(values, x.dtype)), **options)


def _product(x: Any, index: Any, values: Any, options: dict[str, Any]) -> Any:
    """Ones of x's shape, and at the index the product of the values there."""
    values = as_array("at", values)
    return update(full(x.shape, 1, values.dtype), index, "mul", values, **options)


def _divided(x: Any, index: Any, values: Any, **options: Any) -> Any:
    return true_divide(x, convert(_product(x, index, values, options), x.dtype))


def _raised(x: Any, index: Any, values: Any, **options: Any) -> Any:
    return power(x, _product(x, index, values, options))


def _method(name: str, change: Callable[..., Any], meaning: str) -> Any:
    def method(
        self: "IndexUpdateRef",
        values: Any,
        *,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        mode: Any = None,
        out_sharding: Any = None,
        wrap_negative_indices: bool = True,
    ) -> Any:
        return change(
            self.array, self.index, values, mode=mode, indices_are_sorted=indices_are_sorted,
            unique_indices=unique_indices, wrap_negative_indices=wrap_negative_indices,
        )  # fmt: skip

    method.__name__, method.__qualname__ = name, f"IndexUpdateRef.{name}"
    method.__doc__ = f"{meaning}, as a new array; what is out of bounds is dropped by default."
    return method


class IndexUpdates:
    """`x.at`: `x.at[index]` names elements to update."""

    __slots__ = ("array",)

    def __init__(self, array: Any):
        self.array = array

    def __getitem__(self, index: Any) -> "IndexUpdateRef":
        return IndexUpdateRef(self.array, index)

    def __repr__(self) -> str:
        return f"_IndexUpdateHelper({self.array!r})"


class IndexUpdateRef:
    """`x.at[index]`: each method gives x with the named elements changed.

    Options: mode ("drop", the default for updates; "fill" for get; "clip", "promise_in_bounds",
    "wrap"), indices_are_sorted, unique_indices, wrap_negative_indices (False: negative indices are
    out of bounds).

    >>> jnp.zeros(3).at[jnp.array([0, 0, 2])].add(1)
    Array([2., 0., 1.], dtype=float32)
    """

    __slots__ = ("array", "index")

    def __init__(self, array: Any, index: Any):
        self.array, self.index = array, index

    def __repr__(self) -> str:
        return f"_IndexUpdateRef({self.array!r}, {self.index!r})"

    def get(
        self,
        *,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        mode: Any = None,
        fill_value: Any = None,
        out_sharding: Any = None,
        wrap_negative_indices: bool = True,
    ) -> Any:
        """x[index], with a choice of what places out of bounds give."""
        default = (
            GatherScatterMode.PROMISE_IN_BOUNDS if fill_value is None
            else GatherScatterMode.FILL_OR_DROP
        )  # fmt: skip
        x, index = with_axes_of_masks(self.array, self.index)
        plan = plan_index(index, x.shape, wrap_negative_indices)
        return read(x, plan, mode_of(mode, default), fill_value)

    set = _method("set", _scattered("set"), "x[index] = values")
    add = _method("add", _scattered("add"), "x[index] += values, for repeated indices too")
    multiply = mul = _method("multiply", _scattered("mul"), "x[index] *= values")
    min = _method("min", _scattered("min"), "x[index] = minimum(x[index], values)")
    max = _method("max", _scattered("max"), "x[index] = maximum(x[index], values)")
    subtract = sub = _method("subtract", _subtracted, "x[index] -= values")
    divide = _method("divide", _divided, "x[index] /= values")
    power = _method("power", _raised, "x[index] **= values")

    def apply(
        self,
        func: Callable[[Any], Any],
        *,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        mode: Any = None,
        wrap_negative_indices: bool = True,
    ) -> Any:
        """x[index] = func(x[index]) for an elementwise function, as often as an index occurs.

        >>> jnp.arange(3.0).at[jnp.array([1, 1, 2])].apply(lambda v: 10 * v)
        Array([  0., 100.,  20.], dtype=float32)
        """
        options = {"mode": mode, "wrap_negative_indices": wrap_negative_indices}
        x = self.array
        count = full(x.shape, 0, dtypes.int32)
        count = update(count, self.index, "add", np.int32(1), **options)
        step = _applied_below(func, count)
        if unique_indices or not _repeats(self.index):
            return step(np.int32(0), x)
        most = ops.reduce_max(count, axes=tuple(range(x.ndim)))
        if not isinstance(most, Tracer):
            for k in range(int(most)):
                x = step(np.int32(k), x)
            return x
        found = while_loop(
            lambda state: ops.lt(state[0], most),
            lambda state: (ops.add(state[0], np.int32(1)), step(*state)),
            (np.int32(0), x),
        )
        return found[1]


def _applied_below(func: Callable[[Any], Any], count: Any) -> Callable[[Any, Any], Any]:
    """The function of k and x that applies func where count is above k."""
    return lambda k, x: where(ops.gt(count, k), convert(func(x), x.dtype, aval_of(x).weak_type), x)


def _repeats(index: Any) -> bool:
    """Whether the index may name an element twice: numbers, slices and masks do not."""
    items = index if isinstance(index, tuple) else (index,)
    return any(np.ndim(i) > 0 and as_array("at", i).dtype != dtypes.bool_
               for i in items if i is not None and i is not Ellipsis and not isinstance(i, slice)
    )  # fmt: skip

"""What NumPy's ufuncs offer besides being called: reduce, accumulate, outer, at, reduceat."""

from collections.abc import Callable
from typing import Any

from jacana.numpy import elementwise, logic, reductions
from jacana.numpy.apply import vectorize
from jacana.numpy.indexing import get_item, update
from jacana.numpy.joining import concatenate, stack
from jacana.numpy.manipulation import expand_dims, moveaxis, reshape, unstack
from jacana.numpy.promotion import as_array, as_arrays, refuse_out


class ufunc:
    """A function of scalars that works elementwise on arrays which broadcast."""

    def __init__(
        self, func: Callable[..., Any], /, nin: int, nout: int, *, name: str | None = None,
        nargs: int | None = None, identity: Any = None,
    ):  # fmt: skip
        self._function = vectorize(func)
        self.nin, self.nout, self.identity = nin, nout, identity
        self.nargs = nargs if nargs is not None else nin + nout
        self.__name__: str = name or str(getattr(func, "__name__", "ufunc"))
        self.__doc__ = func.__doc__

    def __repr__(self) -> str:
        return f"<jnp.ufunc {self.__name__!r}>"

    def __call__(self, *args: Any, out: None = None, where: None = None) -> Any:
        refuse_out(self.__name__, out)
        if where is not None:
            raise NotImplementedError(f"where argument of {self}. Use jnp.where on the result.")
        if len(args) != self.nin:
            raise TypeError(f"{self} takes {self.nin} positional arguments, got {len(args)}.")
        return self._function(*args)

    def reduce(
        self, a: Any, axis: int | None = 0, dtype: Any = None, keepdims: bool = False
    ) -> Any:
        """The elements along an axis combined from the first to the last."""
        x = as_array(self.__name__, a)
        if axis is None:
            flat = fold(self, reshape(x, (x.size,)), 0, self.identity)
            return reshape(flat, (1,) * x.ndim) if keepdims else flat
        out = fold(self, x, axis, self.identity)
        return expand_dims(out, axis) if keepdims else out

    def accumulate(self, a: Any, axis: int = 0, dtype: Any = None) -> Any:
        """The elements up to each along an axis combined."""
        return accumulate(self, a, axis)

    def outer(self, a: Any, b: Any, /) -> Any:
        """The function of each element of one array with each of the other."""
        return outer_of(self, a, b)

    def at(self, a: Any, indices: Any, b: Any = None, /, *, inplace: bool = True) -> Any:
        """The array with the function applied at indices; inplace must be False."""
        return apply_at(self, a, indices, b, inplace)


def frompyfunc(func: Callable[..., Any], /, nin: int, nout: int, *, identity: Any = None) -> ufunc:
    """A ufunc from a function of scalars.

    >>> jnp.frompyfunc(lambda a, b: a + 2 * b, 2, 1)(jnp.arange(2), 1)
    Array([2, 3], dtype=int32)
    """
    return ufunc(func, nin, nout, identity=identity)


def fold(function: Callable[..., Any], x: Any, axis: int, identity: Any) -> Any:
    """The slices along an axis combined from the first to the last."""
    slices = unstack(x, axis=axis)
    if not slices:
        if identity is None:
            raise ValueError("zero-size array to a reduction which has no identity")
        return as_array("reduce", identity)
    total = slices[0]
    for part in slices[1:]:
        total = function(total, part)
    return total


def accumulate(function: Callable[..., Any], a: Any, axis: int) -> Any:
    """The slices up to each along an axis combined."""
    x = as_array("accumulate", a)
    if x.shape[axis] == 0:
        return x
    totals: list[Any] = []
    for part in unstack(x, axis=axis):
        totals.append(function(totals[-1], part) if totals else part)
    return stack(totals, axis)


def outer_of(function: Callable[..., Any], a: Any, b: Any) -> Any:
    """The function of each element of one array with each of the other."""
    x, y = as_arrays("outer", a, b)
    return function(reshape(x, (*x.shape, *(1,) * y.ndim)), y)


def apply_at(function: Callable[..., Any], a: Any, indices: Any, b: Any, inplace: bool) -> Any:
    """The array with the function applied to its elements at indices."""
    if inplace:
        raise NotImplementedError(
            "JAX arrays are immutable, must use inplace=False. at() gives a changed copy."
        )
    x = as_array("at", a)
    found = get_item(x, indices)
    return update(x, indices, "set", function(found) if b is None else function(found, b))


def reduce_at(function: Callable[..., Any], a: Any, indices: Any, axis: int = 0) -> Any:
    """The function's reductions over the stretches that begin at (concrete) indices."""
    x = moveaxis(as_array("reduceat", a), axis, 0)
    starts = [int(i) for i in indices]
    ends = [*starts[1:], x.shape[0]]
    parts = [
        expand_dims(fold(function, x[i : max(j, i + 1)], 0, None), 0) for i, j in zip(starts, ends)
    ]
    return moveaxis(concatenate(parts), 0, axis)


def _equip(
    function: Any, nin: int, identity: Any, reduction: Any = None, running: Any = None,
    update_kind: str | None = None,
) -> None:  # fmt: skip
    """Give a plain function the attributes of a ufunc."""

    def reduce(a: Any, axis: Any = 0, dtype: Any = None, **options: Any) -> Any:
        if reduction is not None:
            types = {} if dtype is None else {"dtype": dtype}
            return reduction(a, axis, **types, **options)
        x = as_array(function.__name__, a)
        if axis is None:
            return fold(function, reshape(x, (x.size,)), 0, identity)
        return fold(function, x, axis, identity)

    def accumulated(a: Any, axis: int = 0, dtype: Any = None) -> Any:
        return running(a, axis, dtype) if running is not None else accumulate(function, a, axis)

    def at(a: Any, indices: Any, b: Any = None, /, *, inplace: bool = True) -> Any:
        if update_kind is None or inplace:
            return apply_at(function, a, indices, b, inplace)
        return update(as_array(function.__name__, a), indices, update_kind, b)

    function.nin, function.nout, function.nargs = nin, 1, nin + 1
    function.identity = identity
    function.at = at
    if nin == 2:
        function.reduce, function.accumulate = reduce, accumulated
        function.outer = lambda a, b, /: outer_of(function, a, b)
        function.reduceat = lambda a, indices, axis=0: reduce_at(function, a, indices, axis)


_equip(elementwise.add, 2, 0, reductions.sum, reductions.cumsum, "add")
_equip(elementwise.multiply, 2, 1, reductions.prod, reductions.cumprod, "mul")
_equip(elementwise.maximum, 2, None, reductions.max, None, "max")
_equip(elementwise.minimum, 2, None, reductions.min, None, "min")
_equip(logic.logical_and, 2, True, reductions.all)
_equip(logic.logical_or, 2, False, reductions.any)
for _function, _identity in (
    (elementwise.subtract, None), (logic.logical_xor, False), (logic.bitwise_and, -1),
    (logic.bitwise_or, 0), (logic.bitwise_xor, 0), (elementwise.logaddexp, None),
    (elementwise.logaddexp2, None),
):  # fmt: skip
    _equip(_function, 2, _identity)
_equip(elementwise.negative, 1, None)

"""Operators and methods of arrays and tracers: `x + y`, `x.sum()`, `x[i]`, `x.at[i].set(v)`.

Importing this module installs them; it is one of the two hooks that run upwards.
"""
import sys
from collections.abc import Callable, Iterator
from typing import Any


from jacana.core.trace import Tracer
from jacana.core.values import is_array_like
from jacana.numpy import creation, elementwise, indexing, linalg, manipulation, reductions
from jacana.numpy import selection, sorting
from jacana.runtime.array import Array


def binary(function: Callable[..., Any]) -> Callable[..., Any]:
    def operator(x: Any, y: Any) -> Any:
        if not is_array_like(y):
            return NotImplemented
        return function(x, y)

    return operator


def reflected(function: Callable[..., Any]) -> Callable[..., Any]:
    def operator(x: Any, y: Any) -> Any:
        if not is_array_like(y):
            return NotImplemented
        return function(y, x)

    return operator


def iterate(x: Any) -> Iterator[Any]:
    """The rows of x."""
    if not x.shape:
        raise TypeError("iteration over a 0-d array")
    return iter(manipulation.unstack(x))


def set_item(x: Any, index: Any, value: Any) -> None:
    """In-place assignment is refused: arrays never change."""
    raise TypeError(
        f"JAX arrays are immutable and do not support in-place item assignment. Instead of "
        f"x[idx] = y, use x = x.at[idx].set(y): it gives a new array with the change. The array "
        f"here is {x.aval}."
    )


BINARY = {
    "add": elementwise.add, "sub": elementwise.subtract, "mul": elementwise.multiply,
    "truediv": elementwise.true_divide, "floordiv": elementwise.floor_divide,
    "mod": elementwise.remainder, "divmod": elementwise.divmod, "pow": elementwise.power,
    "matmul": linalg.matmul, "and": elementwise.bitwise_and, "or": elementwise.bitwise_or,
    "xor": elementwise.bitwise_xor, "lshift": elementwise.left_shift,
    "rshift": elementwise.right_shift,
}  # fmt: skip

COMPARISONS = {
    "eq": elementwise.equal, "ne": elementwise.not_equal, "lt": elementwise.less,
    "le": elementwise.less_equal, "gt": elementwise.greater, "ge": elementwise.greater_equal,
}  # fmt: skip

UNARY = {
    "neg": elementwise.negative, "pos": elementwise.positive, "abs": elementwise.absolute,
    "invert": elementwise.bitwise_not,
}  # fmt: skip

METHODS: dict[str, Any] = {
    "all": reductions.all, "any": reductions.any, "argmax": reductions.argmax,
    "argmin": reductions.argmin, "argsort": sorting.argsort, "astype": creation.astype,
    "clip": selection.clip, "conj": elementwise.conjugate, "conjugate": elementwise.conjugate,
    "copy": creation.copy, "cumprod": reductions.cumprod, "cumsum": reductions.cumsum,
    "diagonal": linalg.diagonal, "dot": linalg.dot, "flatten": manipulation.ravel,
    "max": reductions.max, "mean": reductions.mean, "min": reductions.min,
    "nonzero": take.nonzero, "prod": reductions.prod, "ptp": reductions.ptp,
    "ravel": manipulation.ravel, "repeat": manipulation.repeat, "reshape": manipulation.reshape_method,
    "round": elementwise.round, "sort": sorting.sort, "squeeze": manipulation.squeeze,
    "std": reductions.std, "sum": reductions.sum, "swapaxes": manipulation.swapaxes,
    "take": take.take, "trace": linalg.trace, "transpose": manipulation.transpose_method,
    "var": reductions.var, "view": creation.view, "searchsorted": sorting.searchsorted,
}  # fmt: skip


def install() -> None:
    """Give Array and Tracer the operators and methods."""
    for kind in (Array, Tracer):
        for name, function in BINARY.items():
            setattr(kind, f"__{name}__", binary(function))
            setattr(kind, f"__r{name}__", reflected(function))
        for name, function in COMPARISONS.items():
            setattr(kind, f"__{name}__", binary(function))
        for name, function in UNARY.items():
            setattr(kind, f"__{name}__", function)
        for name, function in METHODS.items():
            setattr(kind, name, function)
        setattr(kind, "__getitem__", indexing.get_item)
        setattr(kind, "__setitem__", set_item)
        setattr(kind, "__iter__", iterate)
        setattr(kind, "__round__", lambda x, decimals=0: elementwise.round(x, decimals))
        setattr(kind, "at", property(indexing.IndexUpdateHelper))
        setattr(kind, "real", property(elementwise.real))
        setattr(kind, "imag", property(elementwise.imag))
        setattr(kind, "T", property(manipulation.transpose))
        setattr(kind, "mT", property(manipulation.matrix_transpose))
        setattr(kind, "__array_namespace__", array_namespace)


def array_namespace(x: Any, *, api_version: str | None = None) -> Any:
    """The module of the Python array API standard for this array."""
    return sys.modules["jacana.numpy"]


install()


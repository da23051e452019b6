"""Operators and methods of arrays and tracers: `x + y`, `x.sum()`, `x[i]`, `x.at[i].set(v)`.

Importing this module installs them; it is one of the two hooks that run upwards.
"""

import sys
from collections.abc import Callable, Iterator
from typing import Any

from jacana import ops
from jacana.core import dtypes
from jacana.core.avals import ShapedArray
from jacana.core.primitive import Primitive
from jacana.core.trace import Tracer
from jacana.core.values import is_array_like
from jacana.numpy import (
    conditions,
    creation,
    elementwise,
    floats,
    indexing,
    manipulation,
    products,
    reductions,
    selection,
    sorting,
    take,
)
from jacana.numpy.joining import repeat
from jacana.runtime.array import Array

Function = Callable[..., Any]

# Types of operands, told without asking further.
KNOWN = frozenset((Array, int, float, bool, complex))


def binary(name: str, function: Function) -> Function:
    """`x op y`; lists and the like are left to their own operators, which refuse arrays."""
    direct = DIRECT.get(name)
    if direct is None:

        def operator(x: Any, y: Any) -> Any:
            known = type(y) in KNOWN or is_array_like(y)
            return function(x, y) if known else NotImplemented

        return operator

    primitive, excluded = direct
    # Pairs of types that the primitive takes as they are.
    simple: dict[tuple[ShapedArray, ShapedArray], bool] = {}

    def quick(x: Any, y: Any) -> Any:
        if type(y) is Array and type(x) is Array:
            pair = (x.aval, y.aval)
            found = simple.get(pair)
            if found is None:
                found = simple[pair] = pair[0] is pair[1] and _kind(pair[0]) not in excluded
            if found:
                return primitive(x, y)
            return function(x, y)
        known = type(y) in KNOWN or is_array_like(y)
        return function(x, y) if known else NotImplemented

    return quick


def _kind(aval: ShapedArray) -> str:
    return dtypes.kind(aval.dtype)


def reflected(function: Function) -> Function:
    """`y op x` where y is no array."""

    def operator(x: Any, y: Any) -> Any:
        known = type(y) in KNOWN or is_array_like(y)
        return function(y, x) if known else NotImplemented

    return operator


def comparison(name: str, function: Function) -> Function:
    """`x == y`; TypeError for lists, which would otherwise compare as unequal."""

    def operator(x: Any, y: Any) -> Any:
        if type(y) in KNOWN or is_array_like(y):
            return function(x, y)
        if isinstance(y, list | tuple):
            raise TypeError(
                f"unsupported operand type(s) for {name}: {type(x).__name__!r} and "
                f"{type(y).__name__!r}. Convert the list first with jnp.array."
            )
        return NotImplemented

    return operator


def iterate(x: Any) -> Iterator[Any]:
    """The rows of x."""
    if not x.shape:
        raise TypeError("iteration over a 0-d array")
    return iter(manipulation.unstack(x))


def contains(x: Any, value: Any) -> Any:
    """Whether any element equals the value."""
    return reductions.any(elementwise.equal(x, value))


def set_item(x: Any, index: Any, value: Any) -> None:
    """In-place assignment is refused: arrays never change."""
    raise TypeError(
        f"JAX arrays are immutable and do not support in-place item assignment. Instead of "
        f"x[idx] = y, use x = x.at[idx].set(y): it gives a new array with the change. The array "
        f"here is {x.aval}."
    )


def round_to(x: Any, ndigits: int | None = None) -> Any:
    """round(x), which is of integers, and round(x, digits)."""
    rounded = floats.round(x, ndigits or 0)
    if ndigits is not None or not dtypes.is_float(x.dtype):
        return rounded
    return creation.astype(rounded, int)


def array_namespace(x: Any, *, api_version: str | None = None) -> Any:
    """The module of the Python array API standard for this array."""
    if api_version not in (None, "2024.12", "2023.12"):
        raise ValueError(f"array API versions are 2023.12 and 2024.12, got {api_version!r}.")
    return sys.modules["jacana.numpy"]


def astype(self: Any, dtype: Any, copy: bool = False, device: Any = None) -> Any:
    """The array converted to a dtype."""
    return creation.astype(self, dtype, copy=copy)


def clip(self: Any, min: Any = None, max: Any = None) -> Any:
    """The array limited to [min, max]."""
    return selection.clip(self, min, max)


def copy(self: Any) -> Any:
    """A copy of the array."""
    return creation.copy(self)


def to_device(self: Any, device: Any, *, stream: Any = None) -> Any:
    """The array on a device: there is one."""
    return self


def byteswap(self: Any) -> Any:
    """The array with the bytes of each element in reversed order."""
    size = self.dtype.itemsize
    octets = creation.view(manipulation.expand_dims(self, self.ndim), "uint8")
    parts = manipulation.reshape(octets, (*self.shape, octets.size // max(self.size, 1)))
    if dtypes.is_complex(self.dtype):
        parts = manipulation.reshape(parts, (*self.shape, 2, size // 2))
    swapped = manipulation.reshape(manipulation.flip(parts, -1), (*self.shape, size))
    return manipulation.squeeze(creation.view(swapped, self.dtype), -1)


def compress(
    self: Any, condition: Any, axis: int | None = None, *, out: None = None,
    size: int | None = None, fill_value: Any = 0,
) -> Any:  # fmt: skip
    """The slices where a vector of conditions holds."""
    return take.compress(condition, self, axis, size=size)


# The primitive that an operator is for two arrays of one type, and the kinds that it is not for.
DIRECT: dict[str, tuple[Primitive, frozenset[str]]] = {
    "add": (ops.add, frozenset(("bool", "key"))),
    "sub": (ops.sub, frozenset(("bool", "key"))),
    "mul": (ops.mul, frozenset(("bool", "key"))),
    "truediv": (ops.div, frozenset(("bool", "int", "uint", "key"))),
}

BINARY: dict[str, Function] = {
    "add": elementwise.add, "sub": elementwise.subtract, "mul": elementwise.multiply,
    "truediv": elementwise.true_divide, "floordiv": elementwise.floor_divide,
    "mod": elementwise.remainder, "divmod": elementwise.divmod, "pow": elementwise.power,
    "matmul": products.matmul, "and": elementwise.bitwise_and, "or": elementwise.bitwise_or,
    "xor": elementwise.bitwise_xor, "lshift": elementwise.left_shift,
    "rshift": elementwise.right_shift,
}  # fmt: skip

COMPARISONS: dict[str, Function] = {
    "eq": elementwise.equal, "ne": elementwise.not_equal, "lt": elementwise.less,
    "le": elementwise.less_equal, "gt": elementwise.greater, "ge": elementwise.greater_equal,
}  # fmt: skip

SIGNS = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}

METHODS: dict[str, Function] = {
    "__neg__": elementwise.negative, "__pos__": elementwise.positive,
    "__abs__": elementwise.absolute, "__invert__": elementwise.bitwise_not,
    "__getitem__": indexing.get_item, "__setitem__": set_item, "__iter__": iterate,
    "__contains__": contains, "__round__": round_to, "__array_namespace__": array_namespace,
    "all": reductions.all, "any": reductions.any, "argmax": reductions.argmax,
    "argmin": reductions.argmin, "argpartition": sorting.argpartition, "argsort": sorting.argsort,
    "astype": astype, "byteswap": byteswap, "choose": conditions.choose, "clip": clip,
    "compress": compress, "conj": floats.conjugate, "conjugate": floats.conjugate, "copy": copy,
    "cumprod": reductions.cumprod, "cumsum": reductions.cumsum, "diagonal": products.diagonal,
    "dot": products.dot, "flatten": manipulation.ravel, "max": reductions.max,
    "mean": reductions.mean, "min": reductions.min, "nonzero": take.nonzero,
    "prod": reductions.prod, "ptp": reductions.ptp, "ravel": manipulation.ravel,
    "repeat": repeat, "reshape": manipulation.reshape_method, "round": floats.round,
    "searchsorted": sorting.searchsorted, "sort": sorting.sort, "squeeze": manipulation.squeeze,
    "std": reductions.std, "sum": reductions.sum, "swapaxes": manipulation.swapaxes,
    "take": take.take, "to_device": to_device, "trace": products.trace,
    "transpose": manipulation.transpose_method, "var": reductions.var, "view": creation.view,
}  # fmt: skip

PROPERTIES: dict[str, Function] = {
    "at": indexing.IndexUpdateHelper,
    "real": floats.real,
    "imag": floats.imag,
    "T": manipulation.transpose,
    "mT": manipulation.matrix_transpose,
    "flat": manipulation.ravel,
}


def install() -> None:
    """Give Array and Tracer the operators and methods."""
    for kind in (Array, Tracer):
        for name, function in BINARY.items():
            setattr(kind, f"__{name}__", binary(name, function))
            setattr(kind, f"__r{name}__", reflected(function))
        for name, function in COMPARISONS.items():
            setattr(kind, f"__{name}__", comparison(SIGNS[name], function))
        for name, function in METHODS.items():
            setattr(kind, name, function)
        for name, function in PROPERTIES.items():
            setattr(kind, name, property(function))


install()

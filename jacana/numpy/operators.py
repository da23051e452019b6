"""Operators and methods of arrays and tracers: `x + y`, `x.sum()`, `x[i]`, `x.at[i].set(v)`.

Importing this module installs them; it is one of the two hooks that run upwards.
"""

import sys
from collections.abc import Callable, Iterator
from typing import Any

from jacana import ops
from jacana.api.eager import INDEX, OPERAND, STATIC, eager
from jacana.api.placing import made_on
from jacana.core import dtypes
from jacana.core.avals import ShapedArray
from jacana.core.primitive import Primitive
from jacana.core.stage import JaxprTracer
from jacana.core.trace import Tracer, is_eager
from jacana.core.values import is_array_like
from jacana.numpy import (
    conditions,
    creation,
    elementwise,
    floats,
    index_updates,
    indexing,
    logic,
    manipulation,
    products,
    reductions,
    selection,
    sorting,
    take,
)
from jacana.numpy.joining import repeat
from jacana.numpy.promotion import Step, constant
from jacana.runtime.array import Array
from jacana.transforms.linearize import TapedTracer

Function = Callable[..., Any]

# Types of operands, told without asking further.
KNOWN = frozenset((Array, int, float, bool, complex))


def is_operand(value: Any) -> bool:
    """Whether an operator takes the value; others are left to their own operators."""
    return is_array_like(value) or hasattr(value, "__jax_array__")


def binary(name: str, function: Function, swapped: bool = False) -> Function:
    """`x op y`, or `y op x` if swapped; what is no array is left to its own operator."""
    apply: Function = (lambda x, y: function(y, x)) if swapped else function
    if name in DIRECT:
        return quick(apply, *DIRECT[name], swapped)

    def operator(x: Any, y: Any) -> Any:
        known = type(y) in KNOWN or is_operand(y)
        return apply(x, y) if known else NotImplemented

    return operator


def quick(
    function: Function, primitive: Primitive, excluded: frozenset[str], swapped: bool = False
) -> Function:
    """An operator that knows which operands its primitive takes as they are."""
    pairs: dict[tuple[ShapedArray, ShapedArray], bool] = {}
    scalars: dict[tuple[ShapedArray, type, Any], Array | None] = {}

    def operator(x: Any, y: Any) -> Any:
        if type(x) is Array:
            if type(y) is Array:
                pair = (x.aval, y.aval)
                found = pairs.get(pair)
                if found is None:
                    found = pairs[pair] = pair[0] is pair[1] and _kind(pair[0]) not in excluded
                return primitive(x, y) if found and not swapped else function(x, y)
            if type(y) is float or type(y) is int:
                key = (x.aval, type(y), y)
                if key not in scalars:
                    _keep(scalars, key, excluded)
                constant = scalars[key]
                # Traced programs hold scalars as literals.
                if constant is not None and is_eager():
                    return primitive(constant, x) if swapped else primitive(x, constant)
                return function(x, y)
        known = type(y) in KNOWN or is_operand(y)
        return function(x, y) if known else NotImplemented

    return operator


MAX_SCALARS = 1024


def _keep(
    scalars: dict[tuple[ShapedArray, type, Any], Array | None],
    key: tuple[ShapedArray, type, Any],
    excluded: frozenset[str],
) -> None:
    """Note the array that a scalar is beside arrays of a type; None if those change for it."""
    aval, kind, value = key
    if len(scalars) >= MAX_SCALARS:
        scalars.clear()
    # A zero is 0.0 or -0.0, and nan equals nothing: such keys do not tell which.
    tells = value == value and (value != 0 or kind is int)
    same = _kind(aval) == "float" or (_kind(aval) == "int" and kind is int)
    if tells and same and _kind(aval) not in excluded and aval.dtype.itemsize <= 4:
        scalars[key] = constant(value, Step(aval.dtype, aval.weak_type, None))
    else:
        scalars[key] = None


def _kind(aval: ShapedArray) -> str:
    return dtypes.kind(aval.dtype)


def comparison(name: str, function: Function) -> Function:
    """`x == y`; TypeError for lists, which would otherwise compare as unequal."""

    def checked(x: Any, y: Any) -> Any:
        if isinstance(y, list | tuple):
            raise TypeError(
                f"unsupported operand type(s) for {SIGNS[name]}: {type(x).__name__!r} and "
                f"{type(y).__name__!r}. Convert the list first with jnp.array."
            )
        return found(x, y)

    found = quick(function, *DIRECT[name])
    return checked


def iterate(x: Any) -> Iterator[Any]:
    """The rows of x."""
    if not x.shape:
        raise TypeError("iteration over a 0-d array")
    if type(x) is Array and len(x) > UNSTACKED:
        return (x[i] for i in range(len(x)))  # type: ignore[index]
    return iter(unstack(x))


unstack = eager(manipulation.unstack)
# Rows of longer arrays are taken one by one: a program has as many results as it takes at once.
UNSTACKED = 256


def contains(x: Any, value: Any) -> Any:
    """Whether any element equals the value."""
    return reductions.any(logic.equal(x, value))


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
    return creation.astype(self, dtype, copy=copy, device=device)


def clip(self: Any, min: Any = None, max: Any = None) -> Any:
    """The array limited to [min, max].

    >>> jnp.clip(jnp.arange(5), 1, 3)
    Array([1, 1, 2, 3, 3], dtype=int32)
    """
    return selection.clip(self, min, max)


def copy(self: Any) -> Any:
    """A copy of the array."""
    return creation.copy(self)


def to_device(self: Any, device: Any, *, stream: Any = None) -> Any:
    """The array on a device, or divided by a sharding."""
    return made_on(self, device)


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
    return take.compress(condition, self, axis, size=size, fill_value=fill_value, out=out)


# The primitive that an operator is for two arrays of one type, and the kinds that it is not for.
NO_NUMBERS = frozenset(("bool", "key"))
NO_ORDER = frozenset(("complex", "key"))
DIRECT: dict[str, tuple[Primitive, frozenset[str]]] = {
    "add": (ops.add, NO_NUMBERS), "sub": (ops.sub, NO_NUMBERS), "mul": (ops.mul, NO_NUMBERS),
    "truediv": (ops.div, NO_NUMBERS | {"int", "uint"}), "eq": (ops.eq, frozenset()),
    "ne": (ops.ne, frozenset()), "lt": (ops.lt, NO_ORDER), "le": (ops.le, NO_ORDER),
    "gt": (ops.gt, NO_ORDER), "ge": (ops.ge, NO_ORDER),
}  # fmt: skip

BINARY: dict[str, Function] = {
    "add": elementwise.add, "sub": elementwise.subtract, "mul": elementwise.multiply,
    "truediv": elementwise.true_divide, "floordiv": elementwise.floor_divide,
    "mod": elementwise.remainder, "divmod": elementwise.divmod, "pow": elementwise.power,
    "matmul": products.matmul, "and": logic.bitwise_and, "or": logic.bitwise_or,
    "xor": logic.bitwise_xor, "lshift": logic.left_shift,
    "rshift": logic.right_shift,
}  # fmt: skip

COMPARISONS: dict[str, Function] = {
    "eq": logic.equal, "ne": logic.not_equal, "lt": logic.less,
    "le": logic.less_equal, "gt": logic.greater, "ge": logic.greater_equal,
}  # fmt: skip

SIGNS = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}

METHODS: dict[str, Function] = {
    "__neg__": elementwise.negative, "__pos__": elementwise.positive,
    "__abs__": elementwise.absolute, "__invert__": logic.bitwise_not,
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
    "at": index_updates.IndexUpdates,
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
            setattr(kind, f"__r{name}__", binary(name, function, swapped=True))
        for name, function in COMPARISONS.items():
            setattr(kind, f"__{name}__", comparison(name, function))
        for name, function in METHODS.items():
            setattr(kind, name, function)
        for name, function in PROPERTIES.items():
            setattr(kind, name, property(function))
    for name in (*BINARY, *COMPARISONS):
        for method in (f"__{name}__", f"__r{name}__"):
            if method in vars(Array):
                # The exponent decides how a power is computed.
                roles = (STATIC, STATIC) if name == "pow" else (OPERAND, OPERAND)
                _install_eager(method, eager(vars(Array)[method], *roles))
    for name, function in METHODS.items():
        if name not in NOT_EAGER:
            role = {"__getitem__": INDEX, "clip": OPERAND, "take": INDEX}.get(name, STATIC)
            _install_eager(name, eager(function, STATIC, role, rest=rest_of(name)))
    for name, function in PROPERTIES.items():
        if name not in NOT_EAGER:
            _install_eager(name, property(eager(function)))


def _install_eager(name: str, method: Any) -> None:
    """Give arrays, and tracers that native code knows, a method that it calls."""
    for kind in (Array, TapedTracer, JaxprTracer):
        setattr(kind, name, method)


# What is given no array, or gives none.
NOT_EAGER = frozenset((
    "__setitem__", "__iter__", "__contains__", "__array_namespace__", "to_device", "at", "view",
    "nonzero",
))  # fmt: skip


def rest_of(name: str) -> str:
    """What Python scalars are in further arguments of a method."""
    return OPERAND if name == "clip" else STATIC


install()

"""Questions about dtypes and values: result_type, can_cast, issubdtype, isscalar, shape, size."""

import math
import operator
from typing import Any

import numpy as np

from jacana.core import config, dtypes
from jacana.core.trace import Tracer
from jacana.core.values import aval_of, is_array_like
from jacana.numpy.promotion import normalized_axes, result_type_of
from jacana.runtime.array import Array

# As JAX has it: a value's dtype, or one that is named.
dtype = np.dtype
finfo, iinfo = dtypes.finfo, dtypes.iinfo


def issubdtype(arg1: Any, arg2: Any) -> bool:
    """Whether a dtype is of a category (jnp.floating, ...) or is another dtype.

    >>> jnp.issubdtype(jnp.int32, jnp.integer)
    True
    """
    return bool(dtypes.issubdtype(arg1, arg2))


def isdtype(dtype: Any, kind: Any) -> bool:
    """Whether a dtype is of one of the array API's kinds ("bool", "integral", "numeric", ...).

    >>> jnp.isdtype(jnp.float32, "real floating")
    True
    """
    return any(
        _is_kind(dtypes.dtype(dtype), k) for k in (kind if isinstance(kind, tuple) else (kind,))
    )


_KINDS: dict[str, tuple[str, ...]] = {
    "bool": ("bool",), "signed integer": ("int",), "unsigned integer": ("uint",),
    "integral": ("int", "uint"), "real floating": ("float",), "complex floating": ("complex",),
    "numeric": ("int", "uint", "float", "complex"),
}  # fmt: skip


def _is_kind(found: Any, kind: Any) -> bool:
    if isinstance(kind, str) and kind in _KINDS:
        return dtypes.kind(found) in _KINDS[kind]
    return bool(found == dtypes.dtype(kind))


def promote_types(a: Any, b: Any) -> Any:
    """The common dtype of two dtypes.

    >>> jnp.promote_types("int32", "float16")
    dtype('float16')
    """
    return dtypes.promote_types(a, b, config.current().enable_x64)


def result_type(*args: Any) -> Any:
    """The dtype that combining arrays, scalars and dtypes gives.

    >>> jnp.result_type(jnp.int32, 1.0)
    dtype('float32')
    """
    if not args:
        raise ValueError("at least one array or dtype is required")
    return result_type_of([_aval(a) for a in args])[0]


def _aval(value: Any) -> Any:
    if is_array_like(value):
        return aval_of(value)
    if isinstance(value, type) and value in (bool, int, float, complex):
        return aval_of(value(0))
    return _Typed(dtypes.canonicalize(dtypes.dtype(value), config.current().enable_x64))


class _Typed:
    """A dtype that takes part in promotion like an array of it."""

    weak_type = False

    def __init__(self, dtype: Any):
        self.dtype = dtype


def can_cast(from_: Any, to: Any, casting: Any = "safe") -> bool:
    """Whether NumPy's casting rule allows a conversion.

    >>> jnp.can_cast("int32", "int64")
    True
    """
    source, target = (dtypes.storage_dtype(dtypes.dtype(d)) for d in (from_, to))
    return bool(np.can_cast(source, target, casting))


def isscalar(element: Any) -> bool:
    """Whether a value is a number or an array without axes.

    >>> jnp.isscalar(3)
    True
    """
    if isinstance(element, Array | Tracer | np.ndarray):
        return np.ndim(element) == 0
    return is_array_like(element)


def iscomplexobj(x: Any) -> bool:
    """Whether a value is of a complex dtype.

    >>> jnp.iscomplexobj(jnp.array([1j]))
    True
    """
    if x is None:
        return False
    found = getattr(x, "dtype", None)
    return dtypes.is_complex(found if found is not None else np.asarray(x).dtype)


def isrealobj(x: Any) -> bool:
    """Whether a value is not of a complex dtype.

    >>> jnp.isrealobj(jnp.array([1j]))
    False
    """
    return not iscomplexobj(x)


def iterable(y: Any) -> bool:
    """Whether a value can be iterated over; arrays without axes cannot.

    >>> jnp.iterable([1, 2])
    True
    """
    try:
        iter(y)
    except TypeError:
        return False
    return True


def ndim(a: Any) -> int:
    """How many axes an array has.

    >>> jnp.ndim(jnp.ones((2, 3)))
    2
    """
    return len(shape(a))


def shape(a: Any) -> tuple[int, ...]:
    """The extents of an array.

    >>> jnp.shape(jnp.ones((2, 3)))
    (2, 3)
    """
    found = getattr(a, "shape", None)
    return tuple(found) if found is not None else aval_of(_checked("shape", a)).shape


def _checked(function: str, a: Any) -> Any:
    if isinstance(a, list | tuple) or a is None:
        raise TypeError(
            f"{function} requires ndarray or scalar arguments, got {type(a)} at position 0. "
            f"Convert it first with jnp.array."
        )
    return a


def size(a: Any, axis: Any = None) -> int:
    """How many elements an array has, or its extent along axes.

    >>> jnp.size(jnp.ones((2, 3)))
    6
    """
    extents = shape(a)
    if axis is None:
        return math.prod(extents)
    if not isinstance(axis, tuple | list):
        axis = operator.index(axis)
    return math.prod([extents[d] for d in normalized_axes(axis, len(extents))])

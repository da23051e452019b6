"""Arrays from other values: array, asarray, zeros, full, copies, views and conversions."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from jacana import ops
from jacana.api.placing import made_on
from jacana.core import config, dtypes
from jacana.core.avals import ShapedArray
from jacana.core.trace import Tracer, is_eager
from jacana.core.values import aval_of, check_unmasked
from jacana.numpy.promotion import (
    as_array,
    broadcast_shape,
    broadcast_to,
    canonical_shape,
    check_operands,
    constant,
    convert,
    result_type_of,
)
from jacana.runtime.array import Array, from_numpy, from_scalar, to_array

PYTHON_SCALARS = (bool, int, float, complex)


def _x64() -> bool:
    return config.current().enable_x64


def array(
    object: Any,
    dtype: Any = None,
    copy: bool = True,
    order: str | None = "K",
    ndmin: int = 0,
    *,
    device: Any = None,
    out_sharding: Any = None,
) -> Any:
    """An array of a number, NumPy array, array, or of nested lists of them.

    Numbers in a list take the dtype of the arrays beside them; a number alone is weakly typed.
    TypeError for strings and objects, ValueError for None and ragged lists.

    >>> jnp.array([1, 2.5])
    Array([1. , 2.5], dtype=float32)
    """
    if order not in (None, "K", "C"):
        raise NotImplementedError(f"jnp.array has order='K' and 'C' only, got {order!r}.")
    asked = None if dtype is None else dtypes.requested(dtype, _x64(), "array")
    result = _array(object, asked, copy)
    if result.ndim < ndmin:
        shape = (1,) * (ndmin - result.ndim) + tuple(result.shape)
        result = ops.reshape(result, new_sizes=shape)
    return made_on(result, device, out_sharding)


def asarray(
    a: Any,
    dtype: Any = None,
    order: str | None = None,
    *,
    copy: bool | None = None,
    device: Any = None,
    out_sharding: Any = None,
) -> Any:
    """`a` as an array: arrays of the right dtype are given back as they are.

    >>> jnp.asarray(3, dtype="float32")
    Array(3., dtype=float32)
    """
    asked = None if dtype is None else dtypes.requested(dtype, _x64(), "asarray")
    return made_on(_array(a, asked, bool(copy)), device, out_sharding)


def _array(value: Any, asked: Any, copy: bool) -> Any:
    if isinstance(value, Array | Tracer):
        return _converted(value, asked, copy)
    if isinstance(value, PYTHON_SCALARS) and not isinstance(value, np.generic):
        return _from_python(value, asked)
    if isinstance(value, np.ndarray | np.generic):
        check_unmasked(value)
        return _from_numpy(value, asked)
    if isinstance(value, list | tuple):
        return _from_sequence(value, asked)
    if hasattr(value, "__jax_array__"):
        return _converted(value.__jax_array__(), asked, copy)
    if value is None:
        raise ValueError("None is not a valid value for jnp.array")
    return _from_numpy(np.asarray(value), asked)


def _converted(x: Any, asked: Any, copy: bool) -> Any:
    aval = x.aval
    if asked is not None and (aval.dtype != asked or aval.weak_type):
        return ops.convert_element_type(x, new_dtype=asked, weak_type=False)
    return ops.copy(x) if copy else x


def _from_python(value: Any, asked: Any) -> Array:
    if asked is None:
        return to_array(value)
    if isinstance(value, int) and dtypes.is_integer(asked):
        # NumPy checks the range.
        return from_numpy(np.array(value, asked), ShapedArray((), asked))
    return from_scalar(asked.type(value), ShapedArray((), asked))


def _from_numpy(value: Any, asked: Any) -> Array:
    value = np.asarray(value)
    if not dtypes.is_supported(dtypes.dtype(value.dtype)):
        raise TypeError(
            f"Value {value!r} with dtype {value.dtype} is not a valid JAX array type. Only arrays "
            f"of numeric types are supported by JAX. Convert it to numbers first."
        )
    if asked is not None and value.dtype != asked:
        value = value.astype(asked)
    return from_numpy(value, aval_of(value))


# --- nested lists ---


def _leaves(value: Any) -> Iterator[Any]:
    """What nested lists and tuples hold."""
    for item in value:
        if isinstance(item, list | tuple):
            yield from _leaves(item)
        else:
            yield item


def _from_sequence(value: Sequence[Any], asked: Any) -> Any:
    leaves = list(_leaves(value))
    kinds = set(map(type, leaves))
    if kinds <= set(PYTHON_SCALARS):
        dtype = asked or _dtype_of_python(kinds)
        return from_numpy(np.array(value, dtype), _aval(np.shape(value), dtype))
    if type(None) in kinds:
        raise ValueError("None is not a valid value for jnp.array")
    leaves = [x.__jax_array__() if hasattr(x, "__jax_array__") else x for x in leaves]
    if any(isinstance(x, Tracer) or type(x) is Array and dtypes.is_key(x.dtype) for x in leaves):
        dtype = asked or result_type_of([aval_of(x) for x in leaves])[0]
        return _stacked(value, dtype)
    plain = _to_numpy(value)
    found = np.array(plain) if asked is None else np.array(plain, asked)
    if not dtypes.is_supported(dtypes.dtype(found.dtype)):
        return _from_numpy(found, asked)
    dtype = asked or result_type_of([aval_of(x) for x in _distinct(leaves)])[0]
    found = found if found.dtype == dtype else np.array(plain, dtype)
    return from_numpy(found, _aval(found.shape, dtype))


def _aval(shape: tuple[int, ...], dtype: Any) -> ShapedArray:
    return ShapedArray(shape, dtype)


def _dtype_of_python(kinds: set[type]) -> Any:
    """The dtype of a list of Python numbers; an empty one is of floats."""
    widest = max(kinds, key=PYTHON_SCALARS.index, default=float)
    return dtypes.python_scalar_dtype(widest, _x64())


def _distinct(leaves: Sequence[Any]) -> list[Any]:
    """One leaf of each type and dtype."""
    return list({(type(x), getattr(x, "dtype", None)): x for x in leaves}.values())


def _to_numpy(value: Any) -> Any:
    """The same lists with NumPy values in place of arrays."""
    if isinstance(value, list | tuple):
        return [_to_numpy(x) for x in value]
    if hasattr(value, "__jax_array__"):
        value = value.__jax_array__()
    return np.asarray(value) if isinstance(value, Array) else value


def _stacked(value: Any, dtype: Any) -> Any:
    if not isinstance(value, list | tuple):
        if hasattr(value, "__jax_array__"):
            value = value.__jax_array__()
        return convert(value if np.isscalar(value) else _array(value, None, False), dtype)
    rows = [_as_row(_stacked(x, dtype)) for x in value]
    if any(row.shape != rows[0].shape for row in rows):
        shapes = ", ".join(str(row.shape[1:]) for row in rows)
        raise ValueError(
            f"array needs parts of one shape to stack, got {shapes}. Broadcast or pad them first."
        )
    if not rows:
        return full((0,), 0, dtype)
    return rows[0] if len(rows) == 1 else ops.concatenate(*rows, dimension=0)


def _as_row(x: Any) -> Any:
    """x with a first axis of extent 1."""
    shape = np.shape(x)
    dims = tuple(range(1, len(shape) + 1))
    return ops.broadcast_in_dim(x, shape=(1, *shape), broadcast_dimensions=dims)


# --- one value everywhere ---


def full(
    shape: Any,
    fill_value: Any,
    dtype: Any = None,
    *,
    device: Any = None,
    out_sharding: Any = None,
) -> Any:
    """An array of a shape with one value (or one that broadcasts to it) at every index.

    >>> jnp.full((2, 2), 7)
    Array([[7, 7],
           [7, 7]], dtype=int32, weak_type=True)
    """
    check_operands("full", fill_value)
    asked = None if dtype is None else dtypes.requested(dtype, _x64(), "full")
    return made_on(_filled(canonical_shape(shape), fill_value, asked), device, out_sharding)


def _filled(shape: tuple[int, ...], value: Any, asked: Any) -> Any:
    aval = aval_of(value)
    if asked is not None or isinstance(value, np.ndarray):
        value = convert(value, asked or aval.dtype)
    if aval.shape:
        broadcast_shape("full", aval.shape, shape)
        return broadcast_to(value, shape)
    return ops.broadcast_in_dim(value, shape=shape, broadcast_dimensions=())


def _constant(function: str, shape: Any, value: int, dtype: Any) -> Any:
    asked = float if dtype is None else dtype
    found: Any = dtypes.requested(asked, _x64(), function)
    scalar = _key_of(value, found) if dtypes.is_key(found) else found.type(value)
    if is_eager() and not dtypes.is_key(found):
        scalar = constant(scalar, None)
    return ops.broadcast_in_dim(scalar, shape=canonical_shape(shape), broadcast_dimensions=())


def _key_of(word: int, dtype: Any) -> Any:
    """The random key whose words are all the same."""
    return ops.random_wrap(to_array(np.full(2, word, np.uint32)), impl=dtype.tag)


def zeros(shape: Any, dtype: Any = None, *, device: Any = None, out_sharding: Any = None) -> Any:
    """Zeros of a shape, of floats where no dtype is given.

    >>> jnp.zeros((2,), dtype="int32")
    Array([0, 0], dtype=int32)
    """
    return made_on(_constant("zeros", shape, 0, dtype), device, out_sharding)


def ones(shape: Any, dtype: Any = None, *, device: Any = None, out_sharding: Any = None) -> Any:
    """Ones of a shape, of floats where no dtype is given.

    >>> jnp.ones((2,))
    Array([1., 1.], dtype=float32)
    """
    return made_on(_constant("ones", shape, 1, dtype), device, out_sharding)


def empty(shape: Any, dtype: Any = None, *, device: Any = None, out_sharding: Any = None) -> Any:
    """Zeros of a shape: there is no uninitialised memory.

    >>> jnp.empty((2,)).shape
    (2,)
    """
    return made_on(_constant("empty", shape, 0, dtype), device, out_sharding)


def full_like(
    a: Any, fill_value: Any, dtype: Any = None, shape: Any = None, *, device: Any = None,
    out_sharding: Any = None,
) -> Any:  # fmt: skip
    """An array with `a`'s shape and dtype and one value at every index.

    >>> jnp.full_like(jnp.arange(2), 7)
    Array([7, 7], dtype=int32)
    """
    check_operands("full_like", fill_value)
    made = _like("full_like", a, fill_value, dtype, shape)
    return made_on(made, _place_of(a, shape, device), out_sharding)


def _place_of(a: Any, shape: Any, device: Any) -> Any:
    """Where an array like another goes: to the device asked for, or to where that one is."""
    if device is None and shape is None and type(a) is Array and is_eager():
        return a.aval.sharding
    return device


def _like(function: str, a: Any, value: Any, dtype: Any, shape: Any) -> Any:
    if not (hasattr(a, "shape") and hasattr(a, "dtype")):
        check_operands(function, a)
        a = aval_of(a)
    weak = dtype is None and getattr(a, "weak_type", False)
    asked = a.dtype if dtype is None else dtype
    found = dtypes.requested(asked, _x64(), function) if dtype is not None else asked
    found = dtypes.canonicalize(dtypes.dtype(found), _x64())
    sizes = tuple(a.shape) if shape is None else canonical_shape(shape)
    if dtypes.is_key(found) and isinstance(value, int):
        value = _key_of(value, found)
    if np.ndim(value):
        return broadcast_to(convert(value, found, weak), sizes)
    scalar = convert(value, found, weak)
    made = ops.broadcast_in_dim(scalar, shape=sizes, broadcast_dimensions=())
    return convert(made, found, True) if weak else made


def zeros_like(
    a: Any, dtype: Any = None, shape: Any = None, *, device: Any = None, out_sharding: Any = None
) -> Any:
    """Zeros with `a`'s shape and dtype.

    >>> jnp.zeros_like(jnp.array([1, 2]))
    Array([0, 0], dtype=int32)
    """
    made = _like("zeros_like", a, 0, dtype, shape)
    return made_on(made, _place_of(a, shape, device), out_sharding)


def ones_like(
    a: Any, dtype: Any = None, shape: Any = None, *, device: Any = None, out_sharding: Any = None
) -> Any:
    """Ones with `a`'s shape and dtype.

    >>> jnp.ones_like(jnp.arange(2))
    Array([1, 1], dtype=int32)
    """
    made = _like("ones_like", a, 1, dtype, shape)
    return made_on(made, _place_of(a, shape, device), out_sharding)


def empty_like(
    prototype: Any, dtype: Any = None, shape: Any = None, *, device: Any = None,
    out_sharding: Any = None,
) -> Any:  # fmt: skip
    """Zeros with the shape and dtype of `prototype`.

    >>> jnp.empty_like(jnp.arange(3)).dtype
    dtype('int32')
    """
    made = _like("empty_like", prototype, 0, dtype, shape)
    return made_on(made, _place_of(prototype, shape, device), out_sharding)


# --- conversions ---


def astype(x: Any, dtype: Any, /, *, copy: bool = False, device: Any = None) -> Any:
    """x with its elements converted to a dtype; None is the default float type.

    Floats are cut toward zero, complex numbers lose their imaginary part.

    >>> jnp.astype(jnp.array([1.7, -1.7]), int)
    Array([ 1, -1], dtype=int32)
    """
    x = as_array("astype", x)
    found = dtypes.requested(float if dtype is None else dtype, _x64(), "astype")
    if x.dtype != found or x.weak_type:
        if dtypes.is_bool(found) and not dtypes.is_key(x.dtype):
            x = ops.ne(x, x.dtype.type(0))
        else:
            x = ops.convert_element_type(x, new_dtype=found, weak_type=False)
    elif copy:
        x = ops.copy(x)
    return made_on(x, device)


def copy(a: Any, order: str | None = None) -> Any:
    """A copy of an array.

    >>> jnp.copy(jnp.arange(3))
    Array([0, 1, 2], dtype=int32)
    """
    return array(a, copy=True, order=order)


def view(x: Any, dtype: Any = None, type: None = None) -> Any:
    """The bits of x as another dtype; the last axis grows or shrinks with the element size."""
    if type is not None:
        raise NotImplementedError("`type` argument of array.view() is not supported.")
    x = as_array("view", x)
    if dtype is None:
        return x
    found = dtypes.requested(dtype, _x64(), "view")
    if x.dtype == found:
        return x
    return _bits_as(_without_parts(x, found), found)


def _without_parts(x: Any, found: Any) -> Any:
    """x in a dtype that bits can be taken of: complex numbers as pairs of floats, bool as uint8."""
    if dtypes.is_bool(x.dtype):
        return ops.convert_element_type(x, new_dtype=dtypes.uint8, weak_type=False)
    if dtypes.is_complex(x.dtype):
        shape = tuple(x.shape)
        pair = [ops.reshape(part, new_sizes=(*shape, 1)) for part in (ops.real(x), ops.imag(x))]
        flat = ops.concatenate(*pair, dimension=len(shape))
        return ops.reshape(flat, new_sizes=(*shape[:-1], 2 * shape[-1]) if shape else (2,))
    return x


def _bits_as(x: Any, found: Any) -> Any:
    if dtypes.is_bool(found):
        return ops.ne(_bits_as(x, dtypes.uint8), np.uint8(0))
    if dtypes.is_complex(found):
        parts = _bits_as(x, dtypes.real_dtype(found))
        pairs = ops.reshape(parts, new_sizes=(*parts.shape[:-1], parts.shape[-1] // 2, 2))
        re, im = ops.split(pairs, sizes=(1, 1), axis=len(pairs.shape) - 1)
        last = (len(pairs.shape) - 1,)
        return ops.complex(ops.squeeze(re, dimensions=last), ops.squeeze(im, dimensions=last))
    old, made = dtypes.bit_width(x.dtype), dtypes.bit_width(found)
    if x.dtype == found:
        return x
    if old == made:
        return ops.bitcast_convert_type(x, new_dtype=found)
    if not x.shape:
        raise ValueError("view() of a 0d array is only supported if the itemsize is unchanged.")
    if old > made:
        out = ops.bitcast_convert_type(x, new_dtype=found)
        return ops.reshape(out, new_sizes=(*x.shape[:-1], x.shape[-1] * (old // made)))
    if x.shape[-1] * old % made:
        raise ValueError(
            f"When changing to a larger dtype, its size must be a divisor of the total size in "
            f"bytes of the last axis of the array, got {x.shape[-1]} elements of {x.dtype} for "
            f"{found}."
        )
    parts = made // old
    grouped = ops.reshape(x, new_sizes=(*x.shape[:-1], x.shape[-1] // parts, parts))
    return ops.bitcast_convert_type(grouped, new_dtype=found)


# --- from elsewhere ---


def frombuffer(buffer: Any, dtype: Any = float, count: int = -1, offset: int = 0) -> Array:
    """An array of the bytes of a buffer.

    >>> jnp.frombuffer(bytes([1, 2]), dtype=jnp.uint8)
    Array([1, 2], dtype=uint8)
    """
    found: Any = dtypes.requested(dtype, True, "frombuffer")
    return _from_numpy(np.frombuffer(buffer, found, count, offset), None)


def fromstring(string: str, dtype: Any = float, count: int = -1, *, sep: str) -> Array:
    """An array of the numbers in a text, separated by `sep`.

    >>> jnp.fromstring("1 2", dtype=jnp.int32, sep=" ")
    Array([1, 2], dtype=int32)
    """
    found: Any = dtypes.requested(dtype, _x64(), "fromstring")
    return _from_numpy(np.fromstring(string, found, count, sep=sep), None)


def fromiter(*args: Any, **kwargs: Any) -> Any:
    """Refused: an iterator cannot be traced. Make a list of it first.

    >>> jnp.fromiter()  # doctest: +IGNORE_EXCEPTION_DETAIL
    Traceback (most recent call last):
    NotImplementedError
    """
    raise NotImplementedError(
        "jnp.fromiter() is not implemented because it may be non-pure and thus unsafe for use with "
        "JIT and other JAX transformations. Consider using jnp.asarray(np.fromiter(...)) instead."
    )


def fromfile(*args: Any, **kwargs: Any) -> Any:
    """Refused: reading a file cannot be traced. Read it with NumPy first.

    >>> jnp.fromfile()  # doctest: +IGNORE_EXCEPTION_DETAIL
    Traceback (most recent call last):
    NotImplementedError
    """
    raise NotImplementedError(
        "jnp.fromfile() is not implemented because it may be non-pure and thus unsafe for use with "
        "JIT and other JAX transformations. Consider using jnp.asarray(np.fromfile(...)) instead."
    )


def fromfunction(
    function: Callable[..., Any], shape: Any, *, dtype: Any = float, **kwargs: Any
) -> Any:
    """The function of each index, called once with the arrays of all indices.

    >>> jnp.fromfunction(lambda i, j: i + j, (2, 2), dtype=int)
    Array([[0, 1],
           [1, 2]], dtype=int32)
    """
    sizes = canonical_shape(shape)
    found = dtypes.requested(dtype, _x64(), "fromfunction")
    grids = [ops.iota(dtype=found, shape=sizes, dimension=d) for d in range(len(sizes))]
    return function(*grids, **kwargs)


def from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> Any:
    """An array of what another library's array holds, by DLPack.

    >>> jnp.from_dlpack(np.arange(3, dtype=np.int32))
    Array([0, 1, 2], dtype=int32)
    """
    made = x if isinstance(x, Array) else _from_numpy(np.from_dlpack(x), None)
    return made_on(made, device)

"""Array: an immutable buffer and its type.

The methods that compute (x + y, x.sum(), x[i], x.at) are installed by numpy.operators.
"""

import ctypes
import operator
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from jacana.core import config, dtypes, values
from jacana.core.avals import ShapedArray
from jacana.core.sharding import Sharding, SingleDeviceSharding
from jacana.runtime import native_array
from jacana.runtime.buffer import Buffer, Promise, allocate
from jacana.runtime.device import Device, default_device
from jacana.runtime.printing import array_repr, array_str
from jacana.runtime.shards import Shard, shards_of

# How to read and write one element without NumPy.
SCALARS: dict[Any, Any] = {
    np.dtype(name): kind
    for name, kind in {
        "bool": ctypes.c_bool, "int8": ctypes.c_int8, "int16": ctypes.c_int16,
        "int32": ctypes.c_int32, "int64": ctypes.c_int64, "uint8": ctypes.c_uint8,
        "uint16": ctypes.c_uint16, "uint32": ctypes.c_uint32, "uint64": ctypes.c_uint64,
        "float32": ctypes.c_float, "float64": ctypes.c_double,
    }.items()
}  # fmt: skip


class Array:
    """An n-dimensional array of one dtype, made by jacana functions; it never changes."""

    __slots__ = ("aval", "_owner", "address", "__weakref__")
    __array_priority__ = 100
    __module__ = "jacana"

    def __init__(self, aval: ShapedArray, buffer: Buffer):
        self.aval = aval
        self._owner: Any = buffer
        self.address = buffer.address

    @property
    def buffer(self) -> Any:
        """The owner of the memory; None if the array was deleted."""
        self._settle()
        return self._owner

    def _settle(self) -> bool:
        """Have work that was put off done (see runtime.lazy); whether there was any."""
        if self.address:
            return False
        owner = self._owner
        if not isinstance(owner, Promise):
            return False
        owner.keep()
        return True

    def _receive(self, buffer: Buffer) -> None:
        """The memory that was promised."""
        self._owner = buffer
        self.address = buffer.address

    @property
    def shape(self) -> tuple[int, ...]:
        return self.aval.shape

    @property
    def dtype(self) -> Any:
        return self.aval.dtype

    @property
    def ndim(self) -> int:
        return len(self.aval.shape)

    @property
    def size(self) -> int:
        return self.aval.size

    @property
    def itemsize(self) -> int:
        return int(self.aval.dtype.itemsize)

    @property
    def nbytes(self) -> int:
        return self.aval.nbytes

    @property
    def __numpy_dtype__(self) -> Any:
        return self.aval.dtype

    @property
    def weak_type(self) -> bool:
        return self.aval.weak_type

    # --- NumPy and Python values ------------------------------------------------------------------

    @property
    def _value(self) -> np.ndarray:
        """The contents as a read-only NumPy array over the same memory."""
        if self.is_deleted():
            raise RuntimeError(
                f"Array has been deleted with shape={self.aval.str_short()}. It was donated to a "
                f"jitted function or deleted; keep a copy if you need it afterwards."
            )
        buffer = self.buffer
        return view(self.aval, self.address, buffer)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        self._check_not_key("np.asarray")
        value = self._value
        if dtype is not None and np.dtype(dtype) != value.dtype:
            if copy is False:
                raise ValueError("a conversion of dtype needs a copy, which copy=False forbids")
            return value.astype(dtype)
        return value.copy() if copy else value

    def _check_not_key(self, use: str) -> None:
        if dtypes.is_key(self.aval.dtype):
            raise TypeError(
                f"{use} of an array of PRNG keys of dtype {self.aval.dtype}: convert it to "
                f"integers first with jax.random.key_data(key)."
            )

    def item(self, *args: int) -> Any:
        """The element as a Python scalar (the only one, or the one at the given index)."""
        if args:
            return self._value.item(*args)
        if self.aval.size != 1:
            raise ValueError("can only convert an array of size 1 to a Python scalar")
        kind = SCALARS.get(self.aval.dtype)
        if kind is not None and self.address:
            return kind.from_address(self.address).value
        self._check_not_key("item")
        return self._value.item()

    def tolist(self) -> Any:
        self._check_not_key("tolist")
        return self._value.tolist()

    def tobytes(self, order: str = "C") -> bytes:
        return self._value.tobytes(order)  # type: ignore[arg-type]

    def _scalar(self, use: str) -> Any:
        self._check_not_key(use)
        if self.aval.shape:
            raise TypeError(
                f"Only scalar arrays can be converted to Python scalars; got arr.ndim="
                f"{self.ndim} and shape {self.aval.shape}. Take one element first: x[0]."
            )
        return self.item()

    def __bool__(self) -> bool:
        self._check_not_key("bool")
        if self.aval.size != 1:
            if self.aval.size == 0:
                raise ValueError(
                    "The truth value of an empty array is ambiguous. Use array.size > 0 instead."
                )
            raise ValueError(
                "The truth value of an array with more than one element is ambiguous. Use "
                "a.any() or a.all()"
            )
        return bool(self.item())

    def __float__(self) -> float:
        value = self._scalar("float")
        return float(value.real if isinstance(value, complex) else value)

    def __int__(self) -> int:
        value = self._scalar("int")
        return int(value.real if isinstance(value, complex) else value)

    def __complex__(self) -> complex:
        return complex(self._scalar("complex"))

    def __index__(self) -> int:
        if not dtypes.is_integer(self.aval.dtype) or self.aval.shape:
            raise TypeError("only integer scalar arrays can be converted to a scalar index")
        return operator.index(self.item())

    def __len__(self) -> int:
        if not self.aval.shape:
            raise TypeError("len() of unsized object")
        return self.aval.shape[0]

    def __hash__(self) -> int:
        raise TypeError("unhashable type: 'jacana.Array'. Arrays compare elementwise.")

    def __reversed__(self) -> Iterator[Any]:
        return iter([self[i] for i in range(len(self) - 1, -1, -1)])  # type: ignore[index]

    def __repr__(self) -> str:
        return array_repr(self)

    def __str__(self) -> str:
        return array_str(self)

    def __format__(self, spec: str) -> str:
        if dtypes.is_key(self.aval.dtype):
            return object.__format__(self, spec)
        if self.aval.shape:
            return format(self._value, spec)
        return format(self._value[()], spec)

    def __reduce__(self) -> Any:
        return _restore, (np.array(self._value), self.aval.dtype, self.aval.weak_type)

    def __copy__(self) -> "Array":
        return self

    def __deepcopy__(self, memo: Any) -> "Array":
        return self

    # --- DLPack ---------------------------------------------------------------------------------

    def __dlpack__(
        self, *, stream: Any = None, max_version: tuple[int, int] | None = None,
        dl_device: Any = None, copy: bool | None = None,
    ) -> Any:  # fmt: skip
        """The contents as a DLPack capsule: this memory, or a copy for consumers before 1.0.

        Those cannot be told that the memory is read-only.
        """
        self._check_not_key("DLPack")
        version = {"max_version": max_version, "dl_device": dl_device}
        if max_version is not None and max_version >= (1, 0):
            return self._value.__dlpack__(copy=copy, **version)
        if copy is False:
            raise BufferError(
                "DLPack before version 1.0 has no read-only memory, which arrays are: take a copy."
            )
        return self._value.copy().__dlpack__(**version)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)

    # --- devices ----------------------------------------------------------------------------------

    @property
    def device(self) -> Device | Sharding:
        found = self.sharding
        return found.devices()[0] if isinstance(found, SingleDeviceSharding) else found

    def platform(self) -> str:
        return next(iter(self.devices())).platform

    def unsafe_buffer_pointer(self) -> int:
        """The address of the memory, which is valid as long as the array is."""
        return self.address

    def clone(self) -> "Array":
        """A copy with memory of its own."""
        return from_numpy(self._value, self.aval)

    def devices(self) -> set[Device]:
        return self.sharding.device_set

    @property
    def sharding(self) -> Sharding:
        return self.aval.sharding or SingleDeviceSharding(default_device())

    @property
    def committed(self) -> bool:
        return self.aval.sharding is not None

    @property
    def is_fully_addressable(self) -> bool:
        return True

    @property
    def is_fully_replicated(self) -> bool:
        return self.sharding.is_fully_replicated

    @property
    def addressable_shards(self) -> list[Shard]:
        """What each device has."""
        return shards_of(self)

    @property
    def global_shards(self) -> list[Shard]:
        return shards_of(self)

    def addressable_data(self, index: int) -> "Array":
        """What the device of a number has."""
        return shards_of(self)[index].data  # type: ignore[no-any-return]

    def with_sharding(self, sharding: Sharding | None) -> "Array":
        """An array of the same memory that is divided in another way; None: it is not placed."""
        if self.aval.sharding == sharding:
            return self
        return Array(self.aval.placed(sharding), self.buffer)

    def part(self, index: tuple[slice, ...], device: Device) -> "Array":
        """A copy of a part, on a device of its own."""
        value = self._value[index]
        aval = self.aval.update(shape=value.shape).placed(SingleDeviceSharding(device))
        return from_numpy(value, aval)

    def block_until_ready(self) -> "Array":
        self._settle()
        return self

    def copy_to_host_async(self) -> None:
        """Nothing to do: the memory is the host's."""

    def is_ready(self) -> bool:
        self._settle()
        return True

    def is_deleted(self) -> bool:
        return self.address == 0 and not isinstance(self._owner, Promise)

    def delete(self) -> None:
        """Give the memory back; using the array afterwards raises RuntimeError."""
        self._owner = None
        self.address = 0

    def on_device_size_in_bytes(self) -> int:
        return self.nbytes


if not TYPE_CHECKING:
    Array = native_array.adopt(Array)


def _restore(value: np.ndarray, dtype: Any, weak_type: bool) -> Array:
    return from_numpy(value, ShapedArray(value.shape, dtype, weak_type))


class _Memory:
    """Lends memory to NumPy and keeps its owner alive."""

    __slots__ = ("__array_interface__", "owner")

    def __init__(self, interface: dict[str, Any], owner: Any):
        self.__array_interface__ = interface
        self.owner = owner


def view(aval: ShapedArray, address: int, owner: Any, writable: bool = False) -> np.ndarray:
    """Memory as a NumPy array that keeps `owner` alive."""
    dtype = dtypes.storage_dtype(aval.dtype)
    native = dtype.isbuiltin == 1
    interface = {
        "version": 3,
        "shape": aval.shape,
        "typestr": dtype.str if native else f"|V{dtype.itemsize}",
        "data": (address, not writable),
    }
    made = np.asarray(_Memory(interface, owner))
    return made if native else made.view(dtype)


def from_numpy(value: np.ndarray, aval: ShapedArray) -> Array:
    """A copy of a NumPy array as an Array of the given type."""
    storage = dtypes.storage_dtype(aval.dtype)
    value = np.ascontiguousarray(value, storage)
    buffer = allocate(aval.nbytes)
    if aval.size:
        ctypes.memmove(buffer.address, value.__array_interface__["data"][0], aval.nbytes)
    return Array(aval, buffer)


def from_scalar(value: Any, aval: ShapedArray) -> Array:
    """A Python or NumPy scalar as an Array of rank 0."""
    kind = SCALARS.get(aval.dtype)
    if kind is None:
        return from_numpy(np.asarray(value, aval.dtype), aval)
    buffer = allocate(8)
    try:
        # NumPy scalars and out-of-range integers go through their own conversion.
        kind.from_address(buffer.address).value = value
    except TypeError:
        return from_numpy(np.asarray(value).astype(aval.dtype), aval)
    return Array(aval, buffer)


def to_array(value: Any) -> Array:
    """An operand as an Array: arrays as they are, NumPy values and Python scalars copied."""
    if type(value) is Array:
        return value
    aval = values.aval_of(value)
    if isinstance(value, np.ndarray):
        return from_numpy(value, aval)
    if isinstance(value, int) and not isinstance(value, bool):
        check_int_range(value, aval)
    return from_scalar(value, aval)


def check_int_range(value: int, aval: ShapedArray) -> None:
    bits = 8 * aval.dtype.itemsize
    if not -(1 << (bits - 1)) <= value < (1 << (bits - 1)):
        raise OverflowError(
            f"Python integer {value} is too large to convert to {aval.dtype}. "
            + ("" if config.current().enable_x64 else "Enable jax_enable_x64, or use a float.")
        )

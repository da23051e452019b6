"""Ref: a reference to memory that programs change.

Reading and writing by index is installed by numpy.references.
"""

from typing import Any

from jacana.core.avals import AbstractRef
from jacana.core.values import is_ref
from jacana.runtime.array import Array


class RefType(type):
    """Traced references count as Refs, as in isinstance(x, jax.ref.Ref)."""

    def __instancecheck__(cls, instance: object) -> bool:
        return is_ref(instance)


class Ref(metaclass=RefType):
    """A reference to an array that changes; new_ref makes it. No Array shares its memory."""

    __slots__ = ("aval", "array", "__weakref__")
    __module__ = "jacana.ref"

    def __init__(self, array: Array):
        self.aval = AbstractRef(array.aval.plain)
        self.array = array

    @property
    def shape(self) -> tuple[int, ...]:
        return self.aval.shape

    @property
    def dtype(self) -> Any:
        return self.aval.dtype

    @property
    def ndim(self) -> int:
        return self.aval.ndim

    @property
    def size(self) -> int:
        return self.aval.size

    @property
    def committed(self) -> bool:
        return False

    @property
    def sharding(self) -> Any:
        return self.array.sharding

    def unsafe_buffer_pointer(self) -> int:
        """The address of the memory, which stays the same."""
        return self.array.address

    def block_until_ready(self) -> "Ref":
        return self

    def __len__(self) -> int:
        if not self.aval.shape:
            raise TypeError("len() of unsized object")
        return self.aval.shape[0]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        raise TypeError(
            f"a reference of type {self.aval} is no array: read it first, ref[...], which gives a "
            f"copy that stays as it is."
        )

    def __repr__(self) -> str:
        return repr(self.array).replace("Array(", "Ref(", 1)


def memory(value: Any) -> Any:
    """The array behind a reference, which programs read and change; others as they are."""
    return value.array if type(value) is Ref else value

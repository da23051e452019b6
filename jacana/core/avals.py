"""Abstract values: what a program knows of an array before it runs."""

import math
from typing import Any

from jacana.core import dtypes


class ShapedArray:
    """Shape, dtype and weak type of an array. Equal ones are one object, so compare with `is`."""

    __slots__ = ("shape", "dtype", "weak_type", "size", "is_differentiable", "__weakref__")
    shape: tuple[int, ...]
    dtype: Any
    weak_type: bool
    size: int
    # Whether tangents of such a value are of its own dtype.
    is_differentiable: bool
    _interned: dict[Any, "ShapedArray"] = {}

    def __new__(cls, shape: tuple[int, ...], dtype: Any, weak_type: bool = False) -> "ShapedArray":
        key = (shape, dtype, weak_type)
        try:
            return cls._interned[key]
        except (KeyError, TypeError):
            return cls._make(shape, dtype, weak_type)

    @classmethod
    def _make(cls, shape: Any, dtype: Any, weak_type: bool) -> "ShapedArray":
        shape, dtype = tuple(map(int, shape)), dtypes.dtype(dtype)
        made = object.__new__(cls)
        made.shape, made.dtype, made.weak_type = shape, dtype, bool(weak_type)
        made.size = math.prod(shape)
        made.is_differentiable = dtypes.is_differentiable(dtype)
        return cls._interned.setdefault((shape, dtype, made.weak_type), made)

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def nbytes(self) -> int:
        return self.size * int(self.dtype.itemsize)

    def update(self, **changes: Any) -> "ShapedArray":
        """The same aval with `shape`, `dtype` or `weak_type` replaced."""
        fields = {"shape": self.shape, "dtype": self.dtype, "weak_type": self.weak_type}
        return ShapedArray(**{**fields, **changes})

    def strip_weak_type(self) -> "ShapedArray":
        return ShapedArray(self.shape, self.dtype) if self.weak_type else self

    def to_tangent_aval(self) -> "ShapedArray":
        """The aval of tangents of this value: float0 where it cannot be differentiated."""
        if self.is_differentiable:
            return self
        return ShapedArray(self.shape, dtypes.float0)

    def str_short(self, short_dtypes: bool = False) -> str:
        """The type without its weakness: float32[3], or f32[3] as programs print it."""
        name = dtypes.short_name(self.dtype) if short_dtypes else str(self.dtype)
        return f"{name}[{','.join(map(str, self.shape))}]"

    def __str__(self) -> str:
        return f"{'~' if self.weak_type else ''}{self.str_short()}"

    def __repr__(self) -> str:
        weak = ", weak_type=True" if self.weak_type else ""
        return f"ShapedArray({self.str_short()}{weak})"

    def __reduce__(self) -> Any:
        return ShapedArray, (self.shape, self.dtype, self.weak_type)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of unsized object")
        return self.shape[0]

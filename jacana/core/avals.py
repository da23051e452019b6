"""Abstract values: what a program knows of an array before it runs."""

import math
from collections.abc import Sequence
from typing import Any

from jacana.core import dtypes

_NOWHERE: frozenset[Any] = frozenset()


def _axes_text(mark: str, axes: Sequence[Any]) -> str:
    """Names of axes after a mark, in parentheses if there are several; nothing if none."""
    if not axes:
        return ""
    return mark + (str(axes[0]) if len(axes) == 1 else f"({','.join(map(str, axes))})")


def _restore(
    shape: tuple[int, ...], dtype: Any, weak_type: bool, vma: frozenset[Any], sharding: Any
) -> "ShapedArray":
    aval = ShapedArray(shape, dtype, weak_type)
    return aval.varying(vma) if vma else aval.placed(sharding)


class ShapedArray:
    """Shape, dtype and weak type of an array. Equal ones are one object, so compare with `is`.

    An array of several devices has its sharding in its aval too, and a traced value the names of
    the mesh axes that it varies over in a shard_map (`vma`); `plain` is the aval without either.
    """

    __slots__ = (
        "shape",
        "dtype",
        "weak_type",
        "size",
        "is_differentiable",
        "memory",
        "vma",
        "sharding",
        "plain",
        "__weakref__",
    )
    shape: tuple[int, ...]
    dtype: Any
    weak_type: bool
    size: int
    # Whether tangents of such a value are of its own dtype.
    is_differentiable: bool
    # How the runtime tells native code of the elements in memory, once it did.
    memory: bytes | None
    vma: frozenset[Any]
    sharding: Any
    plain: "ShapedArray"
    _interned: dict[Any, "ShapedArray"] = {}
    # Those with a sharding, and those that vary, by their plain aval.
    _placed: dict[Any, "ShapedArray"] = {}
    _varying: dict[Any, "ShapedArray"] = {}

    def __new__(
        cls, shape: tuple[int, ...], dtype: Any, weak_type: bool = False, *, sharding: Any = None
    ) -> "ShapedArray":
        if sharding is not None:
            return cls(shape, dtype, weak_type).placed(sharding)
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
        made.memory = None
        made.is_differentiable = dtypes.is_differentiable(dtype)
        made.vma, made.sharding, made.plain = _NOWHERE, None, made
        return cls._interned.setdefault((shape, dtype, made.weak_type), made)

    def _variant(self, known: dict[Any, "ShapedArray"], vma: Any, sharding: Any) -> "ShapedArray":
        key = (self.plain, vma, sharding)
        found = known.get(key)
        if found is None:
            made = object.__new__(ShapedArray)
            made.shape, made.dtype, made.weak_type = self.shape, self.dtype, self.weak_type
            made.size, made.is_differentiable = self.size, self.is_differentiable
            made.memory = None
            made.vma, made.sharding, made.plain = vma, sharding, self.plain
            found = known.setdefault(key, made)
        return found

    def placed(self, sharding: Any) -> "ShapedArray":
        """The aval of an array with a sharding; with None, the plain aval."""
        return self.plain if sharding is None else self._variant(self._placed, _NOWHERE, sharding)

    def varying(self, vma: frozenset[Any]) -> "ShapedArray":
        """The aval of a value that varies over mesh axes."""
        return self._variant(self._varying, vma, None) if vma else self.plain

    @classmethod
    def any_placed(cls) -> bool:
        """Whether there ever was an array with a sharding of its own."""
        return bool(cls._placed)

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def nbytes(self) -> int:
        return self.size * int(self.dtype.itemsize)

    def update(self, **changes: Any) -> "ShapedArray":
        """The same aval with `shape`, `dtype` or `weak_type` replaced; its sharding is not kept."""
        fields = {"shape": self.shape, "dtype": self.dtype, "weak_type": self.weak_type}
        made = ShapedArray(**{**fields, **changes})
        return made.varying(self.vma) if self.vma else made

    def strip_weak_type(self) -> "ShapedArray":
        return self.update(weak_type=False) if self.weak_type else self

    def to_tangent_aval(self) -> "ShapedArray":
        """The aval of tangents of this value: float0 where it cannot be differentiated."""
        if self.is_differentiable:
            return self
        return ShapedArray(self.shape, dtypes.float0)

    def str_short(self, short_dtypes: bool = False) -> str:
        """The type without its weakness: float32[3], or f32[3] as programs print it."""
        name = dtypes.short_name(self.dtype) if short_dtypes else str(self.dtype)
        sizes = [str(n) for n in self.shape]
        if self.sharding is not None:
            sizes = [f"{n}{_axes_text('@', axes)}" for n, axes in zip(sizes, self._explicit())]
        return f"{name}[{','.join(sizes)}]{self._vma_text()}"

    def is_explicit(self) -> bool:
        """Whether an axis of type Explicit divides it."""
        return self.sharding is not None and any(self._explicit())

    def _explicit(self) -> list[tuple[Any, ...]]:
        """The mesh axes of type Explicit that divide each dimension."""
        dimensions = getattr(self.sharding, "dimensions", None)
        if dimensions is None:
            return [()] * self.ndim
        shown = self.sharding.mesh.explicit_axes
        return [tuple([n for n in axes if n in shown]) for axes in dimensions(self.ndim)]

    def _vma_text(self) -> str:
        return f"{{{_axes_text('V:', sorted(self.vma, key=str))}}}" if self.vma else ""

    def __str__(self) -> str:
        return f"{'~' if self.weak_type else ''}{self.str_short()}"

    def __repr__(self) -> str:
        weak = ", weak_type=True" if self.weak_type else ""
        return f"ShapedArray({self.str_short()}{weak})"

    def __reduce__(self) -> Any:
        return _restore, (self.shape, self.dtype, self.weak_type, self.vma, self.sharding)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of unsized object")
        return self.shape[0]


class AbstractRef:
    """The type of a reference to an array that programs may change. Equal ones are one object."""

    __slots__ = ("inner_aval", "__weakref__")
    inner_aval: ShapedArray
    is_differentiable = False
    vma = _NOWHERE
    sharding = None
    _interned: dict[ShapedArray, "AbstractRef"] = {}

    def __new__(cls, inner_aval: ShapedArray) -> "AbstractRef":
        found = cls._interned.get(inner_aval)
        if found is None:
            made = object.__new__(cls)
            made.inner_aval = inner_aval
            found = cls._interned.setdefault(inner_aval, made)
        return found

    @property
    def shape(self) -> tuple[int, ...]:
        return self.inner_aval.shape

    @property
    def dtype(self) -> Any:
        return self.inner_aval.dtype

    @property
    def weak_type(self) -> bool:
        return self.inner_aval.weak_type

    @property
    def nbytes(self) -> int:
        return self.inner_aval.nbytes

    @property
    def plain(self) -> "AbstractRef":
        return self

    @property
    def ndim(self) -> int:
        return len(self.inner_aval.shape)

    @property
    def size(self) -> int:
        return self.inner_aval.size

    def update(self, **changes: Any) -> "AbstractRef":
        """The same with the `shape` or `dtype` of the array replaced."""
        return AbstractRef(self.inner_aval.update(**changes))

    def is_explicit(self) -> bool:
        return False

    def strip_weak_type(self) -> "AbstractRef":
        return self

    def to_tangent_aval(self) -> "AbstractRef":
        """The type of references to tangents."""
        return AbstractRef(self.inner_aval.to_tangent_aval())

    def str_short(self, short_dtypes: bool = False) -> str:
        return f"Ref{{{self.inner_aval.str_short(short_dtypes)}}}"

    def __str__(self) -> str:
        return self.str_short()

    __repr__ = __str__

    def __reduce__(self) -> Any:
        return AbstractRef, (self.inner_aval,)


def is_ref_type(aval: Any) -> bool:
    """Whether an aval is a reference's."""
    return type(aval) is AbstractRef

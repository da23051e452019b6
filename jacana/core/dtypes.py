"""Dtypes: NumPy's objects, those of ml_dtypes, and the dtype of random keys.

Which dtype an operation has is decided by the promotion lattice at the end. Whether 64-bit types
are on is an argument everywhere: this module reads no configuration.
"""

import functools
import warnings
from collections.abc import Iterator
from typing import Any, Literal, TypeAlias

import ml_dtypes
import numpy as np

float0: np.dtype[Any] = np.dtype([("float0", np.void, 0)])
"""The dtype of tangents of values that cannot be differentiated; its elements take no memory."""

finfo = ml_dtypes.finfo
iinfo = ml_dtypes.iinfo


class TypePromotionError(ValueError):
    """Two dtypes have no common type that either converts to implicitly."""


class extended(np.generic):
    """The abstract scalar type of dtypes that NumPy does not have."""


class prng_key(extended):
    """The abstract scalar type of random keys."""


class KeyDType:
    """The dtype of an array of random keys; one object per kind of key, so compare with `is`.

    An element is stored as one uint64 whose low half is the first word of the key.
    """

    __slots__ = ("tag",)
    itemsize = 8
    type = prng_key
    _interned: dict[str, "KeyDType"] = {}

    def __new__(cls, tag: str = "fry") -> "KeyDType":
        made = cls._interned.get(tag)
        if made is None:
            made = object.__new__(cls)
            made.tag = tag
            made = cls._interned.setdefault(tag, made)
        return made

    tag: str

    @property
    def name(self) -> str:
        return f"key<{self.tag}>"

    def __repr__(self) -> str:
        return self.name

    def __reduce__(self) -> Any:
        return KeyDType, (self.tag,)


key_dtype = KeyDType()
DType: TypeAlias = np.dtype[Any] | KeyDType

Kind = Literal["bool", "int", "uint", "float", "complex", "key", "float0", "other"]

_SIGNED = ("int1", "int2", "int4", "int8", "int16", "int32", "int64")
_NARROW_FLOATS = (
    "float4_e2m1fn",
    "float6_e2m3fn",
    "float6_e3m2fn",
    "float8_e3m4",
    "float8_e4m3",
    "float8_e8m0fnu",
    "float8_e4m3b11fnuz",
    "float8_e4m3fn",
    "float8_e4m3fnuz",
    "float8_e5m2",
    "float8_e5m2fnuz",
)
_NAMES: dict[Kind, tuple[str, ...]] = {
    "bool": ("bool",),
    "int": _SIGNED,
    "uint": tuple("u" + name for name in _SIGNED),
    "float": (*_NARROW_FLOATS, "bfloat16", "float16", "float32", "float64"),
    "complex": ("complex64", "complex128"),
}


def _known_dtypes() -> Iterator[tuple[str, np.dtype[Any], Kind]]:
    # An older ml_dtypes lacks some of the narrowest types; they are then unknown names here too.
    for kind, names in _NAMES.items():
        for name in names:
            if hasattr(ml_dtypes, name):
                yield name, np.dtype(getattr(ml_dtypes, name)), kind
            elif hasattr(np, name):
                yield name, np.dtype(name), kind


_by_name: dict[str, np.dtype[Any]] = {name: found for name, found, _ in _known_dtypes()}
_kinds: dict[np.dtype[Any], Kind] = {found: kind for _, found, kind in _known_dtypes()}
# Platforms have two C types of 64 bits; equal dtypes are made one object.
_unique: dict[np.dtype[Any], np.dtype[Any]] = {found: found for found in _kinds}

bool_ = _by_name["bool"]
int8, int16, int32, int64 = (_by_name[f"int{n}"] for n in (8, 16, 32, 64))
uint8, uint16, uint32, uint64 = (_by_name[f"uint{n}"] for n in (8, 16, 32, 64))
bfloat16 = _by_name["bfloat16"]
float16, float32, float64 = (_by_name[f"float{n}"] for n in (16, 32, 64))
complex64, complex128 = _by_name["complex64"], _by_name["complex128"]

_NARROWED = {int64: int32, uint64: uint32, float64: float32, complex128: complex64}
_REAL = {complex64: float32, complex128: float64}
_COMPLEX = {
    float32: complex64, float64: complex128, float16: complex64, bfloat16: complex64,
}  # fmt: skip
_PYTHON_SCALARS: dict[type, np.dtype[Any]] = {
    bool: bool_,
    int: int64,
    float: float64,
    complex: complex128,
}


# --- asking about dtypes ---


def dtype(value: Any) -> DType:
    """The dtype that a dtype, its name, a scalar type or a value with a dtype stands for."""
    if isinstance(value, KeyDType):
        return value
    if isinstance(value, str) and value in _by_name:
        return _by_name[value]
    if value is None:
        raise TypeError("None is not a dtype: pass one such as 'float32'.")
    named: object = getattr(value, "dtype", None)
    if isinstance(named, KeyDType):
        return named
    return _unify(named if isinstance(named, np.dtype) else np.dtype(value))


def _unify(dtype: np.dtype[Any]) -> np.dtype[Any]:
    return _unique.get(dtype, dtype)


def kind(dtype: DType) -> Kind:
    """What family a dtype is of; unlike `np.dtype.kind` it knows those of ml_dtypes."""
    if isinstance(dtype, KeyDType):
        return "key"
    return _kinds.get(dtype) or ("float0" if dtype == float0 else "other")


def is_bool(dtype: DType) -> bool:
    return kind(dtype) == "bool"


def is_integer(dtype: DType) -> bool:
    """Whether signed or unsigned integer; bool is not."""
    return kind(dtype) in ("int", "uint")


def is_signed_integer(dtype: DType) -> bool:
    return kind(dtype) == "int"


def is_unsigned_integer(dtype: DType) -> bool:
    return kind(dtype) == "uint"


def is_float(dtype: DType) -> bool:
    return kind(dtype) == "float"


def is_complex(dtype: DType) -> bool:
    return kind(dtype) == "complex"


def is_key(dtype: DType) -> bool:
    return isinstance(dtype, KeyDType)


def is_differentiable(dtype: DType) -> bool:
    """Whether values of this dtype have tangents of the same dtype."""
    return kind(dtype) in ("float", "complex")


def is_supported(dtype: DType) -> bool:
    """Whether arrays may have this dtype (strings, objects and dates may not)."""
    return kind(dtype) != "other"


def name(dtype: DType) -> str:
    """The full name, as in `repr` of an aval: float32, bfloat16, key<fry>, float0."""
    return "float0" if dtype == float0 else dtype.name


@functools.cache
def short_name(dtype: DType) -> str:
    """The name in printed programs: f32, i8, u4, bool, c64, bf16, f8_e4m3fn, key<fry>, float0."""
    long = name(dtype)
    if kind(dtype) in ("bool", "float0", "key", "other"):
        return long
    for word, letter in (("bfloat", "bf"), ("float", "f"), ("uint", "u"), ("int", "i")):
        if long.startswith(word):
            return letter + long.removeprefix(word)
    return "c" + long.removeprefix("complex")


def bit_width(dtype: DType) -> int:
    """The bits that one element has a meaning for: 4 for int4, which is stored in a byte."""
    family = kind(dtype)
    if family in ("int", "uint"):
        return int(iinfo(dtype).bits)
    if family == "float":
        return int(finfo(dtype).bits)
    return 8 * dtype.itemsize


def storage_dtype(dtype: DType) -> np.dtype[Any]:
    """The NumPy dtype of the memory that holds elements of this dtype."""
    return uint64 if isinstance(dtype, KeyDType) else dtype


def real_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype of the real part."""
    return _REAL.get(dtype, dtype)


def complex_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The complex dtype whose real part holds values of this real dtype."""
    return dtype if dtype in _REAL else _COMPLEX[dtype]


# --- 64-bit types on and off ---


def canonicalize(dtype: DType, x64: bool) -> DType:
    """The dtype itself, or its 32-bit counterpart where 64-bit types are off."""
    return dtype if x64 else _NARROWED.get(dtype, dtype)  # type: ignore[arg-type]


def requested(value: Any, x64: bool, function: str) -> DType:
    """The dtype that a user asked `function` for; warns where that is a 64-bit type that is off.

    Python's int, float and complex ask for the default width and never warn.
    """
    if isinstance(value, type) and value in _PYTHON_SCALARS:
        return python_scalar_dtype(value, x64)
    asked = dtype(value)
    if not is_supported(asked):
        raise TypeError(
            f"{function} got dtype {value!r}; arrays hold numbers, booleans and random keys only."
        )
    given = canonicalize(asked, x64)
    if given is not asked:
        warnings.warn(
            f"Explicitly requested dtype {name(asked)} requested in {function} is not available, "
            f"and will be truncated to dtype {name(given)}. Turn 64-bit types on with "
            f"jax.config.update('jax_enable_x64', True) or JAX_ENABLE_X64=1, or ask for "
            f"{name(given)}.",
            stacklevel=3,
        )
    return given


def python_scalar_dtype(type_: type, x64: bool) -> np.dtype[Any]:
    """The dtype of a Python bool, int, float or complex; all but bool are weakly typed."""
    found = _PYTHON_SCALARS[type_]
    return found if x64 else _NARROWED.get(found, found)


# --- categories ---


_ABSTRACT = frozenset(
    (
        np.generic, np.number, np.integer, np.signedinteger, np.unsignedinteger, np.inexact,
        np.floating, np.complexfloating, np.flexible, np.character, np.void, extended, prng_key,
    )
)  # fmt: skip


def _scalar_type(value: Any) -> type | DType:
    """An abstract scalar type as it is, anything else as a dtype."""
    if isinstance(value, type) and value in _ABSTRACT:
        return value
    return float64 if value is None else dtype(value)


_CATEGORIES: dict[Kind, type] = {
    "bool": np.bool_,
    "int": np.signedinteger,
    "uint": np.unsignedinteger,
    "float": np.floating,
    "complex": np.complexfloating,
    "key": prng_key,
}


def issubdtype(a: Any, b: Any) -> bool:
    """Whether dtype or scalar type `a` is `b`, or of the abstract scalar type `b`."""
    lower, upper = _scalar_type(a), _scalar_type(b)
    if not isinstance(upper, type):
        return upper == lower
    if isinstance(lower, type):
        return issubclass(lower, upper)
    return issubclass(_CATEGORIES.get(kind(lower), lower.type), upper)


# --- promotion ---

# A weak type is the Python type whose literals have it; all else in the lattice is a dtype.
Node: TypeAlias = np.dtype[Any] | type
_NARROW_INTEGERS = [
    found for found, family in _kinds.items()
    if family in ("int", "uint") and iinfo(found).bits < 8
]  # fmt: skip
_NARROW = [_by_name[name] for name in _NARROW_FLOATS if name in _by_name]

# What each type converts to implicitly, one step. Nothing leaves the narrow types.
_CONVERSIONS: dict[Node, list[Node]] = {
    bool_: [int],
    int: [uint8, int8, *_NARROW_INTEGERS],
    uint8: [int16, uint16],
    uint16: [int32, uint32],
    uint32: [int64, uint64],
    uint64: [float],
    int8: [int16],
    int16: [int32],
    int32: [int64],
    int64: [float],
    float: [bfloat16, float16, complex, *_NARROW],
    bfloat16: [float32],
    float16: [float32],
    float32: [float64, complex64],
    float64: [complex128],
    complex: [complex64],
    complex64: [complex128],
}


def _strict_conversions() -> dict[Node, list[Node]]:
    """Python scalars take the dtype of the array they meet; dtypes never convert."""
    by_kind: dict[Kind, list[Node]] = {}
    for found, family in _kinds.items():
        by_kind.setdefault(family, []).append(found)
    return {
        int: [float, *by_kind["int"], *by_kind["uint"]],
        float: [complex, *by_kind["float"]],
        complex: by_kind["complex"],
    }


_CONVERSIONS_OF_MODE = {False: _CONVERSIONS, True: _strict_conversions()}


@functools.cache
def _reachable(start: Node, strict: bool) -> frozenset[Node]:
    following = _CONVERSIONS_OF_MODE[strict].get(start, [])
    return frozenset({start}.union(*(_reachable(node, strict) for node in following)))


def _join(nodes: frozenset[Node], strict: bool) -> Node:
    """The least type that all of them convert to."""
    bounds = frozenset.intersection(*(_reachable(node, strict) for node in nodes))
    for node in bounds:
        if bounds <= _reachable(node, strict):
            return node
    raise TypePromotionError(_no_bound(nodes, strict))


def _no_bound(nodes: frozenset[Node], strict: bool) -> str:
    names = ", ".join(
        sorted(n.name if isinstance(n, np.dtype) else f"{n.__name__}*" for n in nodes)
    )
    if strict:
        return (
            f"Input dtypes ({names}) have no available implicit dtype promotion path in strict "
            f"mode (jax_numpy_dtype_promotion). Convert one explicitly with x.astype(dtype)."
        )
    return (
        f"Input dtypes ({names}) have no available implicit dtype promotion path: integers under 8 "
        f"bits and floats of 8 bits and less never convert implicitly. Convert one explicitly, for "
        f"example with x.astype('float32')."
    )


def _node(dtype: np.dtype[Any], weak: bool) -> Node:
    if not weak or is_bool(dtype):
        return dtype
    return int if is_integer(dtype) else complex if is_complex(dtype) else float


def _check_promotable(given: set[DType]) -> None:
    for found in given:
        if isinstance(found, KeyDType) and len(given) > 1:
            raise ValueError(
                f"dtype={found} is not a valid dtype for JAX type promotion: random keys mix with "
                f"keys only. jax.random.key_data(key) gives the words of a key as integers."
            )
        if found == float0 and len(given) > 1:
            raise TypeError(
                "float0 arrays are tangents of values that cannot be differentiated and take part "
                "in no arithmetic. np.zeros_like(x, dtype=float) makes zeros of another dtype."
            )


@functools.lru_cache(maxsize=4096)
def promote(
    *pairs: tuple[DType, bool], strict: bool = False, x64: bool = False
) -> tuple[DType, bool]:
    """The dtype of a result of operands given as (dtype, is weak), and whether it is weak.

    `strict` refuses to convert one dtype to another. Results are of 32 bits where `x64` is off.
    """
    if not pairs:
        raise ValueError("at least one array or dtype is required")
    given = {canonicalize(found, x64) for found, _ in pairs}
    _check_promotable(given)
    all_weak = all(weak for _, weak in pairs)
    first = next(iter(given))
    if len(given) == 1 and (isinstance(first, KeyDType) or len(pairs) == 1 or not all_weak):
        return first, all_weak and not is_bool(first)
    numeric = [(storage_dtype(canonicalize(found, x64)), weak) for found, weak in pairs]
    if all_weak:
        # Weak types may be of any width: bound the dtypes, then call the bound weak.
        bound = _join(frozenset(d for d, _ in numeric), False)
    else:
        bound = _join(frozenset(_node(d, weak) for d, weak in numeric), strict)
    weak = all_weak or isinstance(bound, type)
    result = python_scalar_dtype(bound, x64) if isinstance(bound, type) else bound
    return canonicalize(result, x64), weak and not is_bool(result)


def promote_types(a: Any, b: Any, x64: bool = False) -> np.dtype[Any]:
    """The common dtype of two, as `jax.numpy.promote_types`; wide inputs stay wide.

    Python's int, float and complex stand for weakly typed scalars.
    """
    nodes = frozenset(
        v if isinstance(v, type) and v in (int, float, complex) else dtype(v) for v in (a, b)
    )
    if len(nodes) == 1 and not isinstance(v := next(iter(nodes)), type | KeyDType):
        return v
    _check_promotable({node for node in nodes if not isinstance(node, type)})
    bound = _join(nodes, strict=False)  # type: ignore[arg-type]
    if isinstance(bound, type):
        return _PYTHON_SCALARS[bound]
    narrow_in = all(isinstance(v, type) or v not in _NARROWED for v in nodes)
    return bound if x64 or not narrow_in else _NARROWED.get(bound, bound)

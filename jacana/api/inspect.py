"""Looking at functions without running them: make_jaxpr, eval_shape, typeof."""

import functools
from collections.abc import Callable, Sequence
from typing import Any

from jacana.api.arguments import check_callable, flatten_arguments, name_of
from jacana.api.references import check_not_returned
from jacana.core import dtypes, tree
from jacana.core.avals import ShapedArray
from jacana.core.errors import NotAnArrayError
from jacana.core.jaxpr import ClosedJaxpr
from jacana.core.show import show as show
from jacana.core.stage import stage
from jacana.core.values import aval_of, is_array_like, register
from jacana.runtime.array import Array


class ShapeDtypeStruct:
    """Shape and dtype of an array that need not exist."""

    __slots__ = ("shape", "dtype", "weak_type", "sharding")

    def __init__(
        self,
        shape: Sequence[int],
        dtype: Any,
        *,
        sharding: Any = None,
        weak_type: bool = False,
        **ignored: Any,
    ):
        if dtype is None:
            raise ValueError("ShapeDtypeStruct: dtype must be specified.")
        self.shape, self.dtype = tuple(shape), dtypes.dtype(dtype)
        self.sharding, self.weak_type = sharding, weak_type

    @property
    def size(self) -> int:
        return ShapedArray(self.shape, self.dtype).size

    @property
    def ndim(self) -> int:
        return len(self.shape)

    def update(self, **changes: Any) -> "ShapeDtypeStruct":
        fields = {name: getattr(self, name) for name in self.__slots__}
        return ShapeDtypeStruct(**{**fields, **changes})

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of unsized object")
        return self.shape[0]

    def __repr__(self) -> str:
        weak = ", weak_type=True" if self.weak_type else ""
        return f"ShapeDtypeStruct(shape={self.shape}, dtype={dtypes.name(self.dtype)}{weak})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ShapeDtypeStruct) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> Any:
        return (self.shape, self.dtype, self.weak_type)


register(ShapeDtypeStruct, lambda s: ShapedArray(s.shape, s.dtype, s.weak_type))


def typeof(x: Any) -> ShapedArray:
    """The aval of an array: shape, dtype, weak type; what divides it along Explicit mesh axes."""
    aval = aval_of(x)
    placed: ShapedArray = x.aval if type(x) is Array else aval
    return placed if placed.is_explicit() else aval


def traced(
    function: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any], static: Sequence[int]
) -> tuple[ClosedJaxpr, Any]:
    """The jaxpr of a call, and the structure of its result."""
    structures: list[Any] = []
    dynamic = [x for i, x in enumerate(args) if i not in static]
    leaves, structure = flatten_arguments((dynamic, kwargs), f"make_jaxpr of {name_of(function)}")

    def flat(*xs: Any) -> list[Any]:
        given, named = structure.unflatten(xs)
        full = list(given)
        for i in sorted(static):
            full.insert(i, args[i])
        out, out_structure = tree.flatten(function(*full, **named))
        structures.append(out_structure)
        for x in out:
            if not is_array_like(x):
                check_not_returned(out_structure.unflatten(out), name_of(function), "jit")
                raise NotAnArrayError(x, f"a traced function ({name_of(function)}) as a result")
        return out

    avals = [aval_of(x) for x in leaves]
    jaxpr, consts = stage(flat, avals, name_of(function), of_user=True)
    return ClosedJaxpr(jaxpr, consts), structures[0]


def make_jaxpr(
    fun: Callable[..., Any],
    static_argnums: int | Sequence[int] = (),
    axis_env: Any = None,
    return_shape: bool = False,
    **ignored: Any,
) -> Callable[..., Any]:
    """A function that gives the jaxpr of `fun` for arguments instead of running it.

    >>> print(make_jaxpr(lambda x: x + 1)(1.0))
    { lambda ; a:f32[]. let b:f32[] = add a 1.0:f32[] in (b,) }
    """
    check_callable(fun, "make_jaxpr")
    static = [static_argnums] if isinstance(static_argnums, int) else list(static_argnums)

    @functools.wraps(fun, assigned=("__name__", "__doc__", "__module__"))
    def make(*args: Any, **kwargs: Any) -> Any:
        chosen = [n % len(args) for n in static]
        jaxpr, structure = traced(fun, args, kwargs, chosen)
        return (jaxpr, structure.unflatten(shapes_of(jaxpr))) if return_shape else jaxpr

    return make


def shapes_of(jaxpr: ClosedJaxpr) -> list[ShapeDtypeStruct]:
    return [ShapeDtypeStruct(a.shape, a.dtype, weak_type=a.weak_type) for a in jaxpr.out_avals]


def eval_shape(fun: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """The shapes and dtypes of fun's results, found without computing anything."""
    jaxpr, structure = traced(fun, args, kwargs, ())
    return structure.unflatten(shapes_of(jaxpr))

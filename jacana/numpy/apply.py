"""Functions applied along axes and over broadcast arguments: vectorize, apply_along_axis."""

import functools
import re
from collections.abc import Callable, Collection, Sequence
from typing import Any

from jacana.api.vmap import vmap
from jacana.numpy.manipulation import expand_dims, squeeze
from jacana.numpy.promotion import as_array, broadcast_shape, broadcast_to, normalized_axis

Dimensions = list[tuple[str, ...]]

_CORE = r"\((?:\w+(?:,\w+)*)?\)"
_SIGNATURE = rf"^(?:{_CORE}(?:,{_CORE})*)?->{_CORE}(?:,{_CORE})*$"


def parse_signature(signature: str) -> tuple[Dimensions, Dimensions]:
    """The names of the core axes of each input and output of "(n,m),(m)->(n)"."""
    text = re.sub(r"\s+", "", signature)
    if not re.match(_SIGNATURE, text):
        raise ValueError(f"not a valid gufunc signature: {signature}")
    made = []
    for side in text.split("->"):
        groups = re.findall(_CORE, side)
        made.append([tuple(name for name in g[1:-1].split(",") if name) for g in groups])
    return made[0], made[1]


def vectorize(
    pyfunc: Callable[..., Any],
    *,
    excluded: Collection[int | str] = frozenset(),
    signature: str | None = None,
) -> Callable[..., Any]:
    """A function of arrays that broadcast, from one of scalars (or of the signature's core axes).

    excluded: arguments, by position or name, that are passed on as they are.

    >>> jnp.vectorize(lambda x, y: x + y)(jnp.arange(2), jnp.arange(2)[:, None]).shape
    (2, 2)
    """
    if any(not isinstance(e, int | str) for e in excluded):
        raise TypeError(f"jax.numpy.vectorize can only exclude integer or string arguments, got "
                        f"excluded={excluded!r}")  # fmt: skip
    if any(isinstance(e, int) and e < 0 for e in excluded):
        raise ValueError(f"excluded={excluded!r} contains negative numbers")

    if signature is not None:
        parse_signature(signature)

    @functools.wraps(pyfunc)
    def vectorized(*args: Any, **kwargs: Any) -> Any:
        fixed = {k: v for k, v in kwargs.items() if k in excluded}
        named = {k: v for k, v in kwargs.items() if k not in excluded}
        if named and signature is not None:
            raise TypeError("keyword arguments of a function with a signature must be excluded.")
        places = [i for i in range(len(args)) if i not in excluded]

        def core(*arrays: Any) -> Any:
            whole = list(args)
            for i, x in zip(places, arrays):
                whole[i] = x
            rest = dict(zip(named, arrays[len(places) :]))
            return pyfunc(*whole, **rest, **fixed)

        given = [args[i] for i in places] + list(named.values())
        return _broadcast_call(core, given, signature)

    return vectorized


def _broadcast_call(core: Callable[..., Any], given: Sequence[Any], signature: str | None) -> Any:
    arrays = [as_array("vectorize", x) for x in given]
    inputs: Dimensions
    if signature is None:
        inputs, outputs = [()] * len(arrays), None
    else:
        inputs, outputs = parse_signature(signature)
    if len(inputs) != len(arrays):
        raise TypeError(
            f"wrong number of positional arguments: expected {len(inputs)}, got {len(arrays)}"
        )
    sizes: dict[str, int] = {}
    loops = []
    for x, names in zip(arrays, inputs):
        loops.append(_loop_shape(x, names, sizes))
    shape = broadcast_shape("vectorize", *loops)
    function = core if outputs is None else _checked(core, outputs, sizes)
    # Axes of extent 1 are taken away; each other one is mapped over by a vmap of its own.
    for k in range(len(shape)):
        axis = len(shape) - 1 - k
        mapped = [0 if _has_axis(loop, axis, len(shape)) else None for loop in loops]
        if all(m is None for m in mapped):
            function = _with_axis(function, shape[axis])
        else:
            function = vmap(function, in_axes=tuple(mapped))
    return function(*[_without_ones(x, loop) for x, loop in zip(arrays, loops)])


def _loop_shape(x: Any, names: tuple[str, ...], sizes: dict[str, int]) -> tuple[int, ...]:
    """The extents of x that are looped over; its core extents are noted, and must agree."""
    if x.ndim < len(names):
        raise ValueError(
            f"input with shape {x.shape} does not have enough dimensions for all core dimensions "
            f"{names}"
        )
    first = x.ndim - len(names)
    for name, n in zip(names, x.shape[first:]):
        if sizes.setdefault(name, n) != n:
            raise ValueError(f"inconsistent size for core dimension {name!r}: {n} vs {sizes[name]}")
    return tuple(x.shape[:first])


def _has_axis(loop: tuple[int, ...], axis: int, rank: int) -> bool:
    own = axis - (rank - len(loop))
    return own >= 0 and loop[own] != 1


def _without_ones(x: Any, loop: tuple[int, ...]) -> Any:
    ones = tuple(d for d, n in enumerate(loop) if n == 1)
    return squeeze(x, ones) if ones else x


def _with_axis(function: Callable[..., Any], n: int) -> Callable[..., Any]:
    """The function's results repeated along a leading axis."""

    def repeated(*args: Any) -> Any:
        out = function(*args)
        many = isinstance(out, tuple | list)
        made = [_leading(as_array("vectorize", x), n) for x in (out if many else [out])]
        return tuple(made) if many else made[0]

    return repeated


def _leading(x: Any, n: int) -> Any:
    return broadcast_to(expand_dims(x, 0), (n, *x.shape))


def _checked(
    core: Callable[..., Any], outputs: Dimensions, sizes: dict[str, int]
) -> Callable[..., Any]:
    """The function, with the ranks and core extents of its results checked."""

    def checked(*args: Any) -> Any:
        out = core(*args)
        results = out if isinstance(out, tuple | list) else [out]
        if len(results) != len(outputs):
            raise TypeError(
                f"wrong number of outputs from function: expected {len(outputs)}, got "
                f"{len(results)}"
            )
        for x, names in zip(results, outputs):
            shape = as_array("vectorize", x).shape
            if len(shape) != len(names):
                raise ValueError(
                    f"output shape {shape} does not match core dimensions {names} of the signature"
                )
            for name, n in zip(names, shape):
                if sizes.setdefault(name, n) != n:
                    raise ValueError(
                        f"output shape {shape} does not match core dimension {name!r} of size "
                        f"{sizes[name]}"
                    )
        return out

    return checked


def apply_along_axis(
    func1d: Callable[..., Any], axis: int, arr: Any, *args: Any, **kwargs: Any
) -> Any:
    """A function of vectors applied to each vector along an axis; its result stands in its place.

    >>> jnp.apply_along_axis(lambda v: v.sum(), 0, jnp.ones((2, 3)))
    Array([2., 2., 2.], dtype=float32)
    """
    x = as_array("apply_along_axis", arr)
    d = normalized_axis(axis, x.ndim)
    function: Callable[..., Any] = lambda v: as_array(
        "apply_along_axis", func1d(v, *args, **kwargs)
    )
    # Axes after the chosen one are mapped innermost, so that those before it come first.
    for _ in range(x.ndim - d - 1):
        function = vmap(function, in_axes=1, out_axes=-1)
    for _ in range(d):
        function = vmap(function, in_axes=0, out_axes=0)
    return function(x)


def apply_over_axes(func: Callable[[Any, int], Any], a: Any, axes: Sequence[int]) -> Any:
    """func(a, axis) for each axis in turn; axes that it takes away are put back at extent 1.

    >>> jnp.apply_over_axes(jnp.sum, jnp.ones((2, 3)), [0])
    Array([[2., 2., 2.]], dtype=float32)
    """
    x = as_array("apply_over_axes", a)
    for axis in axes:
        out = as_array("apply_over_axes", func(x, axis))
        if out.ndim == x.ndim:
            x = out
        elif out.ndim == x.ndim - 1:
            x = expand_dims(out, axis)
        else:
            raise ValueError("function is not returning an array of the correct shape")
    return x

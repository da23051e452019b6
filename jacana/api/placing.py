"""Where arrays go: device_put, the shardings of jit, constraints; arrays made of shards."""

import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jacana import ops
from jacana.core import tree
from jacana.core.mesh import Mesh, PartitionSpec, current_mesh
from jacana.core.sharding import NamedSharding, Sharding, SingleDeviceSharding
from jacana.core.trace import Tracer, is_eager
from jacana.core.values import aval_of
from jacana.runtime.array import Array, from_numpy, to_array
from jacana.runtime.device import Device, devices


def resolved(function: str, value: Any) -> Sharding | None:
    """A device, sharding, or spec for the mesh in context as a sharding; None stays None."""
    if value is None or isinstance(value, Sharding):
        return value
    if isinstance(value, Device):
        return SingleDeviceSharding(value)
    if isinstance(value, PartitionSpec):
        mesh = current_mesh()
        if not isinstance(mesh, Mesh):
            raise RuntimeError(
                f"{function} requires a non-empty mesh in context if you are passing "
                f"`PartitionSpec`s. You can define a context mesh via `jax.set_mesh(mesh)`. "
                f"Alternatively, provide `Sharding`s and then the mesh context manager is not "
                f"required."
            )
        return NamedSharding(mesh, value)
    raise ValueError(
        f"{function} needs a device, a sharding or a PartitionSpec, got {value!r} of type "
        f"{type(value).__name__}. jax.devices() lists the devices."
    )


def is_place(x: Any) -> bool:
    """Whether x is a leaf of a tree of shardings."""
    return x is None or isinstance(x, Sharding | PartitionSpec | Device)


def places_of(function: str, prefix: Any, values: Any) -> list[Sharding | None]:
    """The sharding of each leaf, from a tree that begins as that of the values."""
    found = tree.broadcast_prefix(prefix, values, is_leaf=is_place, name=function)
    return [resolved(function, p) for p in found]


def device_put(
    x: Any, device: Any = None, *, src: Any = None, donate: Any = False, may_alias: Any = None
) -> Any:
    """The leaves of a tree as arrays on a device, or divided between devices.

    `device` is a device, a sharding, a PartitionSpec for the mesh of `jax.set_mesh`, or a tree of
    these that begins as x does. With `donate`, arrays that are moved are deleted. Raises ValueError
    where a sharding does not divide its array.

    >>> device_put(np.arange(3))
    Array([0, 1, 2], dtype=int32)
    """
    if device is None:
        return tree.map(_as_array, x)
    places = places_of("device_put", device, x)
    leaves, structure = tree.flatten(x)
    if isinstance(donate, bool):
        given_away = [donate] * len(leaves)
    else:
        given_away = tree.broadcast_prefix(donate, x, name="device_put donate")
    moved = [
        _put(leaf, place, gone)
        for leaf, place, gone in zip(leaves, places, given_away, strict=True)
    ]
    return structure.unflatten(moved)


def made_on(x: Any, device: Any, out_sharding: Any = None) -> Any:
    """What a function made, where its `device` or `out_sharding` argument says, if one does."""
    place = device if out_sharding is None else out_sharding
    return x if place is None else device_put(x, place)


def _as_array(x: Any) -> Any:
    return x if isinstance(x, Tracer) else to_array(x)


def _put(x: Any, place: Sharding | None, donate: bool) -> Any:
    if place is None:
        return _as_array(x)
    if isinstance(x, Tracer) or not is_eager():
        return constrained(x, place)
    array = to_array(x)
    check_divides("device_put", place, array.shape)
    moved = array.with_sharding(on_one_device(place))
    if donate and array is x and moved is not x:
        array.delete()
    return moved


def on_one_device(place: Sharding) -> Sharding | None:
    """The sharding, or None if the only device there is has all of it: arrays are there anyway."""
    if isinstance(place, SingleDeviceSharding) and len(devices()) == 1:
        return None
    return place


def check_divides(function: str, place: Sharding, shape: Sequence[int]) -> None:
    """ValueError unless arrays of a shape can be divided so."""
    if isinstance(place, NamedSharding) and len(place.spec) > len(shape):
        raise ValueError(
            f"One of {function} args is incompatible with its sharding annotation {place}: "
            f"Sharding {place} is only valid for values of rank at least {len(place.spec)}, but "
            f"was applied to a value of rank {len(shape)}."
        )
    place.check_compatible_aval(shape)


def constrained(x: Any, place: Sharding) -> Any:
    """x, divided as a sharding says; a spec of more dimensions than x has raises ValueError."""
    shape = np.shape(x)
    if isinstance(place, NamedSharding):
        if len(place.spec) > len(shape):
            check_divides("with_sharding_constraint", place, shape)
        sizes = zip(shape, place.factors(len(shape)))
        if any(n % factor for n, factor in sizes):
            place = NamedSharding(place.mesh, PartitionSpec())
    if is_eager() and not isinstance(x, Tracer):
        return to_array(x).with_sharding(on_one_device(place))
    return ops.sharding_constraint(x, sharding=place)


def with_sharding_constraint(x: Any, shardings: Any) -> Any:
    """The tree itself, whose arrays are divided as a tree of shardings says.

    Specs are for the mesh of `jax.set_mesh`; RuntimeError if there is none. A sharding that does
    not divide its array leaves it whole.

    >>> import jacana
    >>> mesh = jacana.make_mesh((1,), ("i",))
    >>> x = with_sharding_constraint(np.ones(4), NamedSharding(mesh, PartitionSpec("i")))
    >>> x.sharding.spec
    P('i',)
    """
    places = places_of("with_sharding_constraint", shardings, x)
    leaves, structure = tree.flatten(x)
    return structure.unflatten([
        leaf if place is None else constrained(leaf, place)
        for leaf, place in zip(leaves, places, strict=True)
    ])  # fmt: skip


def reshard(xs: Any, out_shardings: Any) -> Any:
    """The tree with its arrays divided in another way; ValueError where that is not possible."""
    return device_put(xs, out_shardings)


# --- jit ------------------------------------------------------------------------------------------


class JitShardings:
    """in_shardings and out_shardings of a jitted function."""

    __slots__ = ("_inputs", "_outputs", "_static")

    def __init__(self, inputs: Any, outputs: Any, static: Sequence[int]):
        self._inputs = tuple(inputs) if isinstance(inputs, list) else inputs
        self._outputs = tuple(outputs) if isinstance(outputs, list) else outputs
        self._static = static

    def wrap(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function with its arguments and results constrained."""

        @functools.wraps(function)
        def placed(*args: Any, **kwargs: Any) -> Any:
            dynamic = self._dynamic(args)
            moved = dict(zip(dynamic, self._constrain_all([args[i] for i in dynamic])))
            out = function(*[moved.get(i, x) for i, x in enumerate(args)], **kwargs)
            return _constrain("jit out_shardings", self._outputs, out)

        return placed

    def _dynamic(self, args: Sequence[Any]) -> list[int]:
        """The numbers of arguments that are arrays."""
        static = {n % len(args) if n < 0 and args else n for n in self._static}
        return [i for i in range(len(args)) if i not in static]

    def _constrain_all(self, args: list[Any]) -> Sequence[Any]:
        if isinstance(self._inputs, tuple) and len(self._inputs) != len(args):
            raise ValueError(
                f"jit in_shardings specification must be a tree prefix of the positional arguments "
                f"tuple. In particular, it must either be a Sharding, a PartitionSpec, or a tuple "
                f"of length equal to the number of positional arguments. But it is the wrong "
                f"length: got a tuple or list of length {len(self._inputs)} for an args tuple of "
                f"length {len(args)}."
            )
        found: tuple[Any, ...] = _constrain("jit in_shardings", self._inputs, tuple(args))
        return found

    def check(self, args: Sequence[Any]) -> None:
        """ValueError where a placed argument is divided in another way than in_shardings says."""
        given = tuple([args[i] for i in self._dynamic(args)])
        places = places_of("jit in_shardings", self._inputs, given)
        for x, place in zip(tree.leaves(given), places, strict=True):
            if place is None or type(x) is not Array or not x.committed:
                continue
            if not x.sharding.is_equivalent_to(place, x.ndim):
                raise ValueError(
                    f"Sharding passed to jit does not match the sharding on the respective arg. "
                    f"Got jit sharding: {place},\narg sharding: {x.sharding} for arg type: "
                    f"{x.aval.plain.str_short()}. Move it with jax.device_put."
                )


def _constrain(function: str, prefix: Any, values: Any) -> Any:
    places = places_of(function, prefix, values)
    leaves, structure = tree.flatten(values)
    moved = []
    for x, place in zip(leaves, places, strict=True):
        if place is not None:
            check_divides(function, place, np.shape(x))
            x = constrained(x, place)
        moved.append(x)
    return structure.unflatten(moved)


# --- arrays made of shards ------------------------------------------------------------------------


def make_array_from_callback(
    shape: Sequence[int],
    sharding: Any,
    data_callback: Callable[[Any], Any],
    dtype: Any = None,
) -> Array:
    """An array whose part at each index (a tuple of slices) is what a function returns for it.

    >>> import jacana
    >>> mesh = jacana.make_mesh((1,), ("i",))
    >>> sharding = NamedSharding(mesh, PartitionSpec("i"))
    >>> make_array_from_callback((3,), sharding, lambda index: np.arange(3)[index])
    Array([0, 1, 2], dtype=int32)
    """
    shape = tuple(map(operator.index, shape))
    place = resolved("make_array_from_callback", sharding)
    if place is None:
        raise ValueError("make_array_from_callback needs a sharding, got None.")
    parts: dict[str, Any] = {}
    whole: Any = None
    for index in place.devices_indices_map(shape).values():
        if repr(index) in parts:
            continue
        part = parts[repr(index)] = np.asarray(data_callback(index), dtype)
        if whole is None:
            whole = np.empty(shape, part.dtype)
        if part.shape != whole[index].shape:
            raise ValueError(
                f"make_array_from_callback: the part at {index} of an array of shape {shape} has "
                f"shape {whole[index].shape}, but data_callback returned shape {part.shape}."
            )
        whole[index] = part
    return from_numpy(whole, aval_of(whole)).with_sharding(on_one_device(place))


def make_array_from_single_device_arrays(
    shape: Sequence[int], sharding: Any, arrays: Sequence[Any], *, dtype: Any = None
) -> Array:
    """An array made of one array for each device, in any order.

    Raises ValueError where one is of a wrong shape, or on a device that has no part.
    """
    shape = tuple(map(operator.index, shape))
    place = resolved("make_array_from_single_device_arrays", sharding)
    if place is None or not arrays:
        raise ValueError("make_array_from_single_device_arrays needs a sharding and arrays.")
    indices = place.devices_indices_map(shape)
    if len(arrays) != len(indices):
        raise ValueError(
            f"make_array_from_single_device_arrays needs an array for each of the {len(indices)} "
            f"devices of the sharding, got {len(arrays)}."
        )
    whole = np.empty(shape, np.asarray(arrays[0]).dtype)
    for x in arrays:
        index = indices.get(next(iter(x.devices())))
        if index is None or whole[index].shape != x.shape:
            raise ValueError(
                f"make_array_from_single_device_arrays: an array of shape {x.shape} on "
                f"{x.device!r} is no part of an array of shape {shape} divided by {place}."
            )
        whole[index] = np.asarray(x)
    aval = arrays[0].aval.update(shape=shape)
    return from_numpy(whole, aval).with_sharding(on_one_device(place))

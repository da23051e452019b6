"""Placement: the shardings of results, from those of arguments.

A program is compiled for the global arrays and knows nothing of devices; what is decided here is
how its results are said to be divided.
"""

from collections.abc import Callable, Sequence
from typing import Any

from jacana.core.dimensions import replicated
from jacana.core.jaxpr import Atom, Jaxpr, subjaxprs
from jacana.core.sharding import NamedSharding, Sharding, named
from jacana.ops.constraint import sharding_constraint
from jacana.runtime.array import Array
from jacana.runtime.executable import executable_for
from jacana.transforms.propagate import propagated

Shardings = tuple[Sharding | None, ...]


def shardings_of(values: Sequence[Any]) -> Shardings | None:
    """The shardings of placed arrays among the values (None elsewhere); None if there are none."""
    found = [x.aval.sharding if type(x) is Array else None for x in values]
    return tuple(found) if any(s is not None for s in found) else None


def place(arrays: Sequence[Array], shardings: Sequence[Sharding | None]) -> list[Array]:
    """The arrays divided as the shardings say."""
    return [x.with_sharding(s) for x, s in zip(arrays, shardings, strict=True)]


Run = Callable[[list[Array]], list[Array]]


def placed_run(jaxpr: Jaxpr, shardings: Shardings, name: str) -> Run:
    """What runs a program on arrays with these shardings (None: arrays that are not placed)."""
    run = executable_for(jaxpr).run
    if first_constraint(jaxpr) is None and not any(s is not None for s in shardings):
        return run
    found = result_shardings(jaxpr, shardings, name)
    return lambda arrays: place(run(arrays), found)


def result_shardings(jaxpr: Jaxpr, shardings: Shardings, name: str) -> Shardings:
    """The shardings of a program's results; ValueError where arguments are on other devices."""
    check_devices(jaxpr, shardings, name)
    known = [s for s in (first_constraint(jaxpr), *shardings) if s is not None]
    mesh = next((s.mesh for s in known if isinstance(s, NamedSharding)), None)
    if mesh is None:
        return (known[0] if known else None,) * len(jaxpr.outvars)
    specs = [
        s.dimensions(v.aval.ndim) if isinstance(s, NamedSharding) and s.mesh == mesh
        else replicated(v.aval.ndim)
        for v, s in zip(jaxpr.invars, shardings, strict=True)
    ]  # fmt: skip
    asked: dict[Atom, Sharding] = {
        e.outvars[0]: e.params["sharding"]
        for e in jaxpr.eqns if e.primitive is sharding_constraint
    }  # fmt: skip
    return tuple([
        asked.get(v) or named(mesh, _divisible(mesh, spec, v.aval.shape))
        for v, spec in zip(jaxpr.outvars, propagated(jaxpr, specs), strict=True)
    ])  # fmt: skip


def _divisible(mesh: Any, spec: Any, shape: tuple[int, ...]) -> Any:
    """The spec without the axes of dimensions that they do not divide."""
    spec = tuple([tuple([n for n in axes if n in mesh.axis_names]) for axes in spec])
    factors = named(mesh, spec).factors(len(shape))
    return tuple([axes if n % f == 0 else () for axes, n, f in zip(spec, shape, factors)])


def first_constraint(jaxpr: Jaxpr) -> Sharding | None:
    """The sharding that a program asks for first, by a constraint, if it does."""
    if "constraint" not in jaxpr.derived:
        found = None
        for e in jaxpr.eqns:
            if e.primitive is sharding_constraint:
                found = found or e.params["sharding"]
            for inner in subjaxprs(e.params):
                found = found or first_constraint(inner)
        jaxpr.derived["constraint"] = found
    sharding: Sharding | None = jaxpr.derived["constraint"]
    return sharding


def check_devices(jaxpr: Jaxpr, shardings: Shardings, name: str) -> None:
    """Raise ValueError unless all placed arguments are on the same devices."""
    seen: list[tuple[int, Any, list[int]]] = []
    for i, (v, s) in enumerate(zip(jaxpr.invars, shardings, strict=True)):
        if s is not None:
            seen.append((i, v.aval, [d.id for d in s.devices()]))
    for i, aval, ids in seen:
        first, first_aval, first_ids = seen[0]
        if sorted(ids) != sorted(first_ids):
            raise ValueError(
                f"Received incompatible devices for jitted computation. Got argument {first} of "
                f"{name} with shape {first_aval.str_short()} and with device ids {first_ids} on "
                f"platform CPU and argument {i} of {name} with shape {aval.str_short()} and with "
                f"device ids {ids} on platform CPU. Move one of them with jax.device_put."
            )

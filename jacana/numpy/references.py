"""Reading and writing references by index: ref[i], ref[i] = v, ref.at, and functions of jax.ref."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from jacana import ops
from jacana.core import config, dtypes
from jacana.core.avals import ShapedArray
from jacana.core.bounded import Bounded
from jacana.core.stage import JaxprTrace
from jacana.core.trace import RefTracer, Trace, current
from jacana.core.values import aval_of, is_array_like, is_ref
from jacana.higher_order import refs
from jacana.higher_order.refs import RefIndex
from jacana.numpy.index_plan import Part, Plan, is_static, plan_index
from jacana.numpy.indexing import get_item, read_basic, scatter, set_window
from jacana.numpy.promotion import convert
from jacana.ops import GatherScatterMode
from jacana.runtime.ref import Ref
from jacana.transforms.derived import closed
from jacana.transforms.linearize import Tape

# (type of what is referred to, indices, types of places, settings) -> how it is read and written.
_known: Bounded[Any, RefIndex] = Bounded()


class Place:
    """Stands in an index for an integer, or array of integers, that is an operand."""

    __slots__ = ("aval",)

    def __init__(self, aval: ShapedArray):
        self.aval = aval

    def __hash__(self) -> int:
        return hash(self.aval)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Place) and self.aval is other.aval


class RefView:
    """`ref.at[index]`: a part of a reference, read and written by further indices."""

    __slots__ = ("ref", "path")

    def __init__(self, ref: Any, path: tuple[Any, ...]):
        self.ref, self.path = ref, path

    def __repr__(self) -> str:
        return f"{self.ref!r}.at" + "".join([f"[{i!r}]" for i in self.path])

    @property
    def at(self) -> "RefViews":
        return RefViews(self)

    def __getitem__(self, index: Any) -> Any:
        return get(self, index)

    def __setitem__(self, index: Any, value: Any) -> None:
        set(self, index, value)


class RefViews:
    """`ref.at`."""

    __slots__ = ("of",)

    def __init__(self, of: Any):
        self.of = of

    def __getitem__(self, index: Any) -> RefView:
        ref, path = parts_of(self.of)
        return RefView(ref, (*path, index))


def parts_of(ref: Any) -> tuple[Any, tuple[Any, ...]]:
    """The reference itself, and the indices of the part that a view is."""
    return (ref.ref, ref.path) if isinstance(ref, RefView) else (ref, ())


# --- the functions of jax.ref ---


def new_ref(init_val: Any, *, memory_space: Any = None, kind: str | None = None) -> Any:
    """A reference to memory that begins as a copy of `init_val`, an array or scalar.

    Read it with ref[i] (ref[...] for all), write it with ref[i] = value, which must have the shape
    and dtype of what ref[i] gives. Functions that are transformed take references as arguments and
    may make them, but not return them. `memory_space` and `kind` are accepted for JAX's sake.

    >>> import jacana.numpy as jnp
    >>> ref = new_ref(jnp.arange(3))
    >>> ref[1] += 10
    >>> ref
    Ref([ 0, 11,  2], dtype=int32)
    """
    if not is_array_like(init_val):
        raise TypeError(
            f"Error interpreting argument to new_ref as a JAX value. The problematic value is of "
            f"type {type(init_val)} and was passed to new_ref at position 0. Make an array of it, "
            f"and a reference of each array of a tree."
        )
    return refs.new_ref(init_val, kind=kind, memory_space=memory_space)


def empty_ref(ty: Any, memory_space: Any = None) -> Any:
    """A reference to memory of the shape and dtype of `ty`, whose contents are not specified."""
    return new_ref(np.zeros(ty.shape, ty.dtype), memory_space=memory_space)


def freeze(ref: Any) -> Any:
    """What a reference refers to, as an array; the reference is not to be used afterwards.

    >>> import jacana.numpy as jnp
    >>> ref = new_ref(jnp.arange(3))
    >>> ref[0] = 5
    >>> freeze(ref)
    Array([5, 1, 2], dtype=int32)
    """
    return refs.freeze(check_ref(ref, "freeze"))


def free_ref(ref: Any) -> None:
    """Say that a reference is not used any more; its memory goes with the last name for it."""
    check_ref(ref, "free_ref")


def get(ref: Any, idx: Any = None) -> Any:
    """ref[idx]: a copy of the elements at a NumPy-style index; all of them for None or `...`.

    >>> import jacana.numpy as jnp
    >>> get(new_ref(jnp.arange(5)), slice(1, 3))
    Array([1, 2], dtype=int32)
    """
    ref, index, places = located(ref, idx, "get")
    return refs.get(ref, *places, index=index)


def swap(ref: Any, idx: Any, value: Any, _function_name: str = "swap") -> Any:
    """Write `value` to ref[idx], and give what was there before.

    >>> import jacana.numpy as jnp
    >>> ref = new_ref(jnp.arange(5))
    >>> swap(ref, 3, 10), ref
    (Array(3, dtype=int32), Ref([ 0,  1,  2, 10,  4], dtype=int32))
    """
    ref, index, places = located(ref, idx, "swap")
    value = checked_value(ref, index, value, "swap")
    return refs.swap(ref, value, *places, index=index)


def set(ref: Any, idx: Any, value: Any) -> None:
    """Write `value` to ref[idx]: the same as ref[idx] = value.

    >>> ref = new_ref(0)
    >>> set(ref, ..., 4)
    >>> ref
    Ref(4, dtype=int32, weak_type=True)
    """
    swap(ref, idx, value)


def addupdate(ref: Any, idx: Any, x: Any) -> None:
    """Add `x` to ref[idx]; places that an index array names twice are added to twice.

    >>> import jacana.numpy as jnp
    >>> ref = new_ref(jnp.zeros(3))
    >>> addupdate(ref, jnp.array([0, 2, 2]), jnp.ones(3))
    >>> ref
    Ref([1., 0., 2.], dtype=float32)
    """
    ref, index, places = located(ref, idx, "addupdate")
    if index.add is None:
        raise TypeError(
            f"addupdate: elements of dtype {ref.dtype} have no sum. Write them instead."
        )
    refs.addupdate(ref, checked_value(ref, index, x, "addupdate"), *places, index=index)


def check_ref(ref: Any, function: str) -> Any:
    if not is_ref(ref):
        raise TypeError(
            f"{function} needs a reference, got {type(ref).__name__}. Make one with jax.new_ref."
        )
    return ref


def checked_value(ref: Any, index: RefIndex, value: Any, function: str) -> Any:
    """The value, of the type that is written; ValueError if it has another one."""
    wanted = index.read.out_avals[0]
    aval = aval_of(value)
    if aval.shape != wanted.shape:
        raise ValueError(
            f"Invalid shape for `{function}`. Ref shape: {ref.shape}. Expected shape: "
            f"{wanted.shape}. Value shape: {aval.shape}. Values are not broadcast: use "
            f"jnp.broadcast_to."
        )
    fits = aval.weak_type and dtypes.kind(aval.dtype) == dtypes.kind(wanted.dtype)
    if aval.dtype != wanted.dtype and not fits:
        raise ValueError(
            f"Invalid dtype for `{function}`. Ref dtype: {wanted.dtype}. Value dtype: "
            f"{aval.dtype}. Convert the value, for example with astype."
        )
    return value if aval is wanted else convert(value, wanted.dtype, wanted.weak_type)


# --- indices ---


def located(ref: Any, idx: Any, function: str) -> tuple[Any, RefIndex, list[Any]]:
    """The reference, how its elements at the index are read and written, and their places."""
    ref, path = parts_of(ref)
    aval = check_ref(ref, function).aval.inner_aval
    path = tuple([i for i in (*path, idx) if i is not None and i is not ...])
    if not path:
        return ref, refs.whole(aval), []
    places: list[Any] = []
    shape, templates = aval.shape, []
    for i in path:
        template = template_of(i, shape, places)
        templates.append(template)
        if len(path) > 1:
            shape = plan_index(template, shape).full_shape
    key = (aval, tuple(map(template_key, templates)), config.current().traced)
    found = _known.get(key)
    if found is None:
        found = _known[key] = build(aval, templates)
    return ref, found, places


def template_of(index: Any, shape: tuple[int, ...], places: list[Any]) -> tuple[Any, ...]:
    """An index whose integers and arrays are Places, which are collected.

    Python integers stay in programs that are traced; elsewhere they are places, so that one
    program serves them all.
    """
    items = index if isinstance(index, tuple) else (index,)
    plan = plan_index(index, shape)
    check_plan(plan, shape)
    staged = is_staged()
    given = iter(plan.places)
    found: list[Any] = []
    for item in items:
        if item is None or item is Ellipsis:
            found.append(item)
        elif isinstance(item, slice):
            found.append(slice(*map(static_bound, (item.start, item.stop, item.step))))
        else:
            count = np.ndim(item) if dtypes.is_bool(aval_of(item).dtype) else 1
            for part in [next(given) for _ in range(count)]:
                at = part.at
                if is_static(at):
                    at = int(at) + (shape[part.axis] if at < 0 else 0)
                    if staged:
                        found.append(at)
                        continue
                    at = np.int32(at)
                places.append(at)
                found.append(Place(aval_of(at).strip_weak_type()))
    return tuple(found)


def is_staged() -> bool:
    """Whether operations end up in a jaxpr."""
    trace: Trace | None = current()
    while trace is not None:
        if isinstance(trace, JaxprTrace) and not isinstance(trace, Tape):
            return True
        trace = getattr(trace, "parent", None)
    return False


def static_bound(bound: Any) -> int | None:
    return None if bound is None else bound.__index__()


def check_plan(plan: Plan, shape: tuple[int, ...]) -> None:
    for p in plan.parts:
        if p.is_slice and p.step < 1:
            raise ValueError(f"slice must have a step >= 1 (found: {p.step})")
        if not p.is_slice and is_static(p.at) and not -shape[p.axis] <= p.at < shape[p.axis]:
            raise ValueError(f"Out of bound indexer: idx={p.at}, dim={shape[p.axis]}.")


def template_key(template: tuple[Any, ...]) -> Any:
    return tuple([
        (i.start, i.stop, i.step) if isinstance(i, slice) else i for i in template
    ])  # fmt: skip


def build(aval: ShapedArray, templates: Sequence[tuple[Any, ...]]) -> RefIndex:
    """How elements at the indices are read and written."""
    places = [i.aval for t in templates for i in t if isinstance(i, Place)]

    def indices(at: Sequence[Any]) -> list[tuple[Any, ...]]:
        given = iter(at)
        return [tuple([next(given) if isinstance(i, Place) else i for i in t]) for t in templates]

    def read(x: Any, *at: Any) -> list[Any]:
        for index in indices(at):
            x = get_item(x, index)
        return [x]

    def write(x: Any, value: Any, *at: Any) -> list[Any]:
        return [put(x, indices(at), value, "set")]

    def add(x: Any, value: Any, *at: Any) -> list[Any]:
        return [put(x, indices(at), value, "add")]

    reading = closed(read, [aval, *places])
    value = reading.out_avals[0]
    avals = [aval, value, *places]
    writing = closed(write, avals)
    assert not reading.consts and not writing.consts
    text = index_text(aval.shape, templates)
    return RefIndex(reading.jaxpr, writing.jaxpr, refs.adding(add, avals), text)


def put(x: Any, path: Sequence[tuple[Any, ...]], value: Any, kind: str) -> Any:
    """x with the value at, or added to, the elements that a path of indices names."""
    index, *rest = path
    plan = plan_index(index, x.shape)
    if 0 in plan.shape:
        return x
    if rest:
        return put(x, [index], put(get_item(x, index), rest, value, kind), "set")
    if plan.inserted:
        value = ops.reshape(value, new_sizes=plan.shape)
    plan = replace(plan, inserted=())
    return put_by_plan(x, plan, value, kind)


def put_by_plan(x: Any, plan: Plan, value: Any, kind: str) -> Any:
    if plan.is_basic and all(p.step == 1 for p in plan.slices):
        if kind == "add":
            value = ops.add(read_basic(x, plan), value)
        # A window that sticks out is moved inside.
        return set_window(x, plan, value)
    if all((p.step, p.count) == (1, x.shape[p.axis]) for p in plan.slices):
        return scatter(x, plan, kind, value, GatherScatterMode.FILL_OR_DROP, {})
    # What the slices name first: all of each between its ends, then every step-th of these.
    window, steps, inside = [], [], []
    for p, n in zip(plan.parts, x.shape, strict=True):
        start, step, count = (p.start, p.step, p.count) if p.is_slice else (0, 1, n)
        window.append(Part(p.axis, None, start, 1, step * (count - 1) + 1))
        steps.append(Part(p.axis, None, 0, step, count))
        inside.append(Part(p.axis, None, 0, 1, count) if p.is_slice else p)
    dense = read_basic(x, slices_only(window))
    chosen = read_basic(dense, slices_only(steps))
    chosen = put_by_plan(chosen, replace(plan, parts=tuple(inside)), value, kind)
    return set_window(x, slices_only(window), spread(dense, chosen, [p.step for p in steps]))


def slices_only(parts: Sequence[Part]) -> Plan:
    return Plan(tuple(parts), (), 0, (), True)


def spread(x: Any, value: Any, steps: Sequence[int]) -> Any:
    """x with the value at every step-th place along each axis."""
    if all(step == 1 for step in steps):
        return value
    zero = np.zeros((), x.dtype)[()]
    padded = ops.pad(value, zero, padding_config=tuple([(0, 0, step - 1) for step in steps]))
    for axis, step in enumerate(steps):
        if step > 1:
            at = ops.iota(dtype=dtypes.int32, shape=x.shape, dimension=axis, sharding=None)
            chosen = ops.eq(ops.rem(at, np.int32(step)), np.int32(0))
            padded = ops.select_n(chosen, x, padded)
    return padded


def index_text(
    shape: tuple[int, ...], templates: Sequence[tuple[Any, ...]]
) -> tuple[str | None, ...]:
    """Indices as printed programs show them, in pieces, None for a place."""
    pieces: list[str | None] = []
    for template in templates:
        # Places of any type do for the plan.
        stand_ins = [np.zeros(i.aval.shape, np.int32) if isinstance(i, Place) else i
                     for i in template]  # fmt: skip
        plan = plan_index(tuple(stand_ins), shape)
        if pieces:
            pieces.append("][")
        for p in plan.parts:
            pieces.append("," if p.axis else "")
            if not p.is_slice:
                pieces.append(str(p.at) if is_static(p.at) else None)
            else:
                pieces.append(slice_text(p.start, p.step, p.count, shape[p.axis]))
        shape = plan.full_shape
    return tuple(pieces)


def slice_text(start: int, step: int, count: int, extent: int) -> str:
    stop = start + step * (count - 1) + 1 if count else start
    is_rest = stop == extent or (step > 1 and stop + step > extent)
    text = f"{start or ''}:{'' if is_rest else stop}"
    return text if step == 1 else f"{text}:{step}"


# --- methods of references ---


def iterate(ref: Any) -> Iterator[Any]:
    """The slices of a reference along its first axis."""
    return iter([get(ref, i) for i in range(len(ref))])


METHODS: dict[str, Any] = {
    "__getitem__": get, "__setitem__": set, "__iter__": iterate, "at": property(RefViews),
    "addupdate": lambda self, x, idx=(): addupdate(self, idx, x),
}  # fmt: skip
for _kind in (Ref, RefTracer):
    for _name, _method in METHODS.items():
        setattr(_kind, _name, _method)

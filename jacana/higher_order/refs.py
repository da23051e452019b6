"""References to arrays that programs read and write: their primitives, under every kind of trace.

Under forward mode a reference has a tangent, which is a value and no reference: writing it replaces
it, so tapes never hold references. Under vmap it refers to an array with the batch axis.
"""

from collections.abc import Callable, Sequence
from typing import Any

from jacana import ops
from jacana.core import dtypes
from jacana.core.avals import AbstractRef, ShapedArray
from jacana.core.evaluate import evaluate
from jacana.core.jaxpr import DropVar, Jaxpr, JaxprEqn, Var
from jacana.core.layout import Doc
from jacana.core.primitive import Inapplicable, Primitive
from jacana.core.records import record
from jacana.core.trace import RefTracer, Trace, current, set_current
from jacana.core.values import is_ref
from jacana.transforms.batch import BatchedRef, BatchTrace, BatchTracer, to_axis
from jacana.transforms.derived import closed
from jacana.transforms.discharge import STATE, discharge_operation
from jacana.transforms.eager_tape import EagerTape
from jacana.transforms.jvp import JVPTrace, has_tangents, zero_of, zero_tangent
from jacana.transforms.linearize import Tape


@record(eq=False)
class RefIndex:
    """Which elements an operation is about, as programs on what is referred to.

    read(x, *places), write(x, value, *places) and add(x, value, *places) are pure; there is no
    `add` for what has no sum. `text` is the index as it is printed, in pieces, None for a place.
    """

    read: Jaxpr
    write: Jaxpr
    add: Jaxpr | None
    text: tuple[str | None, ...]


def adding(function: Callable[..., list[Any]], avals: Sequence[ShapedArray]) -> Jaxpr | None:
    """The program of a function that adds to its first argument, if its elements have a sum."""
    has_sum = dtypes.kind(avals[0].dtype) not in ("bool", "key")
    return closed(function, avals).jaxpr if has_sum else None


_whole: dict[ShapedArray, RefIndex] = {}


def whole(aval: ShapedArray) -> RefIndex:
    """The index of all elements of an array."""
    found = _whole.get(aval)
    if found is None:
        x, value = Var(aval), Var(aval)
        found = _whole[aval] = RefIndex(
            Jaxpr([], [x], [x], []),
            Jaxpr([], [x, value], [value], []),
            adding(lambda x, value: [ops.add(x, value)], [aval, aval]),
            ("...",),
        )
    return found


class DifferentiatedRef(RefTracer):
    """A reference in differentiated code: one to values, and the tangent (None: zero)."""

    __slots__ = ("primal", "tangent")

    def __init__(self, trace: Trace, primal: Any, tangent: Any):
        self._trace, self.primal, self.tangent = trace, primal, tangent
        self.aval = primal.aval


class RefPrimitive(Primitive):
    """An operation on one reference, or that makes one; each kind of trace has a method for it."""

    takes_refs = True
    tells_variance = True
    reference = Inapplicable("NumPy arrays are no references")
    jvp = Inapplicable("differentiated code has references of its own")
    transpose = Inapplicable("tapes hold no references")
    batch = Inapplicable("batched code has references of its own")
    lower = Inapplicable("references are discharged before")

    differentiated: Any
    batched: Any

    def __call__(self, *args: Any, **params: Any) -> Any:
        return self.run(current(), args, params)

    bind = __call__

    def run(self, trace: Trace, args: Sequence[Any], params: dict[str, Any]) -> Any:
        """The result under a trace."""
        if isinstance(trace, JVPTrace):
            return self.differentiated(trace, *args, **params)
        if isinstance(trace, BatchTrace):
            return self.batched(trace, *args, **params)
        if isinstance(trace, Tape | EagerTape):
            assert trace.parent is not None
            return self.run(trace.parent, args, params)
        return trace.process(self, tuple(args), params)

    def effects(self, params: dict[str, Any]) -> frozenset[str]:
        return frozenset((STATE,))


class MakeRef(RefPrimitive):
    """A reference to a copy of the operand."""

    name = "new_ref"

    def type_rule(self, x: ShapedArray, **_: Any) -> AbstractRef:
        return AbstractRef(x)

    def discharge_rule(self, values: Any, refs: Any, params: Any, final: bool) -> Any:
        return values, [None]

    def differentiated(self, trace: JVPTrace, x: Any, **params: Any) -> Any:
        (primal,), (tangent,), _ = trace.split([x])
        ref = self.run(trace.parent, [primal], params)
        return DifferentiatedRef(trace, ref, tangent) if has_tangents(primal) else ref

    def batched(self, trace: BatchTrace, x: Any, **params: Any) -> BatchedRef:
        (value,), (axis,) = trace.split([x])
        with set_current(trace.parent):
            value = to_axis(value, axis, 0, trace.size)
        return BatchedRef(trace, self.run(trace.parent, [value], params), 0)


class Freeze(RefPrimitive):
    """What a reference refers to, which is not used any more."""

    name = "freeze"

    def type_rule(self, ref: Any) -> ShapedArray:
        return ref.inner_aval  # type: ignore[no-any-return]

    def discharge_rule(self, values: Any, refs: Any, params: Any, final: bool) -> Any:
        return values, [None]

    def differentiated(self, trace: JVPTrace, ref: Any) -> Any:
        if not is_own(ref, trace):
            return self.run(trace.parent, [ref], {})
        out = self.run(trace.parent, [ref.primal], {})
        return trace.join([out], [ref.tangent])[0]

    def batched(self, trace: BatchTrace, ref: Any) -> Any:
        if not is_own(ref, trace):
            return self.run(trace.parent, [ref], {})
        return BatchTracer(trace, self.run(trace.parent, [ref.value], {}), ref.axis)


class Get(RefPrimitive):
    """The elements of a reference at an index."""

    name = "get"

    def type_rule(self, ref: Any, *places: ShapedArray, index: RefIndex) -> ShapedArray:
        return index.read.out_avals[0]

    def discharge_rule(self, values: Any, refs: Any, params: Any, final: bool) -> Any:
        outs = evaluate(params["index"].read, (), values)
        return outs, [None] * len(values)

    def differentiated(self, trace: JVPTrace, ref: Any, *places: Any, index: RefIndex) -> Any:
        if not is_own(ref, trace):
            return self.run(trace.parent, [ref, *places], {"index": index})
        out = self.run(trace.parent, [ref.primal, *places], {"index": index})
        tangent = ref.tangent
        if tangent is not None:
            with set_current(trace.parent):
                (tangent,) = evaluate(index.read, (), [tangent, *places])
        return trace.join([out], [tangent])[0]

    def batched(self, trace: BatchTrace, ref: Any, *places: Any, index: RefIndex) -> Any:
        if not is_own(ref, trace) and not any(is_batched(p, trace) for p in places):
            return self.run(trace.parent, [ref, *places], {"index": index})
        with set_current(trace):
            return evaluate(index.read, (), [whole_batch(trace, ref), *places])[0]

    def equation_doc(self, eqn: JaxprEqn, names: Any) -> Doc:
        return f"{names.typed(eqn.outvars[0])} <- {place_text(eqn, 1, names)}"


class Swap(RefPrimitive):
    """The elements of a reference at an index, where the value is written in their place."""

    name = "swap"

    def type_rule(
        self, ref: Any, value: ShapedArray, *places: ShapedArray, index: RefIndex
    ) -> ShapedArray:
        return index.read.out_avals[0]

    def discharge_rule(self, values: Any, refs: Any, params: Any, final: bool) -> Any:
        x, _, *places = values
        outs = evaluate(params["index"].read, (), [x, *places])
        (changed,) = evaluate(params["index"].write, (), values)
        return outs, [changed, *[None] * (len(values) - 1)]

    def differentiated(
        self, trace: JVPTrace, ref: Any, value: Any, *places: Any, index: RefIndex
    ) -> Any:
        (primal,), (t,), mine = trace.split([value])
        if not is_own(ref, trace):
            refuse_tangent(mine, "a set/swap", ref)
            return self.run(trace.parent, [ref, value, *places], {"index": index})
        old = self.run(trace.parent, [ref.primal, primal, *places], {"index": index})
        before = ref.tangent
        if before is None and t is None:
            return old
        with set_current(trace.parent):
            x = zero_of(tangent_aval(ref)) if before is None else before
            t = zero_tangent(primal) if t is None else t
            (ref.tangent,) = evaluate(index.write, (), [x, t, *places])
            if before is None:
                return old
            return trace.join([old], evaluate(index.read, (), [before, *places]))[0]

    def batched(
        self, trace: BatchTrace, ref: Any, value: Any, *places: Any, index: RefIndex
    ) -> Any:
        refuse_unbatched(is_own(ref, trace), "a set/swap", ref)
        if index is whole(ref.aval.inner_aval):
            return BatchTracer(trace, replace_batch(trace, ref, value), ref.axis)
        with set_current(trace):
            x = whole_batch(trace, ref)
            (old,) = evaluate(index.read, (), [x, *places])
            (changed,) = evaluate(index.write, (), [x, value, *places])
        replace_batch(trace, ref, changed)
        return old

    def equation_doc(self, eqn: JaxprEqn, names: Any) -> Doc:
        place, value = place_text(eqn, 2, names), names.atom(eqn.invars[1])
        out = eqn.outvars[0]
        if isinstance(out, DropVar):
            return f"{place} <- {value}"
        return f"{names.typed(out)}, {place} <- {place}, {value}"


class AddUpdate(RefPrimitive):
    """The value is added to the elements of a reference at an index."""

    name = "addupdate"
    multiple_results = True

    def type_rule(
        self, ref: Any, value: ShapedArray, *places: ShapedArray, index: RefIndex
    ) -> list[ShapedArray]:
        return []

    def discharge_rule(self, values: Any, refs: Any, params: Any, final: bool) -> Any:
        (changed,) = sums(params["index"], values)
        return [], [changed, *[None] * (len(values) - 1)]

    def differentiated(
        self, trace: JVPTrace, ref: Any, value: Any, *places: Any, index: RefIndex
    ) -> Any:
        (primal,), (t,), mine = trace.split([value])
        if not is_own(ref, trace):
            refuse_tangent(mine, "an addupdate", ref)
            return self.run(trace.parent, [ref, value, *places], {"index": index})
        self.run(trace.parent, [ref.primal, primal, *places], {"index": index})
        if t is not None:
            with set_current(trace.parent):
                x = zero_of(tangent_aval(ref)) if ref.tangent is None else ref.tangent
                (ref.tangent,) = sums(index, [x, t, *places])
        return []

    def batched(
        self, trace: BatchTrace, ref: Any, value: Any, *places: Any, index: RefIndex
    ) -> Any:
        refuse_unbatched(is_own(ref, trace), "an addupdate", ref)
        with set_current(trace):
            x = whole_batch(trace, ref)
            (changed,) = sums(index, [x, value, *places])
        replace_batch(trace, ref, changed)
        return []

    def equation_doc(self, eqn: JaxprEqn, names: Any) -> Doc:
        return f"{place_text(eqn, 2, names)} += {names.atom(eqn.invars[1])}"


new_ref, freeze, get, swap, addupdate = MakeRef(), Freeze(), Get(), Swap(), AddUpdate()


def sums(index: RefIndex, operands: Sequence[Any]) -> list[Any]:
    """An array with a value added to elements of it."""
    assert index.add is not None
    return evaluate(index.add, (), operands)


def is_own(ref: Any, trace: Trace) -> bool:
    """Whether a reference was made in, or given to, the code that the trace transforms."""
    return isinstance(ref, DifferentiatedRef | BatchedRef) and ref._trace is trace


def is_batched(x: Any, trace: BatchTrace) -> bool:
    return isinstance(x, BatchTracer) and x._trace is trace


def tangent_aval(ref: DifferentiatedRef) -> ShapedArray:
    aval: Any = ref.aval.to_tangent_aval()
    return aval.inner_aval  # type: ignore[no-any-return]


def refuse_tangent(has_tangent: bool, operation: str, ref: Any) -> None:
    if has_tangent:
        raise ValueError(
            f"performing {operation} operation with a differentiated value on a non-differentiated "
            f"array reference of type {ref.aval}. Make the reference inside of the differentiated "
            f"function, or write lax.stop_gradient of the value."
        )


def refuse_unbatched(is_batched: bool, operation: str, ref: Any) -> None:
    if not is_batched:
        raise ValueError(
            f"performing {operation} operation with vmapped value on an unbatched array reference "
            f"of type {ref.aval}. Move the array reference to be an argument to the vmapped "
            f"function?"
        )


def refuse_batch(written: Sequence[bool], refs: Sequence[Any]) -> None:
    """ValueError where a batch of branches or loops writes to one reference."""
    for ref, w in zip(refs, written, strict=True):
        refuse_unbatched(not w, "a set/swap", ref)


def whole_batch(trace: BatchTrace, ref: Any) -> Any:
    """What a reference refers to, as a value of vmapped code."""
    if not is_own(ref, trace):
        return get.run(trace.parent, [ref], {"index": whole(ref.aval.inner_aval)})
    index = whole(ref.value.aval.inner_aval)
    return BatchTracer(trace, get.run(trace.parent, [ref.value], {"index": index}), ref.axis)


def replace_batch(trace: BatchTrace, ref: BatchedRef, changed: Any) -> Any:
    """Write a value of vmapped code to all of a reference, and give what was there."""
    (value,), (axis,) = trace.split([changed])
    with set_current(trace.parent):
        value = to_axis(value, axis, ref.axis, trace.size)
    aval: Any = ref.value.aval
    return swap.run(trace.parent, [ref.value, value], {"index": whole(aval.inner_aval)})


def place_text(eqn: JaxprEqn, first: int, names: Any) -> str:
    """A reference with its index, as a printed program shows it."""
    places = iter(eqn.invars[first:])
    text = [names.atom(next(places)) if t is None else t for t in eqn.params["index"].text]
    return f"{names.atom(eqn.invars[0])}[{''.join(text)}]"


# --- programs on references ---


class TakesRefs(Primitive):
    """An operation whose operands may be references, which its programs read and write.

    References of transformed code are read before it and written after it.
    """

    takes_refs = True

    def __call__(self, *args: Any, **params: Any) -> Any:
        if any(type(x) is DifferentiatedRef or type(x) is BatchedRef for x in args):
            return bind_on_values(self, args, params)
        return current().process(self, args, params)

    bind = __call__


def bind_on_values(primitive: Primitive, args: Sequence[Any], params: dict[str, Any]) -> list[Any]:
    """The outputs of an operation on what its operands refer to, written back afterwards."""
    refs = [x if is_ref(x) else None for x in args]
    values = [
        x if ref is None else get(ref, index=whole(ref.aval.inner_aval))
        for x, ref in zip(args, refs, strict=True)
    ]
    outs, changes = discharge_operation(primitive, values, refs, params, final=False)
    for ref, change in zip(refs, changes, strict=True):
        if change is not None:
            swap(ref, change, index=whole(ref.aval.inner_aval))  # type: ignore[union-attr]
    return outs

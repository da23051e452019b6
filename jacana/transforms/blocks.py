"""Blocks: a program for one block of its arguments, run on all of them at once.

Each named axis is a batch axis: blocks are examples, and collectives are between examples.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from jacana import ops
from jacana.core import variance
from jacana.core.avals import ShapedArray
from jacana.core.evaluate import evaluate
from jacana.core.jaxpr import Atom, ClosedJaxpr, Jaxpr, Literal, Var
from jacana.core.stage import BlockTrace
from jacana.core.trace import set_current
from jacana.transforms.batch import batch, to_axis
from jacana.transforms.derived import kept

# Where the axis of each name is in an argument.
Places = dict[Any, int]


class Body(NamedTuple):
    """A staged body, and what it captured."""

    jaxpr: Jaxpr
    consts: list[Any]


def stage_body(
    function: Callable[..., Sequence[Any]],
    avals: Sequence[ShapedArray],
    name: str,
    axes: dict[Any, int],
    checked: bool,
) -> Body:
    """A flat function of blocks as a program, whose named axes are these."""
    trace = BlockTrace(name, axes, checked)
    try:
        with set_current(trace):
            outs = function(*[trace.add_arg(a) for a in avals])
            return Body(*trace.finish(outs))
    finally:
        trace.alive = False


def run_blocks(
    body: Body,
    axes: dict[Any, int],
    values: Sequence[Any],
    places: Sequence[Places],
    outputs: Sequence[Sequence[Any]],
) -> list[Any]:
    """The outputs of all blocks, with the axes named for each in front of it, in the order given.

    Along other axes the first block's output stands for all.
    """
    jaxpr = without_variance(body.jaxpr)
    made = _run(jaxpr, body.consts, list(axes.items()), values, places, outputs)
    results = []
    for out, wanted in zip(made, outputs, strict=True):
        found = [n for n in axes if n in wanted]
        order = [found.index(n) for n in wanted]
        rest = range(len(order), len(out.shape) if hasattr(out, "shape") else 0)
        moved = out if order == sorted(order) else ops.transpose(out, permutation=(*order, *rest))
        results.append(moved)
    return results


def _run(
    jaxpr: Jaxpr,
    consts: list[Any],
    axes: list[tuple[Any, int]],
    values: Sequence[Any],
    places: Sequence[Places],
    outputs: Sequence[Sequence[Any]],
) -> list[Any]:
    if not axes:
        return evaluate(jaxpr, consts, values)
    (name, size), *rest = axes
    here = [p.get(name) for p in places]
    inside = [
        {n: i - (at is not None and i > at) for n, i in p.items() if n != name}
        for p, at in zip(places, here, strict=True)
    ]
    outs, found = batch(
        lambda *xs: _run(jaxpr, consts, rest, xs, inside, outputs), size, values, here, name
    )
    return [
        to_axis(out, axis, 0, size) if name in wanted else first(out, axis)
        for out, axis, wanted in zip(outs, found, outputs, strict=True)
    ]


def first(x: Any, axis: int | None) -> Any:
    """The first slice along an axis; x itself if there is none."""
    if axis is None:
        return x
    limits = [*x.shape[:axis], 1, *x.shape[axis + 1 :]]
    row = ops.slice(x, start_indices=(0,) * len(limits), limit_indices=tuple(limits))
    return ops.squeeze(row, dimensions=(axis,))


def without_variance(jaxpr: Jaxpr) -> Jaxpr:
    """The program whose types do not say over which axes values vary."""
    return kept(jaxpr, "without variance", lambda: _plain(jaxpr))


def _plain(jaxpr: Jaxpr) -> Jaxpr:
    known: dict[Atom, Atom] = {}

    def of(a: Atom) -> Atom:
        return a if isinstance(a, Literal) else known[a]

    def made(v: Var) -> Var:
        plain = known[v] = type(v)(v.aval.plain)
        return plain

    constvars, invars = [made(v) for v in jaxpr.constvars], [made(v) for v in jaxpr.invars]
    eqns = []
    for e in jaxpr.eqns:
        operands = [of(a) for a in e.invars]
        if e.primitive is variance.pvary():
            known[e.outvars[0]] = operands[0]
            continue
        params = {name: _plain_param(value) for name, value in e.params.items()}
        outvars = [made(v) for v in e.outvars]
        eqns.append(e.replace(invars=operands, outvars=outvars, params=params))
    outs = [of(a) for a in jaxpr.outvars]
    return Jaxpr(constvars, invars, outs, eqns, jaxpr.debug_name)


def _plain_param(value: Any) -> Any:
    if isinstance(value, ClosedJaxpr):
        return ClosedJaxpr(without_variance(value.jaxpr), value.consts)
    if isinstance(value, Jaxpr):
        return without_variance(value)
    if isinstance(value, tuple | list):
        return type(value)([_plain_param(v) for v in value]) if _holds_programs(value) else value
    return value


def _holds_programs(values: Any) -> bool:
    return any(isinstance(v, Jaxpr | ClosedJaxpr) for v in values)

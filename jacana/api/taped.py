"""Functions of arrays in un-jitted derivatives: native calls that record one entry on the tape.

The values that a function gives, and the residuals of its linear part, come from one program.
What is recorded is what the function's own operations would have recorded, one by one.
"""

from collections.abc import Callable
from typing import Any

from jacana.api import known_calls
from jacana.api.eager_arguments import Arguments, Roles, traced_like
from jacana.core import tree
from jacana.runtime.array import Array, to_array
from jacana.runtime.calls import Call, OnTape, Recording, Result
from jacana.runtime.executable import executable_for
from jacana.transforms.eager_tape import TapeEntry
from jacana.transforms.linearize import TapedTracer, linearize_programs


def learn(
    function: Callable[..., Any], arguments: Arguments, out: Any, roles: Roles
) -> Call | None:
    """The call that does what the function did, on arguments of which some are tracers.

    None if native code can make no such call.
    """
    outs = tree.leaves(out)
    if not outs or not made_arrays(outs, arguments):
        return None
    jaxpr, consts, out_tree = traced_like(function, arguments, out)
    mask = [isinstance(due, OnTape) for due in arguments.dues]
    halves = linearize_programs(jaxpr, (*[False] * len(consts), *mask))
    primal = halves.primal
    executable = executable_for(primal.jaxpr.with_constvars_as_inputs())
    captured = [to_array(x) for x in (*primal.consts, *consts)]
    # Inputs of the program, then its outputs, have numbers; residuals are told by their places
    # among the inputs without the first constants and the outputs.
    results, n = executable.layout.results, len(executable.in_avals)
    count, first = len(jaxpr.outvars), len(primal.consts)
    if [type(x) is TapedTracer for x in outs] != halves.nonzero or min(results[:count]) < n:
        return None
    places = [place + first for place in halves.places]
    residuals = [place if place < n else results[place - n] for place in places]
    finish = None if tree.treedef_is_leaf(out_tree) else out_tree.unflatten
    recording = Recording(TapeEntry(halves.tangent), sum(mask), halves.nonzero, finish)
    layout = executable.layout.with_results([*results[:count], *residuals])
    return known_calls.make_call(
        layout, captured, Result(finish=recording), arguments.args, arguments.kwargs,
        arguments.leaves, arguments.dues, roles.is_leaf,
    )  # fmt: skip


def made_arrays(outs: list[Any], arguments: Arguments) -> bool:
    """Whether a function gave arrays, or tracers of some, and none that it was given."""
    given = [value_of(x) for x in arguments.leaves]
    values = [value_of(x) for x in outs]
    if len(set(map(id, values))) < len(values) or any(x is y for x in values for y in given):
        return False
    return all(type(x) is Array for x in values)


def value_of(x: Any) -> Any:
    return x.primal if type(x) is TapedTracer else x

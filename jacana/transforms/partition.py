"""Partition: a program as one of what is known first, and one of the rest."""

from collections.abc import Sequence
from typing import NamedTuple

from jacana.core.avals import ShapedArray
from jacana.core.jaxpr import Atom, Jaxpr, JaxprEqn, Var
from jacana.transforms.dead_code import without_dead_code


class Partition(NamedTuple):
    """A program in two parts: known inputs -> known outputs, residuals; residuals, the other
    inputs -> the other outputs.
    """

    known: Jaxpr
    unknown: Jaxpr
    unknown_outputs: list[bool]
    """Which outputs of the program are the second part's."""
    residual_avals: list[ShapedArray]


def partition(
    jaxpr: Jaxpr,
    unknown_inputs: Sequence[bool],
    force_unknown: Sequence[bool] | None = None,
) -> Partition:
    """The program parted by what depends on its unknown inputs.

    Outputs with `force_unknown` are the second part's in any case. The program captures nothing;
    its effects happen in the first part where they can.
    """
    assert not jaxpr.constvars
    unknown: set[Atom] = {v for v, u in zip(jaxpr.invars, unknown_inputs, strict=True) if u}
    first: list[JaxprEqn] = []
    second: list[JaxprEqn] = []
    for eqn in jaxpr.eqns:
        if any(a in unknown for a in eqn.invars if isinstance(a, Var)):
            second.append(eqn)
            unknown.update(eqn.outvars)
        else:
            first.append(eqn)
    is_unknown = [
        (isinstance(a, Var) and a in unknown) or (force_unknown is not None and force_unknown[k])
        for k, a in enumerate(jaxpr.outvars)
    ]
    known_outs = [a for a, u in zip(jaxpr.outvars, is_unknown, strict=True) if not u]
    unknown_outs = [a for a, u in zip(jaxpr.outvars, is_unknown, strict=True) if u]
    crossing = [a for e in second for a in e.invars] + unknown_outs
    residuals: list[Var] = list(
        dict.fromkeys([a for a in crossing if isinstance(a, Var) and a not in unknown])
    )
    known_in = [v for v, u in zip(jaxpr.invars, unknown_inputs, strict=True) if not u]
    unknown_in = [v for v, u in zip(jaxpr.invars, unknown_inputs, strict=True) if u]
    known = Jaxpr([], known_in, [*known_outs, *residuals], first, jaxpr.debug_name)
    rest = Jaxpr([], [*residuals, *unknown_in], unknown_outs, second, jaxpr.debug_name)
    return Partition(
        without_dead_code(known)[0],
        without_dead_code(rest)[0],
        is_unknown,
        [v.aval for v in residuals],
    )

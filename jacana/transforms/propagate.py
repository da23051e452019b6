"""Propagate: how the results of a program are divided, from how its arguments are."""

from collections.abc import Sequence

from jacana.core.dimensions import Dimensions, replicated
from jacana.core.jaxpr import Atom, Jaxpr, Var


def propagated(jaxpr: Jaxpr, specs: Sequence[Dimensions]) -> list[Dimensions]:
    """The mesh axes of the outputs' dimensions; constvars have every dimension whole."""
    known: dict[Atom, Dimensions] = dict(zip(jaxpr.invars, specs, strict=True))

    def of(atom: Atom) -> Dimensions:
        found = known.get(atom) if isinstance(atom, Var) else None
        return replicated(atom.aval.ndim) if found is None else found

    for e in jaxpr.eqns:
        given = [of(a) for a in e.invars]
        callee = e.primitive.callee(e.params)
        if callee is not None:
            outs = propagated(callee, given)
        else:
            avals, types = [a.aval for a in e.invars], [v.aval for v in e.outvars]
            outs = e.primitive.spec_rule(given, avals, types, e.params)
        known.update(zip(e.outvars, outs, strict=True))
    return [of(a) for a in jaxpr.outvars]

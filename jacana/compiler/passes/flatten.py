"""Flatten: calls replaced by the equations of what they call, equal equations kept once.

Each callee is flattened once, however often it is called, and equal pure calls merge, so a program
grows no larger than its distinct equations.
"""

from typing import Any

from jacana.core.jaxpr import Atom, Jaxpr, JaxprEqn, Literal, Var, params_key


def flatten(jaxpr: Jaxpr) -> Jaxpr:
    """An equivalent jaxpr without calls and without repeated equations."""
    return _Flattening({}).run(jaxpr)


class _Flattening:
    """One program's equations as they are collected; `known` holds flattened callees."""

    def __init__(self, known: dict[int, Jaxpr]):
        self.known = known
        self.eqns: list[JaxprEqn] = []
        self.computed: dict[Any, list[Atom]] = {}

    def run(self, jaxpr: Jaxpr) -> Jaxpr:
        names: dict[Var, Atom] = {v: v for v in (*jaxpr.constvars, *jaxpr.invars)}
        outs = self._include(jaxpr, names)
        return Jaxpr(jaxpr.constvars, jaxpr.invars, outs, self.eqns, jaxpr.debug_name)

    def _include(self, jaxpr: Jaxpr, names: dict[Var, Atom]) -> list[Atom]:
        """Add the equations under the given names of their inputs; the outputs' names."""
        for eqn in jaxpr.eqns:
            invars = [a if isinstance(a, Literal) else names[a] for a in eqn.invars]
            callee = eqn.primitive.callee(eqn.params)
            if callee is not None:
                inner = self._flattened(callee)
                outs = self._include(inner, dict(zip(inner.invars, invars, strict=True)))
            else:
                outs = self._equation(eqn, invars)
            names.update(zip(eqn.outvars, outs, strict=True))
        return [a if isinstance(a, Literal) else names[a] for a in jaxpr.outvars]

    def _flattened(self, callee: Jaxpr) -> Jaxpr:
        found = self.known.get(id(callee))
        if found is None:
            found = self.known[id(callee)] = _Flattening(self.known).run(callee)
        return found

    def _equation(self, eqn: JaxprEqn, invars: list[Atom]) -> list[Atom]:
        key: Any = None
        if not eqn.effects:
            atoms = tuple([
                (repr(a.val), a.aval) if isinstance(a, Literal) else a for a in invars
            ])  # fmt: skip
            key = (eqn.primitive, atoms, params_key(eqn.params))
            found = self.computed.get(key)
            if found is not None:
                return found
        # Fresh variables: a callee's equations are included once for each different call.
        outvars = [Var(v.aval) for v in eqn.outvars]
        self.eqns.append(JaxprEqn(invars, outvars, eqn.primitive, eqn.params, eqn.source))
        outs: list[Atom] = list(outvars)
        if key is not None:
            self.computed[key] = outs
        return outs

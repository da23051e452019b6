"""Dead code: a program without the equations that nothing needs."""

from collections.abc import Sequence

from jacana.core.jaxpr import Atom, DropVar, Jaxpr, JaxprEqn, Var


def without_dead_code(
    jaxpr: Jaxpr, used_outputs: Sequence[bool] | None = None, keep_inputs: bool = True
) -> tuple[Jaxpr, list[bool]]:
    """The program of the used outputs alone, and which inputs it needs.

    Equations with effects stay. Inputs that are not needed stay as well if `keep_inputs`.
    """
    outvars = [a for k, a in enumerate(jaxpr.outvars) if used_outputs is None or used_outputs[k]]
    needed: set[Atom] = {a for a in outvars if isinstance(a, Var)}
    kept: list[JaxprEqn] = []
    for eqn in reversed(jaxpr.eqns):
        if not eqn.effects and not any(v in needed for v in eqn.outvars):
            continue
        if any(v not in needed and not isinstance(v, DropVar) for v in eqn.outvars):
            dropped = [v if v in needed else DropVar(v.aval) for v in eqn.outvars]
            eqn = eqn.replace(outvars=dropped)
        kept.append(eqn)
        needed.update([a for a in eqn.invars if isinstance(a, Var)])
    used_inputs = [v in needed for v in jaxpr.invars]
    invars = [v for v, u in zip(jaxpr.invars, used_inputs, strict=True) if u or keep_inputs]
    made = Jaxpr(jaxpr.constvars, invars, outvars, kept[::-1], jaxpr.debug_name)
    return made, used_inputs

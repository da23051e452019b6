"""References: a program on references as one on arrays that gives, last, what each refers to."""

from jacana import ops
from jacana.core.avals import is_ref_type
from jacana.core.jaxpr import Atom, Jaxpr, JaxprEqn, Var
from jacana.transforms.discharge import discharge, has_state


def discharge_references(jaxpr: Jaxpr) -> Jaxpr:
    """An equivalent jaxpr with the last values of its references after its outputs, in order.

    A reference's first value is an output in its own place alone: memory is about to change.
    """
    if not has_state(jaxpr):
        return jaxpr
    inputs = [*jaxpr.constvars, *jaxpr.invars]
    made, written = discharge(jaxpr)
    refs = [is_ref_type(v.aval) for v in inputs]
    first = [v for v, ref in zip(made.invars, refs, strict=True) if ref]
    count = len(jaxpr.outvars)
    changes = iter(made.outvars[count:])
    last = [next(changes) if w else v for v, w in zip(made.invars, written, strict=True)]
    last = [a for a, ref in zip(last, refs, strict=True) if ref]
    eqns = list(made.eqns)

    def own(atom: Atom, place: Var | None = None) -> Atom:
        if atom not in first or atom is place:
            return atom
        copied = Var(atom.aval)
        eqns.append(JaxprEqn([atom], [copied], ops.copy, {}))
        return copied

    outs = [own(a) for a in made.outvars[:count]]
    outs += [own(a, v) for a, v in zip(last, first, strict=True)]
    n = len(jaxpr.constvars)
    return Jaxpr(made.invars[:n], made.invars[n:], outs, eqns, jaxpr.debug_name)

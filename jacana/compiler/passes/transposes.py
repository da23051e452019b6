"""Transposes: a contraction reads its operands through their transposes, so none is carried out."""

from jacana.core.jaxpr import Atom, Jaxpr, JaxprEqn, Var

Numbers = tuple[tuple[tuple[int, ...], tuple[int, ...]], tuple[tuple[int, ...], tuple[int, ...]]]


def fold_transposes(jaxpr: Jaxpr) -> Jaxpr:
    """dot_general(transpose(x), y) as dot_general(x, y) with other axes, where that is the same."""
    transposed: dict[Atom, tuple[Atom, tuple[int, ...]]] = {}
    eqns = []
    for eqn in jaxpr.eqns:
        if eqn.primitive.name == "transpose":
            transposed[eqn.outvars[0]] = (eqn.invars[0], tuple(eqn.params["permutation"]))
        elif eqn.primitive.name == "dot_general":
            eqn = _read_through(eqn, transposed)
        eqns.append(eqn)
    return Jaxpr(jaxpr.constvars, jaxpr.invars, jaxpr.outvars, eqns, jaxpr.debug_name)


def _read_through(eqn: JaxprEqn, transposed: dict[Atom, tuple[Atom, tuple[int, ...]]]) -> JaxprEqn:
    contracting, batch = eqn.params["dimension_numbers"]
    invars, contracting, batch = list(eqn.invars), list(contracting), list(batch)
    for side, operand in enumerate(eqn.invars):
        if not isinstance(operand, Var) or operand not in transposed:
            continue
        source, permutation = transposed[operand]
        used = {*contracting[side], *batch[side]}
        free = [p for axis, p in enumerate(permutation) if axis not in used]
        if free != sorted(free):
            continue  # the order of the result's axes would change
        invars[side] = source
        contracting[side] = tuple(permutation[a] for a in contracting[side])
        batch[side] = tuple(permutation[a] for a in batch[side])
    numbers = (tuple(contracting), tuple(batch))
    return eqn.replace(invars=invars, params={**eqn.params, "dimension_numbers": numbers})

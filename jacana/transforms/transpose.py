"""Transpose: run a linear program backwards, from cotangents of its outputs to those of its inputs.

Zero cotangents are None and reach no rule.
"""

from collections.abc import Sequence
from typing import Any

from jacana import ops
from jacana.core.avals import ShapedArray
from jacana.core.jaxpr import Atom, ClosedJaxpr, Jaxpr, JaxprEqn, Literal, Var
from jacana.core.primitive import Inapplicable, Linear
from jacana.core.values import aval_of
from jacana.transforms.derived import closed, kept

# A variable with more uses than this has the sum of some of them taken early, to free memory.
HELD = 8


def backward_pass(jaxpr: Jaxpr, known: dict[Var, Any], cotangents: Sequence[Any]) -> dict[Var, Any]:
    """Cotangents of the variables that are not known, given those of the outputs.

    `known` has the values of constvars and of inputs that the program is not linear in. It gets the
    values of all equations that depend on known variables alone.
    """
    linear_eqns = [e for e in jaxpr.eqns if not _run_if_known(e, known)]
    found: dict[Var, list[Any]] = {}
    for out, ct in zip(jaxpr.outvars, cotangents, strict=True):
        _contribute(found, out, ct, known)
    for eqn in reversed(linear_eqns):
        cts = [_total(found.pop(v)) if v in found else None for v in eqn.outvars]
        if any(ct is not None for ct in cts):
            _transpose_equation(eqn, known, cts, found)
    return {v: _total(parts) for v, parts in found.items()}


def _run_if_known(eqn: JaxprEqn, known: dict[Var, Any]) -> bool:
    for a in eqn.invars:
        if not isinstance(a, Literal) and a not in known:
            return False
    args = [a.val if isinstance(a, Literal) else known[a] for a in eqn.invars]
    out = eqn.primitive(*args, **eqn.params)
    known.update(zip(eqn.outvars, out if eqn.primitive.multiple_results else [out], strict=True))
    return True


def _contribute(found: dict[Var, list[Any]], atom: Atom, ct: Any, known: dict[Var, Any]) -> None:
    if ct is None or isinstance(atom, Literal) or atom in known:
        return
    parts = found.setdefault(atom, [])
    if len(parts) == HELD:
        parts[:] = [_total(parts)]
    parts.append(ct)


def _total(parts: list[Any]) -> Any:
    """The sum of what the uses of a variable contribute, in the order of the uses."""
    total = parts[-1]
    for part in reversed(parts[:-1]):
        total = ops.add_any(total, part)
    return total


def _transpose_equation(
    eqn: JaxprEqn, known: dict[Var, Any], cts: list[Any], found: dict[Var, list[Any]]
) -> None:
    primitive = eqn.primitive
    if isinstance(type(primitive).transpose, Inapplicable):
        raise NotImplementedError(
            f"Transpose rule (for reverse-mode differentiation) for '{primitive.name}' is not "
            f"there: {type(primitive).transpose.reason}."
        )
    operands = [
        a.val if isinstance(a, Literal) else known[a] if a in known else Linear(a.aval)
        for a in eqn.invars
    ]
    ct = cts if primitive.multiple_results else cts[0]
    results = primitive.transpose(ct, *operands, **eqn.params)
    for atom, result in zip(eqn.invars, results, strict=True):
        _contribute(found, atom, result, known)


def transpose(jaxpr: Jaxpr, residuals: Sequence[Any], cotangents: Sequence[Any]) -> list[Any]:
    """Cotangents of the inputs of a linear jaxpr, None where zero."""
    known = dict(zip(jaxpr.constvars, residuals, strict=True))
    found = backward_pass(jaxpr, known, cotangents)
    return [like(found.get(v), v.aval) for v in jaxpr.invars]


def like(ct: Any, aval: ShapedArray) -> Any:
    """The cotangent of a value of this aval, weakly typed if that is."""
    if ct is None or not aval.weak_type or aval_of(ct).weak_type:
        return ct
    return ops.convert_element_type(ct, new_dtype=aval.dtype, weak_type=True)


def transpose_program(
    jaxpr: Jaxpr, linear: tuple[bool, ...], nonzero: tuple[bool, ...]
) -> tuple[ClosedJaxpr, list[bool]]:
    """(known operands, cotangents) -> nonzero cotangents of operands, and which those are."""

    def make() -> tuple[ClosedJaxpr, list[bool]]:
        found: list[bool] = []
        known = [v for v, is_linear in zip(jaxpr.invars, linear, strict=True) if not is_linear]

        def run(*args: Any) -> list[Any]:
            values = dict(zip(known, args[: len(known)], strict=True))
            rest = iter(args[len(known) :])
            cts = backward_pass(jaxpr, values, [next(rest) if nz else None for nz in nonzero])
            results = [
                like(cts.get(v), v.aval) if is_linear else None
                for v, is_linear in zip(jaxpr.invars, linear, strict=True)
            ]
            found[:] = [ct is not None for ct in results]
            return [ct for ct in results if ct is not None]

        cts = [a.to_tangent_aval() for a, nz in zip(jaxpr.out_avals, nonzero, strict=True) if nz]
        return closed(run, [*[v.aval for v in known], *cts]), found

    return kept(jaxpr, ("transpose", linear, nonzero), make)

"""Jaxprs as text, as JAX prints them.

Variables are named a, b, ..., z, ba, ... in order of appearance; the program of a call takes the
names of the call's operands and results.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from jacana.core import dtypes
from jacana.core.jaxpr import (
    Atom,
    ClosedJaxpr,
    DropVar,
    Jaxpr,
    JaxprEqn,
    Literal,
    Var,
    subjaxprs,
)
from jacana.core.layout import Break, Doc, Group, Nest, joined, layout


class Names:
    """Names of variables, and of programs that are printed once and referred to."""

    def __init__(self) -> None:
        self.of: dict[Var, str] = {}
        self.count = 0
        self.shared: dict[int, str] = {}

    def name(self, v: Var) -> str:
        if isinstance(v, DropVar):
            return "_"
        found = self.of.get(v)
        if found is None:
            found = self.of[v] = alphabetic(self.count)
            self.count += 1
        return found

    def suggest(self, variables: Sequence[Atom], like: Sequence[Atom]) -> None:
        """Variables without a name take those of the atoms they stand for."""
        for v, atom in zip(variables, like, strict=False):
            if isinstance(v, Var) and isinstance(atom, Var):
                self.of.setdefault(v, self.name(atom))

    def typed(self, v: Var) -> str:
        return f"{self.name(v)}:{v.aval.str_short(True)}"

    def atom(self, a: Atom) -> str:
        return repr(a) if isinstance(a, Literal) else self.name(a)


def alphabetic(n: int) -> str:
    text = ""
    while not text or n:
        n, digit = divmod(n, 26)
        text = chr(ord("a") + digit) + text
    return text


def show(program: Jaxpr | ClosedJaxpr) -> str:
    """The text of a program."""
    jaxpr = program.jaxpr if isinstance(program, ClosedJaxpr) else program
    names = Names()
    head = ""
    for text_name, callee in repeated_programs(jaxpr):
        head += layout([f"let {text_name} = ", jaxpr_doc(callee, names)]) + " in\n"
        names.shared[id(callee)] = text_name
    return head + layout(jaxpr_doc(jaxpr, names))


def repeated_programs(jaxpr: Jaxpr) -> list[tuple[str, Jaxpr]]:
    """Programs that occur more than once, innermost first, with names for them."""
    counts: Counter[int] = Counter()
    order: list[tuple[str, Jaxpr]] = []

    def visit(j: Jaxpr) -> None:
        for eqn in j.eqns:
            for inner in subjaxprs(eqn.params):
                counts[id(inner)] += 1
                if counts[id(inner)] == 1:
                    visit(inner)
                    order.append((str(eqn.params.get("name", eqn.primitive.name)), inner))

    visit(jaxpr)
    taken: Counter[str] = Counter()
    repeated = []
    for text_name, inner in order:
        if counts[id(inner)] > 1:
            base = "".join(c for c in text_name if c.isalnum() or c == "_")
            number = taken[base]
            taken[base] += 1
            repeated.append((base if not number else f"{base}{number}", inner))
    return repeated


def jaxpr_doc(jaxpr: Jaxpr, names: Names) -> Doc:
    head: Doc = ["{ lambda ", filled(names, jaxpr.constvars), "; ", filled(names, jaxpr.invars)]
    eqns = [equation_doc(e, names) for e in jaxpr.eqns]
    outs = [names.atom(a) for a in jaxpr.outvars]
    tail = f"in ({', '.join(outs)}{',' if len(outs) == 1 else ''}) }}"
    body = Nest(4, [Break(" "), joined(eqns, Break("; "))])
    return Group([Nest(4, head), ". let", body, Nest(2, [Break(" "), tail])])


def equation_doc(eqn: JaxprEqn, names: Names) -> Doc:
    if eqn.primitive.equation_doc is not None:
        doc: Doc = eqn.primitive.equation_doc(eqn, names)
        return doc
    left: Doc = [filled(names, eqn.outvars), " = "] if eqn.outvars else ""
    args: list[Doc] = [[Group(Break(" ")), names.atom(a)] for a in eqn.invars]
    if eqn.primitive.name == "jit" and id(eqn.params["jaxpr"].jaxpr) not in names.shared:
        callee = eqn.params["jaxpr"].jaxpr
        names.suggest(callee.invars, eqn.invars)
        names.suggest(callee.outvars, eqn.outvars)
    params = eqn.primitive.shown_params(eqn.params)
    # The name of a called function comes first, then the other params by name.
    order = sorted(params, key=lambda k: (k != "name", k))
    shown: list[Doc] = [[f"{k}=", param_doc(params[k], names)] for k in order]
    return [left, eqn.primitive.name, enclosed("[", shown, "]") if shown else "", Nest(2, args)]


def param_doc(value: Any, names: Names) -> Doc:
    if isinstance(value, Jaxpr | ClosedJaxpr):
        jaxpr = value.jaxpr if isinstance(value, ClosedJaxpr) else value
        return names.shared.get(id(jaxpr)) or jaxpr_doc(jaxpr, names)
    if isinstance(value, tuple) and value and isinstance(value[0], Jaxpr | ClosedJaxpr):
        return enclosed("(", [param_doc(v, names) for v in value], ")")
    if isinstance(value, np.dtype):
        return dtypes.name(value)
    if callable(value) and hasattr(value, "__name__"):
        return str(value.__name__)
    return str(value)


def filled(names: Names, variables: Sequence[Var]) -> Doc:
    """Variables with their types on as many lines as they need."""
    return joined([names.typed(v) for v in variables], Group(Break(" ")))


def enclosed(opening: str, items: Sequence[Doc], closing: str) -> Doc:
    """Items on one line, or on a line each with the brackets around them."""
    return Group([opening, Nest(2, [Break(""), joined(items, Break(" "))]), Break(""), closing])


def equation_text(eqn: JaxprEqn, names: Names) -> str:
    """The text of an equation."""
    return layout(equation_doc(eqn, names))


def _show_equation(eqn: JaxprEqn) -> str:
    return equation_text(eqn, Names())


# Programs print themselves by this module, which is built on theirs.
for _kind in (Jaxpr, ClosedJaxpr):
    _kind.__repr__ = _kind.__str__ = show  # type: ignore[assignment, method-assign]
JaxprEqn.__repr__ = JaxprEqn.__str__ = _show_equation  # type: ignore[assignment, method-assign]

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
    literal_text,
    subjaxprs,
)

WIDTH = 80


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

    def suggest(self, variables: Sequence[Var], like: Sequence[Atom]) -> None:
        """Variables without a name take those of the atoms they stand for."""
        for v, atom in zip(variables, like, strict=False):
            if isinstance(v, Var) and isinstance(atom, Var) and not isinstance(atom, DropVar):
                self.of.setdefault(v, self.name(atom))

    def typed(self, v: Var) -> str:
        return f"{self.name(v)}:{v.aval}"

    def atom(self, a: Atom) -> str:
        return f"{literal_text(a.val)}:{a.aval}" if isinstance(a, Literal) else self.name(a)


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
        head += f"let {text_name} = {jaxpr_text(callee, names, 0)} in\n"
        names.shared[id(callee)] = text_name
    return head + jaxpr_text(jaxpr, names, 0)


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


def jaxpr_text(jaxpr: Jaxpr, names: Names, indent: int) -> str:
    """A program whose first line begins at some place and whose others are indented by `indent`."""
    consts = " ".join(names.typed(v) for v in jaxpr.constvars)
    inputs = " ".join(names.typed(v) for v in jaxpr.invars)
    head = f"{{ lambda {consts}; {inputs}. let" if consts else f"{{ lambda ; {inputs}. let"
    eqns = [equation_text(e, names, indent + 4) for e in jaxpr.eqns]
    outs = [names.atom(a) for a in jaxpr.outvars]
    tail = f"in ({', '.join(outs)}{',' if len(outs) == 1 else ''}) }}"
    if not eqns:
        return f"{head}  {tail}"
    flat = f"{head} {eqns[0]} {tail}"
    if len(eqns) == 1 and "\n" not in flat and indent + len(flat) <= WIDTH:
        return flat
    pad = " " * (indent + 4)
    lines = "\n".join(pad + e for e in eqns)
    return f"{head}\n{lines}\n{' ' * (indent + 2)}{tail}"


def equation_text(eqn: JaxprEqn, names: Names, indent: int = 0) -> str:
    """An equation; lines after the first are indented by `indent`."""
    left = " ".join(names.typed(v) for v in eqn.outvars)
    args = "".join(f" {names.atom(a)}" for a in eqn.invars)
    callee = eqn.primitive.callee(eqn.params)
    if callee is not None and id(callee) not in names.shared:
        names.suggest(callee.invars, eqn.invars)
        names.suggest(callee.outvars, eqn.outvars)  # type: ignore[arg-type]
    start = f"{left} = {eqn.primitive.name}" if left else eqn.primitive.name
    params = eqn.primitive.shown_params(eqn.params)
    if not params:
        return start + args
    shown = [f"{k}={param_text(v, names, indent + 2)}" for k, v in sorted(params.items())]
    if eqn.primitive.name == "jit":
        shown.sort(key=lambda text: not text.startswith("name="))
    flat = f"{start}[{' '.join(shown)}]{args}"
    if "\n" not in flat and indent + len(flat) <= WIDTH:
        return flat
    pad = "\n" + " " * (indent + 2)
    return f"{start}[{pad}{pad.join(shown)}\n{' ' * indent}]{args}"


def param_text(value: Any, names: Names, indent: int) -> str:
    if isinstance(value, Jaxpr | ClosedJaxpr):
        jaxpr = value.jaxpr if isinstance(value, ClosedJaxpr) else value
        return names.shared.get(id(jaxpr)) or jaxpr_text(jaxpr, names, indent)
    if isinstance(value, tuple) and value and isinstance(value[0], Jaxpr | ClosedJaxpr):
        pad = "\n" + " " * (indent + 2)
        inner = pad.join(param_text(v, names, indent + 2) for v in value)
        return f"({pad}{inner}\n{' ' * indent})"
    if isinstance(value, np.dtype):
        return dtypes.name(value)
    if callable(value) and hasattr(value, "__name__"):
        return str(value.__name__)
    return str(value)


def _show_equation(eqn: JaxprEqn) -> str:
    return equation_text(eqn, Names())


# Programs print themselves by this module, which is built on theirs.
for _kind in (Jaxpr, ClosedJaxpr):
    _kind.__repr__ = _kind.__str__ = show  # type: ignore[assignment, method-assign]
JaxprEqn.__repr__ = JaxprEqn.__str__ = _show_equation  # type: ignore[method-assign]

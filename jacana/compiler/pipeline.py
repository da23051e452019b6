"""The passes that a jaxpr goes through before it is lowered, each with the reason for its place."""

from collections.abc import Callable

from jacana.compiler.passes.flatten import flatten
from jacana.compiler.passes.transposes import fold_transposes
from jacana.core.jaxpr import Jaxpr

Pass = Callable[[Jaxpr], Jaxpr]

PASSES: list[tuple[str, Pass]] = [
    # First, so that everything after it sees whole programs.
    ("flatten", flatten),
    ("fold transposes", fold_transposes),
]


def run_passes(jaxpr: Jaxpr, observe: Callable[[str, Jaxpr], None] | None = None) -> Jaxpr:
    """The jaxpr after all passes; `observe(name, jaxpr)` sees it before them and after each."""
    if observe:
        observe("traced", jaxpr)
    for name, run in PASSES:
        jaxpr = run(jaxpr)
        if observe:
            observe(name, jaxpr)
    return jaxpr

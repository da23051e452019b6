"""The passes that a jaxpr goes through before it is lowered, each with the reason for its place."""

from collections.abc import Callable

from jacana.compiler.passes.flatten import flatten
from jacana.compiler.passes.references import discharge_references
from jacana.compiler.passes.transposes import fold_transposes
from jacana.core import config
from jacana.core.check import check_jaxpr
from jacana.core.jaxpr import Jaxpr

Pass = Callable[[Jaxpr], Jaxpr]

PASSES: list[tuple[str, Pass]] = [
    # First, so that everything after it sees whole programs.
    ("flatten", flatten),
    # Before what looks at operations on arrays.
    ("discharge references", discharge_references),
    ("fold transposes", fold_transposes),
]


def run_passes(jaxpr: Jaxpr, observe: Callable[[str, Jaxpr], None] | None = None) -> Jaxpr:
    """The jaxpr after all passes; `observe(name, jaxpr)` sees it before them and after each.

    With the option jax_enable_checks, programs that are not well formed raise JaxprTypeError.
    """
    checks = config.current().enable_checks
    for name, run in [("traced", None), *PASSES]:
        jaxpr = run(jaxpr) if run else jaxpr
        if checks:
            check_jaxpr(jaxpr)
        if observe:
            observe(name, jaxpr)
    return jaxpr

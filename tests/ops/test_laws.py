"""Every law on every case of every first-order primitive."""

import pytest

from jacana import ops
from jacana.core.primitive import registry
from jacana.ops import linalg as linalg
from jacana.testing.laws import LAWS, check
from tests.ops.cases import load_all

CASES = load_all()
FIRST_ORDER = [p for p in registry.values() if type(p).__module__.startswith(ops.__name__ + ".")]


def test_every_primitive_has_cases():
    missing = [p.name for p in FIRST_ORDER if p.name not in CASES.by_name]
    assert not missing, f"add cases to a file tests/ops/cases_*.py, for {', '.join(missing)}"


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("name", CASES.by_name)
def test_law(name, law):
    checked = [check(law, c, seed=i) for i, c in enumerate(CASES.by_name[name])]
    if not any(checked) and law in ("jvp", "transpose"):
        assert not needs(registry[name], law), (
            f"{name} has the rule {law}, and no case that it is checked on: add one with float64 "
            f"operands, and .linear(...) for transpose"
        )


def needs(primitive, law):
    """Whether a rule must be checked: all that are written, but for rules that only raise."""
    return primitive.has_rule(law) and primitive.name not in WITHOUT_DERIVATIVE


# Their rules say that there is no derivative. random_gamma's keeps the quantile of a sample, which
# differences of samples do not: tests/random holds it to that.
WITHOUT_DERIVATIVE = {"igamma_grad_a", "random_gamma_grad", "random_gamma"}

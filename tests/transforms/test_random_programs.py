"""Random programs obey the laws of jacana.testing.program_laws; a failure is shown at its smallest.

JACANA_RANDOM_PROGRAMS multiplies their number (by 50 it takes some minutes), JACANA_TEST_SEED gives
others.
"""

import os
from functools import partial

import numpy as np
import pytest

import jacana
from jacana.testing import program_laws as laws
from jacana.testing.programs import FAMILIES, Program, random_program, shrink
from tests.conftest import SEED

TIMES = int(os.environ.get("JACANA_RANDOM_PROGRAMS", "1"))
# How many programs, of how many steps, how much larger than usual.
SIZES = {
    "jit_is_eager": (40, 14, 1),
    "operations_are_references": (40, 10, 1),
    "put_off_is_eager": (10, 12, 1),
    "vmap_is_the_loop": (25, 8, 1),
    "threads_agree": (4, 8, 300),
}


def check_all(law, count, make):
    """The law on programs; the first that fails is shrunk and shown with its seed."""
    for seed in range(SEED, SEED + count * TIMES):
        program = make(seed)
        with np.errstate(all="ignore"):
            try:
                law(program, seed)
                continue
            except AssertionError as e:
                first = str(e)
            smallest = shrink(program, partial(fails, law, seed))
        pytest.fail(f"seed {seed}: {first}\n\n{smallest.source()}", pytrace=False)


def fails(law, seed: int, program: Program) -> bool:
    try:
        law(program, seed)
    except AssertionError:
        return True
    except Exception:
        return False
    return False


@pytest.mark.parametrize("name", SIZES)
def test_random_programs(name):
    count, steps, scale = SIZES[name]

    def law(program, seed):
        getattr(laws, name)(program, program.arguments(seed))

    check_all(law, count, lambda seed: random_program(seed, steps, scale=scale))


def test_gradients_of_random_programs():
    learnt = []

    def law(program, seed):
        try:
            learnt.append(laws.gradients_agree(program, program.arguments(seed, ties=False)))
        except ValueError as e:
            if "Reverse-mode" not in str(e):
                raise

    # Conversions to narrow types have no slope that differences could see.
    families = [f for f in FAMILIES if f != "convert"]
    kinds = ("float64", "float64", "float64", "int32")
    with jacana.enable_x64(True):
        check_all(law, 20, lambda seed: random_program(seed, 7, families, kinds))
    assert sum(learnt) > len(learnt) / 3


def test_shrinking_finds_the_step_at_fault():
    def fails(program):
        return "jnp.sin" in program.source()

    program = next(p for p in map(random_program, range(50)) if fails(p))
    assert len(shrink(program, fails).steps) == 1

"""Endless kinds of programs do not fill the memory."""

import os

import pytest

import jacana
import jacana.numpy as jnp
from jacana.core.bounded import Bounded
from jacana.runtime import dispatch, executable

STATM = "/proc/self/statm"


def resident() -> int:
    with open(STATM) as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.skipif(not os.path.exists(STATM), reason="reads /proc")
def test_two_thousand_programs_take_no_more_memory_than_five_hundred(monkeypatch):
    monkeypatch.setattr(dispatch, "_operations", Bounded(64))
    monkeypatch.setattr(executable, "_executables", Bounded(64))

    def run(start: int, stop: int) -> None:
        for n in range(start, stop):
            x = jnp.ones(n)
            jacana.jit(lambda x: x * 2 + 1)(x)

    run(20, 520)
    before = resident()
    run(520, 2520)
    assert len(executable._executables) <= 64
    assert resident() - before < 16 << 20


def test_clear_caches_forgets_programs_and_operations():
    jacana.jit(lambda x: x * 3)(jnp.ones(5) + 1)
    assert dispatch._operations or executable._executables
    jacana.clear_caches()
    assert not dispatch._operations
    assert not executable._executables
    assert float(jacana.jit(lambda x: (x * 3).sum())(jnp.ones(5))) == 15

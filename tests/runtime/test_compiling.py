"""Programs on disk: found again, refused when something is missing; the progress bar."""

import io
import sys
from pathlib import Path

import numpy as np
import pytest

import jacana
import jacana.numpy as jnp
from jacana import lax
from jacana.core import config
from jacana.core.fingerprint import Nameless, fingerprint
from jacana.runtime import cache, compiling
from jacana.runtime.executable import Executable


def chain(x):
    for i in range(10):
        x = jnp.sin(x) * i + 1
    return lax.fori_loop(0, 3, lambda i, c: c @ c / 10, x)


def jaxpr_of(function, *args):
    return jacana.jit(function).trace(*args)._jaxpr.jaxpr


@pytest.fixture
def folder(tmp_path: Path):
    with config.override(compilation_cache_dir=str(tmp_path)):
        yield tmp_path


def test_a_stored_program_gives_the_same_result(folder):
    x = jnp.ones((9, 9)) * 0.1
    jaxpr = jaxpr_of(chain, x)
    first, how = compiling.compile_and_tell(jaxpr)
    assert not how.stored and how.kernels > 0
    again, how = compiling.compile_and_tell(jaxpr)
    assert how.stored and how.compiled == 0
    assert [type(c) for c in again.commands] == [type(c) for c in first.commands]
    expected, found = Executable(first).run([x]), Executable(again).run([x])
    np.testing.assert_array_equal(expected[0], found[0])


def test_a_program_without_its_kernels_is_lowered_again(folder):
    jaxpr = jaxpr_of(chain, jnp.ones((9, 9)))
    compiling.compile_jaxpr(jaxpr)
    kept = cache.default_cache()
    for key in list(kept._memory):
        Path(kept._path(cache.version_key() + b"\n" + key)).unlink()
    kept._memory.clear()
    _, how = compiling.compile_and_tell(jaxpr)
    assert not how.stored and how.compiled > 0


def test_a_damaged_program_is_lowered_again(folder):
    jaxpr = jaxpr_of(chain, jnp.ones((9, 9)))
    compiling.compile_jaxpr(jaxpr)
    key = compiling._key(jaxpr)
    path = Path(cache.default_cache()._path(cache.version_key() + b"\n" + key))
    data = bytearray(path.read_bytes())
    data[-10] ^= 1
    path.write_bytes(bytes(data))
    assert not compiling.compile_and_tell(jaxpr)[1].stored
    assert compiling.compile_and_tell(jaxpr)[1].stored


def test_programs_that_call_python_are_not_kept(folder):
    def f(x):
        y = jacana.pure_callback(np.sin, jacana.ShapeDtypeStruct((3,), np.float32), x)
        return jnp.tanh(jnp.exp(y) * 2 + 1) - jnp.cos(y) / 3 + y**2

    jaxpr = jaxpr_of(f, jnp.ones(3))
    compiling.compile_jaxpr(jaxpr)
    assert not compiling.compile_and_tell(jaxpr)[1].stored


DIFFERENT = [
    lambda x: x + 1.0, lambda x: x + 2.0, lambda x: x - 1.0, lambda x: 1.0 + x * 0.0,
    lambda x: x + (-0.0), lambda x: x + 0.0, lambda x: x.sum(0), lambda x: x.sum(1),
    lambda x: jnp.concatenate([x, x]), lambda x: (x, x + 1.0), lambda x: x.astype("float16"),
    lambda x: x[1:], lambda x: x[::2], lambda x: lax.fori_loop(0, 3, lambda i, c: c + 1, x),
    lambda x: lax.fori_loop(0, 3, lambda i, c: c + 2, x), lambda x: jnp.cumsum(x, 0),
    lambda x: lax.cond(x.sum() > 0, lambda: x, lambda: x * 2),
]  # fmt: skip


def test_fingerprints_tell_programs_apart_and_ignore_how_they_were_traced():
    x = jnp.ones((4, 4))
    texts = [fingerprint(jaxpr_of(f, x)) for f in DIFFERENT]
    assert len(set(texts)) == len(DIFFERENT)
    assert texts == [fingerprint(jaxpr_of(f, x)) for f in DIFFERENT]
    assert fingerprint(jaxpr_of(DIFFERENT[0], jnp.ones((4, 5)))) not in texts
    assert fingerprint(jaxpr_of(DIFFERENT[0], x.astype("float16"))) not in texts


def test_what_only_this_process_knows_has_no_fingerprint():
    def f(x):
        return jacana.pure_callback(np.sin, jacana.ShapeDtypeStruct((3,), np.float32), x)

    with pytest.raises(Nameless):
        fingerprint(jaxpr_of(f, jnp.ones(3)))


@pytest.mark.parametrize(("terminal", "wanted", "shown"), [
    (True, True, True), (False, True, False), (True, False, False),
])  # fmt: skip
def test_a_long_compilation_shows_progress_on_a_terminal(
    folder, monkeypatch, terminal, wanted, shown
):
    screen = io.StringIO()
    screen.isatty = lambda: terminal
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setattr(compiling, "_SHOW_PROGRESS_AFTER", 0.0)
    with config.override(compile_progress=wanted):
        compiling.compile_jaxpr(jaxpr_of(chain, jnp.ones((7, 7))))
    assert ("compiling" in screen.getvalue()) is shown

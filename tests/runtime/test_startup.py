"""What a process must load: nothing slow for an import, no compiler for what is on disk."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

SLOW = ("llvmlite", "scipy", "opt_einsum", "tqdm", "hashlib", "importlib.resources")
IMPORTED = f"print(*[m for m in {SLOW!r} if m in sys.modules], file=sys.stderr)"
# Long enough to be stored as a program, with a reduction and a loop.
PROGRAM = """
import sys
import jacana, jacana.numpy as jnp
from jacana import lax
def f(x):
    y = jnp.tanh(x) * jnp.exp(-x * x) + jnp.sin(x) / (1 + jnp.cos(x) ** 2) - jnp.sqrt(x + 3)
    return lax.fori_loop(0, 5, lambda i, c: c * 0.5 + i, y.sum()) + jnp.max(y)
print(repr(float(jacana.jit(f)(jnp.arange(50.0)))))
"""


def run(code: str, folder: Path) -> tuple[str, list[str]]:
    """What a fresh process prints, and the slow modules that it loaded."""
    environment = {
        **os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "JACANA_CACHE_DIR": str(folder),
    }  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], env=environment, text=True,
        capture_output=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr.split()


@pytest.mark.parametrize("module", ["jacana", "jacana.numpy", "jacana.lax"])
def test_importing_loads_nothing_slow(module: str, tmp_path: Path) -> None:
    parts = ("random", "nn", "numpy.linalg", "lax.linalg", "compiler.compile", "compiler.llvm.code")
    loaded = f"print(*[m for m in {parts!r} if 'jacana.' + m in sys.modules])"
    # NumPy's own slow imports are not ours.
    code = f"import numpy, sys; before = set(sys.modules); import {module}\n{loaded}\n" + (
        f"print(*[m for m in {SLOW!r} if m in set(sys.modules) - before], file=sys.stderr)"
    )
    run("import jacana", tmp_path)  # compiles the runtime's own native code
    out, slow = run(code, tmp_path)
    assert (out.split(), slow) == ([], [])


def test_a_warm_start_needs_no_compiler(tmp_path: Path) -> None:
    code = PROGRAM + IMPORTED
    first, loaded = run(code, tmp_path)
    assert "llvmlite" in loaded
    second, loaded = run(code, tmp_path)
    assert second == first
    assert not set(loaded) & {"llvmlite", "scipy", "opt_einsum", "tqdm"}


def test_a_stored_program_is_not_lowered(tmp_path: Path) -> None:
    code = PROGRAM + (
        "from jacana.runtime import compiling\n"
        "j = jacana.jit(f).trace(jnp.arange(50.0))._jaxpr.jaxpr\n"
        "print(compiling.compile_and_tell(j)[1].stored)\n"
    )
    first, _ = run(code, tmp_path)
    assert first.split()[1] == "True"
    second, _ = run(code + "compiling._stored = lambda key: None\nprint(float(jacana.jit(f)"
                    "(jnp.arange(50.0))))", tmp_path)  # fmt: skip
    assert second.split()[0] == second.split()[2] == first.split()[0]


def cpu_seconds(code: str) -> float:
    """The least processor time of a process that runs the code, of three."""
    resource = pytest.importorskip("resource")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    spent = []
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, "-c", code], env=environment, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        spent.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(spent)


def test_the_import_costs_little_more_than_numpys() -> None:
    # The aim is 60 ms on a quiet machine, where NumPy takes as much; this holds under load.
    cpu_seconds("import jacana")
    assert cpu_seconds("import jacana") < 2.5 * cpu_seconds("import numpy") + 0.05

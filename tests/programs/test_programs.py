"""Programs written for JAX, each file in a process of its own with `import jax` answered."""

import functools
import re
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent
FILES = sorted(p.stem for p in FOLDER.glob("*.py") if not p.stem.startswith(("test_", "__")))


@functools.cache
def output(name):
    return subprocess.run(
        [sys.executable, "-W", "error", "-m", "jacana", str(FOLDER / f"{name}.py")],
        capture_output=True, text=True, timeout=300,
    )  # fmt: skip


@pytest.mark.parametrize("name", FILES)
def test_programs(name):
    done = output(name)
    assert done.returncode == 0, done.stdout + done.stderr
    wanted = re.findall(r"^def (program_\w+)", (FOLDER / f"{name}.py").read_text(), re.M)
    assert re.findall(r"^ok (\w+)$", done.stdout, re.M) == wanted

"""Children of multiprocessing under `python -m jacana` import jacana as jax."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
import multiprocessing
import jax.numpy as jnp

def work(n):
    import jax
    return float(jax.jit(jnp.sum)(jnp.arange(n))), jax.__name__

if __name__ == "__main__":
    context = multiprocessing.get_context("{method}")
    with context.Pool(2) as pool:
        print(pool.map(work, [3, 4]))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
@pytest.mark.parametrize("method", ["spawn", "forkserver", "fork"])
def test_children_have_jax(method: str, tmp_path: Path):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT.format(method=method))
    done = subprocess.run(
        [sys.executable, "-m", "jacana", str(script)], capture_output=True, text=True, timeout=120
    )
    assert done.stdout.strip() == "[(3.0, 'jax'), (6.0, 'jax')]", done.stderr

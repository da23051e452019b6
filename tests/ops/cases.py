"""The cases of all primitives. Files named cases_*.py add theirs:

case(ops.mul, normal(3, 4), normal(3, 4)).linear((0,), (1,))
"""

import importlib
from pathlib import Path

from jacana.core import config
from jacana.testing.cases import Cases

CASES = Cases()
case = CASES.add


def load_all() -> Cases:
    """The registry with the cases of every file."""
    with config.override(enable_x64=True):
        for file in sorted(Path(__file__).parent.glob("cases_*.py")):
            importlib.import_module(f"tests.ops.{file.stem}")
    return CASES

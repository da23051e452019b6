"""What all tests share: fixed seeds, golden texts, and the optional shared folder."""

import os
import re
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import hypothesis
import numpy as np
import pytest

ROOT = Path(__file__).resolve().parent.parent
SHARED = Path(os.environ.get("JACANA_SHARED", ROOT.parent / "shared"))
SEED = int(os.environ.get("JACANA_TEST_SEED", "1701"))
# Programs are checked between passes.
os.environ.setdefault("JAX_ENABLE_CHECKS", "1")

hypothesis.settings.register_profile(
    "fixed", derandomize=True, deadline=None, print_blob=True, database=None
)
hypothesis.settings.load_profile("fixed")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden", action="store_true", help="rewrite the texts under tests/golden"
    )


def pytest_report_header() -> list[str]:
    shared = SHARED if SHARED.is_dir() else "absent, tests that read it are skipped"
    return [f"random seed: {SEED} (JACANA_TEST_SEED); hypothesis: fixed", f"shared: {shared}"]


@pytest.fixture
def rng(request: pytest.FixtureRequest) -> np.random.Generator:
    """A generator whose numbers depend on the seed and the test's own name only."""
    return np.random.default_rng([SEED, zlib.crc32(request.node.nodeid.encode())])


@pytest.fixture
def shared_file() -> Callable[[str], Path]:
    """Finds a file of the shared folder, or skips the test."""

    def find(name: str) -> Path:
        path = SHARED / name
        if not path.exists():
            pytest.skip(f"{name} is not there: set JACANA_SHARED to the folder that holds it")
        return path

    return find


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[..., None]:
    """Compares a text with tests/golden/<test path>/<test name>.txt."""
    module = Path(request.node.path).relative_to(ROOT / "tests").with_suffix("")
    name = re.sub(r"[^\w.-]+", "-", request.node.name).strip("-")

    def compare(text: str, label: str = "") -> None:
        path = ROOT / "tests" / "golden" / module / f"{name}{label and '-'}{label}.txt"
        text = text.rstrip("\n") + "\n"
        if request.config.getoption("--update-golden"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            return
        if not path.exists():
            pytest.fail(f"no golden text {path.relative_to(ROOT)}: run `make golden` to write it")
        assert text == path.read_text(encoding="utf-8"), (
            f"differs from {path.relative_to(ROOT)}: run `make golden` if the change is meant"
        )

    return compare


@pytest.fixture
def eight_devices(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Any]]:
    """The devices of a host that says it has eight."""
    # Imported when the settings above are made.
    from jacana.runtime import device

    monkeypatch.setenv("JAX_NUM_CPU_DEVICES", "8")
    device._started.cache_clear()
    yield device.devices()
    monkeypatch.undo()
    device._started.cache_clear()

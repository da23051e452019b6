"""`jacana cache info|clear`, and where settings put the cache."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from jacana import __main__ as command
from jacana.core import config
from jacana.runtime import cache


@pytest.fixture
def folder(tmp_path: Path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with config.override(compilation_cache_dir=str(tmp_path / "kept")):
        yield tmp_path / "kept"


def test_cache_info_and_clear(folder: Path, capsys):
    cache.get(b"a kernel", lambda: b"code")
    assert command.main(["cache", "info"]) == 0
    out = capsys.readouterr().out
    assert f"folder:  {folder / 'kernels'}" in out
    assert "entries: 1 (kernels and programs)" in out
    assert "of at most 537 MB" in out
    assert command.main(["cache", "clear"]) == 0
    assert capsys.readouterr().out == f"removed 1 entries from {folder / 'kernels'}\n"
    assert list((folder / "kernels").iterdir()) == []


def test_other_words_are_refused(folder: Path, capsys):
    assert command.main(["cache", "empty"]) == 2
    assert "cache takes one word, info or clear" in capsys.readouterr().err


def test_no_cache_is_said(folder: Path, capsys):
    with config.override(enable_compilation_cache=False):
        assert command.main(["cache", "info"]) == 0
    assert "nothing is kept on disk" in capsys.readouterr().out


@pytest.mark.parametrize("variable", ["JACANA_CACHE_DIR", "JAX_COMPILATION_CACHE_DIR"])
def test_the_environment_names_the_folder(variable: str, tmp_path: Path):
    kept = {k: v for k, v in os.environ.items() if not k.endswith("CACHE_DIR")}
    paths = os.pathsep.join(sys.path)
    done = subprocess.run(
        [sys.executable, "-m", "jacana", "cache", "info"], text=True, capture_output=True,
        env={**kept, "PYTHONPATH": paths, variable: str(tmp_path / "here")}, check=True,
    )  # fmt: skip
    assert f"folder:  {tmp_path / 'here' / 'kernels'}" in done.stdout

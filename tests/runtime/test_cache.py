"""The cache of compiled code: memory, disk, damage, privacy, bounds, processes."""

import os
import stat
import subprocess
import sys
import threading
import time
import warnings
from pathlib import Path

import pytest

from jacana.core import config
from jacana.runtime import cache
from jacana.runtime.cache import KernelCache

on_posix = pytest.mark.skipif(sys.platform == "win32", reason="POSIX permissions")
not_as_root = pytest.mark.skipif(
    hasattr(os, "geteuid") and os.geteuid() == 0, reason="root may write anywhere"
)


class Compiler:
    """Counts how often it is asked."""

    def __init__(self, code: bytes = b"code") -> None:
        self.code = code
        self.calls = 0

    def __call__(self) -> bytes:
        self.calls += 1
        return self.code


def test_code_is_compiled_once_per_key(tmp_path: Path) -> None:
    store, compiler = KernelCache(tmp_path), Compiler()
    assert [store.get(b"a", compiler) for _ in range(3)] == [b"code"] * 3
    assert store.get(b"b", Compiler(b"other")) == b"other"
    assert compiler.calls == 1
    info = store.info()
    assert (info.entries, info.memory_hits, info.disk_hits, info.compiled) == (2, 2, 0, 2)


def test_another_process_finds_it_on_disk(tmp_path: Path) -> None:
    KernelCache(tmp_path).get(b"a", Compiler())
    later, compiler = KernelCache(tmp_path), Compiler(b"wrong")
    assert later.get(b"a", compiler) == b"code"
    assert compiler.calls == 0
    assert later.info().disk_hits == 1


@on_posix
def test_files_are_private(tmp_path: Path) -> None:
    store = KernelCache(tmp_path)
    store.get(b"a", Compiler())
    assert store.folder is not None
    assert stat.S_IMODE(os.stat(store.folder).st_mode) == 0o700
    assert [stat.S_IMODE(file.stat().st_mode) for file in Path(store.folder).iterdir()] == [0o600]


def damage_truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


def damage_flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(bytes(data))


def damage_empty(path: Path) -> None:
    path.write_bytes(b"")


def damage_foreign_key(path: Path) -> None:
    path.write_bytes(cache._pack(b"another key", b"evil"))


def damage_writable(path: Path) -> None:
    path.chmod(0o666)


def damage_link(path: Path) -> None:
    elsewhere = path.parent.parent / "elsewhere"
    path.rename(elsewhere)
    path.symlink_to(elsewhere)


def damage_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


@on_posix
@pytest.mark.parametrize(
    "damage",
    [
        damage_truncate, damage_flip, damage_empty, damage_foreign_key, damage_writable,
        damage_link,
    ],
)  # fmt: skip
def test_a_damaged_or_foreign_entry_is_compiled_again(tmp_path: Path, damage) -> None:
    store = KernelCache(tmp_path)
    store.get(b"a", Compiler())
    assert store.folder is not None
    (path,) = Path(store.folder).iterdir()
    damage(path)
    compiler = Compiler(b"fresh")
    assert KernelCache(tmp_path).get(b"a", compiler) == b"fresh"
    assert compiler.calls == 1
    assert KernelCache(tmp_path).get(b"a", Compiler(b"wrong")) == b"fresh"


@on_posix
def test_a_folder_in_place_of_an_entry_disables_writing_with_one_warning(tmp_path: Path) -> None:
    store = KernelCache(tmp_path)
    store.get(b"a", Compiler())
    assert store.folder is not None
    damage_folder(next(Path(store.folder).iterdir()))
    other = KernelCache(tmp_path)
    with pytest.warns(RuntimeWarning, match="cannot keep compiled code"):
        assert other.get(b"a", Compiler(b"fresh")) == b"fresh"
    assert other.get(b"b", Compiler(b"more")) == b"more"


def test_an_unusable_folder_is_said_once_and_done_without(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    store = KernelCache(tmp_path / "file")
    with pytest.warns(RuntimeWarning, match="JACANA_CACHE_DIR"):
        assert store.get(b"a", Compiler(b"a")) == b"a"
    assert store.get(b"b", Compiler(b"b")) == b"b"
    assert store.info().folder is None
    assert store.get(b"a", Compiler(b"wrong")) == b"a"


@on_posix
@not_as_root
def test_an_unwritable_folder_is_done_without(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.warns(RuntimeWarning, match="cannot keep"):
        assert KernelCache(tmp_path).get(b"a", Compiler()) == b"code"
    tmp_path.chmod(0o700)


def test_a_full_disk_is_done_without(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = KernelCache(tmp_path)

    def full(source: str, target: str) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.warns(RuntimeWarning, match="No space left"):
        assert store.get(b"a", Compiler()) == b"code"
    assert store.folder is not None
    assert list(Path(store.folder).iterdir()) == []


@on_posix
def test_an_open_folder_is_closed_to_others(tmp_path: Path) -> None:
    (tmp_path / "kernels").mkdir(mode=0o755)
    KernelCache(tmp_path).get(b"a", Compiler())
    assert stat.S_IMODE((tmp_path / "kernels").stat().st_mode) == 0o700


@on_posix
def test_a_linked_folder_is_not_trusted(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "kernels").symlink_to(tmp_path / "real")
    with pytest.warns(RuntimeWarning, match="not a folder"):
        KernelCache(tmp_path).get(b"a", Compiler())
    assert list((tmp_path / "real").iterdir()) == []


def test_the_entries_used_longest_ago_go_first(tmp_path: Path) -> None:
    store = KernelCache(tmp_path, size_limit=10_000)
    assert store.folder is not None
    store.get(b"0", Compiler(bytes(1000)))
    oldest = next(Path(store.folder).iterdir())
    os.utime(oldest, (1, 1))
    stale = Path(store.folder) / "x.part"
    stale.write_bytes(b"")
    os.utime(stale, (1, 1))
    now = time.time()
    for i in range(1, 20):
        store.get(b"%d" % i, Compiler(bytes(1000)))
        for file in Path(store.folder).iterdir():
            if file not in (oldest, stale) and file.stat().st_mtime > now - 50:
                os.utime(file, (now - 100 + i, now - 100 + i))
    store._evict()
    assert store.info().nbytes <= 10_000
    assert not oldest.exists()
    assert not stale.exists()
    newest = Compiler(b"wrong")
    assert KernelCache(tmp_path).get(b"19", newest) == bytes(1000)


def test_a_used_entry_looks_young_again(tmp_path: Path) -> None:
    store = KernelCache(tmp_path)
    store.get(b"a", Compiler())
    assert store.folder is not None
    (path,) = Path(store.folder).iterdir()
    os.utime(path, (1, 1))
    KernelCache(tmp_path).get(b"a", Compiler())
    assert path.stat().st_mtime > time.time() - 60


def test_clear_forgets_all(tmp_path: Path) -> None:
    store, compiler = KernelCache(tmp_path), Compiler()
    store.get(b"a", compiler)
    store.clear()
    assert store.info().entries == 0
    store.get(b"a", compiler)
    assert compiler.calls == 2


def test_memory_only(tmp_path: Path) -> None:
    store = KernelCache(None)
    assert store.get(b"a", Compiler()) == b"code"
    assert store.get(b"a", Compiler(b"wrong")) == b"code"
    assert store.info().folder is None


def test_the_config_names_the_folder(tmp_path: Path) -> None:
    with config.override(compilation_cache_dir=str(tmp_path)):
        cache.get(b"a", Compiler())
        assert cache.info().folder == str(tmp_path / "kernels")
        assert cache.info().entries == 1
        cache.clear()
        assert cache.info().entries == 0
    with config.override(enable_compilation_cache=False):
        assert cache.default_folder() is None


def test_threads_and_processes_at_once(tmp_path: Path) -> None:
    script = (
        "import sys; from pathlib import Path; from jacana.runtime.cache import KernelCache\n"
        "for _ in range(3):\n"
        "    store = KernelCache(Path(sys.argv[1]), 20000)\n"
        "    for i in range(40):\n"
        "        key = b'%d' % (i % 20)\n"
        "        assert store.get(key, lambda: key * 500) == key * 500\n"
        "    store._evict()\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-W", "error", "-c", script, str(tmp_path)]
    children = [subprocess.Popen(command, env=environment) for _ in range(3)]
    failures = []

    def work() -> None:
        store = KernelCache(tmp_path, 20000)
        for i in range(100):
            key = b"%d" % (i % 20)
            if store.get(key, lambda key=key: key * 500) != key * 500:
                failures.append(key)

    workers = [threading.Thread(target=work) for _ in range(3)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
    assert [child.wait(60) for child in children] == [0] * 3
    assert not failures

"""Compiled code by structure: in memory, and on disk in a folder that only the user can read.

What is on disk is native code that will be run, so an entry is used only if it is the user's own,
undamaged and made under exactly this key; anything else is compiled again.
"""

import errno
import os
import stat
import struct
import sys
import time
import warnings
from collections.abc import Callable
from typing import NamedTuple

from jacana.compiler.llvm import native
from jacana.core import config
from jacana.core.digest import sha256
from jacana.core.records import record

SIZE_LIMIT = 512 << 20
# Beyond this many files looking at the folder takes long.
ENTRY_LIMIT = 50_000
_MEMORY_LIMIT = 128 << 20
StrPath = str | os.PathLike[str]

_MAGIC = b"jacana kernel 1\n"
_HEAD = struct.Struct("<32sQQ")
_PRIVATE = 0o077
# Writes between two looks at the size of the folder; the first comes early.
_FIRST_LOOK, _LOOK_INTERVAL = 8, 128
_TOUCH_INTERVAL = 86400.0
_STALE = 3600.0


class CacheInfo(NamedTuple):
    """Where the cache is, what it holds, and how it was used in this process."""

    folder: str | None
    entries: int
    nbytes: int
    memory_hits: int
    disk_hits: int
    compiled: int


class Counts(NamedTuple):
    """How a cache was used: where code was found, or that it was compiled."""

    memory_hits: int
    disk_hits: int
    compiled: int


@record(eq=False, frozen=False)
class _Counts:
    memory_hits: int = 0
    disk_hits: int = 0
    compiled: int = 0
    written: int = 0


class KernelCache:
    """A memory cache before a folder of files; `folder` None means memory only."""

    def __init__(self, folder: StrPath | None, size_limit: int = SIZE_LIMIT) -> None:
        self.folder = os.path.join(folder, "kernels") if folder is not None else None
        self.size_limit = size_limit
        self._memory: dict[bytes, bytes] = {}
        self._memory_size = 0
        self._counts = _Counts()
        self._usable: bool | None = None

    def get(self, key: bytes, compile: Callable[[], bytes]) -> bytes:
        """The code stored under `key`, or else what `compile()` returns, which is then stored.

        The key says all that the code depends on, except the machine and the compiler's own
        version, which are added here. Two threads that miss at once both compile.
        """
        found = self._memory.get(key)
        if found is not None:
            self._counts.memory_hits += 1
            return found
        full_key = version_key() + b"\n" + key
        code = self._read(full_key)
        if code is not None:
            self._counts.disk_hits += 1
        else:
            code = compile()
            self._counts.compiled += 1
            self._write(full_key, code)
        self._remember(key, code)
        return code

    def find(self, key: bytes) -> bytes | None:
        """What is on disk under `key`; it is not kept in memory."""
        return self._read(version_key() + b"\n" + key)

    def put(self, key: bytes, data: bytes) -> None:
        """Keep data on disk under `key`."""
        self._write(version_key() + b"\n" + key, data)

    def counts(self) -> Counts:
        """How the cache was used until now."""
        now = self._counts
        return Counts(now.memory_hits, now.disk_hits, now.compiled)

    def info(self) -> CacheInfo:
        """How full the cache is and how it was used."""
        files = self._files()
        counts = self._counts
        return CacheInfo(
            self.folder if self._is_usable() else None,
            len(files) if files else len(self._memory),
            sum(entry.size for entry in files) if files else self._memory_size,
            counts.memory_hits,
            counts.disk_hits,
            counts.compiled,
        )

    def clear(self) -> None:
        """Forget all code, on disk too. What is loaded stays loaded."""
        self._memory.clear()
        self._memory_size = 0
        for entry in self._files():
            _remove(entry.path)

    def _remember(self, key: bytes, code: bytes) -> None:
        self._memory[key] = code
        self._memory_size += len(code)
        while self._memory_size > _MEMORY_LIMIT and len(self._memory) > 1:
            oldest = self._memory.pop(next(iter(self._memory)), b"")
            self._memory_size -= len(oldest)

    def _path(self, full_key: bytes) -> str:
        assert self.folder is not None
        return os.path.join(self.folder, sha256(full_key).hexdigest())

    def _read(self, full_key: bytes) -> bytes | None:
        if not self._is_usable():
            return None
        path = self._path(full_key)
        try:
            data = _read_private(path)
        except FileNotFoundError:
            return None
        except OSError:
            data = b""
        code = _unpack(data, full_key)
        if code is None:
            _remove(path)
        return code

    def _write(self, full_key: bytes, code: bytes) -> None:
        if not self._is_usable():
            return
        path = self._path(full_key)
        # Readers see the old file, no file or the whole new one.
        temporary = f"{path[:-48]}.{os.getpid()}.{os.urandom(4).hex()}.part"
        try:
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
            with open(os.open(temporary, flags, 0o600), "wb") as file:
                file.write(_pack(full_key, code))
            os.replace(temporary, path)
        except OSError as error:
            _remove(temporary)
            self._give_up(error)
            return
        self._counts.written += 1
        if self._counts.written % _LOOK_INTERVAL == _FIRST_LOOK:
            self._evict()

    def _evict(self) -> None:
        """Remove the entries that were used longest ago while the folder is too big."""
        now = time.time()
        kept = []
        for entry in self._files():
            if entry.path.endswith(".part") and now - entry.used > _STALE:
                _remove(entry.path)
            else:
                kept.append(entry)
        total = sum(entry.size for entry in kept)
        count = len(kept)
        if total <= self.size_limit and count <= ENTRY_LIMIT:
            return
        for entry in sorted(kept, key=lambda entry: entry.used):
            _remove(entry.path)
            total, count = total - entry.size, count - 1
            if total <= self.size_limit * 3 // 4 and count <= ENTRY_LIMIT * 3 // 4:
                break

    def _files(self) -> list["_File"]:
        if not self._is_usable() or self.folder is None:
            return []
        found = []
        try:
            with os.scandir(self.folder) as entries:
                for entry in entries:
                    try:
                        status = entry.stat(follow_symlinks=False)
                    except OSError:
                        continue  # another process removed it
                    found.append(_File(entry.path, status.st_size, status.st_mtime))
        except OSError:
            return []
        return found

    def _is_usable(self) -> bool:
        if self._usable is None:
            self._usable = self.folder is not None
            if self.folder is not None:
                try:
                    _make_private(self.folder)
                except OSError as error:
                    self._give_up(error)
        return self._usable

    def _give_up(self, error: OSError) -> None:
        """Do without the folder from now on, and say so."""
        self._usable = False
        warnings.warn(
            f"jacana cannot keep compiled code in {self.folder} ({error.strerror or error}), so "
            f"later runs compile it again. Set JACANA_CACHE_DIR to a folder that can be written.",
            RuntimeWarning,
            stacklevel=2,
        )


class _File(NamedTuple):
    path: str
    size: int
    used: float


def _pack(full_key: bytes, code: bytes) -> bytes:
    digest = sha256(full_key + code).digest()
    return _MAGIC + _HEAD.pack(digest, len(full_key), len(code)) + full_key + code


def _unpack(data: bytes, full_key: bytes) -> bytes | None:
    """The code of an entry, if it is whole and was made under this key."""
    start = len(_MAGIC) + _HEAD.size
    if len(data) < start or not data.startswith(_MAGIC):
        return None
    digest, key_size, code_size = _HEAD.unpack_from(data, len(_MAGIC))
    if len(data) != start + key_size + code_size or data[start : start + key_size] != full_key:
        return None
    if sha256(data[start:]).digest() != digest:
        return None
    return data[start + key_size :]


def _read_private(path: str) -> bytes:
    """The contents of a regular file of the user's own that nobody else can write."""
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
    with open(os.open(path, flags), "rb") as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode) or not _is_ours(status, 0o022):
            raise PermissionError(errno.EPERM, "not a private file")
        if time.time() - status.st_mtime > _TOUCH_INTERVAL:
            try:
                os.utime(path)
            except OSError:
                pass  # it only looks older than it is
        return file.read()


def _is_ours(status: os.stat_result, forbidden: int) -> bool:
    if sys.platform == "win32":
        return True  # the profile folder's access list says who may enter
    return status.st_uid == os.geteuid() and not status.st_mode & forbidden


def _make_private(folder: str) -> None:
    """Make the folder, or see that it is the user's and closed to others."""
    os.makedirs(os.path.dirname(folder), mode=0o700, exist_ok=True)
    try:
        os.mkdir(folder, 0o700)
    except FileExistsError:
        pass
    status = os.lstat(folder)
    if not stat.S_ISDIR(status.st_mode):
        raise NotADirectoryError(errno.ENOTDIR, "it is not a folder")
    if not _is_ours(status, 0):
        raise PermissionError(errno.EPERM, "it belongs to another user")
    if not _is_ours(status, _PRIVATE):
        os.chmod(folder, 0o700)
    if not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
        raise PermissionError(errno.EACCES, "it cannot be written")


def _remove(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        pass  # gone already, or not ours to remove


def version_key() -> bytes:
    """What all compiled code depends on: the machine, LLVM, and the compiler's own source."""
    return f"{native.machine_key()} {native.source_key()}".encode()


def default_folder() -> str | None:
    """The folder that the Config names, or else the platform's place for caches."""
    settings = config.current()
    if not settings.enable_compilation_cache:
        return None
    if settings.compilation_cache_dir:
        return os.path.expanduser(settings.compilation_cache_dir)
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA")
        return os.path.join(base, "jacana", "cache") if base else None
    if sys.platform == "darwin":
        return os.path.expanduser("~/Library/Caches/jacana")
    base = os.environ.get("XDG_CACHE_HOME", "")
    base = base if os.path.isabs(base) else os.path.expanduser("~/.cache")
    return os.path.join(base, "jacana") if os.path.isabs(base) else None


_caches: dict[tuple[bool, str | None, int], KernelCache] = {}


def default_cache() -> KernelCache:
    """The cache in the folder that the Config names; another one if that has changed."""
    settings = config.current()
    size = settings.compilation_cache_max_size
    chosen = (settings.enable_compilation_cache, settings.compilation_cache_dir, size)
    if chosen not in _caches:
        _caches[chosen] = KernelCache(default_folder(), size if size >= 0 else SIZE_LIMIT)
    return _caches[chosen]


def get(key: bytes, compile: Callable[[], bytes]) -> bytes:
    """`KernelCache.get` of the process's cache."""
    return default_cache().get(key, compile)


def find(key: bytes) -> bytes | None:
    """`KernelCache.find` of the process's cache."""
    return default_cache().find(key)


def put(key: bytes, data: bytes) -> None:
    """`KernelCache.put` of the process's cache."""
    default_cache().put(key, data)


def counts() -> Counts:
    """How the process's cache was used until now."""
    return default_cache().counts()


def info() -> CacheInfo:
    """`KernelCache.info` of the process's cache."""
    return default_cache().info()


def clear() -> None:
    """`KernelCache.clear` of the process's cache."""
    default_cache().clear()

"""Programs by jaxpr: from the cache on disk, or made by the compiler, which is loaded only then.

A stored program is its commands without the kernels' loop code, which only the compiler reads; it
is used if the code of all its kernels is there too.
"""

import importlib
import os
import pickle
import sys
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from jacana.compiler.commands import Command, ControlCommand, HostCommand, KernelCommand, Program
from jacana.compiler.llvm import native
from jacana.core import config
from jacana.core.digest import sha256
from jacana.core.fingerprint import Nameless, fingerprint
from jacana.core.jaxpr import Jaxpr
from jacana.core.records import record, replace
from jacana.kernel import ir
from jacana.kernel.show import show
from jacana.runtime import cache

if TYPE_CHECKING:
    from jacana.compiler.cost import Cost

# Smaller programs are lowered faster than they are found.
_STORED_EQUATIONS = 8
# Seconds after which a compilation shows how far it is.
_SHOW_PROGRESS_AFTER = 2.0
_SOURCES = ("core", "kernel", "ops", "transforms", "higher_order", "compiler")


@record
class Compilation:
    """How a program was come by: seconds, kernels compiled now, and all its kernels."""

    seconds: float
    compiled: int
    kernels: int
    stored: bool


class MissingCode(LookupError):
    """A stored program's kernel is no longer in the cache."""


def compile_jaxpr(jaxpr: Jaxpr) -> Program:
    """The program of a jaxpr, with the code of its kernels in the cache."""
    return compile_and_tell(jaxpr)[0]


def compile_and_tell(jaxpr: Jaxpr) -> tuple[Program, Compilation]:
    """The program of a jaxpr, and how it was come by."""
    start = time.perf_counter()
    before = cache.counts()
    key = _key(jaxpr)
    program = _stored(key) if key is not None else None
    stored = program is not None
    if program is None:
        program = lower(jaxpr)
        _compile_kernels(program, start)
        if key is not None:
            _store(key, program)
    compiled = cache.counts().compiled - before.compiled
    kernels = len({c.key for c in kernels_of(program.commands)})
    return program, Compilation(time.perf_counter() - start, compiled, kernels, stored)


def lower(jaxpr: Jaxpr) -> Program:
    """The program of a jaxpr with its loop code, made by the compiler."""
    program: Program = importlib.import_module("jacana.compiler.compile").compile_jaxpr(jaxpr)
    return program


def kernel_text(kernel: ir.Kernel, dialect: str) -> str:
    """A kernel as loop code ("kernel"), for LLVM ("llvm"), or for the machine ("asm")."""
    if dialect == "kernel":
        return show(kernel)
    module = importlib.import_module("jacana.compiler.llvm.module")
    text: str = {"llvm": module.emit, "asm": module.assembly}[dialect](kernel)
    return text


def program_cost(program: Program) -> "Cost":
    """What the commands of a program that has its loop code cost."""
    cost: Cost = importlib.import_module("jacana.compiler.cost").program_cost(program)
    return cost


def code_size(program: Program) -> int:
    """The bytes of code of a program's kernels."""
    kernels = {c.key: c.kernel for c in kernels_of(program.commands)}
    return sum(len(_code(key, kernel)) for key, kernel in kernels.items())


def _code(key: bytes, kernel: ir.Kernel | None) -> bytes:
    with native.compile_lock:
        return cache.get(key, lambda: compile_kernel(kernel))


def compile_kernel(kernel: ir.Kernel | None) -> bytes:
    """The code of a kernel; MissingCode if it is one of a stored program."""
    if kernel is None:
        raise MissingCode("the code of a kernel was removed from the cache while it was in use")
    code: bytes = importlib.import_module("jacana.compiler.llvm.module").compile_kernel(kernel)
    return code


def kernels_of(commands: tuple[Command, ...]) -> Iterator[KernelCommand]:
    """The kernel commands, those of inner programs included."""
    for command in commands:
        if isinstance(command, KernelCommand):
            yield command
        elif isinstance(command, ControlCommand):
            for inner in command.programs:
                yield from kernels_of(inner.commands)


# --- kernels ------------------------------------------------------------------------------------


def _compile_kernels(program: Program, start: float) -> None:
    """See that the code of all kernels is in the cache; a long wait shows a progress bar."""
    kernels = {c.key: c.kernel for c in kernels_of(program.commands)}
    bar: Any = None
    for done, (key, kernel) in enumerate(kernels.items()):
        _code(key, kernel)
        if bar is None and _shows_progress() and time.perf_counter() - start > _SHOW_PROGRESS_AFTER:
            from tqdm import tqdm

            bar = tqdm(total=len(kernels), initial=done, desc="compiling", unit="kernel")
        if bar is not None:
            bar.update()
    if bar is not None:
        bar.close()


def _shows_progress() -> bool:
    return config.current().compile_progress and sys.stderr is not None and sys.stderr.isatty()


# --- stored programs ----------------------------------------------------------------------------


def _key(jaxpr: Jaxpr) -> bytes | None:
    """What a stored program is found by; None if it is not stored."""
    if not config.current().enable_compilation_cache:
        return None
    if len(jaxpr.eqns) < _STORED_EQUATIONS and not any(
        e.primitive.callee(e.params) for e in jaxpr.eqns
    ):
        return None
    try:
        text = fingerprint(jaxpr)
    except Nameless:
        return None
    return f"program {source_key()} {sha256(text.encode()).hexdigest()}".encode()


def _stored(key: bytes) -> Program | None:
    data = cache.find(key)
    if data is None:
        return None
    program: Program = pickle.loads(data)
    try:
        for command in kernels_of(program.commands):
            cache.get(command.key, _refuse)
    except MissingCode:
        return None
    return program


def _refuse() -> bytes:
    raise MissingCode


def _store(key: bytes, program: Program) -> None:
    commands = _without_code(program.commands)
    if commands is not None:
        cache.put(key, pickle.dumps(replace(program, commands=commands), 5))


def _without_code(commands: tuple[Command, ...]) -> tuple[Command, ...] | None:
    """Commands as they are stored; None if one calls Python."""
    made: list[Command] = []
    for command in commands:
        if isinstance(command, HostCommand):
            return None
        if isinstance(command, KernelCommand):
            command = replace(command, kernel=None)
        elif isinstance(command, ControlCommand):
            inner = [_without_code(p.commands) for p in command.programs]
            if None in inner:
                return None
            programs = [replace(p, commands=c) for p, c in zip(command.programs, inner)]
            command = replace(command, programs=tuple(programs))
        made.append(command)
    return tuple(made)


def source_key() -> str:
    """Changes with the source that lowers programs; files are told apart as Python does it."""
    if not _source_key:
        _source_key.append(sha256("\n".join(_source_files()).encode()).hexdigest())
    return _source_key[0]


_source_key: list[str] = []


def _source_files() -> Iterator[str]:
    root = os.path.dirname(os.path.dirname(__file__))
    folders = [os.path.join(root, name) for name in _SOURCES]
    while folders:
        folder = folders.pop()
        with os.scandir(folder) as entries:
            for entry in sorted(entries, key=lambda e: e.name):
                if entry.name.endswith(".py"):
                    status = entry.stat()
                    yield f"{entry.path} {status.st_size} {status.st_mtime_ns}"
                elif entry.is_dir() and entry.name != "__pycache__":
                    folders.append(entry.path)

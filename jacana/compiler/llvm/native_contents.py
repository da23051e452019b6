"""What each library of native functions holds, and how its image is made."""

import platform
import sys

from jacana.compiler.llvm import (
    native_array,
    native_blas,
    native_calls,
    native_control,
    native_copy,
    native_executor,
    native_factorizations,
    native_fronts,
    native_guard,
    native_lapack,
    native_link,
    native_numpy,
    native_pool,
    native_sort,
    native_spectral,
    native_threads,
    native_traces,
    native_trees,
)
from jacana.compiler.llvm.native_text import Module
from jacana.compiler.llvm.native_threads import ThreadSystem
from jacana.compiler.llvm.target import binding

_LAPACK = {**native_factorizations.FUNCTIONS, **native_spectral.FUNCTIONS}


def make_image(name: str) -> bytes:
    """The image of a library: "runtime", "sorting", "gemm <dtype>", "lu <dtype>" ..."""
    module = Module()
    define(module, name)
    return native_link.link(compile_object(module.text()))


def define(module: Module, name: str) -> None:
    """Write the functions of a library into a module."""
    kind, _, dtype = name.partition(" ")
    if kind == "runtime":
        define_runtime(module, thread_system())
    elif kind == "sorting":
        native_sort.define(module)
    elif kind == "gemm":
        native_blas.declare_constants(module)
        native_blas.define_gemm(module, dtype)
    else:
        native_lapack.declare(module, dtype)
        _LAPACK[kind](module, dtype)


def define_runtime(module: Module, system: ThreadSystem) -> None:
    """Write what every process needs into a module."""
    native_threads.define(module, system)
    native_guard.define(module)
    native_executor.define(module, object.__basicsize__)
    native_pool.define(module, object.__basicsize__, free_function())
    native_array.define(module, object.__basicsize__)
    native_calls.define(module, object.__basicsize__)
    native_numpy.define(module, object.__basicsize__)
    native_trees.define(module, object.__basicsize__)
    native_fronts.define(module, object.__basicsize__)
    native_traces.define(module, object.__basicsize__)
    native_copy.define(module)
    native_control.define(module)


def compile_object(text: str) -> bytes:
    """The ELF object of a module of LLVM IR text."""
    llvm = binding()
    triple = llvm.get_process_triple()
    if "elf" not in triple and "linux" not in triple:
        triple += "-elf"
    features = llvm.get_host_cpu_features().flatten()
    machine = llvm.Target.from_triple(triple).create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=features, opt=2, reloc="pic", codemodel="small"
    )
    module = llvm.parse_assembly(f'target triple = "{triple}"\n{text}')
    module.verify()
    options = llvm.create_pipeline_tuning_options(speed_level=2)
    passes = llvm.create_pass_builder(machine, options)
    passes.getModulePassManager().run(module, passes)
    return bytes(machine.emit_object(module))


def free_function() -> str:
    """The C function that frees what `runtime.buffer` gets from the system."""
    return "_aligned_free" if sys.platform == "win32" else "free"


def thread_system() -> ThreadSystem:
    """How threads sleep on this operating system."""
    numbers = {"x86_64": 202, "aarch64": 98}
    names = {"x86_64": "x86", "AMD64": "x86", "aarch64": "aarch64", "arm64": "aarch64"}
    machine = platform.machine()
    pause = names.get(machine, "")
    if sys.platform == "linux" and machine in numbers:
        return ThreadSystem("futex", numbers[machine], pause=pause)
    if sys.platform == "win32":
        return ThreadSystem("none", pause=pause)
    set_mask = 2 if sys.platform == "linux" else 3
    return ThreadSystem("condition", set_mask=set_mask, pause=pause)

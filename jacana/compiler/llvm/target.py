"""The machine that code is made for, and the only place where llvmlite is imported.

The import and LLVM's initialisation cost about 150 ms, so they happen when something must be
compiled or loaded, never when jacana is imported.
"""

import functools
import importlib
from typing import Any

from jacana.compiler.llvm.code import Facts


@functools.cache
def binding() -> Any:
    """llvmlite.binding, initialised."""
    llvm = importlib.import_module("llvmlite.binding")
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm


@functools.cache
def cpu() -> str:
    """LLVM's name of this processor, by which it tunes code."""
    return str(binding().get_host_cpu_name())


@functools.cache
def features() -> str:
    """The instruction sets of this processor, as LLVM lists them."""
    return str(binding().get_host_cpu_features().flatten())


@functools.cache
def feature_names() -> frozenset[str]:
    """The instruction sets that this processor has."""
    return frozenset(f[1:] for f in features().split(",") if f[0] == "+")


@functools.cache
def vector_bits() -> int:
    """The width of the widest vector registers."""
    if "avx512f" in feature_names():
        return 512
    return 256 if "avx" in feature_names() else 128


@functools.cache
def facts() -> Facts:
    """What the emitter has to know of this processor and this LLVM."""
    names, llvm = feature_names(), binding()
    return Facts(
        masks={"avx512f", "avx512bw", "avx512vl"} <= names,
        has_half="f16c" in names or not llvm.get_process_triple().startswith("x86"),
        align_operand=llvm.llvm_version_info[0] < 22,
        permuted=16 if "avx512f" in names else 8 if "avx2" in names else 0,
    )


@functools.cache
def attributes() -> str:
    """Function attributes that make LLVM use the widest vectors."""
    bits = vector_bits()
    return f'nounwind "prefer-vector-width"="{bits}" "min-legal-vector-width"="{bits}"'


def make_machine() -> Any:
    """A target machine; the linker takes one of its own."""
    return (
        binding()
        .Target.from_default_triple()
        .create_target_machine(
            cpu=cpu(), features=features(), opt=2, reloc="pic", codemodel="small", jit=True
        )
    )


@functools.cache
def machine() -> Any:
    """The target machine that compiles."""
    return make_machine()


@functools.cache
def linker() -> Any:
    """What links object code into this process; it and all that it has linked live on."""
    return binding().create_lljit_compiler(make_machine())


@functools.cache
def target_key() -> str:
    """What object code depends on besides the kernel: processor, features and versions."""
    llvm = ".".join(map(str, binding().llvm_version_info))
    llvmlite = importlib.import_module("llvmlite").__version__
    triple = binding().get_process_triple()
    return f"{triple} {cpu()} {features()} llvm {llvm} llvmlite {llvmlite}"

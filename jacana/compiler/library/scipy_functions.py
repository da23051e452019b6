"""BLAS and LAPACK of SciPy, by address.

Only the two extension modules that hold the addresses are loaded; `import scipy.linalg` would cost
a hundred milliseconds more.
"""

import ctypes
import functools
import importlib
import importlib.machinery
import importlib.util
import sys
from types import ModuleType

from jacana.compiler.llvm import native, native_image


@functools.cache
def _capsules(name: str) -> dict[str, object]:
    """The C functions of a Cython module of scipy.linalg."""
    capsules: dict[str, object] = vars(_module(name))["__pyx_capi__"]
    return capsules


def _module(name: str) -> ModuleType:
    full_name = f"scipy.linalg.{name}"
    if full_name in sys.modules:
        return sys.modules[full_name]
    package = importlib.util.find_spec("scipy")
    folders = (package.submodule_search_locations if package is not None else None) or []
    if sys.platform == "win32":
        importlib.import_module("scipy")  # tells the system where the libraries are
    finder = importlib.machinery.PathFinder
    spec = finder.find_spec(name, [f"{folder}/linalg" for folder in folders])
    if spec is None or spec.origin is None:
        return importlib.import_module(full_name)
    exact = importlib.util.spec_from_file_location(full_name, spec.origin)
    if exact is None or exact.loader is None:
        return importlib.import_module(full_name)
    module = importlib.util.module_from_spec(exact)
    exact.loader.exec_module(module)
    # The import of scipy.linalg itself, should it come, is to find things as it expects them.
    sys.modules.pop(full_name, None)
    return module


@functools.cache
def _guard() -> None:
    """Tell the native guard how the library's number of threads is read and set."""
    file = _module("cython_blas").__file__
    library = ctypes.CDLL(file) if file else None
    for prefix in ("scipy_openblas", "openblas"):
        for suffix in ("", "64_"):
            get = getattr(library, f"{prefix}_get_num_threads{suffix}", None)
            put = getattr(library, f"{prefix}_set_num_threads{suffix}", None)
            if get is not None and put is not None:
                for name, function in (("get", get), ("set", put)):
                    cell = native.runtime.address(f"library_{name}_threads")
                    address = ctypes.cast(function, ctypes.c_void_p)
                    ctypes.c_void_p.from_address(cell).value = address.value
                return


def resolve(name: str) -> int:
    """The address of a function that linear algebra thunks call."""
    if name in ("enter_library", "leave_library"):
        _guard()
        return native.runtime.address(name)
    for module in ("cython_blas", "cython_lapack"):
        capsule = _capsules(module).get(name)
        if capsule is not None:
            return _pointer(capsule)
    return native_image.find_symbol(name)


def _pointer(capsule: object) -> int:
    name_of, pointer_of = ctypes.pythonapi.PyCapsule_GetName, ctypes.pythonapi.PyCapsule_GetPointer
    name_of.restype, name_of.argtypes = ctypes.c_char_p, [ctypes.py_object]
    pointer_of.restype = ctypes.c_void_p
    pointer_of.argtypes = [ctypes.py_object, ctypes.c_char_p]
    address: int = pointer_of(capsule, name_of(capsule))
    return address

"""Functions that are not generated per kernel: bound libraries and hand-scheduled code."""

from jacana.compiler.llvm import native


def library_function(name: str, dtype: str, params: tuple[int, ...]) -> tuple[int, int, int]:
    """Address, extent and grain of the native function of a LibraryCommand."""
    if name == "copy":
        return native.runtime.address("copy"), params[0], 0
    raise NotImplementedError(f"the library function {name} for {dtype} is not there yet")

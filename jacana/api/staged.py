"""The stages that jit goes through, one object each: Traced, Lowered, Compiled."""

from typing import Any

from jacana.api.inspect import ShapeDtypeStruct
from jacana.core import tree
from jacana.core.jaxpr import ClosedJaxpr
from jacana.core.show import show
from jacana.runtime import compiling
from jacana.runtime.array import to_array
from jacana.runtime.executable import executable_for


class Traced:
    """A function as a jaxpr for arguments of certain types."""

    def __init__(
        self, jaxpr: ClosedJaxpr, consts: list[Any], in_tree: Any, out_tree: Any, name: str
    ):
        self._jaxpr, self._consts = jaxpr, consts
        self.in_tree, self.out_tree, self.fun_name = in_tree, out_tree, name

    @property
    def jaxpr(self) -> ClosedJaxpr:
        return self._jaxpr.with_consts(self._consts)

    @property
    def out_info(self) -> Any:
        return self.out_tree.unflatten(
            [ShapeDtypeStruct(a.shape, a.dtype) for a in self._jaxpr.out_avals]
        )

    def lower(self) -> "Lowered":
        return Lowered(self)


class Lowered:
    """A traced function, ready to compile."""

    def __init__(self, traced: Traced):
        self._traced = traced
        self.in_tree, self.out_tree = traced.in_tree, traced.out_tree
        self.out_info = traced.out_info

    def as_text(self, dialect: str | None = None) -> str:
        """The program as text: its jaxpr, or with dialect "kernel", "llvm" or "asm" its kernels."""
        if dialect in (None, "jaxpr"):
            return show(self._traced._jaxpr)
        if dialect not in ("kernel", "llvm", "asm"):
            raise ValueError(
                f"as_text has the dialects jaxpr, kernel, llvm and asm, got {dialect!r}."
            )
        program = compiling.lower(self._traced._jaxpr.jaxpr)
        kernels = {c.key: c.kernel for c in compiling.kernels_of(program.commands)}
        return "\n\n".join(compiling.kernel_text(k, dialect) for k in kernels.values() if k)

    def compile(self) -> "Compiled":
        return Compiled(self._traced)


class Compiled:
    """A program for arguments of exactly the types it was traced for."""

    def __init__(self, traced: Traced):
        self._traced = traced
        self.in_tree, self.out_tree = traced.in_tree, traced.out_tree
        self.out_info = traced.out_info
        self._executable = executable_for(traced._jaxpr.jaxpr)
        self._consts = [to_array(c) for c in traced._consts]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        leaves, in_tree = tree.flatten((args, kwargs))
        if in_tree != self.in_tree:
            raise TypeError(
                f"{self._traced.fun_name} was compiled for arguments of structure {self.in_tree}, "
                f"got {in_tree}."
            )
        arrays = [to_array(x) for x in leaves]
        expected = self._executable.in_avals[len(self._consts) :]
        for i, (array, aval) in enumerate(zip(arrays, expected, strict=True)):
            if (array.shape, array.dtype) != (aval.shape, aval.dtype):
                raise TypeError(
                    f"{self._traced.fun_name} was compiled for {aval} as array {i} of its "
                    f"arguments, got {array.aval}. Convert it, or call the jitted function."
                )
        return self.out_tree.unflatten(self._executable([*self._consts, *arrays]))

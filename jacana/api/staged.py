"""The stages that jit goes through, one object each: Traced, Lowered, Compiled."""

from typing import Any

from jacana.api.inspect import ShapeDtypeStruct
from jacana.compiler.commands import Program
from jacana.core import tree
from jacana.core.jaxpr import ClosedJaxpr
from jacana.core.records import record
from jacana.core.show import show
from jacana.runtime import compiling
from jacana.runtime.array import to_array
from jacana.runtime.executable import executable_for


@record
class MemoryAnalysis:
    """Bytes that a program's call takes, by JAX's names; all of them are the host's."""

    argument_size_in_bytes: int
    output_size_in_bytes: int
    # Results that are arguments, handed back as they are.
    alias_size_in_bytes: int
    temp_size_in_bytes: int
    generated_code_size_in_bytes: int

    @property
    def peak_memory_in_bytes(self) -> int:
        """What is in memory at once: all buffers live until the call ends."""
        return self.argument_size_in_bytes + self.output_size_in_bytes + self.temp_size_in_bytes


def cost_analysis(program: Program) -> dict[str, float]:
    """Operations and traffic of a program's commands, by JAX's names.

    "flops" are counted in the code that runs, those inside of exp and the like included, whose
    calls are the "transcendentals". "bytes accessed" counts each buffer once for each command.
    """
    cost = compiling.program_cost(program)
    return {
        "flops": cost.flops,
        "transcendentals": cost.calls,
        "bytes accessed": float(cost.bytes_read + cost.bytes_written),
        "bytes accessed in": float(cost.bytes_read),
        "bytes accessed out": float(cost.bytes_written),
    }


def memory_analysis(program: Program) -> MemoryAnalysis:
    """The sizes of a program's buffers and of its code."""
    n = len(program.inputs)
    return MemoryAnalysis(
        sum(aval.nbytes for aval in program.inputs),
        sum(aval.nbytes for _, aval in program.computed),
        sum(aval.nbytes for slot, aval in zip(program.results, program.result_avals) if slot < n),
        program.arena,
        compiling.code_size(program),
    )


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
        """The program as text, in one of four dialects.

        "jaxpr" (None) is the traced program; the others are its kernels: "kernel" in the loop
        language (kernel/ir.py), "llvm" as LLVM's, "asm" as the machine's assembly.
        """
        if dialect in (None, "jaxpr"):
            return show(self._traced._jaxpr)
        if dialect not in ("kernel", "llvm", "asm"):
            raise ValueError(
                f"as_text has the dialects jaxpr, kernel, llvm and asm, got {dialect!r}."
            )
        program = compiling.lower(self._traced._jaxpr.jaxpr)
        kernels = {c.key: c.kernel for c in compiling.kernels_of(program.commands)}
        return "\n\n".join(compiling.kernel_text(k, dialect) for k in kernels.values() if k)

    def cost_analysis(self) -> dict[str, float]:
        """What a call costs: "flops", "transcendentals" and "bytes accessed"."""
        return cost_analysis(compiling.lower(self._traced._jaxpr.jaxpr))

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

    def as_text(self, dialect: str | None = "kernel") -> str:
        """The program as text: see Lowered.as_text."""
        return self._traced.lower().as_text(dialect)

    def cost_analysis(self) -> dict[str, float]:
        """What a call costs: "flops", "transcendentals" and "bytes accessed"."""
        return self._traced.lower().cost_analysis()

    def memory_analysis(self) -> MemoryAnalysis:
        """How much memory a call takes."""
        return memory_analysis(self._executable.program)

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

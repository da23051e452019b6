"""The stages that jit goes through, one object each: Traced, Lowered, Compiled."""

from collections.abc import Callable, Sequence
from typing import Any

from jacana.api.inspect import ShapeDtypeStruct
from jacana.compiler.commands import Program
from jacana.core import tree
from jacana.core.avals import ShapedArray
from jacana.core.errors import NotAnArrayError, describe
from jacana.core.jaxpr import ClosedJaxpr
from jacana.core.records import record
from jacana.core.show import show
from jacana.core.trace import Tracer
from jacana.core.values import aval_of, is_array_like
from jacana.runtime import compiling
from jacana.runtime.array import Array, to_array
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


@record
class ArgInfo:
    """What is known of one array among the arguments."""

    aval: ShapedArray
    donated: bool

    @property
    def shape(self) -> tuple[int, ...]:
        return self.aval.shape

    @property
    def dtype(self) -> Any:
        return self.aval.dtype


class Signature:
    """What a traced function is given and gives: shared by its stages."""

    def __init__(
        self,
        name: str,
        in_tree: Any,
        out_tree: Any,
        in_avals: Sequence[ShapedArray],
        donated: Sequence[bool],
        argument_names: Callable[[], Sequence[str]],
    ):
        self.fun_name, self.in_tree, self.out_tree = name, in_tree, out_tree
        self.flat_in_avals = list(in_avals)
        self.donated = tuple(donated)
        self.argument_names = argument_names

    def flat(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
        """The arrays among the arguments; TypeError if they are not of the types traced for."""
        leaves, in_tree = tree.flatten((args, kwargs))
        if in_tree != self.in_tree:
            faults = [
                f"    * at {('args', 'kwargs')[path[0].idx]}{tree.keystr(path[1:])}, {fault}"
                for path, fault in tree.differences(self.in_tree, (args, kwargs))
            ]
            raise TypeError(
                f"Function compiled with input pytree does not match the input pytree it was "
                f"called with. {self.fun_name} was compiled for arguments of structure "
                f"{self.in_tree} and is called with {in_tree}. There are {len(faults)} mismatches, "
                f"including:\n" + "\n".join(faults)
            )
        for x in leaves:
            if isinstance(x, Tracer):
                raise TypeError(
                    f"Cannot apply JAX transformations to a function lowered and compiled for a "
                    f"particular signature: {self.fun_name} is called with {describe(x)}. Call the "
                    f"jitted function instead, which can be traced again."
                )
        self._check_types(leaves)
        return leaves

    def _check_types(self, leaves: Sequence[Any]) -> None:
        faults = []
        for i, (x, wanted) in enumerate(zip(leaves, self.flat_in_avals, strict=True)):
            if not is_array_like(x):
                raise NotAnArrayError(x, self.fun_name, str(self.argument_names()[i]))
            found = aval_of(x)
            if (found.shape, found.dtype) != (wanted.shape, wanted.dtype):
                faults.append(
                    f"Argument {self.argument_names()[i]!r} compiled with {wanted.str_short()} and "
                    f"called with {found.str_short()}"
                )
        if faults:
            raise TypeError(
                f"Argument types differ from the types for which this computation was compiled "
                f"({self.fun_name}). Convert them, or call the jitted function. Perhaps the "
                f"enable_x64 mode is another than when it was compiled? The mismatches are:\n"
                + "\n".join(faults)
            )


class Stage:
    """What all stages of a function tell of its arguments and results."""

    def __init__(self, signature: Signature, jaxpr: ClosedJaxpr, consts: list[Any]):
        self._signature, self._jaxpr, self._consts = signature, jaxpr, consts
        self.in_tree, self.out_tree = signature.in_tree, signature.out_tree

    @property
    def fun_name(self) -> str:
        """The function's name."""
        return self._signature.fun_name

    @property
    def args_info(self) -> Any:
        """(args, kwargs) with an ArgInfo for each array."""
        pairs = zip(self._signature.flat_in_avals, self._signature.donated, strict=True)
        return self.in_tree.unflatten([ArgInfo(a, d) for a, d in pairs])

    @property
    def in_avals(self) -> Any:
        """(args, kwargs) with the aval of each array."""
        return self.in_tree.unflatten(self._signature.flat_in_avals)

    @property
    def donate_argnums(self) -> tuple[int, ...]:
        """Which of the arrays among the arguments are given away."""
        return tuple(i for i, d in enumerate(self._signature.donated) if d)

    @property
    def out_info(self) -> Any:
        """The result with a ShapeDtypeStruct for each array."""
        return self.out_tree.unflatten(
            [
                ShapeDtypeStruct(a.shape, a.dtype, weak_type=a.weak_type)
                for a in self._jaxpr.out_avals
            ]
        )


class Traced(Stage):
    """A function as a jaxpr for arguments of certain types."""

    @property
    def jaxpr(self) -> ClosedJaxpr:
        """The program, of the arrays among the arguments."""
        return self._jaxpr.with_consts(self._consts)

    @property
    def out_avals(self) -> Any:
        """The result with the aval of each array."""
        return self.out_tree.unflatten(self._jaxpr.out_avals)

    def lower(self, *, lowering_platforms: Sequence[str] | None = None) -> "Lowered":
        """The next stage."""
        for platform in lowering_platforms or ():
            if platform != "cpu":
                raise NotImplementedError(
                    f"{self.fun_name} cannot be lowered for the platform {platform!r}: there is "
                    f"'cpu' alone."
                )
        return Lowered(self._signature, self._jaxpr, self._consts)


class Lowered(Stage):
    """A traced function, ready to compile."""

    def as_text(self, dialect: str | None = None, *, debug_info: bool = False) -> str:
        """The program as text, in one of four dialects.

        "jaxpr" (None) is the traced program; the others are its kernels: "kernel" in the loop
        language (kernel/ir.py), "llvm" as LLVM's, "asm" as the machine's assembly.
        """
        if dialect in (None, "jaxpr"):
            return show(self._jaxpr)
        if dialect not in ("kernel", "llvm", "asm"):
            raise ValueError(
                f"as_text has the dialects jaxpr, kernel, llvm and asm, got {dialect!r}."
            )
        program = compiling.lower(self._jaxpr.jaxpr)
        kernels = {c.key: c.kernel for c in compiling.kernels_of(program.commands)}
        return "\n\n".join(compiling.kernel_text(k, dialect) for k in kernels.values() if k)

    def compiler_ir(self, dialect: str | None = None) -> Any:
        """The program as an object: its jaxpr, the one such form."""
        if dialect not in (None, "jaxpr"):
            raise NotImplementedError(
                f"compiler_ir has the dialect jaxpr, got {dialect!r}. as_text shows the others."
            )
        return self._jaxpr

    def cost_analysis(self) -> dict[str, float]:
        """What a call costs: "flops", "transcendentals" and "bytes accessed"."""
        return cost_analysis(compiling.lower(self._jaxpr.jaxpr))

    def compile(self, compiler_options: dict[str, Any] | None = None) -> "Compiled":
        """The next stage. The options are XLA's and have no effect."""
        return Compiled(self._signature, self._jaxpr, self._consts)


class Compiled(Stage):
    """A program for arguments of exactly the types it was traced for, without the static ones."""

    def __init__(self, signature: Signature, jaxpr: ClosedJaxpr, consts: list[Any]):
        super().__init__(signature, jaxpr, consts)
        self._executable = executable_for(jaxpr.jaxpr)
        self._const_arrays = [to_array(c) for c in consts]

    def as_text(self, dialect: str | None = "kernel", *, debug_info: bool = False) -> str:
        """The program as text: see Lowered.as_text."""
        return Lowered(self._signature, self._jaxpr, self._consts).as_text(dialect)

    def cost_analysis(self) -> dict[str, float]:
        """What a call costs: "flops", "transcendentals" and "bytes accessed"."""
        return cost_analysis(compiling.lower(self._jaxpr.jaxpr))

    def memory_analysis(self) -> MemoryAnalysis:
        """How much memory a call takes."""
        return memory_analysis(self._executable.program)

    def runtime_executable(self) -> Any:
        """What runs the program."""
        return self._executable

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The result; TypeError for arguments of other types, and for traced ones."""
        arrays = [to_array(x) for x in self._signature.flat(args, kwargs)]
        outs = self.out_tree.unflatten(self._executable([*self._const_arrays, *arrays]))
        give_away([x for x, d in zip(arrays, self._signature.donated, strict=True) if d], outs)
        return outs

    call = __call__


def give_away(donated: Sequence[Any], out: Any) -> None:
    """Delete arrays that were donated, but those whose memory is the result's."""
    if donated:
        kept = {r.address for r in tree.leaves(out) if type(r) is Array}
        for x in donated:
            if type(x) is Array and x.address not in kept:
                x.delete()

"""Commands: the second representation of a program, below the jaxpr.

A Program is a list of commands over numbered buffers (slots) of a frame: first the inputs, then the
outputs, then temporaries. It names kernels and buffers, no Python objects, host calls apart.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from jacana.core.avals import ShapedArray
from jacana.core.jaxpr import Jaxpr
from jacana.core.records import record
from jacana.kernel import ir

if TYPE_CHECKING:
    from jacana.compiler.tensors import Tensor


# --- before fusion: what rules ask for, over tensors --------------------------------------------


@record(eq=False, frozen=False)
class Call:
    """Something that reads whole stored tensors and stores its outputs."""

    inputs: Sequence["Tensor"]
    outputs: Sequence["Tensor"]


@record(eq=False, frozen=False)
class Loops(Call):
    """An imperative kernel; output k begins as a copy of start[k]."""

    body: Callable[..., None]
    start: dict[int, "Tensor"]
    work: float | None = None


@record(eq=False, frozen=False)
class LibraryCall(Call):
    """A function of a library (compiler/library)."""

    name: str
    params: tuple[int, ...]
    dtype: str


@record(eq=False, frozen=False)
class HostCall(Call):
    """A call of Python."""

    function: Callable[..., Sequence[Any]]


@record(eq=False, frozen=False)
class ControlCall(Call):
    """A branch or a loop over inner programs; `start` as in Loops.

    kind "branch": inputs (index, operands); each program maps operands to the outputs.
    kind "while": outputs are the carry; programs (condition, body) of inputs and carry.
    kind "scan": outputs are the carry, then stacked results; the program maps (inputs that do not
    change, carry, one slice of each of the last `slices` inputs) to (carry, one slice of each).
    """

    kind: str
    programs: tuple[Jaxpr, ...]
    start: dict[int, "Tensor"]
    slices: int = 0
    length: int = 0
    reverse: bool = False


# --- after fusion: over slots -------------------------------------------------------------------


@record
class KernelCommand:
    """Run a kernel over [0, extent); threads may share it in pieces of at least `grain`.

    `kernel` is None in a program from the disk, whose code is there under `key`.
    """

    kernel: ir.Kernel | None
    key: bytes
    slots: tuple[int, ...]
    params: tuple[int, ...]
    extent: int
    grain: int


@record
class LibraryCommand:
    """Run a library function on whole buffers."""

    name: str
    dtype: str
    slots: tuple[int, ...]
    params: tuple[int, ...]


@record
class HostCommand:
    """Run a Python function on NumPy views of buffers: the inputs, then the outputs."""

    function: Callable[..., Sequence[Any]]
    inputs: tuple[ShapedArray, ...]
    outputs: tuple[ShapedArray, ...]
    slots: tuple[int, ...]


@record
class Inner:
    """A program run by a ControlCommand on the command's own buffers, which its slots number."""

    commands: tuple["Command", ...]


@record
class ControlCommand:
    """A branch, while or scan (see ControlCall) over buffers of the frame.

    carries are (position read, position written, bytes), slices (position, bytes a step), where a
    position is one in `slots`.
    """

    kind: str
    slots: tuple[int, ...]
    programs: tuple[Inner, ...]
    carries: tuple[tuple[int, int, int], ...] = ()
    slices: tuple[tuple[int, int], ...] = ()
    length: int = 0
    reverse: bool = False


Command = KernelCommand | LibraryCommand | HostCommand | ControlCommand


@record
class Program:
    """Commands and the layout of their frame, which has `slots` buffers.

    Slots 0 .. len(inputs) - 1 are the inputs. results[k] is the slot of result k, which may be an
    input's where the result is that input itself. `computed` are the slots of results that the
    commands fill, with their types; `temporaries` are slots with an offset into one arena.
    """

    inputs: tuple[ShapedArray, ...]
    results: tuple[int, ...]
    commands: tuple[Command, ...]
    slots: int
    computed: tuple[tuple[int, ShapedArray], ...]
    temporaries: tuple[tuple[int, int], ...]
    arena: int
    result_avals: tuple[ShapedArray, ...]
    temporary_sizes: tuple[tuple[int, int], ...]

    def sizes(self) -> dict[int, int]:
        """The size in bytes of each temporary."""
        return dict(self.temporary_sizes)

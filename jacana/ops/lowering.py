"""What a `lower` rule gets: tensors to read and a builder that makes new ones.

A tensor is known by how one element is computed, so building one costs nothing at run time: the
compiler decides which tensors are stored and which are recomputed where they are read (fusion).
The compiler implements these protocols; rules see no more of it.
"""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from jacana.kernel.build import Writer
from jacana.kernel.expr import Expr, Number
from jacana.kernel.math.complex import Complex

# One element: an Expr of the dtype's kernel type, or a Complex pair. Key dtypes are "uint64".
Value = Expr | Complex
Index = Sequence[Expr | int]


class Tensor(Protocol):
    """An array that may not exist in memory."""

    shape: tuple[int, ...]
    dtype: Any

    @property
    def ndim(self) -> int: ...

    def __getitem__(self, index: Index | Expr | int) -> Value:
        """The element at one index expression (or int) per axis, all in bounds."""


class Output(Protocol):
    """An array being written by an imperative kernel (`Build.loops`)."""

    shape: tuple[int, ...]
    dtype: Any

    def store(self, index: Index, value: Value) -> None: ...

    def load(self, index: Index) -> Value:
        """The element as it is at this point of the kernel."""


class Build(Protocol):
    """Makes tensors. Functions given to it are called once per kernel that needs an element."""

    def const(self, value: Number | complex, dtype: Any) -> Value:
        """A constant that is part of the code."""

    def scalar(self, value: Number | complex, dtype: Any) -> Value:
        """A scalar that is a parameter of the kernel: another value needs no compilation."""

    def index(self, value: int) -> Expr: ...

    def select(self, cond: Expr, a: Value, b: Value) -> Value: ...

    def convert(self, value: Value, dtype: Any) -> Value:
        """The value converted to a dtype, as `lax.convert_element_type` does."""

    def compute(
        self,
        shape: Sequence[int],
        dtype: Any,
        element: Callable[..., Value],
        reads: Sequence[Tensor] = (),
        cost: float | None = None,
    ) -> Tensor:
        """The tensor whose element at (i, j, ...) is element(i, j, ...).

        `reads` names the tensors that `element` indexes. Each must be read in bounds even where the
        value is then not selected: clamp the index first. `cost` is the number of operations, if
        not a few.
        """

    def elementwise(
        self, f: Callable[..., Value], operands: Sequence[Tensor], dtype: Any
    ) -> Tensor:
        """f of the operands' elements; operands of rank 0 serve every element."""

    def view(self, x: Tensor, shape: Sequence[int], index: Callable[..., Index]) -> Tensor:
        """The tensor whose element at (i, j, ...) is x[index(i, j, ...)]: no memory is moved."""

    def reduce(
        self,
        operands: Sequence[Tensor],
        axes: Sequence[int],
        combine: Callable[[Sequence[Value], Sequence[Value]], Sequence[Value]],
        init: Sequence[Value | Number | complex],
    ) -> list[Tensor]:
        """Operands folded jointly over `axes` (row-major), in the order that ir.Reduce states.

        `init` is the identity of `combine`: it may be combined any number of times.
        """

    def loops(
        self,
        outputs: Sequence[tuple[Sequence[int], Any]],
        inputs: Sequence[Tensor],
        body: Callable[[Writer, Sequence[Output], Sequence[Tensor]], None],
        start: dict[int, Tensor] | None = None,
        work: float | None = None,
    ) -> list[Tensor]:
        """An imperative kernel of its own: body(writer, outs, ins) writes the loops.

        `start[k]` gives the contents that output k has at the beginning (of the same shape and
        dtype; updated in place where that tensor is not needed any more). Without it, the body must
        store every element. `work` says how many operations it takes, if not a few an element.
        """

    def library(
        self,
        name: str,
        outputs: Sequence[tuple[Sequence[int], Any]],
        inputs: Sequence[Tensor],
        params: Sequence[int] = (),
        dtype: Any = None,
    ) -> list[Tensor]:
        """A library command (compiler/library) on row-major arrays, such as "gemm"."""

    def host(
        self,
        function: Callable[..., Sequence[Any]],
        outputs: Sequence[tuple[Sequence[int], Any]],
        inputs: Sequence[Tensor],
        effects: bool = False,
    ) -> list[Tensor]:
        """A call of Python: function(*numpy_arrays) returns the outputs as NumPy arrays.

        With effects it runs whether or not its outputs are used, after all such calls before it.
        """

    def compose(self, function: Callable[..., Any], *operands: Tensor) -> Any:
        """The tensors that a function written with other primitives computes from the operands."""

    def call(self, jaxpr: Any, operands: Sequence[Tensor]) -> list[Tensor]:
        """The outputs of a ClosedJaxpr."""

"""What native functions over LAPACK share: batches, scratch memory, transposes, nan on failure.

Such a function is `f(bufs, params, begin, end)` over the batch. Its matrices are dense and
row-major; LAPACK's are column-major, so most are transposed on their way in and out.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from jacana.compiler.llvm.native_blas import TYPES, declare_constants, integer, size_of
from jacana.compiler.llvm.native_copy import define_plane
from jacana.compiler.llvm.native_text import Module, Value, Writer

TOO_BIG, NO_MEMORY = 2, 3
_MAX_INT = 2**31 - 1
_NAN = "0x7FF8000000000000"


def declare(module: Module, dtype: str) -> None:
    """Write what every thunk for a dtype uses into a module."""
    declare_constants(module)
    module.external("malloc", "ptr", "i64")
    module.external("free", "void", "ptr")
    module.external("memcpy", "ptr", "ptr, ptr, i64")
    define_plane(module, size_of(dtype))


class Thunk:
    """A native function being written, for one dtype."""

    def __init__(self, f: Writer, args: Sequence[Value], dtype: str) -> None:
        self.f = f
        self.bufs, self.params, self.begin, self.end = args
        self.letter, self.real, self.reals = TYPES[dtype]
        self.size = size_of(dtype)
        self.real_size = self.size // self.reals
        self._memory: Value | None = None

    @property
    def is_complex(self) -> bool:
        return self.reals == 2

    def param(self, index: int) -> Value:
        return self.params.load("i64", index)

    def item(self, buffer: int, batch: Value, count: Value, size: int) -> Value:
        """Where a buffer's part for one of the batch begins."""
        return self.bufs.load("ptr", buffer).item("i8", batch * count * size)

    def at_least_one(self, value: Value) -> Value:
        return (value < 1).choose(self.f.i64(1), value)

    def larger(self, left: Value, right: Value) -> Value:
        return (left < right).choose(right, left)

    def letter_if(self, condition: Value, then: str, orelse: str) -> Value:
        """The address of one of two letters."""
        f = self.f
        return condition.choose(f.symbol(f"letter_{then}"), f.symbol(f"letter_{orelse}"))

    def call(self, module: Module, routine: str, *args: Value) -> None:
        """Call a routine of BLAS or LAPACK, all of whose arguments are addresses."""
        module.external(routine, "void", ", ".join(["ptr"] * len(args)))
        self.f.call("void", routine, *args)

    def allocate(self, *sizes: Value) -> list[Value]:
        """Memory of these numbers of bytes until the function ends; the function may fail here."""
        f = self.f
        rounded = [(size + 127) & ~63 for size in sizes]
        total = rounded[0]
        for size in rounded[1:]:
            total = total + size
        memory = f.call("ptr", "malloc", total)
        with f.when(memory.eq(0)):
            f.call("void", "leave_library")
            f.ret(NO_MEMORY)
        self._memory = memory
        parts = []
        for size in rounded:
            parts.append(memory)
            memory = memory.item("i8", size)
        return parts

    def finish(self) -> None:
        if self._memory is not None:
            self.f.call("void", "free", self._memory)
        self.f.call("void", "leave_library")
        self.f.ret(0)

    def asked(self, work: Value, type_: str = "") -> Value:
        """The workspace size that a routine left in work[0]; reals are rounded up."""
        f = self.f
        if type_:
            return self.at_least_one(work.load(type_).cast("i64"))
        number = work.load(self.real)
        count = f.emit(f"fptosi {self.real} {number.text} to i64", "i64")
        return count + (count >> 20) + 1

    def transpose_in(self, source: Value, target: Value, rows: Value, columns: Value) -> None:
        """Column-major target = row-major source."""
        one = self.f.i64(1)
        args = (source, target, columns, rows, one, columns, rows, one)
        self.f.call("void", f"plane_{self.size}", *args)

    def transpose_out(
        self, source: Value, target: Value, rows: Value, columns: Value, leading: Value
    ) -> None:
        """Row-major target = column-major source."""
        one = self.f.i64(1)
        args = (source, target, rows, columns, one, leading, columns, one)
        self.f.call("void", f"plane_{self.size}", *args)

    def fill_nan(self, target: Value, reals: Value) -> None:
        nan = Value(self.f, _NAN, self.real)
        with self.f.count(0, reals) as i:
            target.store(nan, i)

    def nan_unless_done(self, info: Value, *outputs: tuple[Value, Value]) -> None:
        """Fill the outputs, given with their numbers of reals, if a routine reports a failure."""
        with self.f.when(info.load("i32").ne(0)):
            for target, reals in outputs:
                self.fill_nan(target, reals)

    def check_finite(self, matrix: Value, reals: Value, info: Value) -> None:
        """`info` says that there is no result if a number is infinite or nan."""
        f = self.f
        with f.count(0, reals) as i:
            number = matrix.load(self.real, i)
            # Infinity and nan have a difference with themselves that is nan.
            rest = f.emit(f"fsub {self.real} {number.text}, {number.text}", self.real)
            with f.when(f.emit(f"fcmp uno {self.real} {rest.text}, 0.0", "i1")):
                info.store(f.i32(-1))

    @contextmanager
    def if_finite(self, matrix: Value, reals: Value, info: Value) -> Iterator[None]:
        """The block runs if all numbers are finite; else `info` says that there is no result."""
        info.store(self.f.i32(0))
        self.check_finite(matrix, reals, info)
        with self.f.when(info.load("i32").eq(0)):
            yield

    def int_address(self, value: Value | int) -> Value:
        return integer(self.f, value)


@contextmanager
def thunk(module: Module, name: str, dtype: str, dimensions: int) -> Iterator[Thunk]:
    """Write a function whose first `dimensions` params are sizes, which must fit in a C int."""
    with module.function(f"{name}_{dtype}", "i64", "ptr", "ptr", "i64", "i64") as (f, args):
        new = Thunk(f, args, dtype)
        for i in range(dimensions):
            with f.when(new.param(i) > _MAX_INT):
                f.ret(TOO_BIG)
        f.call("void", "enter_library")
        yield new
        new.finish()

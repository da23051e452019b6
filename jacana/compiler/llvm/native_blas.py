"""Native functions over BLAS: row-major operands, batches, panels; as LLVM IR.

BLAS sees the transposes: row-major C = A B is column-major C' = B' A'. A large product is computed
in panels whose sizes are params, so that its bits do not depend on how many threads share them.
"""

from jacana.compiler.llvm.native_text import Module, Value, Writer

# dtype -> (letter of BLAS, LLVM type of a real, reals in an element)
TYPES = {
    "float32": ("s", "float", 1),
    "float64": ("d", "double", 1),
    "complex64": ("c", "float", 2),
    "complex128": ("z", "double", 2),
}

GEMM_PARAMS = (
    "m", "n", "k", "lda", "ldb", "ldc", "transpose_a", "transpose_b",
    "stride_a", "stride_b", "stride_c", "rows", "columns",
)  # fmt: skip
# Products below this size are computed in one thread by every library.
_NEVER_THREADED = 8192
_TOO_BIG = 2
_MAX_INT = 2**31 - 1


def size_of(dtype: str) -> int:
    """Bytes of an element."""
    _, real, reals = TYPES[dtype]
    return (4 if real == "float" else 8) * reals


def declare_constants(module: Module) -> None:
    """Write what every function here passes to BLAS by address."""
    for letter in "ACLNRSTUV":
        module.data(f"letter_{letter}", "[2 x i8]", f'c"{letter}\\00"')
    for real in ("float", "double"):
        for name, value in (("one", "1.0"), ("zero", "0.0"), ("minus_one", "-1.0")):
            module.data(f"{name}_{real}", f"[2 x {real}]", f"[{real} {value}, {real} 0.0]")
    module.external("enter_library", "void", "")
    module.external("leave_library", "void", "")


def integer(f: Writer, value: Value | int) -> Value:
    """The address of a C int with this value."""
    slot = f.array("i32", 1)
    slot.store(f.value(value, "i64").cast("i32") if isinstance(value, Value) else f.i32(value))
    return slot


def define_gemm(module: Module, dtype: str) -> None:
    """Write gemm_<dtype>: bufs [a, b, c], params as GEMM_PARAMS, range over panels of batches."""
    letter, _, _ = TYPES[dtype]
    module.external(f"{letter}gemm", "void", ", ".join(["ptr"] * 13))
    module.external(f"{letter}gemv", "void", ", ".join(["ptr"] * 11))
    _define_panel(module, dtype)
    with module.function(f"gemm_{dtype}", "i64", "ptr", "ptr", "i64", "i64") as (f, p):
        bufs, params, begin, end = p
        get = {name: params.load("i64", i) for i, name in enumerate(GEMM_PARAMS)}
        largest = f.variable("i64", 0)
        for name in ("m", "n", "k", "lda", "ldb", "ldc"):
            largest.set((get[name] > largest.value).choose(get[name], largest.value))
        with f.when(largest.value > _MAX_INT):
            f.ret(_TOO_BIG)
        across = (get["n"] + get["columns"] - 1) // get["columns"]
        panels = (get["m"] + get["rows"] - 1) // get["rows"] * across
        work = f.smaller(get["m"], get["rows"]) * f.smaller(get["n"], get["columns"]) * get["k"]
        guarded = work >= _NEVER_THREADED
        with f.when(guarded):
            f.call("void", "enter_library")
        with f.count(begin, end) as unit:
            batch, panel = unit // panels, unit % panels
            row, column = panel // across * get["rows"], panel % across * get["columns"]
            f.call("void", f"panel_{dtype}", bufs, params, batch, row, column)
        with f.when(guarded):
            f.call("void", "leave_library")
        f.ret(0)


def _define_panel(module: Module, dtype: str) -> None:
    """One panel of one product: rows from `row`, columns from `column`."""
    letter, real, _ = TYPES[dtype]
    size = size_of(dtype)
    kinds = ("ptr", "ptr", "i64", "i64", "i64")
    with module.function(f"panel_{dtype}", "void", *kinds, inside=True) as (f, p):
        bufs, params, batch, row, column = p
        get = {name: params.load("i64", i) for i, name in enumerate(GEMM_PARAMS)}
        m = f.smaller(get["m"] - row, get["rows"])
        n = f.smaller(get["n"] - column, get["columns"])
        flip_a, flip_b = get["transpose_a"].ne(0), get["transpose_b"].ne(0)
        one = f.i64(1)

        def start(index: int, offset: Value) -> Value:
            stride = get[("stride_a", "stride_b", "stride_c")[index]]
            return bufs.load("ptr", index).item("i8", (batch * stride + offset) * size)

        a = start(0, row * flip_a.choose(one, get["lda"]))
        b = start(1, column * flip_b.choose(get["ldb"], one))
        c = start(2, row * get["ldc"] + column)
        k, lda, ldb, ldc = (integer(f, get[name]) for name in ("k", "lda", "ldb", "ldc"))
        unit, alpha, beta = integer(f, 1), f.symbol(f"one_{real}"), f.symbol(f"zero_{real}")
        transposed, plain = f.symbol("letter_T"), f.symbol("letter_N")
        a_step, b_step = flip_a.choose(lda, unit), flip_b.choose(unit, ldb)
        rows, columns = integer(f, m), integer(f, n)
        gemv = f"{letter}gemv"
        with f.when(get["n"].eq(1)):
            # Column-major A' is k x m: its rows are the columns that x is multiplied with.
            _clear(f, c, m, get["ldc"], size)
            down, across = flip_a.choose(rows, k), flip_a.choose(k, rows)
            how = flip_a.choose(plain, transposed)
            f.call("void", gemv, how, down, across, alpha, a, lda, b, b_step, beta, c, ldc)
            f.ret()
        with f.when(get["m"].eq(1)):
            _clear(f, c, n, one, size)
            down, across = flip_b.choose(k, columns), flip_b.choose(columns, k)
            how = flip_b.choose(transposed, plain)
            f.call("void", gemv, how, down, across, alpha, b, ldb, a, a_step, beta, c, unit)
            f.ret()
        how_a, how_b = flip_a.choose(transposed, plain), flip_b.choose(transposed, plain)
        operands = (columns, rows, k, alpha, b, ldb, a, lda, beta, c, ldc)
        f.call("void", f"{letter}gemm", how_b, how_a, *operands)
        f.ret()


def _clear(f: Writer, start: Value, count: Value, step: Value, size: int) -> None:
    """Zeros, so that nan in fresh memory cannot survive being scaled by zero."""
    zero = f.value(0, f"i{8 * min(size, 8)}")
    with f.count(0, count) as i:
        for part in range(0, size, 8):
            start.item("i8", i * step * size + part).store(zero)

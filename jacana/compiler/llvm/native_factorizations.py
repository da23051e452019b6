"""Native functions for Cholesky, LU, QR, triangular and tridiagonal systems, as LLVM IR.

Each docstring gives bufs and params of one of a batch, whose items follow each other densely.
"""

from jacana.compiler.llvm.native_lapack import thunk
from jacana.compiler.llvm.native_text import Module, Value


def _define_cholesky(module: Module, dtype: str) -> None:
    """bufs [a, l: n n]; params [n]. Reads and writes the lower triangle, zeros above; nan in it if
    a is not positive definite.
    """
    with thunk(module, "cholesky", dtype, 1) as t:
        f, n = t.f, t.param(0)
        order, leading = t.int_address(n), t.int_address(t.at_least_one(n))
        info, upper = t.int_address(0), f.symbol("letter_U")
        with f.count(t.begin, t.end) as batch:
            a, l = (t.item(buffer, batch, n * n, t.size) for buffer in (0, 1))
            with f.when(a.ne(l)):
                f.call("ptr", "memcpy", l, a, n * n * t.size)
            # The lower triangle of rows is the upper one of columns, so nothing is transposed.
            t.call(module, f"{t.letter}potrf", upper, order, l, leading, info)
            zero = Value(f, "0.0", t.real)
            with f.count(0, n) as i:
                row = l.item(t.real, i * n * t.reals)
                t.nan_unless_done(info, (row, (i + 1) * t.reals))
                with f.count((i + 1) * t.reals, n * t.reals) as j:
                    row.store(zero, j)


def _define_lu(module: Module, dtype: str) -> None:
    """bufs [a, lu: m n; pivots: min(m, n) int32; permutation: m int32]; params [m, n]. Pivots count
    from zero; row i of the permuted matrix is row permutation[i] of a.
    """
    with thunk(module, "lu", dtype, 2) as t:
        f, m, n = t.f, t.param(0), t.param(1)
        k = f.smaller(m, n)
        rows, columns = t.int_address(m), t.int_address(n)
        leading, info = t.int_address(t.at_least_one(m)), t.int_address(0)
        (work,) = t.allocate(m * n * t.size)
        with f.count(t.begin, t.end) as batch:
            a, lu = (t.item(buffer, batch, m * n, t.size) for buffer in (0, 1))
            pivots, permutation = t.item(2, batch, k, 4), t.item(3, batch, m, 4)
            t.transpose_in(a, work, m, n)
            t.call(module, f"{t.letter}getrf", rows, columns, work, leading, pivots, info)
            t.transpose_out(work, lu, m, n, m)
            with f.count(0, m) as i:
                permutation.store(i.cast("i32"), i)
            with f.count(0, k) as i:
                pivot = pivots.load("i32", i) - 1
                pivots.store(pivot, i)
                here, there = permutation.load("i32", i), permutation.load("i32", pivot.cast("i64"))
                permutation.store(there, i)
                permutation.store(here, pivot.cast("i64"))


def _define_triangular_solve(module: Module, dtype: str) -> None:
    """bufs [a: square; b, x: m n]; params [m, n, left, lower, transpose, unit, stride of a, width].
    Solves op(a) x = b (left) or x op(a) = b; transpose 0, 1, 2: op is a, its transpose, its
    adjoint. An item is a panel of `width` columns of one x (all of them unless left).
    """
    with thunk(module, "triangular_solve", dtype, 2) as t:
        f, m, n = t.f, t.param(0), t.param(1)
        left, transpose = t.param(2).ne(0), t.param(4)
        order = left.choose(m, n)
        # BLAS solves for the transpose of x: the sides change places, and so do the triangles.
        side, triangle = t.letter_if(left, "R", "L"), t.letter_if(t.param(3).ne(0), "U", "L")
        turned = t.letter_if(transpose.eq(1), "T", "C")
        how = transpose.eq(0).choose(f.symbol("letter_N"), turned)
        diagonal = t.letter_if(t.param(5).ne(0), "U", "N")
        width, rows, columns = t.param(7), t.int_address(n), t.int_address(m)
        panels = t.at_least_one((n + width - 1) // width)
        lda = t.int_address(t.at_least_one(order))
        ldx = t.int_address(t.at_least_one(n))
        with f.count(t.begin, t.end) as item:
            batch, first = item // panels, item % panels * width
            count = f.smaller(n - first, width)
            rows.store(count.cast("i32"))
            a = t.bufs.load("ptr", 0).item("i8", batch * t.param(6) * t.size)
            b, x = (
                t.item(buffer, batch, m * n, t.size).item("i8", first * t.size) for buffer in (1, 2)
            )
            with f.when(b.ne(x)), f.count(0, m) as i:
                line = i * n * t.size
                f.call("ptr", "memcpy", x.item("i8", line), b.item("i8", line), count * t.size)
            one = f.symbol(f"one_{t.real}")
            options = (side, triangle, how, diagonal)
            t.call(module, f"{t.letter}trsm", *options, rows, columns, one, a, lda, x, ldx)


def _define_qr(module: Module, dtype: str) -> None:
    """bufs [a, packed: m n; taus: min(m, n)]; params [m, n]. R above the reflectors, as geqrf."""
    with thunk(module, "qr", dtype, 2) as t:
        f, m, n = t.f, t.param(0), t.param(1)
        k = f.smaller(m, n)
        sizes = (t.int_address(m), t.int_address(n))
        leading, info = t.int_address(t.at_least_one(m)), t.int_address(0)
        null, answer, routine = f.value(0, "ptr"), f.array("double", 2), f"{t.letter}geqrf"
        asking = t.int_address(-1)
        t.call(module, routine, *sizes, null, leading, null, answer, asking, info)
        count = t.larger(t.asked(answer), t.at_least_one(n))
        matrix, work = t.allocate(m * n * t.size, count * t.size)
        length = t.int_address(count)
        with f.count(t.begin, t.end) as batch:
            a, packed = (t.item(buffer, batch, m * n, t.size) for buffer in (0, 1))
            taus = t.item(2, batch, k, t.size)
            t.transpose_in(a, matrix, m, n)
            t.call(module, routine, *sizes, matrix, leading, taus, work, length, info)
            t.transpose_out(matrix, packed, m, n, m)
            t.nan_unless_done(info, (packed, m * n * t.reals), (taus, k * t.reals))


def _define_householder(module: Module, dtype: str) -> None:
    """bufs [packed: m n; taus: k; q: m n]; params [m, n, k], m >= n >= k. The first n columns of
    the product of the k reflectors.
    """
    with thunk(module, "householder_product", dtype, 3) as t:
        f, m, n, k = t.f, t.param(0), t.param(1), t.param(2)
        sizes = (t.int_address(m), t.int_address(n), t.int_address(k))
        leading, info = t.int_address(t.at_least_one(m)), t.int_address(0)
        null, answer = f.value(0, "ptr"), f.array("double", 2)
        routine = f"{t.letter}{'ungqr' if t.is_complex else 'orgqr'}"
        asking = t.int_address(-1)
        t.call(module, routine, *sizes, null, leading, null, answer, asking, info)
        count = t.larger(t.asked(answer), t.at_least_one(n))
        matrix, work = t.allocate(m * n * t.size, count * t.size)
        length = t.int_address(count)
        with f.count(t.begin, t.end) as batch:
            packed, q = (t.item(buffer, batch, m * n, t.size) for buffer in (0, 2))
            taus = t.item(1, batch, k, t.size)
            t.transpose_in(packed, matrix, m, n)
            t.call(module, routine, *sizes, matrix, leading, taus, work, length, info)
            t.transpose_out(matrix, q, m, n, m)
            t.nan_unless_done(info, (q, m * n * t.reals))


def _define_tridiagonal_solve(module: Module, dtype: str) -> None:
    """bufs [lower, diagonal, upper: n; b, x: n k]; params [n, k]. lower[0] and upper[n - 1] are not
    read; x is nan if a pivot is zero.
    """
    with thunk(module, "tridiagonal_solve", dtype, 2) as t:
        f, n, k = t.f, t.param(0), t.param(1)
        order, count = t.int_address(n), t.int_address(k)
        leading, info = t.int_address(t.at_least_one(n)), t.int_address(0)
        line = n * t.size
        *lines, matrix = t.allocate(line, line, line, n * k * t.size)
        with f.count(t.begin, t.end) as batch:
            for buffer, target in enumerate(lines):
                f.call("ptr", "memcpy", target, t.item(buffer, batch, n, t.size), line)
            below = lines[0].item("i8", t.size)
            b, x = (t.item(buffer, batch, n * k, t.size) for buffer in (3, 4))
            t.transpose_in(b, matrix, n, k)
            operands = (order, count, below, lines[1], lines[2], matrix, leading, info)
            t.call(module, f"{t.letter}gtsv", *operands)
            t.transpose_out(matrix, x, n, k, n)
            t.nan_unless_done(info, (x, n * k * t.reals))


def _define_pivoted_qr(module: Module, dtype: str) -> None:
    """bufs [a, packed: m n; pivots: n int32; taus: min(m, n)]; params [m, n]. As qr, of a with its
    columns in the order of the pivots, which count from zero.
    """
    with thunk(module, "pivoted_qr", dtype, 2) as t:
        f, m, n = t.f, t.param(0), t.param(1)
        k = f.smaller(m, n)
        sizes = (t.int_address(m), t.int_address(n))
        leading, info = t.int_address(t.at_least_one(m)), t.int_address(0)
        null, answer, routine = f.value(0, "ptr"), f.array("double", 2), f"{t.letter}geqp3"
        asking, no_reals = t.int_address(-1), ((f.array("double", 2),) if t.is_complex else ())
        space = (answer, asking, *no_reals)
        t.call(module, routine, *sizes, null, leading, null, null, *space, info)
        count = t.larger(t.asked(answer), n * 3 + 1)
        matrix, work, reals = t.allocate(m * n * t.size, count * t.size, n * 2 * t.real_size)
        space = (work, t.int_address(count), *((reals,) if t.is_complex else ()))
        with f.count(t.begin, t.end) as batch:
            a, packed = (t.item(buffer, batch, m * n, t.size) for buffer in (0, 1))
            pivots, taus = t.item(2, batch, n, 4), t.item(3, batch, k, t.size)
            t.transpose_in(a, matrix, m, n)
            with f.count(0, n) as j:
                pivots.store(f.i32(0), j)
            t.call(module, routine, *sizes, matrix, leading, pivots, taus, *space, info)
            with f.count(0, n) as j:
                pivots.store(pivots.load("i32", j) - 1, j)
            t.transpose_out(matrix, packed, m, n, m)
            t.nan_unless_done(info, (packed, m * n * t.reals), (taus, k * t.reals))


def _define_hessenberg(module: Module, dtype: str) -> None:
    """bufs [a, packed: n n; taus: n - 1]; params [n]. The form above the reflectors, as gehrd."""
    with thunk(module, "hessenberg", dtype, 1) as t:
        f, n = t.f, t.param(0)
        order, leading = t.int_address(n), t.int_address(t.at_least_one(n))
        first, info, null = t.int_address(1), t.int_address(0), f.value(0, "ptr")
        answer, routine, asking = f.array("double", 2), f"{t.letter}gehrd", t.int_address(-1)
        sizes = (order, first, order)
        t.call(module, routine, *sizes, null, leading, null, answer, asking, info)
        count = t.larger(t.asked(answer), t.at_least_one(n))
        matrix, work = t.allocate(n * n * t.size, count * t.size)
        length, rest = t.int_address(count), n - 1
        with f.count(t.begin, t.end) as batch:
            a, packed = (t.item(buffer, batch, n * n, t.size) for buffer in (0, 1))
            taus = t.item(2, batch, rest, t.size)
            t.transpose_in(a, matrix, n, n)
            t.call(module, routine, *sizes, matrix, leading, taus, work, length, info)
            t.transpose_out(matrix, packed, n, n, n)
            t.nan_unless_done(info, (packed, n * n * t.reals), (taus, rest * t.reals))


def _define_tridiagonal(module: Module, dtype: str) -> None:
    """bufs [a, packed: n n; d: n reals; e: n - 1 reals; taus: n - 1]; params [n, lower]. sytrd or
    hetrd; only one triangle of a is read.
    """
    with thunk(module, "tridiagonal", dtype, 1) as t:
        f, n, rest = t.f, t.param(0), t.param(0) - 1
        sizes = (t.letter_if(t.param(1).ne(0), "L", "U"), t.int_address(n))
        leading, info = t.int_address(t.at_least_one(n)), t.int_address(0)
        null, answer, asking = f.value(0, "ptr"), f.array("double", 2), t.int_address(-1)
        routine = f"{t.letter}{'hetrd' if t.is_complex else 'sytrd'}"
        t.call(module, routine, *sizes, null, leading, null, null, null, answer, asking, info)
        count = t.larger(t.asked(answer), t.at_least_one(n))
        matrix, work = t.allocate(n * n * t.size, count * t.size)
        length = t.int_address(count)
        with f.count(t.begin, t.end) as batch:
            a, packed = (t.item(buffer, batch, n * n, t.size) for buffer in (0, 1))
            d, e = t.item(2, batch, n, t.real_size), t.item(3, batch, rest, t.real_size)
            taus = t.item(4, batch, rest, t.size)
            t.transpose_in(a, matrix, n, n)
            results = (d, e, taus, work, length, info)
            t.call(module, routine, *sizes, matrix, leading, *results)
            t.transpose_out(matrix, packed, n, n, n)
            t.nan_unless_done(info, (packed, n * n * t.reals), (d, n), (e, rest))


FUNCTIONS = {
    "cholesky": _define_cholesky,
    "lu": _define_lu,
    "triangular_solve": _define_triangular_solve,
    "qr": _define_qr,
    "householder_product": _define_householder,
    "tridiagonal_solve": _define_tridiagonal_solve,
    "pivoted_qr": _define_pivoted_qr,
    "hessenberg": _define_hessenberg,
    "tridiagonal": _define_tridiagonal,
}

"""Native functions for eigenvalues, singular values and Schur forms, as LLVM IR.

Each docstring gives bufs and params of one of a batch, whose items follow each other densely.
Outputs are nan where LAPACK reports that it did not converge.
"""

from jacana.compiler.llvm.native_lapack import Thunk, thunk
from jacana.compiler.llvm.native_text import Module, Value


def _define_eigh(module: Module, dtype: str) -> None:
    """bufs [a, v: n n; w: n reals]; params [n, lower, vectors]. Only one triangle of a is read;
    w ascends; v is not written without vectors.
    """
    with thunk(module, "eigh", dtype, 1) as t:
        f, n, vectors = t.f, t.param(0), t.param(2).ne(0)
        options = (t.letter_if(vectors, "V", "N"), t.letter_if(t.param(1).ne(0), "L", "U"))
        order, leading = t.int_address(n), t.int_address(t.at_least_one(n))
        info, null, asking = t.int_address(0), f.value(0, "ptr"), t.int_address(-1)
        answers = [f.array("double", 2) for _ in range(3)]
        routine = f"{t.letter}{'heevd' if t.is_complex else 'syevd'}"

        def run(a: Value, w: Value, spaces: list[Value], lengths: list[Value]) -> None:
            pairs = [part for pair in zip(spaces, lengths) for part in pair]
            if not t.is_complex:
                pairs = [pairs[0], pairs[1], pairs[4], pairs[5]]
            t.call(module, routine, *options, order, a, leading, w, *pairs, info)

        run(null, null, answers, [asking] * 3)
        count, integers = t.asked(answers[0]), t.asked(answers[2], "i32")
        reals = t.asked(answers[1]) if t.is_complex else f.i64(1)
        sizes = (n * n * t.size, count * t.size, reals * t.real_size, integers * 4)
        matrix, *spaces = t.allocate(*sizes)
        lengths = [t.int_address(length) for length in (count, reals, integers)]
        with f.count(t.begin, t.end) as batch:
            a, w = t.item(0, batch, n * n, t.size), t.item(2, batch, n, t.real_size)
            t.transpose_in(a, matrix, n, n)
            info.store(f.i32(0))
            lower = t.param(1).ne(0)
            with f.count(0, n) as i:
                first, count = lower.choose(f.i64(0), i), lower.choose(i + 1, n - i)
                row = a.item("i8", (i * n + first) * t.size)
                t.check_finite(row, count * t.reals, info)
            with f.when(info.load("i32").eq(0)):
                run(matrix, w, spaces, lengths)
            t.nan_unless_done(info, (w, n))
            with f.when(vectors):
                v = t.item(1, batch, n * n, t.size)
                t.transpose_out(matrix, v, n, n, n)
                t.nan_unless_done(info, (v, n * n * t.reals))


def _define_svd(module: Module, dtype: str) -> None:
    """bufs [a: m n; s: k reals; u: m p; vt: q n], k = min(m, n); params [m, n, full, vectors].
    p = m and q = n if full, else k; s descends; u and vt are not written without vectors.
    """
    with thunk(module, "svd", dtype, 2) as t:
        f, m, n = t.f, t.param(0), t.param(1)
        full, vectors = t.param(2).ne(0), t.param(3).ne(0)
        k = f.smaller(m, n)
        p, q = full.choose(m, k), full.choose(n, k)
        job = vectors.choose(t.letter_if(full, "A", "S"), f.symbol("letter_N"))
        sizes = (job, t.int_address(m), t.int_address(n))
        lda, ldvt = t.int_address(t.at_least_one(m)), t.int_address(t.at_least_one(q))
        info, null, asking = t.int_address(0), f.value(0, "ptr"), t.int_address(-1)
        answer, routine = f.array("double", 2), f"{t.letter}gesdd"
        k8, mx = k * 8, t.larger(m, n)
        reals = t.larger(k * k * 5 + k8, mx * k * 2 + k * k * 2 + k8)
        rest = (null, null) if t.is_complex else (null,)
        none = (null, lda, null, null, lda, null, ldvt)
        t.call(module, routine, *sizes, *none, answer, asking, *rest, info)
        count = t.asked(answer)
        a, u, vt, work, real_work, integers = t.allocate(
            m * n * t.size, m * p * t.size, q * n * t.size, count * t.size,
            reals * t.real_size, k8 * 4,
        )  # fmt: skip
        length = t.int_address(count)
        rest = (real_work, integers) if t.is_complex else (integers,)
        with f.count(t.begin, t.end) as batch:
            s = t.item(1, batch, k, t.real_size)
            t.transpose_in(t.item(0, batch, m * n, t.size), a, m, n)
            operands = (a, lda, s, u, lda, vt, ldvt)
            with t.if_finite(a, m * n * t.reals, info):
                t.call(module, routine, *sizes, *operands, work, length, *rest, info)
            t.nan_unless_done(info, (s, k))
            with f.when(vectors):
                out_u, out_vt = t.item(2, batch, m * p, t.size), t.item(3, batch, q * n, t.size)
                t.transpose_out(u, out_u, m, p, m)
                t.transpose_out(vt, out_vt, q, n, q)
                t.nan_unless_done(info, (out_u, m * p * t.reals), (out_vt, q * n * t.reals))


def _define_eig(module: Module, dtype: str) -> None:
    """bufs [a: n n; w: n, vl, vr: n n, complex]; params [n, left, right]. Vectors are columns and
    not written unless asked for.
    """
    with thunk(module, "eig", dtype, 1) as t:
        f, n = t.f, t.param(0)
        wanted = (t.param(1).ne(0), t.param(2).ne(0))
        options = tuple(t.letter_if(want, "V", "N") for want in wanted)
        order, leading = t.int_address(n), t.int_address(t.at_least_one(n))
        info, null, asking = t.int_address(0), f.value(0, "ptr"), t.int_address(-1)
        answer, routine = f.array("double", 2), f"{t.letter}geev"

        def run(a: Value, w: Value, wi: Value, vl: Value, vr: Value, *space: Value) -> None:
            work, length, real_work = space
            values = (w,) if t.is_complex else (w, wi)
            rest = (real_work,) if t.is_complex else ()
            vectors = (vl, leading, vr, leading)
            operands = (order, a, leading, *values, *vectors, work, length, *rest, info)
            t.call(module, routine, *options, *operands)

        run(null, null, null, null, null, answer, asking, f.array("double", 2))
        count, square, line = t.asked(answer), n * n * t.size, n * t.size
        a, w, wi, vl, vr, work, real_work = t.allocate(
            square, line, line, square, square, count * t.size, n * 2 * t.real_size
        )
        length = t.int_address(count)
        with f.count(t.begin, t.end) as batch:
            t.transpose_in(t.item(0, batch, n * n, t.size), a, n, n)
            with t.if_finite(a, n * n * t.reals, info):
                run(a, w, wi, vl, vr, work, length, real_work)
            values = t.item(1, batch, n, 2 * t.real_size)
            _join_values(t, w, wi, values, n)
            t.nan_unless_done(info, (values, n * 2))
            for want, columns, buffer in ((wanted[0], vl, 2), (wanted[1], vr, 3)):
                with f.when(want):
                    target = t.item(buffer, batch, n * n, 2 * t.real_size)
                    if t.is_complex:
                        t.transpose_out(columns, target, n, n, n)
                    else:
                        _unpack_vectors(t, columns, wi, target, n)
                    t.nan_unless_done(info, (target, n * n * 2))


def _join_values(t: Thunk, w: Value, wi: Value, target: Value, n: Value) -> None:
    """Complex eigenvalues from LAPACK's: real and imaginary parts apart if the matrix is real."""
    if t.is_complex:
        t.f.call("ptr", "memcpy", target, w, n * t.size)
        return
    with t.f.count(0, n) as i:
        target.store(w.load(t.real, i), i * 2)
        target.store(wi.load(t.real, i), i * 2 + 1)


def _unpack_vectors(t: Thunk, columns: Value, wi: Value, target: Value, n: Value) -> None:
    """Row-major complex vectors; of a conjugate pair LAPACK stores real and imaginary part."""
    f, real = t.f, t.real
    zero = Value(f, "0.0", real)
    with f.count(0, n) as j:
        imaginary = wi.load(real, j)
        first = f.emit(f"fcmp ogt {real} {imaginary.text}, 0.0", "i1")
        second = f.emit(f"fcmp olt {real} {imaginary.text}, 0.0", "i1")
        # A pair is in columns j and j + 1: its first vector is their sum, its second the conjugate.
        re_column = second.choose(j - 1, j) * n
        im_column = first.choose(j + 1, j) * n
        with f.count(0, n) as i:
            re = columns.load(real, re_column + i)
            im = columns.load(real, im_column + i)
            negated = f.emit(f"fneg {real} {im.text}", real)
            im = first.choose(im, second.choose(negated, zero))
            target.store(re, (i * n + j) * 2)
            target.store(im, (i * n + j) * 2 + 1)


def _define_schur(module: Module, dtype: str) -> None:
    """bufs [a, t, vs: n n]; params [n, vectors]. a = vs t vs^H; vs is not written if not wanted."""
    with thunk(module, "schur", dtype, 1) as t:
        f, n, vectors = t.f, t.param(0), t.param(1).ne(0)
        options = (t.letter_if(vectors, "V", "N"), f.symbol("letter_N"), f.value(0, "ptr"))
        order, leading = t.int_address(n), t.int_address(t.at_least_one(n))
        info, null, asking = t.int_address(0), f.value(0, "ptr"), t.int_address(-1)
        answer, sorted_count = f.array("double", 2), t.int_address(0)
        routine = f"{t.letter}gees"

        def run(a: Value, w: Value, wi: Value, vs: Value, *space: Value) -> None:
            work, length, real_work, flags = space
            values = (w,) if t.is_complex else (w, wi)
            rest = (real_work, flags) if t.is_complex else (flags,)
            operands = (order, a, leading, sorted_count, *values, vs, leading, work, length)
            t.call(module, routine, *options, *operands, *rest, info)

        run(null, null, null, null, answer, asking, f.array("double", 2), null)
        count, square, line = t.asked(answer), n * n * t.size, n * t.size
        a, w, wi, vs, work, real_work, flags = t.allocate(
            square, line, line, square, count * t.size, n * t.real_size, n * 4
        )
        length = t.int_address(count)
        with f.count(t.begin, t.end) as batch:
            source, form = (t.item(buffer, batch, n * n, t.size) for buffer in (0, 1))
            t.transpose_in(source, a, n, n)
            with t.if_finite(a, n * n * t.reals, info):
                run(a, w, wi, vs, work, length, real_work, flags)
            t.transpose_out(a, form, n, n, n)
            t.nan_unless_done(info, (form, n * n * t.reals))
            with f.when(vectors):
                target = t.item(2, batch, n * n, t.size)
                t.transpose_out(vs, target, n, n, n)
                t.nan_unless_done(info, (target, n * n * t.reals))


FUNCTIONS = {
    "eigh": _define_eigh,
    "svd": _define_svd,
    "eig": _define_eig,
    "schur": _define_schur,
}

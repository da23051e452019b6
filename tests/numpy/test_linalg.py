"""jnp.linalg against NumPy, and its gradients against differences, to second order."""

import numpy as np
import pytest

import jacana
import jacana.numpy as jnp
from jacana import enable_x64, grad, hessian, jacfwd, jacrev, jit, vmap
from jacana.lax import linalg as lax_linalg

DTYPES = ("float32", "complex64", "float64", "complex128")


@pytest.fixture(autouse=True)
def _wide():
    with enable_x64():
        yield


def matrix(*shape, dtype="float64", seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=shape)
    if np.dtype(dtype).kind == "c":
        x = x + 1j * rng.normal(size=shape)
    return x.astype(dtype)


def hermitian(n, dtype="float64", seed=0):
    x = matrix(n, n, dtype=dtype, seed=seed)
    return x + x.conj().T


def close(got, want, factor=1.0):
    got, want = np.asarray(got), np.asarray(want)
    assert got.shape == want.shape and got.dtype == want.dtype, (got.dtype, want.dtype)
    bound = (2e-4 if want.dtype.name in ("float32", "complex64") else 1e-10) * factor
    np.testing.assert_allclose(got, want, rtol=bound, atol=bound)


@pytest.mark.parametrize("dtype", DTYPES)
def test_functions_of_square_matrices(dtype):
    a, b = matrix(2, 4, 4, dtype=dtype), matrix(2, 4, 3, dtype=dtype, seed=1)
    for name in ("inv", "pinv", "cond", "matrix_rank", "svd"):
        wanted = getattr(np.linalg, name)(a)
        for got, want in zip(
            jacana.tree.leaves(getattr(jnp.linalg, name)(a)), wanted if name == "svd" else [wanted]
        ):
            if name == "matrix_rank":
                assert got.tolist() == want.tolist()
            elif got.ndim == 3 and name == "svd":
                close(np.abs(got), np.abs(want), 10)
            else:
                close(got, want, 10)
    close(jnp.linalg.det(a), np.linalg.det(a))
    for got, want in zip(jnp.linalg.slogdet(a), np.linalg.slogdet(a)):
        close(got, want)
    close(jnp.linalg.solve(a, b), np.linalg.solve(a, b))
    close(jnp.linalg.solve(a[0], b), np.linalg.solve(a[0], b))
    close(jnp.linalg.solve(a, b[0, :, 0]), np.stack([np.linalg.solve(x, b[0, :, 0]) for x in a]))
    for n in (-2, 0, 1, 5):
        close(jnp.linalg.matrix_power(a, n), np.linalg.matrix_power(a, n).astype(dtype), 100)
    values, vectors = jnp.linalg.eig(a)
    close(a @ np.asarray(vectors), np.asarray(vectors) * np.asarray(values)[:, None], 10)
    close(np.sort_complex(jnp.linalg.eigvals(a)), np.sort_complex(values))


@pytest.mark.parametrize("dtype", DTYPES)
def test_decompositions(dtype):
    a = hermitian(4, dtype)
    positive = (a @ a.conj().T + np.eye(4)).astype(dtype)
    close(jnp.linalg.cholesky(positive), np.linalg.cholesky(positive))
    close(jnp.linalg.cholesky(positive, upper=True), np.linalg.cholesky(positive).conj().T)
    for triangle in ("L", "U"):
        w, v = jnp.linalg.eigh(a, triangle)
        close(w, np.linalg.eigvalsh(a))
        close(np.asarray(v) * np.asarray(w) @ np.asarray(v).conj().T, a)
        close(jnp.linalg.eigvalsh(a, triangle), np.linalg.eigvalsh(a))
    u, s, vh = (np.asarray(x) for x in jnp.linalg.svd(a, hermitian=True))
    close(s, np.linalg.svd(a, compute_uv=False))
    close((u * s @ vh).astype(dtype), a)
    for m, n in ((5, 3), (3, 5)):
        a = matrix(m, n, dtype=dtype)
        for mode in ("reduced", "complete"):
            q, r = jnp.linalg.qr(a, mode)
            want_q, want_r = np.linalg.qr(a, mode)
            close(q, want_q)
            close(r, want_r)
        close(jnp.linalg.qr(a, "r"), np.linalg.qr(a, "r"))
        close(jnp.linalg.svdvals(a), np.linalg.svd(a, compute_uv=False))
        close(jnp.linalg.pinv(a), np.linalg.pinv(a))
        u, s, vh = jnp.linalg.svd(a, full_matrices=False)
        close((np.asarray(u) * np.asarray(s) @ np.asarray(vh)).astype(dtype), a)


@pytest.mark.parametrize("dtype", DTYPES)
def test_norms(dtype):
    a = matrix(3, 4, 5, dtype=dtype)
    for ord_ in (None, 0, 1, -1, 2, 3.5, np.inf, -np.inf):
        close(jnp.linalg.norm(a[0, 0], ord_), np.linalg.norm(a[0, 0], ord_))
        close(
            jnp.linalg.norm(a, ord_, axis=1, keepdims=True),
            np.linalg.norm(a, ord_, axis=1, keepdims=True),
        )
    for ord_ in (None, "fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf):
        for keepdims in (True, False):
            got = jnp.linalg.norm(a, ord_, axis=(2, 0), keepdims=keepdims)
            close(got, np.linalg.norm(a, ord_, axis=(2, 0), keepdims=keepdims))
        close(jnp.linalg.matrix_norm(a, ord=ord_ or "fro"), np.linalg.norm(a, ord_, axis=(1, 2)))
    close(jnp.linalg.norm(a), np.linalg.norm(a))
    close(jnp.linalg.norm(a, keepdims=True), np.linalg.norm(a, keepdims=True))
    close(jnp.linalg.vector_norm(a, axis=(0, 1)), np.linalg.norm(a.reshape(12, 5), axis=0))


def test_least_squares():
    for m, n in ((5, 3), (3, 5), (4, 4)):
        a, b = matrix(m, n), matrix(m, 2, seed=1)
        a[:, 1] = a[:, 0]
        for rhs in (b, b[:, 0]):
            got = jnp.linalg.lstsq(a, rhs, numpy_resid=True)
            for x, y in zip(got, np.linalg.lstsq(a, rhs)):
                np.testing.assert_allclose(x, y, rtol=1e-10, atol=1e-10)


def test_products():
    a, b, c = matrix(2, 3), matrix(3, 4), matrix(4)
    close(jnp.linalg.multi_dot([a, b, c]), np.linalg.multi_dot([a, b, c]))
    close(jnp.linalg.multi_dot([a[0], b, c]), np.linalg.multi_dot([a[0], b, c]))
    square = matrix(2, 2, 4).reshape(2, 2, 4)
    close(jnp.linalg.tensorinv(square), np.linalg.tensorinv(square))
    close(jnp.linalg.tensorsolve(square, a[:, :2]), np.linalg.tensorsolve(square, a[:, :2]))
    x, y = matrix(3, 2, 3, dtype="complex128"), matrix(2, 3, dtype="complex128", seed=1)
    close(jnp.linalg.cross(x, y), np.cross(x, y))
    close(jnp.vecdot(x, y), np.vecdot(x, y))
    close(jnp.vecdot(x, y[0], axis=-1), np.vecdot(x, y[0]))
    close(jnp.matvec(x, y[0]), x @ y[0])
    close(jnp.matvec(y, x[:, 0]), np.einsum("mn,bn->bm", y, x[:, 0]))
    close(jnp.matvec(x, x[:, 0]), np.einsum("bmn,bn->bm", x, x[:, 0]))
    close(jnp.vecmat(y[:, 0], y), y[:, 0].conj() @ y)
    close(jnp.vecmat(x[:, 0, :2], x), np.einsum("bm,bmn->bn", x[:, 0, :2].conj(), x))
    close(jnp.linalg.trace(x), np.trace(x, axis1=1, axis2=2))
    close(jnp.linalg.diagonal(x), np.diagonal(x, axis1=1, axis2=2))


def test_empty_matrices():
    e = jnp.zeros((0, 0))
    assert float(jnp.linalg.det(e)) == 1
    assert [float(x) for x in jnp.linalg.slogdet(e)] == [1, 0]
    assert grad(jnp.linalg.det)(e).shape == (0, 0)
    assert jnp.linalg.inv(e).shape == (0, 0)
    assert [x.shape for x in jnp.linalg.svd(jnp.zeros((0, 3)))] == [(0, 0), (0,), (3, 3)]
    assert [x.shape for x in jnp.linalg.qr(jnp.zeros((3, 0)), "complete")] == [(3, 3), (3, 0)]
    assert jnp.linalg.pinv(jnp.zeros((0, 3))).shape == (3, 0)
    assert jnp.linalg.eigh(e).eigenvectors.shape == (0, 0)
    assert float(jnp.linalg.norm(jnp.zeros((0,)), jnp.inf)) == 0
    assert jnp.linalg.solve(e, jnp.zeros((0, 2))).shape == (0, 2)


def test_failure_gives_nan():
    assert np.isnan(jnp.linalg.cholesky(-jnp.eye(2))).any()
    bad = jnp.array([[jnp.nan, 1.0], [1.0, 2.0]])
    for made in (*jnp.linalg.eigh(bad), *jnp.linalg.svd(bad), jnp.linalg.eigvals(bad)):
        assert np.isnan(made).all()
    assert not np.isfinite(jnp.linalg.inv(jnp.zeros((2, 2)))).all()


MESSAGES = (
    (lambda: jnp.linalg.det([[1.0]]), TypeError, "jnp.linalg.det requires ndarray or scalar"),
    (lambda: jnp.linalg.det(jnp.ones((2, 3))), ValueError, r"shape \[..., n, n\], got \(2, 3\)"),
    (lambda: jnp.linalg.svd(jnp.ones(3)), ValueError, r"shape \[..., m, n\], got \(3,\)"),
    (lambda: jnp.linalg.solve(jnp.eye(3), jnp.ones(2)), ValueError, "right side"),
    (lambda: jnp.linalg.norm(jnp.ones((2, 2, 2)), 2), ValueError, "Improper number of axes"),
    (lambda: jnp.linalg.norm(jnp.ones(2), "fro"), ValueError, "Invalid order 'fro' for vector"),
    (lambda: jnp.linalg.norm(jnp.ones((2, 2)), 3), ValueError, "Invalid order '3' for matrix"),
    (lambda: jnp.linalg.eigh(jnp.eye(2), "X"), ValueError, "UPLO must be one of"),
    (lambda: jnp.linalg.matrix_power(jnp.eye(2), 1.5), TypeError, "exponent must be an integer"),
    (lambda: jnp.linalg.inv(jnp.eye(2, dtype=jnp.bfloat16)), TypeError, "bfloat16"),
    (lambda: jnp.linalg.qr(jnp.eye(2), "x"), ValueError, "Unsupported QR decomposition mode"),
)  # fmt: skip


@pytest.mark.parametrize(("call", "error", "text"), MESSAGES)
def test_messages(call, error, text):
    with pytest.raises(error, match=text):
        call()


# --- derivatives ---------------------------------------------------------------------------------


def differences(f, x, step=1e-4):
    """The gradient of a real function of a real matrix."""
    made = np.zeros(x.shape)
    for i in np.ndindex(*x.shape):
        e = np.zeros(x.shape)
        e[i] = step
        made[i] = (float(f(x + e)) - float(f(x - e))) / (2 * step)
    return made


def check_gradients(f, x, tolerance=1e-6):
    """First and second derivatives, in both modes, under jit and vmap."""
    first = grad(f)(x)
    scale = 1 + np.abs(first).max()
    assert np.abs(first - differences(f, x)).max() <= tolerance * scale
    second = np.asarray(hessian(f)(x))
    weight = matrix(*x.shape, seed=9)
    along = differences(lambda y: jnp.sum(grad(f)(y) * weight), x)
    got = np.tensordot(weight, second, x.ndim)
    assert np.abs(got - along).max() <= 10 * tolerance * (1 + np.abs(along).max())
    np.testing.assert_allclose(jit(grad(f))(x), first, rtol=1e-9, atol=1e-9)
    batch = np.stack([x, x + 0.1 * weight])
    np.testing.assert_allclose(
        vmap(grad(f))(batch), np.stack([grad(f)(y) for y in batch]), rtol=1e-6, atol=1e-7
    )


W = matrix(4, 4, seed=3)
GRADIENTS = {
    "det": jnp.linalg.det,
    "slogdet": lambda a: jnp.linalg.slogdet(a)[1],
    "inv": lambda a: jnp.sum(W * jnp.linalg.inv(a)),
    "solve": lambda a: jnp.sum(jnp.linalg.solve(a, W) ** 2),
    "cholesky": lambda a: jnp.sum(W * jnp.linalg.cholesky(a @ a.T + jnp.eye(4))),
    "eigh": lambda a: jnp.sum(jnp.sin(W * jnp.linalg.eigh(a + a.T)[1] ** 2)),
    "eigvalsh": lambda a: jnp.sum(W[0] * jnp.linalg.eigvalsh(a + a.T)),
    "eig": lambda a: jnp.sum(jnp.abs(W * jnp.linalg.eig(a)[1]) ** 2),
    "eigvals": lambda a: jnp.sum(jnp.real(jnp.linalg.eigvals(a) ** 3)),
    "svd": lambda a: jnp.sum(W * jnp.abs(jnp.linalg.svd(a)[0]) * jnp.abs(jnp.linalg.svd(a)[2])),
    "svdvals": lambda a: jnp.sum(W[0] * jnp.linalg.svdvals(a)),
    "qr": lambda a: jnp.sum(W * jnp.linalg.qr(a)[0] * jnp.linalg.qr(a)[1]),
    "pinv": lambda a: jnp.sum(W[:, :3] * jnp.linalg.pinv(a[:3])),
    "lstsq": lambda a: jnp.sum(jnp.linalg.lstsq(a[:, :3], W)[0] ** 2),
    "norm": lambda a: jnp.linalg.norm(a),
    "norm nuc": lambda a: jnp.linalg.norm(a, "nuc"),
    "norm 3": lambda a: jnp.linalg.norm(a[0], 3),
    "matrix_power": lambda a: jnp.sum(W * jnp.linalg.matrix_power(a, -2)),
    "lu": lambda a: jnp.sum(W * lax_linalg.lu(a)[0]),
}  # fmt: skip


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients(name):
    check_gradients(GRADIENTS[name], matrix(4, 4) + 2 * np.diag(np.arange(4.0) - 1.4), 1e-5)


def test_tall_and_wide_gradients():
    weight = matrix(5, 5, seed=4)

    def full(a):
        q, r = jnp.linalg.qr(a, "complete")
        return jnp.sum(weight * q) + jnp.sum(r**3)

    def null_space(a):
        u = jnp.linalg.svd(a)[0][:, a.shape[1] :]
        return jnp.sum(weight * (u @ u.T))

    check_gradients(full, matrix(5, 3), 1e-5)
    check_gradients(null_space, matrix(5, 3), 1e-5)
    check_gradients(lambda a: jnp.sum(weight[:3, :3] * jnp.linalg.qr(a.T)[0]), matrix(5, 3), 1e-5)


COFACTORS_OF = (
    np.diag([0.0, 2.0, 3.0, 4.0]), np.diag([2.0, 3.0, 4.0, 0.0]), np.zeros((4, 4)),
    np.diag([1.0, 1.0, 0.0, 0.0]), np.outer([1.0, 2, 3, 4], [1.0, 0, -1, 2]), np.ones((3, 3)),
    np.zeros((2, 2)), np.eye(5),
)  # fmt: skip


@pytest.mark.parametrize("a", COFACTORS_OF)
def test_determinants_of_singular_matrices(a):
    f = jnp.linalg.det
    np.testing.assert_allclose(grad(f)(a), differences(f, a, 1e-3), atol=2e-5)
    weight = matrix(*a.shape, seed=9)
    along = differences(lambda y: jnp.sum(grad(f)(y) * weight), a, 1e-3)
    np.testing.assert_allclose(np.tensordot(weight, hessian(f)(a), 2), along, atol=2e-4)


def test_determinants_whose_factors_leave_the_range():
    a = jnp.diag(jnp.array([1e30, 1e30, 1e-30, 1e-30], jnp.float32))
    assert float(jnp.linalg.det(a)) == pytest.approx(1, rel=1e-4)
    np.testing.assert_allclose(jnp.diag(grad(jnp.linalg.det)(a)), 1 / jnp.diag(a), rtol=1e-4)


def test_slogdet_of_complex_matrices_turns():
    a = matrix(4, 4, dtype="complex128", seed=2)

    def f(t):
        sign, log = jnp.linalg.slogdet(a + t * (1 + 2j) * np.eye(4))
        return jnp.angle(sign) + log

    np.testing.assert_allclose(grad(f)(0.1), differences(f, np.array(0.1)), rtol=1e-6)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
def test_systems_of_all_sizes_alone_and_in_batches(n):
    a = np.asarray(matrix(70, n, n, seed=n), "f4")
    a[3] = a[3][::-1] * 1e-20
    b = np.asarray(matrix(70, n, 2, seed=9), "f4")
    many = jacana.jit(jnp.linalg.solve)(a, b)
    for k in (0, 3, 69):
        one = jnp.linalg.solve(a[k], b[k])
        assert np.asarray(one).tobytes() == np.asarray(many[k]).tobytes()
        np.testing.assert_allclose(a[k] @ one, b[k], rtol=1e-3, atol=1e-4)
    lu, _, order = jacana.lax.linalg.lu(a)
    lower = np.tril(lu, -1) + np.eye(n, dtype="f4")
    np.testing.assert_allclose(
        lower @ np.triu(lu), np.take_along_axis(a, np.asarray(order)[:, :, None], 1), atol=1e-5
    )
    assert (np.abs(lower) <= 1).all()


def test_singular_systems_of_small_matrices():
    singular = jnp.array([[1.0, 2.0], [2.0, 4.0]])
    assert not np.isfinite(jnp.linalg.inv(singular)).any()
    assert float(jnp.linalg.det(singular)) == 0
    assert np.isnan(jnp.linalg.inv(jnp.full((3, 3), jnp.nan))).all()


def test_coinciding_singular_values():
    """What does not set the values apart has its derivative."""
    a = np.diag([1.0, 1.0, 2.0, 3.0])

    def product_norm(a):
        u, s, vh = jnp.linalg.svd(a)
        return jnp.linalg.norm((u * s) @ vh)

    def orthogonal_part(a):
        u, _, vh = jnp.linalg.svd(a)
        return jnp.sum(W * (u @ vh))

    def projector(a):
        v = jnp.linalg.eigh(a)[1]
        return jnp.sum(W * (v[:, 2:] @ v[:, 2:].T))

    np.testing.assert_allclose(grad(product_norm)(a), a / np.sqrt(15), atol=1e-12)
    for f in (orthogonal_part, projector):
        np.testing.assert_allclose(grad(f)(a), differences(f, a), atol=1e-6)
    np.testing.assert_allclose(grad(orthogonal_part)(np.eye(4)),
                               differences(orthogonal_part, np.eye(4)), atol=1e-6)  # fmt: skip
    nuclear = grad(lambda a: jnp.linalg.norm(a, "nuc"))
    np.testing.assert_allclose(nuclear(np.eye(3)), np.eye(3), atol=1e-12)


def test_gradients_at_singular_points_are_finite():
    zero = jnp.zeros((3, 3))
    assert (grad(jnp.linalg.norm)(zero) == 0).all()
    assert (grad(lambda x: jnp.linalg.norm(x, 3))(zero[0]) == 0).all()
    # The last column of q is decided by the others.
    singular = jnp.array([[1.0, 2.0], [2.0, 4.0]])
    assert np.isfinite(jacfwd(jnp.linalg.qr)(singular)[0]).all()
    assert np.isfinite(jacrev(lambda a: lax_linalg.lu(a)[0])(singular)).all()
    low = np.outer([1.0, 2.0, 3.0], [1.0, 1.0])
    assert np.isfinite(grad(lambda a: jnp.sum(jnp.linalg.pinv(a)))(low)).all()


@pytest.mark.parametrize("name", ["cholesky", "eigh", "svd", "qr", "inv", "det", "pinv"])
def test_complex_derivatives(name):
    """Derivatives along a complex direction, of what does not depend on phases."""

    def f(a):
        if name == "cholesky":
            return jnp.linalg.cholesky(a @ a.conj().T + jnp.eye(3))
        if name == "eigh":
            w, v = jnp.linalg.eigh(a + a.conj().T)
            return (v * jnp.exp(w)) @ v.conj().T
        if name == "svd":
            u, s, vh = jnp.linalg.svd(a)
            return (u * jnp.exp(s)) @ vh
        return jnp.linalg.qr(a)[1] if name == "qr" else getattr(jnp.linalg, name)(a)

    a, t = matrix(3, 3, dtype="complex128"), matrix(3, 3, dtype="complex128", seed=1)
    _, got = jacana.jvp(f, (jnp.asarray(a),), (jnp.asarray(t),))
    step = 1e-5
    want = (np.asarray(f(a + step * t)) - np.asarray(f(a - step * t))) / (2 * step)
    np.testing.assert_allclose(got, want, rtol=1e-6, atol=1e-6)


def test_integers_and_weak_types():
    assert jnp.linalg.det(jnp.array([[1, 2], [3, 4]])).dtype == "float64"
    assert jnp.linalg.norm(jnp.array([3, 4])) == 5
    assert jnp.linalg.matrix_power(jnp.array([[1, 1], [0, 1]]), 3).tolist() == [[1, 3], [0, 1]]
    assert jnp.linalg.matrix_rank(jnp.eye(2)).dtype == "int64"
    assert jnp.trace(jnp.eye(2, dtype=jnp.int8)).dtype == "int64"
    assert jnp.trace(jnp.eye(2, dtype=bool)) == 2

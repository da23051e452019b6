"""Programs of linear algebra and statistics, in float64; checked against NumPy and SciPy."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import grad, jit, lax, random, vmap
from jax.scipy.linalg import cho_solve, solve_triangular

jax.config.update("jax_enable_x64", True)
RNG = np.random.default_rng(0)
A = RNG.normal(size=(12, 12))
SPD = A @ A.T + 12 * np.eye(12)
B = RNG.normal(size=12)


@partial(jit, static_argnames="maxiter")
def conjugate_gradient(matvec_matrix, b, tolerance=1e-10, maxiter=100):
    def matvec(x):
        return matvec_matrix @ x

    def unfinished(state):
        _, r, _, i = state
        return (jnp.vdot(r, r) > tolerance**2) & (i < maxiter)

    def step(state):
        x, r, p, i = state
        q = matvec(p)
        alpha = jnp.vdot(r, r) / jnp.vdot(p, q)
        following = r - alpha * q
        beta = jnp.vdot(following, following) / jnp.vdot(r, r)
        return x + alpha * p, following, following + beta * p, i + 1

    x = jnp.zeros_like(b)
    return lax.while_loop(unfinished, step, (x, b, b, 0))


def program_conjugate_gradient():
    x, _, _, count = conjugate_gradient(SPD, B)
    np.testing.assert_allclose(x, np.linalg.solve(SPD, B), rtol=1e-8)
    assert count <= 30
    xs = vmap(lambda b: conjugate_gradient(SPD, b)[0])(jnp.stack([B, 2 * B, 0 * B]))
    np.testing.assert_allclose(xs, np.stack([x, 2 * x, 0 * x]), atol=1e-8)
    assert conjugate_gradient(SPD, B, maxiter=1)[3] == 1


def program_power_iteration():
    data = RNG.normal(size=(200, 5)) * np.array([3.0, 1.0, 0.5, 0.2, 0.1])
    centred = jnp.asarray(data - data.mean(0))

    @jit
    def component(x):
        covariance = x.T @ x / (x.shape[0] - 1)

        def step(_, v):
            v = covariance @ v
            return v / jnp.linalg.norm(v)

        v = lax.fori_loop(0, 100, step, jnp.ones(5) / jnp.sqrt(5.0))
        return v, v @ covariance @ v

    v, variance = component(centred)
    values, vectors = np.linalg.eigh(np.cov(data.T))
    np.testing.assert_allclose(variance, values[-1], rtol=1e-10)
    np.testing.assert_allclose(np.abs(v), np.abs(vectors[:, -1]), atol=1e-8)
    _, s, vt = jnp.linalg.svd(centred, full_matrices=False)
    np.testing.assert_allclose(s**2 / 199, values[::-1], rtol=1e-10)
    np.testing.assert_allclose(np.abs(vt[0]), np.abs(v), atol=1e-8)


def program_gaussian_process():
    x = np.sort(RNG.uniform(0, 5, 15))
    y = np.sin(x)
    at = np.linspace(0.5, 4.5, 7)

    def kernel(params, a, b):
        return jnp.exp(-0.5 * ((a[:, None] - b[None]) / params["length"]) ** 2)

    def log_likelihood(params):
        k = kernel(params, x, x) + params["noise"] * jnp.eye(15)
        chol = jnp.linalg.cholesky(k)
        alpha = cho_solve((chol, True), y)
        return -0.5 * y @ alpha - jnp.sum(jnp.log(jnp.diag(chol))) - 7.5 * jnp.log(2 * jnp.pi)

    params = {"length": 1.0, "noise": 0.01}
    k = np.exp(-0.5 * (x[:, None] - x) ** 2) + 0.01 * np.eye(15)
    wanted = -0.5 * y @ np.linalg.solve(k, y) - 0.5 * np.linalg.slogdet(2 * np.pi * k)[1]
    np.testing.assert_allclose(jit(log_likelihood)(params), wanted, rtol=1e-10)
    # d/dtheta = 1/2 tr((aa' - K^-1) dK).
    alpha = np.linalg.solve(k, y)
    slope = 0.5 * (alpha @ alpha - np.trace(np.linalg.inv(k)))
    g = jit(grad(log_likelihood))(params)
    np.testing.assert_allclose(g["noise"], slope, rtol=1e-8)
    d_length = (x[:, None] - x) ** 2 * (k - 0.01 * np.eye(15))
    inner = np.outer(alpha, alpha) - np.linalg.inv(k)
    np.testing.assert_allclose(g["length"], 0.5 * np.sum(inner * d_length), rtol=1e-8)
    mean = kernel(params, at, x) @ jnp.linalg.solve(jnp.asarray(k), y)
    np.testing.assert_allclose(mean, np.sin(at), atol=0.1)


def program_batched_solves():
    a = RNG.normal(size=(6, 4, 4)) + 4 * np.eye(4)
    b = RNG.normal(size=(6, 4))
    x = jit(vmap(jnp.linalg.solve))(a, b)
    np.testing.assert_allclose(x, np.linalg.solve(a, b[..., None])[..., 0], rtol=1e-10)
    np.testing.assert_allclose(
        jnp.linalg.inv(a) @ a, np.broadcast_to(np.eye(4), a.shape), atol=1e-12
    )
    lower = np.tril(a)
    t = vmap(lambda m, v: solve_triangular(m, v, lower=True))(lower, b)
    np.testing.assert_allclose(np.einsum("bij,bj->bi", lower, t), b, atol=1e-10)

    def loss(a):
        return jnp.sum(vmap(jnp.linalg.solve)(a, b) ** 2)

    # d/dA sum x^2 = -2 A^-T x x^T.
    wanted = -2 * np.linalg.solve(np.swapaxes(a, 1, 2), x[..., None]) * np.asarray(x)[:, None]
    np.testing.assert_allclose(grad(loss)(a), wanted, rtol=1e-8, atol=1e-10)
    sign, log_det = jnp.linalg.slogdet(a)
    np.testing.assert_allclose(sign * jnp.exp(log_det), np.linalg.det(a), rtol=1e-10)


def program_bfgs():
    """Quasi-Newton in one while_loop with a backtracking line search inside."""

    def rosenbrock(x):
        return jnp.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)

    @jit
    def minimise(x):
        g = grad(rosenbrock)(x)

        def unfinished(s):
            return (jnp.linalg.norm(s["g"]) > 1e-8) & (s["i"] < 200)

        def step(s):
            x, g, h = s["x"], s["g"], s["h"]
            p = -h @ g
            value, slope = rosenbrock(x), jnp.vdot(g, p)
            t = lax.while_loop(
                lambda t: (rosenbrock(x + t * p) > value + 1e-4 * t * slope) & (t > 1e-10),
                lambda t: t * 0.5,
                1.0,
            )
            moved = x + t * p
            g2 = grad(rosenbrock)(moved)
            d, y = moved - x, g2 - g
            rho = 1 / jnp.vdot(d, y)
            left = jnp.eye(x.size) - rho * jnp.outer(d, y)
            h = jnp.where(jnp.vdot(d, y) > 0, left @ h @ left.T + rho * jnp.outer(d, d), h)
            return {"x": moved, "g": g2, "h": h, "i": s["i"] + 1}

        return lax.while_loop(unfinished, step, {"x": x, "g": g, "h": jnp.eye(x.size), "i": 0})

    end = minimise(jnp.array([-1.2, 1.0, 0.5]))
    np.testing.assert_allclose(end["x"], np.ones(3), atol=1e-6)
    assert end["i"] < 100
    many = vmap(minimise)(jnp.array([[-1.2, 1.0, 0.5], [1.0, 1.0, 1.0], [0.0, 0.0, 0.0]]))
    np.testing.assert_allclose(many["x"], np.ones((3, 3)), atol=1e-6)
    assert many["i"][1] == 0
    assert many["i"][0] == end["i"]


def program_newton_system():
    def residual(x):
        return jnp.array([x[0] ** 2 + x[1] ** 2 - 4.0, jnp.exp(x[0]) + x[1] - 1.0])

    @jit
    def solve(x):
        step = lambda _, x: x - jnp.linalg.solve(jax.jacfwd(residual)(x), residual(x))
        return lax.fori_loop(0, 20, step, x)

    x = solve(jnp.array([1.0, -1.7]))
    np.testing.assert_allclose(residual(x), 0, atol=1e-12)
    np.testing.assert_allclose(x, [1.00416873847, -1.72963729329], rtol=1e-8)


def program_ridge_by_lstsq_and_qr():
    x = RNG.normal(size=(30, 4))
    y = RNG.normal(size=30)
    w = np.linalg.lstsq(x, y, rcond=None)[0]
    np.testing.assert_allclose(jnp.linalg.lstsq(x, y)[0], w, rtol=1e-9)
    q, r = jnp.linalg.qr(x)
    np.testing.assert_allclose(solve_triangular(r, q.T @ y), w, rtol=1e-9)
    np.testing.assert_allclose(jnp.linalg.pinv(x) @ y, w, rtol=1e-9)

    def error(w):
        return jnp.sum((x @ w - y) ** 2)

    np.testing.assert_allclose(grad(error)(w), np.zeros(4), atol=1e-11)
    np.testing.assert_allclose(jax.hessian(error)(w), 2 * x.T @ x, rtol=1e-12)


def program_monte_carlo_in_float64():
    x = random.normal(random.key(0), (1000,))
    assert x.dtype == jnp.float64
    np.testing.assert_allclose(jnp.cumsum(x)[-1], np.sum(np.asarray(x)), rtol=1e-12)
    q = jnp.quantile(x, jnp.array([0.1, 0.5, 0.9]))
    np.testing.assert_allclose(q, np.quantile(np.asarray(x), [0.1, 0.5, 0.9]), rtol=1e-12)
    counts, edges = jnp.histogram(x, bins=10)
    np.testing.assert_array_equal(counts, np.histogram(np.asarray(x), bins=10)[0])
    np.testing.assert_allclose(edges, np.histogram(np.asarray(x), bins=10)[1], rtol=1e-12)


if __name__ == "__main__":
    for name, program in list(globals().items()):
        if name.startswith("program_"):
            program()
            print("ok", name)

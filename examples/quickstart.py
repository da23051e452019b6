"""A first look at jacana: arrays, compilation, derivatives and batching, each timed beside NumPy.

Run it with `make quickstart`, or `python examples/quickstart.py`. The timings are the best of a few
runs, in microseconds; the first call of a jitted function, which compiles it, is timed apart.
"""

import time
import timeit
from collections.abc import Callable
from typing import Any

import numpy as np

import jacana.numpy as jnp
from jacana import grad, hessian, jacfwd, jacobian, jacrev, jit, jvp, linearize, random, vjp, vmap

rows: list[tuple[str, float, float | None]] = []


def clock(f: Callable[[], Any], seconds: float = 0.03) -> float:
    """Microseconds of one call: the best of five runs of about `seconds` each."""
    f()
    start = time.perf_counter()
    f()
    number = max(1, int(seconds / max(time.perf_counter() - start, 1e-7)))
    return min(timeit.repeat(f, number=number, repeat=5)) / number * 1e6


def compare(what: str, ours: Callable[[], Any], numpys: Callable[[], Any] | None = None) -> None:
    """Times both, prints the line, and keeps it for the table at the end."""
    rows.append((what, clock(ours), clock(numpys) if numpys else None))
    print(f"    {what}: {describe(*rows[-1][1:])}")


def describe(ours: float, numpys: float | None) -> str:
    text = f"{ours:,.2f} us"
    if numpys is not None:
        text += f", NumPy {numpys:,.2f} us ({numpys / ours:,.2f} times ours)"
    return text


def heading(text: str) -> None:
    print(f"\n--- {text} ---")


# Arrays. jnp has NumPy's functions; float32 is the default.


def selu(x, alpha=1.67, lmbda=1.05):
    return lmbda * jnp.where(x > 0, x, alpha * jnp.exp(x) - alpha)


def selu_in_numpy(x, alpha=1.67, lmbda=1.05):
    return lmbda * np.where(x > 0, x, alpha * np.exp(x) - alpha)


def arrays() -> None:
    heading("arrays: selu, written as in NumPy")
    print("selu(arange(5.0)) =", selu(jnp.arange(5.0)))


def compilation() -> None:
    heading("jit: the whole function is one loop")
    x = random.normal(random.key(1701), (1_000_000,))
    x_np = np.asarray(x)
    numpys = lambda: selu_in_numpy(x_np)
    compare("selu of 1e6, op by op", lambda: selu(x).block_until_ready(), numpys)

    fast = jit(selu)
    start = time.perf_counter()
    fast(x).block_until_ready()
    print(f"    first call, compiles: {(time.perf_counter() - start) * 1e3:.1f} ms")
    compare("selu of 1e6, jit", lambda: fast(x).block_until_ready(), numpys)
    print("same bits with jit and without:", bool((fast(x) == selu(x)).all()))


# Derivatives. grad(f) is a function; transformations nest in any order.


def sum_logistic(x):
    return jnp.sum(1.0 / (1.0 + jnp.exp(-x)))


def sum_logistic_in_numpy(x):
    return np.sum(1.0 / (1.0 + np.exp(-x)))


def numerical_gradient(f, x, eps=1e-6):
    """Central differences: two calls of f for each element."""
    gradient = np.zeros_like(x)
    for i in range(len(x)):
        step = np.zeros_like(x)
        step[i] = eps
        gradient[i] = (f(x + step) - f(x - step)) / (2 * eps)
    return gradient


def numerical_jacobian(f, x, eps=1e-6):
    """Forward differences, a column for each element."""
    jacobian_, fx = np.zeros((len(x), len(x))), f(x)
    for i in range(len(x)):
        stepped = x.copy()
        stepped[i] += eps
        jacobian_[:, i] = (f(stepped) - fx) / eps
    return jacobian_


def gradients() -> None:
    heading("grad: exact, where NumPy takes differences")
    x, x_np = jnp.arange(3.0), np.arange(3.0)
    derivative = grad(sum_logistic)
    compiled = jit(derivative)
    print("grad       =", derivative(x))
    print("difference =", numerical_gradient(sum_logistic_in_numpy, x_np))
    differences = lambda: numerical_gradient(sum_logistic_in_numpy, x_np)
    compare("grad, op by op", lambda: derivative(x), differences)
    compare("grad, jit", lambda: compiled(x), differences)
    print("third derivative at 1.0 =", grad(jit(grad(jit(grad(sum_logistic)))))(1.0))


def jacobians() -> None:
    heading("jacobian and hessian")
    x, x_np = jnp.arange(3.0), np.arange(3.0)
    print("jacobian of exp =", jacobian(jnp.exp)(x), sep="\n")
    compare("jacobian", lambda: jacobian(jnp.exp)(x), lambda: numerical_jacobian(np.exp, x_np))
    own_hessian = lambda f: jit(jacfwd(jacrev(f)))
    print("hessian =", own_hessian(sum_logistic)(x), sep="\n")
    compare("hessian, built at each call", lambda: own_hessian(sum_logistic)(x))
    assert (hessian(sum_logistic)(x) == own_hessian(sum_logistic)(x)).all()


def products() -> None:
    heading("vjp, jvp, linearize: what the others are made of")
    x, ones = jnp.arange(3.0), jnp.ones(3)
    value, pullback = vjp(sum_logistic, x)
    _, tangent = jvp(sum_logistic, (x,), (ones,))
    _, pushforward = linearize(sum_logistic, x)
    print("value =", value)
    print("cotangent =", pullback(jnp.float32(1.0))[0])
    print("tangent =", tangent, "and again, linearized:", pushforward(ones))


# Batching. A function of one vector becomes a function of many.


def batching() -> None:
    heading("vmap: write it for one, run it for many")
    for_matrix, for_vectors = random.split(random.key(1701))
    matrix = random.normal(for_matrix, (150, 100))
    vectors = random.normal(for_vectors, (10, 100))
    matrix_np, vectors_np = np.asarray(matrix), np.asarray(vectors)

    def apply_matrix(x):
        return jnp.dot(matrix, x)

    one_by_one = lambda: jnp.stack([apply_matrix(v) for v in vectors])
    by_hand = jit(lambda vs: jnp.dot(vs, matrix.T))
    by_vmap = jit(vmap(apply_matrix))
    np.testing.assert_allclose(one_by_one(), by_hand(vectors), rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(one_by_one(), by_vmap(vectors), rtol=1e-4, atol=1e-4)

    stacked_np = lambda: np.stack([matrix_np @ v for v in vectors_np])
    product_np = lambda: vectors_np @ matrix_np.T
    compare("one by one", lambda: one_by_one().block_until_ready(), stacked_np)
    compare("batched by hand", lambda: by_hand(vectors).block_until_ready(), product_np)
    compare("batched by vmap", lambda: by_vmap(vectors).block_until_ready(), product_np)


def main() -> None:
    for part in (arrays, compilation, gradients, jacobians, products, batching):
        part()
    heading("all timings, in microseconds")
    print(f"{'':30}{'jacana':>12}{'NumPy':>12}")
    for what, ours, numpys in rows:
        print(f"{what:30}{ours:12,.2f}" + (f"{numpys:12,.2f}" if numpys is not None else ""))


if __name__ == "__main__":
    main()

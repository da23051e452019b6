"""The quick start's table: the programs of examples/quickstart.py, and the same work in NumPy."""

from collections.abc import Callable
from typing import Any

import numpy as np

Programs = dict[str, Callable[[], object]]

SELU_EAGER, SELU_JIT = "selu 1e6, op by op", "selu 1e6, jit"
GRAD_EAGER, GRAD_JIT = "grad, op by op", "grad, jit"
JACOBIAN, HESSIAN = "jacobian, op by op", "hessian, rebuilt at each call"
NAIVE, MANUAL, VMAP = "naively batched", "manually batched", "vmap batched"


def matrices() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(1701)
    return rng.normal(size=(150, 100)).astype("f4"), rng.normal(size=(10, 100)).astype("f4")


def programs(jax: Any, jnp: Any) -> Programs:
    """The callables, for an implementation of JAX's API; each waits for its result."""

    def selu(x, alpha=1.67, lmbda=1.05):
        return lmbda * jnp.where(x > 0, x, alpha * jnp.exp(x) - alpha)

    def sum_logistic(x):
        return jnp.sum(1.0 / (1.0 + jnp.exp(-x)))

    def done(f, *args):
        return lambda: f(*args).block_until_ready()

    big = jax.random.normal(jax.random.key(1701), (1_000_000,))
    small = jnp.arange(3.0)
    matrix, vectors = (jnp.asarray(a) for a in matrices())
    apply_matrix = lambda x: jnp.dot(matrix, x)
    hessian = lambda f: jax.jit(jax.jacfwd(jax.jacrev(f)))
    return {
        SELU_EAGER: done(selu, big),
        SELU_JIT: done(jax.jit(selu), big),
        GRAD_EAGER: done(jax.grad(sum_logistic), small),
        GRAD_JIT: done(jax.jit(jax.grad(sum_logistic)), small),
        JACOBIAN: done(lambda x: jax.jacobian(jnp.exp)(x), small),
        HESSIAN: done(lambda x: hessian(sum_logistic)(x), small),
        NAIVE: done(lambda vs: jnp.stack([apply_matrix(v) for v in vs]), vectors),
        MANUAL: done(jax.jit(lambda vs: jnp.dot(vs, matrix.T)), vectors),
        VMAP: done(jax.jit(jax.vmap(apply_matrix)), vectors),
    }


def in_numpy() -> Programs:
    """The same work in NumPy; derivatives are differences."""
    big = np.random.default_rng(1701).normal(size=1_000_000).astype("f4")
    small = np.arange(3.0)
    matrix, vectors = matrices()

    def selu(x, alpha=1.67, lmbda=1.05):
        return lmbda * np.where(x > 0, x, alpha * np.exp(x) - alpha)

    def sum_logistic(x):
        return np.sum(1.0 / (1.0 + np.exp(-x)))

    def gradient(f, x, eps=1e-6):
        result = np.zeros_like(x)
        for i in range(len(x)):
            plus, minus = x.copy(), x.copy()
            plus[i] += eps
            minus[i] -= eps
            result[i] = (f(plus) - f(minus)) / (2 * eps)
        return result

    def jacobian(f, x, eps=1e-6):
        result, fx = np.zeros((len(x), len(x))), f(x)
        for i in range(len(x)):
            stepped = x.copy()
            stepped[i] += eps
            result[:, i] = (f(stepped) - fx) / eps
        return result

    return {
        SELU_EAGER: lambda: selu(big),
        SELU_JIT: lambda: selu(big),
        GRAD_EAGER: lambda: gradient(sum_logistic, small),
        GRAD_JIT: lambda: gradient(sum_logistic, small),
        JACOBIAN: lambda: jacobian(np.exp, small),
        HESSIAN: lambda: jacobian(lambda x: gradient(sum_logistic, x, 1e-4), small, 1e-4),
        NAIVE: lambda: np.stack([matrix @ v for v in vectors]),
        MANUAL: lambda: vectors @ matrix.T,
        VMAP: lambda: vectors @ matrix.T,
    }

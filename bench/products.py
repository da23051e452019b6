"""Products, linear algebra and Fourier transforms, jitted; NumPy calls the same libraries."""

from functools import partial
from typing import Any

import numpy as np
from arrays import Programs, jitted


def table() -> dict[str, Any]:
    rng = np.random.default_rng(2)
    rows: dict[str, Any] = {}
    for n in (32, 128, 512, 1024):
        a = rng.normal(size=(n, n)).astype("f4")
        rows[f"matmul {n}"] = (lambda xp, a: a @ a, (a,))
    rows |= {
        "A.T @ A 512": (lambda xp, a: a.T @ a, (rng.normal(size=(512, 512)).astype("f4"),)),
        "matrix, vector 1024": (lambda xp, a, v: a @ v, (a, a[0].copy())),
        "vector, matrix 1024": (lambda xp, a, v: v @ a, (a, a[0].copy())),
        "1000 products 8 x 8": (lambda xp, b: b @ b, (rng.normal(size=(1000, 8, 8)).astype("f4"),)),
    }
    general = rng.normal(size=(256, 256)).astype("f4") + 16 * np.eye(256, dtype="f4")
    small = rng.normal(size=(1000, 4, 4)).astype("f4") + 4 * np.eye(4, dtype="f4")
    right = rng.normal(size=(1000, 4, 1)).astype("f4")
    rows |= {
        "solve 256": (lambda xp, a: xp.linalg.solve(a, a[0]), (general,)),
        "cholesky 256": (lambda xp, a: xp.linalg.cholesky(a), (general @ general.T,)),
        "inv 256": (lambda xp, a: xp.linalg.inv(a), (general,)),
        "svd 128": (lambda xp, a: xp.linalg.svd(a)[1], (general[:128, :128],)),
        "1000 solves 4 x 4": (lambda xp, a, b: xp.linalg.solve(a, b), (small, right)),
        "1000 determinants 4 x 4": (lambda xp, a: xp.linalg.det(a), (small,)),
        "fft 2 ** 18": (lambda xp, a: xp.fft.fft(a), (rng.normal(size=1 << 18).astype("f4"),)),
        "rfft2 512": (lambda xp, a: xp.fft.rfft2(a), (rng.normal(size=(512, 512)).astype("f4"),)),
    }
    return rows


def programs(jax: Any, jnp: Any) -> Programs:
    rows = jitted(jax, jnp, table())
    rng = np.random.default_rng(3)
    images = jnp.asarray(rng.normal(size=(8, 16, 64, 64)).astype("f4"))
    weights = jnp.asarray(rng.normal(size=(32, 16, 3, 3)).astype("f4"))
    convolve = lambda x, w: jax.lax.conv(x, w, (1, 1), "SAME")
    gradient = jax.grad(lambda x, w: convolve(x, w).sum(), argnums=(0, 1))
    for name, function in (("convolution", convolve), ("its gradients", gradient)):
        compiled = jax.jit(function)
        rows[name] = lambda f=compiled: jax.block_until_ready(f(images, weights))
    return rows


def in_numpy() -> Programs:
    return {name: partial(function, np, *arrays) for name, (function, arrays) in table().items()}

"""Small calls, where what is around the arithmetic decides: jitted and one by one."""

from typing import Any

import numpy as np
from arrays import Programs


def programs(jax: Any, jnp: Any) -> Programs:
    x, y = jnp.arange(3.0), jnp.ones(3)
    matrix = jnp.ones((4, 4))
    leaves = {f"p{i}": jnp.ones(3) for i in range(100)}
    plain = np.ones(3, np.float32)
    add = jax.jit(lambda a, b: a + b)
    double = jax.jit(lambda t: jax.tree.map(lambda a: a * 2, t))
    index = jnp.array([2, 0])
    return {
        "jitted, two arrays": lambda: add(x, y),
        "jitted, 100 leaves": lambda: double(leaves),
        "jitted, arrays of NumPy": lambda: add(plain, plain),
        "x + y": lambda: x + y,
        "exp": lambda: jnp.exp(x),
        "sum": lambda: x.sum(),
        "x[1]": lambda: x[1],
        "x[index]": lambda: x[index],
        "x.at[1].set(2)": lambda: x.at[1].set(2.0),
        "4 x 4 product": lambda: matrix @ matrix,
        "stack of ten": lambda: jnp.stack([x] * 10),
        "zeros": lambda: jnp.zeros(3),
        "asarray": lambda: jnp.asarray(plain),
        "to NumPy": lambda: np.asarray(x),
        "to a float": lambda: float(x[1]),
    }


def in_numpy() -> Programs:
    x, y = np.arange(3.0, dtype="f4"), np.ones(3, "f4")
    matrix, index = np.ones((4, 4), "f4"), np.array([2, 0])

    def changed() -> np.ndarray:
        copy = x.copy()
        copy[1] = 2.0
        return copy

    return {
        "x + y": lambda: x + y,
        "exp": lambda: np.exp(x),
        "sum": lambda: x.sum(),
        "x[1]": lambda: x[1],
        "x[index]": lambda: x[index],
        "x.at[1].set(2)": changed,
        "4 x 4 product": lambda: matrix @ matrix,
        "stack of ten": lambda: np.stack([x] * 10),
        "zeros": lambda: np.zeros(3, "f4"),
        "to a float": lambda: float(x[1]),
    }

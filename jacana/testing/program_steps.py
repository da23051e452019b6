"""The steps that random programs are made of: each gives a text and its operands, or None."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jacana.core import dtypes
from jacana.core.avals import ShapedArray

KINDS: tuple[str, ...] = ("float32", "float32", "float32", "int32", "bool", "float16", "uint8",
                          "complex64", "bfloat16", "int8")  # fmt: skip
Choice = tuple[str, list[int]] | None
Chooser = Callable[["Pool"], Choice]


def random_shape(rng: np.random.Generator, scale: int = 1) -> tuple[int, ...]:
    extents = [0, 1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 33]
    weights = np.array([0.2, 1, 2, 3, 3, 2, 1, 1, 1, 1, 1, 0.5])
    rank = int(rng.choice(4, p=[0.15, 0.3, 0.4, 0.15]))
    shape = [int(rng.choice(extents, p=weights / weights.sum())) for _ in range(rank)]
    if scale > 1 and shape:
        shape[int(rng.integers(rank))] *= scale
    return tuple(shape)


class Pool:
    """The values made so far; picks operands and numbers."""

    def __init__(self, avals: Sequence[ShapedArray], rng: np.random.Generator):
        self.avals, self.rng = list(avals), rng

    def pick(self, accept: Callable[[ShapedArray], bool] = lambda a: True) -> int | None:
        """A value that is accepted, late ones more often."""
        found = [i for i, a in enumerate(self.avals) if accept(a)]
        if not found:
            return None
        weights = np.arange(1.0, len(found) + 1)
        return int(self.rng.choice(found, p=weights / weights.sum()))

    def chance(self, probability: float) -> bool:
        return bool(self.rng.random() < probability)

    def below(self, n: int) -> int:
        return int(self.rng.integers(n))

    def one_of(self, options: Sequence[Any]) -> Any:
        return options[self.below(len(options))]


def is_float(a: ShapedArray) -> bool:
    return dtypes.is_float(a.dtype)


def is_real(a: ShapedArray) -> bool:
    return is_float(a) or is_integer(a)


def is_integer(a: ShapedArray) -> bool:
    return dtypes.is_integer(a.dtype)


def is_number(a: ShapedArray) -> bool:
    return not dtypes.is_bool(a.dtype)


def is_bits(a: ShapedArray) -> bool:
    return is_integer(a) or dtypes.is_bool(a.dtype)


def unary(accept: Callable[[ShapedArray], bool], *texts: str) -> Chooser:
    def choose(pool: Pool) -> Choice:
        a = pool.pick(accept)
        return None if a is None else (pool.one_of(texts), [a])

    return choose


def binary(accept: Callable[[ShapedArray], bool], *texts: str) -> Chooser:
    def choose(pool: Pool) -> Choice:
        a = pool.pick(accept)
        if a is None:
            return None
        shape = pool.avals[a].shape
        b = pool.pick(lambda x: accept(x) and can_broadcast(x.shape, shape))
        assert b is not None
        return pool.one_of(texts), [a, b]

    return choose


def can_broadcast(a: Sequence[int], b: Sequence[int]) -> bool:
    n = min(len(a), len(b))
    return all(x == y or 1 in (x, y) for x, y in zip(a[len(a) - n :], b[len(b) - n :]))


def choose_where(pool: Pool) -> Choice:
    cond = pool.pick(lambda a: dtypes.is_bool(a.dtype))
    if cond is None:
        return None
    shape = pool.avals[cond].shape
    a = pool.pick(lambda x: can_broadcast(x.shape, shape))
    joint = np.broadcast_shapes(shape, pool.avals[a].shape) if a is not None else ()
    b = pool.pick(lambda x: can_broadcast(x.shape, joint))
    if a is None or b is None:
        return None
    if pool.chance(0.3):
        return "jnp.where({0}, {1}, 0)", [cond, a]
    return "jnp.where({0}, {1}, {2})", [cond, a, b]


# --- along axes -----------------------------------------------------------------------------------


def reduction(accept: Callable[[ShapedArray], bool], *names: str, empty: bool = True) -> Chooser:
    """A reduction over some axes."""

    def choose(pool: Pool) -> Choice:
        a = pool.pick(lambda x: accept(x) and (empty or x.size > 0))
        if a is None:
            return None
        rank = pool.avals[a].ndim
        axes = tuple(i for i in range(rank) if pool.chance(0.5))
        axis = pool.one_of([None, axes, -1 if rank else None])
        keep = ", keepdims=True" if pool.chance(0.3) else ""
        return f"jnp.{pool.one_of(names)}({{0}}, axis={axis}{keep})", [a]

    return choose


def along_axis(accept: Callable[[ShapedArray], bool], *texts: str) -> Chooser:
    """A text with AXIS in it, for one axis that has elements."""

    def choose(pool: Pool) -> Choice:
        a = pool.pick(lambda x: accept(x) and x.ndim > 0 and x.size > 0)
        if a is None:
            return None
        axis = pool.below(pool.avals[a].ndim)
        return pool.one_of(texts).replace("AXIS", str(axis)), [a]

    return choose


# --- shapes ---------------------------------------------------------------------------------------


def choose_reshape(pool: Pool) -> Choice:
    a = pool.pick(lambda x: x.size > 0)
    if a is None:
        return None
    size, shape = pool.avals[a].size, list[int]()
    while size > 1 and len(shape) < 3:
        factors = [d for d in range(1, size + 1) if size % d == 0]
        shape.append(pool.one_of(factors))
        size //= shape[-1]
    shape.append(size)
    return f"jnp.reshape({{0}}, {tuple(shape)})", [a]


def choose_transpose(pool: Pool) -> Choice:
    a = pool.pick(lambda x: x.ndim > 1)
    if a is None:
        return None
    order = tuple(int(i) for i in pool.rng.permutation(pool.avals[a].ndim))
    return f"jnp.transpose({{0}}, {order})", [a]


def choose_broadcast(pool: Pool) -> Choice:
    a = pool.pick(lambda x: x.ndim < 4)
    if a is None:
        return None
    shape = tuple(pool.one_of([2, 3, 5]) if n == 1 else n for n in pool.avals[a].shape)
    return f"jnp.broadcast_to({{0}}, {(pool.one_of([1, 2, 4]), *shape)})", [a]


def choose_join(pool: Pool) -> Choice:
    a = pool.pick(lambda x: x.ndim > 0)
    if a is None:
        return None
    shape, axis = pool.avals[a].shape, pool.below(pool.avals[a].ndim)
    rest = shape[:axis] + shape[axis + 1 :]
    parts = [a]
    for _ in range(1 + pool.below(2)):
        b = pool.pick(
            lambda x: x.ndim == len(shape) and x.shape[:axis] + x.shape[axis + 1 :] == rest
        )
        assert b is not None
        parts.append(b)
    if all(pool.avals[p].shape == shape for p in parts) and pool.chance(0.4):
        return f"jnp.stack([{places(len(parts))}], axis={axis})", parts
    return f"jnp.concatenate([{places(len(parts))}], axis={axis})", parts


def places(count: int) -> str:
    return ", ".join(f"{{{i}}}" for i in range(count))


def choose_pad(pool: Pool) -> Choice:
    a = pool.pick(lambda x: x.ndim > 0 and is_number(x))
    if a is None:
        return None
    config = []
    for n in pool.avals[a].shape:
        inside = pool.one_of([0, 0, 1])
        extent = n + max(n - 1, 0) * inside
        low = pool.one_of([0, 1, 2, -1])
        high = pool.one_of([0, 0, 1, -1])
        config.append((low, high, inside) if extent + low + high >= 0 and n > 1 else (0, 1, 0))
    dtype = dtypes.name(pool.avals[a].dtype)
    return f"lax.pad({{0}}, jnp.{dtype}(0), {config})", [a]


def choose_slice(pool: Pool) -> Choice:
    a = pool.pick(lambda x: x.ndim > 0)
    if a is None:
        return None
    parts = []
    for n in pool.avals[a].shape:
        options = [":", "::-1", "1:", ":-1", "::2", "None, :", "-2:"]
        if n > 0:
            options += [str(pool.below(n)), str(-1 - pool.below(n))]
        if n > 2:
            options += ["1:-1", "-1:0:-2"]
        parts.append(pool.one_of(options))
    return f"{{0}}[{', '.join(parts)}]", [a]


# --- indexing -------------------------------------------------------------------------------------


def choose_gather(pool: Pool) -> Choice:
    a = pool.pick(lambda x: x.ndim > 0 and x.size > 0)
    i = pool.pick(lambda x: is_integer(x) and x.ndim < 3)
    if a is None or i is None:
        return None
    axis = pool.below(pool.avals[a].ndim)
    colons = ":, " * axis
    mode = pool.one_of(["clip", "wrap", "fill"])
    # The gradient at an index out of bounds is JAX's, zero, though the value is the nearest one.
    inside = f"{{0}}[{colons}{{1}} % {min(pool.avals[a].shape[axis], 127)}]"
    texts = [
        inside,
        f"lax.stop_gradient({{0}})[{colons}{{1}}]",
        f"jnp.take({{0}}, {{1}}, axis={axis}, mode='{mode}')",
    ]
    return pool.one_of(texts), [a, i]


def choose_update(pool: Pool) -> Choice:
    a = pool.pick(lambda x: x.ndim > 0 and x.size > 0 and not dtypes.is_bool(x.dtype))
    if a is None:
        return None
    op = pool.one_of(["set", "add", "multiply", "max", "min"])
    aval = pool.avals[a]
    if op in ("max", "min") and dtypes.is_complex(aval.dtype):
        return None
    n = aval.shape[0]
    i = pool.pick(lambda x: is_integer(x) and x.ndim < 2)
    options = [f"{pool.below(n)}", f"{pool.below(n)}:", "::2", "::-1"]
    if i is not None and op != "set":
        options.append("{1}")
    where = pool.one_of(options)
    operands = [a] if i is None else [a, i]
    if where != "{1}":
        operands = [a]
    row = pool.pick(lambda x: x.shape == aval.shape[1:] and x.dtype == aval.dtype)
    value = "2" if row is None else f"{{{len(operands)}}}"
    return f"{{0}}.at[{where}].{op}({value})", [*operands, *([] if row is None else [row])]


def choose_dynamic(pool: Pool) -> Choice:
    a = pool.pick(lambda x: x.ndim > 0 and x.size > 0)
    i = pool.pick(lambda x: is_integer(x) and x.ndim == 0)
    if a is None or i is None:
        return None
    shape = pool.avals[a].shape
    sizes = [1 + pool.below(n) for n in shape]
    at = [pool.one_of(["{1}", "0", "1"]) for _ in shape]
    start = f"({', '.join(at)},)"
    if pool.chance(0.5):
        return f"lax.dynamic_slice({{0}}, {start}, {sizes})", [a, i]
    cut = ", ".join(f":{n}" for n in sizes)
    return f"lax.dynamic_update_slice({{0}}, jnp.flip({{0}}[{cut}]), {start})", [a, i]


# --- products and control flow --------------------------------------------------------------------


def choose_product(pool: Pool) -> Choice:
    a = pool.pick(lambda x: is_number(x) and x.ndim in (1, 2))
    if a is None:
        return None
    n = pool.avals[a].shape[-1]
    b = pool.pick(lambda x: is_number(x) and x.ndim in (1, 2) and x.shape[0] == n)
    if b is None:
        return pool.one_of(["{0} @ {0}.T", "jnp.dot({0}.T, {0})"]), [a]
    return "{0} @ {1}", [a, b]


def is_small_float(a: ShapedArray) -> bool:
    return is_float(a) and a.size <= 600


LOOPS = (
    "lax.fori_loop(0, 3, lambda i, c: c * jnp.asarray(0.5, c.dtype) + {0}, {0})",
    "lax.fori_loop(0, jnp.int32(2), lambda i, c: jnp.sin(c), {0})",
    "lax.while_loop(lambda c: c[0] < 4, lambda c: (c[0] + 1, c[1] - c[1] / 4), (0, {0}))[1]",
    "lax.cond(jnp.sum({0}) > 0, lambda y: y * 2, lambda y: jnp.cos(y), {0})",
    "lax.cond(jnp.max({0}, initial=0) > 1, lambda: {0} + 1, lambda: {0})",
    "lax.switch(jnp.sum({0} > 0), [lambda y: y, lambda y: -y, lambda y: y * y], {0})",
    "jax.jit(lambda y: (jnp.tanh(y) * y, y + 1))({0})[0]",
)
SCANS = (
    "lax.scan(lambda c, v: (c * v, c + v), {0}[0], {0})[1]",
    "lax.scan(lambda c, v: (jnp.sin(c) + v, ()), {0}[-1], {0}, reverse=True)[0]",
    "lax.scan(lambda c, v: ((c[1], c[0] + v), c[0]), ({0}[0], {0}[0] * 2), {0})[1]",
    "lax.map(lambda v: jnp.cumsum(jnp.ravel(v)), {0})",
    "jax.vmap(lambda v: v - jnp.mean(v))({0})",
    "jax.vmap(lambda v: lax.cond(jnp.sum(v) > 0, jnp.sin, lambda v: v * v, v))({0})",
    "jax.vmap(lambda v: lax.switch(jnp.sum(v > 0), [jnp.cos, lambda v: v / 2], v))({0})",
    "jax.vmap(lambda v: lax.while_loop(lambda c: (c[0] < 4) & (jnp.sum(c[1]) > c[0]),"
    " lambda c: (c[0] + 1, c[1] / 3), (0, v))[1])({0})",
)


FAMILIES: dict[str, list[Chooser]] = {
    "elementwise": [
        unary(is_float, "jnp.sin({0})", "jnp.tanh({0})", "jnp.exp(-{0} * {0})", "jnp.cos({0})",
              "jnp.log1p(jnp.abs({0}))", "jax.nn.sigmoid({0})", "jnp.sqrt(jnp.abs({0}) + 1)"),
        unary(is_float, "jnp.floor({0})", "jnp.round({0})", "jnp.isnan({0})", "jnp.arctan({0})",
              "jnp.nan_to_num({0})", "jax.nn.relu({0})", "1 / {0}", "jnp.expm1({0})"),
        unary(is_number, "-{0}", "jnp.abs({0})", "jnp.square({0})", "{0} + 1", "{0} * 2",
              "jnp.sign({0})", "{0} ** 3", "{0} - {0}"),
        unary(is_bits, "~{0}", "{0} ^ True"),
        unary(is_integer, "{0} // 3", "{0} % 4", "{0} >> 1", "{0} << 2", "{0} / 4",
              "lax.population_count({0})"),
        binary(is_number, "{0} + {1}", "{0} - {1}", "{0} * {1}"),
        binary(is_number, "{0} + {1}", "{0} * {1}", "{0} == {1}"),
        binary(is_real, "jnp.maximum({0}, {1})", "jnp.minimum({0}, {1})", "{0} < {1}",
               "{0} >= {1}", "{0} / {1}", "{0} // {1}", "{0} % {1}", "jnp.clip({0}, 1, {1})"),
        binary(is_float, "jnp.arctan2({0}, {1})", "jnp.hypot({0}, {1})", "{0} / ({1} ** 2 + 1)",
               "jnp.logaddexp({0}, {1})", "jnp.copysign({0}, {1})"),
        binary(is_bits, "{0} & {1}", "{0} | {1}", "{0} ^ {1}"),
        choose_where,
    ],
    "convert": [
        unary(lambda a: not dtypes.is_complex(a.dtype), "{0}.astype(jnp.float32)",
              "{0}.astype(jnp.float16)", "{0}.astype(jnp.bool_)", "{0}.astype(jnp.bfloat16)"),
        unary(is_bits, "{0}.astype(jnp.int32)", "{0}.astype(jnp.uint8)", "{0}.astype(jnp.int8)"),
        unary(lambda a: dtypes.is_complex(a.dtype), "{0}.real", "{0}.imag", "jnp.conj({0})",
              "jnp.abs({0})", "jnp.exp({0})"),
    ],
    "reduction": [
        reduction(is_number, "sum", "prod", "mean"),
        reduction(is_number, "sum", "mean", "var", "count_nonzero"),
        reduction(is_real, "max", "min", empty=False),
        reduction(is_float, "nansum", "ptp", "max", empty=False),
        reduction(lambda a: True, "any", "all"),
        along_axis(is_real, "jnp.argmax({0}, AXIS)", "jnp.argmin({0}, AXIS)"),
        along_axis(is_float, "jax.nn.softmax({0}, AXIS)", "jax.nn.logsumexp({0}, AXIS)",
                   "jnp.linalg.norm({0}, axis=AXIS)", "jnp.median({0}, AXIS)"),
    ],
    "scan": [
        along_axis(is_number, "jnp.cumsum({0}, AXIS)", "jnp.cumprod({0}, AXIS)",
                   "lax.cumsum({0}, AXIS, reverse=True)", "jnp.diff({0}, axis=AXIS)"),
        along_axis(is_real, "lax.cummax({0}, AXIS)", "lax.cummin({0}, AXIS, reverse=True)",
                   "jnp.sort({0}, AXIS)", "jnp.argsort({0}, AXIS)", "-jnp.sort(-{0}, AXIS)"),
    ],
    "shape": [
        choose_reshape, choose_transpose, choose_broadcast, choose_join, choose_pad, choose_slice,
        along_axis(lambda a: True, "jnp.flip({0}, AXIS)", "jnp.roll({0}, 1, AXIS)",
                   "jnp.repeat({0}, 2, AXIS)", "jnp.moveaxis({0}, AXIS, 0)",
                   "jnp.expand_dims({0}, AXIS)"),
        unary(lambda a: True, "jnp.squeeze({0})", "jnp.ravel({0})", "{0}.T", "jnp.tile({0}, 2)"),
    ],
    "indexing": [choose_gather, choose_update, choose_dynamic, choose_slice],
    "product": [choose_product],
    "control": [
        unary(is_small_float, *LOOPS),
        along_axis(is_small_float, *SCANS),
    ],
}  # fmt: skip

"""shard_map: blocks of arrays, collectives between them, and what derivatives do."""

import numpy as np
import pytest

import jacana as jax
import jacana.numpy as jnp
from jacana import lax
from jacana.experimental.shard_map import shard_map as experimental_shard_map
from jacana.sharding import AbstractMesh, AxisType, NamedSharding, PartitionSpec as P

RING = [(i, (i + 1) % 4) for i in range(4)]


@pytest.fixture
def mesh(eight_devices):
    return jax.make_mesh((4, 2), ("x", "y"), (AxisType.Auto,) * 2)


@pytest.fixture
def mapped(mesh):
    def make(f, in_specs, out_specs, **options):
        return jax.shard_map(f, mesh=mesh, in_specs=in_specs, out_specs=out_specs, **options)

    return make


def array(*shape):
    return np.sin(np.arange(np.prod(shape)).reshape(shape) * 1.3).astype(np.float32)


# Body, specs, and what the whole gives, of x of shape (8, 4) in rows of blocks x[0:2], x[2:4], ...
COLLECTIVES = {
    "psum": (lambda a: lax.psum(a, "x"), P("x"), P(), lambda x: x.reshape(4, 2, 4).sum(0)),
    "psum of both": (
        lambda a: lax.psum(a, ("x", "y")), P("x", "y"), P(),
        lambda x: x.reshape(4, 2, 2, 2).sum((0, 2)),
    ),
    "psum of what is equal": (lambda a: lax.psum(a, "x"), P(), P(), lambda x: 4 * x),
    "pmean": (lambda a: lax.pmean(a, "x"), P("x"), P(), lambda x: x.reshape(4, 2, 4).mean(0)),
    "pmax": (lambda a: lax.pmax(a, "x"), P("x"), P(), lambda x: x.reshape(4, 2, 4).max(0)),
    "pmin": (lambda a: lax.pmin(a, "x"), P("x"), P(), lambda x: x.reshape(4, 2, 4).min(0)),
    "all_gather": (
        lambda a: lax.all_gather(a, "x"), P("x"), P(None, "x"),
        lambda x: np.tile(x.reshape(4, 2, 4), (1, 4, 1)),
    ),
    "all_gather tiled": (
        lambda a: lax.all_gather(a, "x", tiled=True, axis=1), P("x"), P("x"),
        lambda x: np.tile(x.reshape(4, 2, 4).transpose(1, 0, 2).reshape(2, 16), (4, 1)),
    ),
    "all_gather of one value": (
        lambda a: lax.all_gather(a, "x", tiled=True, to="invarying"), P("x"), P(), lambda x: x,
    ),
    "psum_scatter": (
        lambda a: lax.psum_scatter(a, "x", tiled=True), P(), P("x"), lambda x: 4 * x
    ),
    "ppermute": (
        lambda a: lax.ppermute(a, "x", RING), P("x"), P("x"), lambda x: np.roll(x, 2, 0)
    ),
    "pshuffle": (
        lambda a: lax.pshuffle(a, "x", [2, 0, 3, 1]), P("x"), P("x"),
        lambda x: x.reshape(4, 2, 4)[[2, 0, 3, 1]].reshape(8, 4),
    ),
    "all_to_all": (
        lambda a: lax.all_to_all(a, "x", 1, 0, tiled=True), P("x"), P(None, "x"), lambda x: x
    ),
    "axis_index": (
        lambda a: a * 0 + lax.axis_index(("x", "y")), P("x", "y"), P("x", "y"),
        lambda x: np.kron(np.arange(8.0).reshape(4, 2), np.ones((2, 2))),
    ),
    "axis_size": (lambda a: a * lax.axis_size("x"), P("x"), P("x"), lambda x: 4 * x),
    "in a loop": (
        lambda a: lax.fori_loop(0, 4, lambda i, c: lax.ppermute(c, "x", RING) * 2, a),
        P("x"), P("x"), lambda x: 16 * x,
    ),
    "in a branch": (
        lambda a: lax.cond(lax.axis_index("x") > 1, lambda b: -b, lambda b: b, a),
        P("x"), P("x"), lambda x: np.concatenate([x[:4], -x[4:]]),
    ),
    "axes in another order": (
        lambda a: a, P(("y", "x")), P(("x", "y")),
        lambda x: x.reshape(2, 4, 4).transpose(1, 0, 2).reshape(8, 4),
    ),
}  # fmt: skip


@pytest.mark.parametrize("checked", [True, False])
@pytest.mark.parametrize("name", COLLECTIVES)
def test_collectives(mapped, name, checked):
    body, in_specs, out_specs, meaning = COLLECTIVES[name]
    f = mapped(body, in_specs, out_specs, check_vma=checked)
    x = array(8, 4)
    found = f(x)
    np.testing.assert_allclose(found, meaning(x), rtol=1e-6, atol=1e-6)
    assert found.sharding.spec == out_specs
    jitted = jax.jit(f)(x)
    np.testing.assert_array_equal(jitted, found)
    assert jitted.sharding.is_equivalent_to(found.sharding, found.ndim)
    batch = np.stack([x, 2 * x + 1])
    np.testing.assert_array_equal(jax.vmap(f)(batch), np.stack([f(b) for b in batch]))
    _, stacked = jax.jit(lambda b: lax.scan(lambda c, a: (c, f(a)), 0.0, b))(batch)
    np.testing.assert_array_equal(stacked, jax.vmap(f)(batch))


@pytest.mark.parametrize("checked", [True, False])
@pytest.mark.parametrize(
    "name", [n for n in COLLECTIVES if n not in ("pmax", "pmin", "axis_index")]
)
def test_derivatives_from_outside(mapped, name, checked):
    body, in_specs, out_specs, _ = COLLECTIVES[name]
    f = mapped(lambda a: body(jnp.sin(a)), in_specs, out_specs, check_vma=checked)
    x, t = array(8, 4), array(4, 8).T

    def loss(a):
        return jnp.sum(f(a) ** 2)

    with jax.enable_x64():
        x, t = x.astype(np.float64), t.astype(np.float64)
        slope = jax.jvp(loss, (x,), (t,))[1]
        step = 1e-6
        difference = (loss(x + step * t) - loss(x - step * t)) / (2 * step)
        np.testing.assert_allclose(slope, difference, rtol=1e-7)
        np.testing.assert_allclose(jnp.vdot(jax.grad(loss)(x), t), slope, rtol=1e-12)
        np.testing.assert_array_equal(jax.jit(jax.grad(loss))(x), jax.grad(loss)(x))
        # To second order.
        bend = jax.jvp(jax.grad(loss), (x,), (t,))[1]
        bent = (jax.grad(loss)(x + step * t) - jax.grad(loss)(x - step * t)) / (2 * step)
        np.testing.assert_allclose(bend, bent, rtol=1e-6, atol=1e-8)


# Losses of weights, the same in all blocks, and of a block; each block has one of its own.
LOSSES = {
    "of a block": lambda w, a: jnp.sum(jnp.sin(a @ w)),
    "and of the weights": lambda w, a: (w**2).sum() + jnp.sum(a @ w),
    "jitted": lambda w, a: jax.jit(lambda v: jnp.sum(jnp.sin(a @ v)))(w),
    "of the number": lambda w, a: w.sum() * (1.0 + lax.axis_index("x")),
    "plus the number": lambda w, a: w.sum() + lax.axis_index("x"),
    "in a loop": lambda w, a: lax.scan(lambda c, r: (c + jnp.sin(r * w), None), a[0], a)[0].sum(),
    "in a branch": lambda w, a: lax.cond(
        lax.axis_index("x") > 1, lambda: (w**2).sum(), lambda: (w * 3).sum()
    ),
    "computed again": lambda w, a: jax.checkpoint(lambda v: jnp.sum(jnp.sin(jnp.sin(a @ v))))(w),
    "with a custom rule": lambda w, a: jax.nn.relu(a @ w).sum() + jax.nn.silu(a @ w).sum(),
    "batched": lambda w, a: jax.vmap(lambda r: jnp.sin(r @ w))(a).sum(),
}


@pytest.mark.parametrize("name", LOSSES)
def test_gradients_inside_are_summed_where_types_say_so(mapped, name):
    loss = LOSSES[name]
    w, x = array(4) + 0.1, array(8, 4)

    def total(w):
        f = mapped(lambda v, a: loss(v, a).reshape(1), (P(), P("x")), P("x"), check_vma=False)
        return f(w, x).sum()

    expected = jax.grad(total)(w)
    inside = mapped(jax.grad(loss), (P(), P("x")), P())
    np.testing.assert_allclose(inside(w, x), expected, rtol=1e-5)
    np.testing.assert_array_equal(jax.jit(inside)(w, x), inside(w, x))
    # And to second order: the gradient of that gradient's length.
    length = jax.grad(lambda v: (inside(v, x) ** 2).sum())(w)
    wanted = jax.grad(lambda v: (jax.grad(total)(v) ** 2).sum())(w)
    np.testing.assert_allclose(length, wanted, rtol=1e-4, atol=1e-5)


def test_gradients_inside_of_one_loss_of_all_blocks(mapped):
    w, x = array(4), array(8, 4)
    f = mapped(
        jax.grad(lambda v, a: (v**2).sum() + lax.psum(jnp.sum(jnp.sin(a @ v)), "x")),
        (P(), P("x")), P(),
    )  # fmt: skip
    expected = jax.grad(lambda v: (v**2).sum() + jnp.sum(jnp.sin(x @ v)))(w)
    np.testing.assert_allclose(f(w, x), expected, rtol=1e-5)


def test_gradients_inside_are_local_where_types_do_not(mapped):
    w, x = array(4), array(8, 4)

    def loss(w, a):
        return jnp.sum(jnp.sin(a @ w))

    local = mapped(jax.grad(loss), (P(), P("x")), P("x"), check_vma=False)(w, x)
    each = [jax.grad(loss)(w, x[i : i + 2]) for i in range(0, 8, 2)]
    np.testing.assert_allclose(local, np.concatenate(each), rtol=1e-6)


def test_types_say_where_values_vary(mapped):
    seen = []

    def body(a, w):
        seen.append(jax.typeof(a))
        seen.append(jax.typeof(w))
        seen.append(jax.typeof(a * w))
        seen.append(jax.typeof(lax.psum(a, "x")))
        seen.append(jax.typeof(lax.axis_index("x")))
        seen.append(jax.typeof(lax.pcast(w, "y", to="varying")))
        return a

    mapped(body, (P("x", "y"), P()), P("x", "y"))(array(8, 4), 2.0)
    assert list(map(str, seen)) == [
        "float32[2,2]{V:(x,y)}", "~float32[]", "float32[2,2]{V:(x,y)}", "float32[2,2]{V:y}",
        "int32[]{V:x}", "~float32[]{V:y}",
    ]  # fmt: skip
    mapped(lambda a: seen.append(jax.typeof(a)) or a, P("x"), P("x"), check_vma=False)(array(8))
    assert str(seen[-1]) == "float32[2]"


def test_trees_static_arguments_and_captured_arrays(mapped):
    scale = jnp.arange(4.0)
    f = mapped(
        lambda a, n, *_: {"k": a["p"] * n * scale, "m": (lax.psum(a["q"], "x"),)},
        ({"p": P("x"), "q": P("x")}, None), {"k": P("x"), "m": P()},
    )  # fmt: skip
    out = f({"p": array(8, 4), "q": array(4)}, 3)
    np.testing.assert_allclose(out["k"], array(8, 4) * 3 * np.arange(4.0), rtol=1e-6)
    np.testing.assert_allclose(out["m"][0], array(4).sum(keepdims=True), rtol=1e-5)
    g = jax.grad(lambda s: mapped(lambda a: a * s, P("x"), P("x"))(array(8)).sum())(2.0)
    np.testing.assert_allclose(g, array(8).sum(), rtol=1e-5)


def test_ways_to_call_it(mesh):
    x = array(8)
    decorated = jax.shard_map(mesh=mesh, in_specs=P("x"), out_specs=P("x"))(lambda a: a + 1)
    np.testing.assert_array_equal(decorated(x), x + 1)
    old = experimental_shard_map(lambda a: a + 1, mesh, P("x"), P(), check_rep=False)
    np.testing.assert_array_equal(old(x), x[:2] + 1)
    with jax.set_mesh(mesh):
        found = jax.shard_map(lambda a: a + 1, in_specs=P("y"), out_specs=P("y"))(x)
        assert found.sharding == NamedSharding(mesh, P("y"))
    placed = jax.device_put(x, NamedSharding(mesh, P("x")))
    inferred = jax.shard_map(lambda a: a.sum(keepdims=True), mesh=mesh, out_specs=P("x"))(placed)
    np.testing.assert_allclose(inferred, x.reshape(4, 2).sum(1), rtol=1e-6)
    some = jax.shard_map(
        lambda a: a * lax.axis_size("x"), mesh=mesh, in_specs=P("x"), out_specs=P("x"),
        axis_names={"x"},
    )  # fmt: skip
    np.testing.assert_array_equal(some(x), x * 4)
    abstract = jax.shard_map(
        lambda a: lax.psum(a, "i"), mesh=AbstractMesh((4,), ("i",)), in_specs=P("i"), out_specs=P()
    )
    np.testing.assert_allclose(jax.jit(abstract)(x), x.reshape(4, 2).sum(0), rtol=1e-6)


def test_zero_size_and_nan(mapped):
    assert mapped(lambda a: lax.psum(a, "x"), P("x"), P())(jnp.ones((0, 3))).shape == (0, 3)
    x = array(8).copy()
    x[5] = np.nan
    found = mapped(lambda a: lax.psum(a, "x"), P("x"), P())(x)
    assert np.isnan(found).tolist() == [False, True]


@pytest.mark.parametrize(
    ("body", "in_specs", "out_specs", "message"),
    [
        (lambda a: a, P("x"), P(), r"output of type float32\[2,4\]\{V:x\} may vary over 'x'"),
        (lambda a: lax.all_gather(a, "x"), P("x"), P(), "can't be statically inferred"),
        (lambda a: a, P(None, "x", "y"), P(), "argument a is of type .* which has rank 2"),
        (lambda a: a.sum(), P("x"), P("x"), "has rank 0. For scalars, use PartitionSpec"),
        (lambda a: a, P(None, ("x", "y")), P(), "of size 8.. Pad it"),
        (lambda a: a, P("z"), P(), "refers to 'z', but the axes .* are .'x', 'y'"),
        (lambda a: a, P("x", "x"), P(), "uses an axis twice"),
        (lambda a: a, (P("x"), P("x")), P(), "shard_map in_specs"),
        (lambda a: a, "x", P(), "must be a pytree of `jax.sharding.PartitionSpec`"),
        (lambda a: lax.psum(a, "z"), P("x"), P(), "unbound axis name: z"),
        (lambda a: "text", P("x"), P(), "which is not a valid JAX type"),
        (
            lambda a: lax.scan(lambda c, r: (c + r, None), jnp.zeros(4), a)[0], P("x"), P("x"),
            r"has type float32\[4\] but .* float32\[4\]\{V:x\} .*pcast",
        ),
        (
            lambda a: lax.cond(a[0, 0] > 0, lambda: a, lambda: jnp.zeros((2, 4))), P("x"), P("x"),
            "branches' results must have equal types.*pcast",
        ),
    ],
)  # fmt: skip
def test_what_is_refused(mapped, body, in_specs, out_specs, message):
    with pytest.raises((TypeError, ValueError, NameError), match=message):
        mapped(body, in_specs, out_specs)(array(8, 4))


def test_a_mesh_is_needed():
    with pytest.raises(ValueError, match="context mesh cannot be empty"):
        jax.shard_map(lambda a: a, in_specs=P(), out_specs=P())(1.0)
    with pytest.raises(NotImplementedError, match="'varying'"):
        lax.pcast(1.0, "x", to="reduced")

"""Arrays of several devices: where they are, and where results are."""

import copy
import pickle

import numpy as np
import pytest

import jacana as jax
import jacana.numpy as jnp
from jacana import lax
from jacana.core.errors import IndivisibleError
from jacana.runtime import device
from jacana.sharding import (
    AxisType,
    NamedSharding,
    PartitionSpec as P,
    SingleDeviceSharding,
)


@pytest.fixture
def mesh(eight_devices):
    return jax.make_mesh((4, 2), ("x", "y"), (AxisType.Auto,) * 2)


@pytest.fixture
def x(mesh):
    return jax.device_put(jnp.arange(32.0).reshape(8, 4), NamedSharding(mesh, P("x", "y")))


def test_number_of_devices(eight_devices, monkeypatch):
    assert len(jax.devices()) == jax.device_count() == jax.local_device_count() == 8
    assert repr(jax.devices()[3]) == "CpuDevice(id=3)"
    with pytest.raises(RuntimeError, match="updated before backends are initialized"):
        jax.config.update("jax_num_cpu_devices", 3)
    device._started.cache_clear()
    monkeypatch.delenv("JAX_NUM_CPU_DEVICES")
    monkeypatch.setenv("XLA_FLAGS", "--a --xla_force_host_platform_device_count=5")
    assert len(jax.devices()) == 5


def test_placed_array_is_the_global_one(x, mesh):
    assert x.sharding == NamedSharding(mesh, P("x", "y")) and x.committed
    assert x.devices() == set(jax.devices()) and not x.is_fully_replicated
    np.testing.assert_array_equal(x, np.arange(32.0).reshape(8, 4))
    assert float(x[3, 1]) == 13 and x.shape == (8, 4) and x.nbytes == 128
    assert copy.deepcopy(x) is x and pickle.loads(pickle.dumps(x)).tolist() == x.tolist()


def test_shards(x):
    shards = x.addressable_shards
    assert [s.device.id for s in shards] == list(range(8))
    whole = np.asarray(x)
    for s in shards:
        np.testing.assert_array_equal(s.data, whole[s.index])
        assert s.data.sharding == SingleDeviceSharding(s.device) and s.replica_id == 0
    np.testing.assert_array_equal(x.addressable_data(3), whole[2:4, 2:])
    copies = jax.device_put(jnp.ones(8), NamedSharding(x.sharding.mesh, P("y")))
    assert [s.replica_id for s in copies.addressable_shards] == [0, 0, 1, 1, 2, 2, 3, 3]
    assert repr(shards[3]).startswith("Shard(device=CpuDevice(id=3), index=(slice(2, 4, None),")


def test_device_put(x, mesh):
    third = jax.devices()[3]
    y = jax.device_put(jnp.ones(2), third)
    assert y.device == third and y.committed and (y + 1).device == third
    assert jnp.ones(2).device == jax.devices()[0] and not jnp.ones(2).committed
    placed = jax.device_put(
        {"a": jnp.ones(8), "b": 1}, {"a": NamedSharding(mesh, P("x")), "b": third}
    )
    assert placed["a"].sharding.spec == P("x") and placed["b"].device == third
    with jax.set_mesh(mesh):
        assert jax.device_put(jnp.ones(8), P("x")).sharding == NamedSharding(mesh, P("x"))
    gone = jnp.ones(8)
    kept = jax.device_put(gone, NamedSharding(mesh, P("x")), donate=True)
    assert gone.is_deleted() and kept.tolist() == [1] * 8
    assert jax.jit(lambda a: jax.device_put(a, NamedSharding(mesh, P("y"))))(x).sharding.spec == P(
        "y"
    )
    with pytest.raises(IndivisibleError, match="partitioned 4 times"):
        jax.device_put(jnp.ones(6), NamedSharding(mesh, P("x")))
    with pytest.raises(ValueError, match="rank at least 2, but was applied to a value of rank 1"):
        jax.device_put(jnp.ones(8), NamedSharding(mesh, P("x", "y")))
    with pytest.raises(RuntimeError, match="device_put requires a non-empty mesh"):
        jax.device_put(jnp.ones(8), P("x"))
    with pytest.raises(ValueError, match="needs a device, a sharding or a PartitionSpec, got 'a'"):
        jax.device_put(jnp.ones(8), "a")


def test_arrays_made_of_shards(mesh):
    sharding = NamedSharding(mesh, P("x"))
    asked = []
    made = jax.make_array_from_callback(
        (8, 2), sharding, lambda i: asked.append(i) or np.full((2, 2), i[0].start)
    )
    assert made.sharding == sharding and made[:, 0].tolist() == [0, 0, 2, 2, 4, 4, 6, 6]
    assert len(asked) == 4
    again = jax.make_array_from_single_device_arrays(
        (8, 2), sharding, [s.data for s in made.addressable_shards]
    )
    np.testing.assert_array_equal(again, made)
    with pytest.raises(ValueError, match=r"has shape \(2, 2\), but data_callback returned shape"):
        jax.make_array_from_callback((8, 2), sharding, lambda i: np.ones(3))
    with pytest.raises(ValueError, match="an array for each of the 8 devices"):
        jax.make_array_from_single_device_arrays((8, 2), sharding, [made])


# What JAX 0.10 gives for an argument of shape (8, 4) divided by P("x").
RESULTS = [
    (lambda a: jnp.sin(a) + 1, P("x")),
    (lambda a: jnp.where(a > 0, a, 0), P("x")),
    (lambda a: a.T, P(None, "x")),
    (lambda a: a.sum(), P()),
    (lambda a: a.sum(1), P("x")),
    (lambda a: a.sum(0), P()),
    (lambda a: jnp.argmax(a, 1), P("x")),
    (lambda a: a.reshape(4, 2, 4), P("x")),
    (lambda a: a.reshape(32), P("x")),
    (lambda a: a[None], P(None, "x")),
    (lambda a: jnp.stack([a, a]), P(None, "x")),
    (lambda a: jnp.concatenate([a, a]), P("x")),
    (lambda a: jnp.broadcast_to(a, (3, 8, 4)), P(None, "x")),
    (lambda a: jnp.split(a, 2)[1], P("x")),
    (lambda a: a[:, 0], P("x")),
    (lambda a: a[0], P()),
    (lambda a: a @ jnp.ones((4, 3)), P("x")),
    (lambda a: a.T @ a, P()),
    (lambda a: jnp.einsum("ij,kj->ik", a, a), P("x")),
    (lambda a: jax.nn.softmax(a), P("x")),
    (lambda a: jnp.sort(a, 0), P("x")),
    (lambda a: jnp.cumsum(a, 0), P("x")),
    (lambda a: a[::-1], P("x")),
    (lambda a: a.at[0].set(1), P("x")),
    (lambda a: jnp.linalg.qr(a)[0], P()),
    (lambda a: lax.scan(lambda c, r: (c + r, c * r), jnp.zeros(4), a)[1], P()),
    (lambda a: lax.fori_loop(0, 3, lambda i, c: c + a, a), P("x")),
    (lambda a: lax.cond(a[0, 0] > 0, lambda: a, lambda: -a), P("x")),
    (lambda a: jax.grad(lambda q: (q**2).sum())(a), P("x")),
    (lambda a: jax.jvp(jnp.sin, (a,), (a,))[1], P("x")),
    (lambda a: jax.vmap(lambda r: r.sum())(a), P("x")),
    (lambda a: jax.jit(jnp.cos)(a), P("x")),
    (lambda a: jnp.linspace(0, 1, 4) * a, P("x")),
]


@pytest.mark.parametrize("number", range(len(RESULTS)))
def test_results_are_divided_as_their_arguments(mesh, number):
    function, spec = RESULTS[number]
    plain = jnp.arange(32.0).reshape(8, 4)
    a = jax.device_put(plain, NamedSharding(mesh, P("x")))
    for f in (function, jax.jit(function)):
        for _ in range(4):
            found = f(a)
            assert found.sharding == NamedSharding(mesh, spec)
            np.testing.assert_array_equal(found, f(plain))
        assert isinstance(f(plain).sharding, SingleDeviceSharding)


def test_two_meshes_and_two_devices_do_not_meet(x):
    first, second = (jax.device_put(1.0, d) for d in jax.devices()[2:4])
    with pytest.raises(ValueError, match=r"incompatible devices.* device ids \[2\].*\[3\]"):
        first + second
    with pytest.raises(ValueError, match=r"argument 1 of f with shape float32\[8,4\]"):
        jax.jit(f)(first, x)
    assert (x + jnp.ones((8, 4))).sharding == x.sharding


def f(a, b):
    return a + b


def test_jit_shardings(x, mesh):
    def named(*spec):
        return NamedSharding(mesh, P(*spec))

    def double(a):
        return a * 2, {"k": a}

    out = jax.jit(double, out_shardings=(named("y", "x"), named()))(x)
    assert out[0].sharding == named("y", "x") and out[1]["k"].sharding == named()
    np.testing.assert_array_equal(out[0], np.asarray(x) * 2)
    assert jax.jit(f, out_shardings=None)(x, x).sharding == x.sharding
    given = jax.jit(f, in_shardings=(named("y", "x"), None))
    assert given(np.ones((8, 4), np.float32), 1.0).sharding == named("y", "x")
    with jax.set_mesh(mesh):
        assert jax.jit(f, out_shardings=P("x"))(x, x).sharding == named("x")
    static = jax.jit(lambda n, a: a * n, static_argnums=0, in_shardings=named("x"))
    assert static(3, jnp.ones(8)).sharding == named("x")
    assert jax.jit(jax.jit(f, out_shardings=named("x")))(x, x).sharding == named("x")
    moved = jax.jit(f, out_shardings=SingleDeviceSharding(jax.devices()[1]))(1.0, 2.0)
    assert moved.device == jax.devices()[1]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"in_shardings": P("y")}, "jit in_shardings requires a non-empty mesh in context"),
        ({"in_shardings": (None, None)}, "length 2 for an args tuple of length 1"),
        ({"out_shardings": (None, None)}, "jit out_shardings"),
    ],
)
def test_jit_shardings_that_do_not_fit(x, options, message):
    with pytest.raises((ValueError, RuntimeError), match=message):
        jax.jit(lambda a: a, **options)(x)


def test_jit_refuses_arguments_that_are_divided_otherwise(x, mesh):
    with pytest.raises(ValueError, match="does not match the sharding on the respective arg"):
        jax.jit(lambda a: a, in_shardings=NamedSharding(mesh, P("y")))(x)
    with pytest.raises(IndivisibleError):
        jax.jit(lambda a: a, out_shardings=NamedSharding(mesh, P("x")))(jnp.ones(6))


def test_constraints(x, mesh):
    sharding = NamedSharding(mesh, P("y", "x"))
    assert lax.with_sharding_constraint(x, sharding).sharding == sharding

    def g(a):
        return lax.with_sharding_constraint(a * 2, sharding) + 1

    assert jax.jit(g)(x).sharding == sharding == jax.jit(g)(jnp.ones((8, 4))).sharding
    np.testing.assert_array_equal(jax.jit(g)(x), np.asarray(x) * 2 + 1)
    assert "sharding_constraint" in str(jax.make_jaxpr(g)(x))
    np.testing.assert_array_equal(jax.grad(lambda a: (g(a) ** 2).sum())(x), 4 * np.asarray(g(x)))
    batch = jax.vmap(g)(jnp.ones((3, 8, 4)))
    assert batch.sharding.spec == P(None, "y", "x")
    uneven = jax.jit(lambda a: lax.with_sharding_constraint(a, NamedSharding(mesh, P("x"))))
    assert uneven(jnp.ones(6)).sharding.spec == P()
    with pytest.raises(RuntimeError, match="requires a non-empty mesh"):
        lax.with_sharding_constraint(x, P("x"))


def test_types_show_explicit_axes(eight_devices):
    mesh = jax.make_mesh((4, 2), ("x", "y"))
    x = jax.device_put(jnp.ones((8, 4)), NamedSharding(mesh, P("x", None)))
    assert str(jax.typeof(x)) == "float32[8@x,4]"
    assert str(jax.typeof(x.T @ x)) == "float32[4,4]"


def test_zero_size_and_nan(mesh):
    empty = jax.device_put(jnp.ones((0, 4)), NamedSharding(mesh, P("x")))
    assert empty.addressable_shards[1].data.shape == (0, 4) and (empty + 1).sharding.spec == P("x")
    assert empty.reshape(4, 0).sharding.spec == P()
    nan = jax.device_put(jnp.full(8, jnp.nan), NamedSharding(mesh, P("x")))
    assert np.isnan(nan + 1).all()


def test_where_arrays_are_made(x, mesh):
    half, third = NamedSharding(mesh, P("x")), jax.devices()[3]
    made = [
        jnp.zeros((8, 2), device=half), jnp.ones(8, device=half), jnp.full(8, 2, device=half),
        jnp.arange(8, device=half), jnp.linspace(0, 1, 8, device=half), jnp.eye(8, device=half),
        jnp.array([1] * 8, device=half), jnp.asarray(np.ones(8), device=half),
        jnp.zeros_like(np.ones(8), device=half), jnp.fft.fftfreq(8, device=half),
        jnp.ones(8).to_device(half), jnp.ones(8).astype(int, device=half),
    ]  # fmt: skip
    assert [a.sharding for a in made] == [half] * len(made)
    assert jnp.ones(2, device=third).device == third
    assert jnp.zeros_like(x).sharding == x.sharding == jnp.asarray(x).sharding
    assert jax.jit(lambda: jnp.ones(8, device=half))().sharding == half
    with jax.set_mesh(mesh):
        assert jnp.zeros(8, out_sharding=P("y")).sharding.spec == P("y")


def test_arrays_are_made_on_the_first_device(eight_devices):
    with jax.default_device(eight_devices[0]), jax.default_device(None):
        assert jnp.ones(2).device == eight_devices[0]
    with (
        pytest.raises(NotImplementedError, match="device_put"),
        jax.default_device(eight_devices[1]),
    ):
        pass
    with pytest.raises(NotImplementedError, match="device_put"):
        jax.config.update("jax_default_device", eight_devices[1])

"""Programs that use the interface around the numbers: pytrees, static arguments, keys, pickles."""

import copy
import dataclasses
import functools
import pickle
import warnings
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import grad, jit, lax, random, tree_util, vmap
from jax.tree_util import Partial, register_pytree_node_class


@jax.tree_util.register_dataclass
@dataclasses.dataclass
class Layer:
    w: jax.Array
    b: jax.Array
    activation: str = dataclasses.field(metadata=dict(static=True), default="tanh")

    def __call__(self, x):
        return getattr(jnp, self.activation)(self.w @ x + self.b)


@register_pytree_node_class
class Counter:
    def __init__(self, count, name):
        self.count, self.name = count, name

    def tree_flatten(self):
        return (self.count,), self.name

    @classmethod
    def tree_unflatten(cls, name, children):
        return cls(*children, name)


class State(NamedTuple):
    step: int
    params: dict


def program_dataclass_model():
    layer = Layer(jnp.eye(2), jnp.zeros(2))
    x = jnp.array([0.5, -1.0])
    np.testing.assert_allclose(jit(lambda m, x: m(x))(layer, x), np.tanh(x), rtol=1e-6)
    g = grad(lambda m: jnp.sum(m(x)))(layer)
    assert isinstance(g, Layer)
    assert g.activation == "tanh"
    np.testing.assert_allclose(g.b, 1 - np.tanh(x) ** 2, rtol=1e-5)
    updated = jax.tree.map(lambda p, d: p - 0.1 * d, layer, g)
    assert isinstance(updated, Layer)
    assert len(jax.tree.leaves(layer)) == 2
    both = vmap(lambda m: m(x))(jax.tree.map(lambda p: jnp.stack([p, 2 * p]), layer))
    np.testing.assert_allclose(both[1], np.tanh(2 * x), rtol=1e-6)


def program_class_and_named_tuple():
    c = jit(lambda c: Counter(c.count + 1, c.name))(Counter(jnp.array(1), "a"))
    assert (int(c.count), c.name) == (2, "a")
    s = State(0, {"w": jnp.ones(2), "none": None, "list": [1.0, (2.0,)]})
    doubled = jax.tree.map(lambda x: x * 2, s)
    assert isinstance(doubled, State)
    assert doubled.params["none"] is None
    assert doubled.params["list"] == [2.0, (4.0,)]
    leaves, treedef = jax.tree.flatten(s)
    assert jax.tree.unflatten(treedef, leaves).params["list"] == [1.0, (2.0,)]
    paths = [tree_util.keystr(p) for p, _ in tree_util.tree_flatten_with_path(s)[0]]
    assert paths == [".step", ".params['list'][0]", ".params['list'][1][0]", ".params['w']"]
    total = jax.tree.reduce(lambda a, b: a + jnp.sum(b), s, 0.0)
    assert float(total) == 5.0
    transposed = jax.tree.transpose(
        jax.tree.structure([0, 0]), jax.tree.structure({"a": 0}), [{"a": 1}, {"a": 2}]
    )
    assert transposed == {"a": [1, 2]}
    out = lax.scan(lambda s, _: (State(s.step + 1, s.params), s.step), State(0, {}), None, length=3)
    assert int(out[0].step) == 3
    np.testing.assert_array_equal(out[1], [0, 1, 2])


def program_static_and_donated():
    traces = []

    @functools.partial(jit, static_argnums=(1,), static_argnames=("power",), donate_argnums=0)
    def f(x, n, *, power=2):
        traces.append((n, power))
        for _ in range(n):
            x = x**power
        return x

    assert float(f(jnp.array(2.0), 2)) == 16.0
    assert float(f(jnp.array(3.0), 2)) == 81.0
    assert float(f(jnp.array(2.0), 1, power=3)) == 8.0
    assert traces == [(2, 2), (1, 3)]
    x = jnp.ones(4)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        y = f(x, 1)
    assert y.shape == (4,)
    with np.testing.assert_raises_regex(ValueError, "[Hh]ash"):
        f(jnp.ones(2), [1])


def program_methods_and_partials():
    class Model:
        def __init__(self, scale):
            self.scale = scale

        @functools.partial(jit, static_argnums=0)
        def apply(self, x):
            return x * self.scale

    assert float(Model(3.0).apply(2.0)) == 6.0
    scaled = Partial(lambda s, x: s * x, jnp.array(2.0))
    assert float(jit(lambda f, x: f(x))(scaled, 4.0)) == 8.0
    assert float(jit(functools.partial(lambda a, b: a - b, 10.0))(4.0)) == 6.0


def program_vmap_tricks():
    x = np.arange(12.0, dtype=np.float32).reshape(3, 4)
    outer = vmap(vmap(lambda a, b: a * b, (None, 0)), (0, None))
    np.testing.assert_array_equal(outer(x[0], x[1]), np.outer(x[0], x[1]))
    tree = {"a": x, "b": (x[:, 0], 2.0)}
    out = vmap(lambda t: t["a"].sum() + t["b"][0] * t["b"][1], in_axes=({"a": 0, "b": (0, None)},))(
        tree
    )
    np.testing.assert_allclose(out, x.sum(1) + 2 * x[:, 0])
    normal = vmap(lambda v: v / lax.psum(v, "i"), axis_name="i")(x)
    np.testing.assert_allclose(normal, x / x.sum(0), rtol=1e-6)
    indices = vmap(lambda v: lax.axis_index("i") * 10, axis_name="i")(x)
    np.testing.assert_array_equal(indices, [0, 10, 20])
    assert vmap(lambda a: (a, 1.0), out_axes=(1, None))(x)[0].shape == (4, 3)
    rows = vmap(lambda v, i: lax.dynamic_slice(v, (i,), (2,)))(x, jnp.array([0, 1, 2]))
    np.testing.assert_array_equal(rows, [[0, 1], [5, 6], [10, 11]])
    np.testing.assert_array_equal(vmap(jnp.diag)(x).shape, (3, 4, 4))


def program_keys():
    key = random.key(0)
    a, b = random.split(key)
    assert not jnp.array_equal(random.normal(a, (3,)), random.normal(b, (3,)))
    np.testing.assert_array_equal(
        random.normal(a, (3,)), jit(random.normal, static_argnums=1)(a, (3,))
    )
    old = random.PRNGKey(0)
    assert old.dtype == jnp.uint32
    np.testing.assert_array_equal(random.key_data(key), old)
    np.testing.assert_array_equal(random.uniform(key, (2,)), random.uniform(old, (2,)))
    many = vmap(random.normal)(random.split(key, 5))
    assert many.shape == (5,)
    folded = [random.fold_in(key, i) for i in range(3)]
    draws = {float(random.uniform(k)) for k in folded}
    assert len(draws) == 3
    p = random.permutation(key, 10)
    assert sorted(p.tolist()) == list(range(10))
    # The first numbers of JAX's documentation for seed 0.
    np.testing.assert_allclose(
        random.normal(random.PRNGKey(0), (3,)), [1.6226422, 2.0252647, -0.43359444], rtol=1e-5
    )


def program_arrays_as_values():
    x = jnp.arange(6, dtype=jnp.float32).reshape(2, 3)
    again = pickle.loads(pickle.dumps({"x": x, "half": x.astype(jnp.bfloat16)}))
    np.testing.assert_array_equal(again["x"], x)
    assert again["half"].dtype == jnp.bfloat16
    assert isinstance(copy.deepcopy(x), jax.Array)
    assert isinstance(x, jax.Array)
    assert not isinstance(np.ones(2), jax.Array)
    y = x.at[0, 1].set(10.0).at[1].add(1.0)
    assert y.tolist() == [[0, 10, 2], [4, 5, 6]]
    assert x.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert f"{x[0, 1]:.2f}" == "1.00"
    assert [float(v) for v in x[1]] == [3, 4, 5]
    assert {1: "a"}[int(x[0, 1])] == "a"
    assert x.shape == (2, 3) and x.ndim == 2 and x.size == 6 and len(x) == 2 and x.itemsize == 4
    assert np.sum(x) == 15 and np.asarray(x).flags.writeable is False
    assert repr(jnp.float32(1.5)) == "Array(1.5, dtype=float32)"
    assert jax.block_until_ready(x) is x
    assert jax.device_get(x).__class__ is np.ndarray
    assert x.devices() == {jax.devices()[0]}
    rows = [r.sum() for r in x]
    assert [float(r) for r in rows] == [3.0, 12.0]
    assert jnp.asarray(x) is x


def program_inspection():
    f = jit(lambda x, y: {"sum": x + y, "n": 3})
    shape = jax.eval_shape(f, jnp.ones((2, 3)), jax.ShapeDtypeStruct((3,), jnp.float32))
    assert shape["sum"].shape == (2, 3) and shape["n"].dtype == jnp.int32
    compiled = f.lower(jnp.ones(3), 1.0).compile()
    np.testing.assert_array_equal(compiled(jnp.ones(3), 1.0)["sum"], [2, 2, 2])
    text = str(jax.make_jaxpr(lambda x: jnp.sin(x) * 2)(1.0))
    assert text.startswith("{ lambda ; a:f32[]. let") and "sin" in text
    with jax.disable_jit():
        assert float(jit(lambda x: x + 1 if x > 0 else x)(1.0)) == 2.0
    with jax.enable_x64(True):
        assert jnp.ones(1).dtype == jnp.float64
    assert jnp.ones(1).dtype == jnp.float32
    assert jnp.result_type(jnp.int32, 1.0) == jnp.float32
    assert jax.__version__.count(".") == 2


if __name__ == "__main__":
    for name, program in list(globals().items()):
        if name.startswith("program_"):
            program()
            print("ok", name)

"""jax.export: functions exported, written, read and called, under every transformation."""

import collections
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import jacana
import jacana.numpy as jnp
from jacana import export, jit, lax

Pair = collections.namedtuple("Pair", "first second")


class Scaled:
    """A node with static data."""

    def __init__(self, value, unit):
        self.value, self.unit = value, unit


jacana.tree_util.register_pytree_node(
    Scaled, lambda s: ((s.value,), s.unit), lambda unit, children: Scaled(*children, unit)
)
export.register_pytree_node_serialization(
    Scaled,
    serialized_name="tests.Scaled",
    serialize_auxdata=str.encode,
    deserialize_auxdata=bytes.decode,
)
export.register_namedtuple_serialization(Pair, serialized_name="tests.Pair")


def again(exported, **options):
    return export.deserialize(exported.serialize(**options))


TABLE = np.arange(6.0, dtype="float32").reshape(3, 2)


def model(params, x, n, *, scale):
    h = jacana.nn.relu(x @ params["w"] + params["b"])
    h = lax.scan(lambda c, v: (c * 0.5 + v, c), jnp.zeros(2), h)[0]
    h = lax.cond(n > 0, lambda h: h, lambda h: -h, h)
    noise = jacana.random.normal(jacana.random.key(0), (2,))
    return {"out": (h * scale + TABLE[1] + noise, None), "n": [n + 1]}


ARGS = ({"w": jnp.ones((3, 2)) / 2, "b": jnp.arange(2.0)}, jnp.ones((5, 3)), 3)


@pytest.fixture(scope="module")
def exported():
    return export.export(jit(model))(*ARGS, scale=2.0)


def test_what_exported_functions_tell(exported):
    for each in (exported, again(exported)):
        assert repr(each) == "Exported(fun_name=model, ...)"
        assert [a.shape for a in each.in_avals] == [(2,), (3, 2), (5, 3), (), ()]
        assert [str(a) for a in each.out_avals] == ["~int32[]", "float32[2]"]
        assert each.in_tree == jacana.tree.structure((ARGS, {"scale": 0}))
        assert each.platforms == ("cpu",)
        assert each.nr_devices == 1


def test_results_are_equal_to_the_bit(exported):
    expected = jit(model)(*ARGS, scale=2.0)
    for each in (exported, again(exported)):
        for call in (each.call, jit(each.call)):
            found = call(*ARGS, scale=2.0)
            assert jacana.tree.structure(found) == jacana.tree.structure(expected)
            np.testing.assert_array_equal(found["out"][0], expected["out"][0])
            assert found["n"] == [4]


def test_other_processes_read_them(exported, tmp_path):
    (tmp_path / "model").write_bytes(exported.serialize())
    code = (
        "import jacana, jacana.numpy as jnp; from jacana import export;"
        "f = export.deserialize(open('model', 'rb').read());"
        "p = {'w': jnp.ones((3, 2)) / 2, 'b': jnp.arange(2.0)};"
        "print(f.call(p, jnp.ones((5, 3)), 3, scale=2.0)['out'][0].tolist())"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=60,
        env={**os.environ, "PYTHONPATH": str(Path(jacana.__file__).parents[1])},
    )  # fmt: skip
    assert done.stdout.strip() == str(model(*ARGS, scale=2.0)["out"][0].tolist()), done.stderr


def test_vmap():
    f = again(export.export(jit(lambda x: jnp.sin(x).sum()))(jnp.ones(3)))
    x = jnp.arange(6.0).reshape(2, 3)
    np.testing.assert_array_equal(jacana.vmap(f.call)(x), [f.call(r) for r in x])


@pytest.mark.parametrize("wrap", [lambda f: f, jit])
def test_derivatives_are_kept(wrap):
    def f(x, n):
        return jnp.sin(x) * n, n

    exported = export.export(jit(f))(jnp.ones(3), 2)
    for each in (exported, again(exported, vjp_order=2)):
        assert each.has_vjp()
        check_derivatives(wrap(each.call))
    pulled = exported.vjp()
    assert pulled.fun_name == "vjp_f"
    assert [a.shape for a in pulled.in_avals] == [(3,), (), (3,)]


def check_derivatives(call):
    """`call` is sin(x) * n, n."""
    x = jnp.ones(3)
    g = jacana.grad(lambda x: call(x, 2)[0].sum())
    np.testing.assert_allclose(g(x), 2 * jnp.cos(x), rtol=1e-6)
    second = jacana.grad(lambda x: g(x).sum())(x)
    np.testing.assert_allclose(second, -2 * jnp.sin(x), rtol=1e-6)


def test_derivatives_that_were_not_kept():
    f = again(export.export(jit(jnp.sin))(1.0))
    assert not f.has_vjp()
    with pytest.raises(ValueError, match="No VJP is available for sin"):
        jacana.grad(f.call)(1.0)
    once = again(export.export(jit(jnp.sin))(1.0), vjp_order=1)
    assert jacana.grad(once.call)(0.0) == 1.0
    with pytest.raises(ValueError, match="No VJP is available for vjp_sin"):
        jacana.grad(jacana.grad(once.call))(0.0)


def test_custom_rules_are_in_the_derivatives():
    @jacana.custom_jvp
    def f(x):
        return x * x

    f.defjvp(lambda p, t: (f(*p), 7.0 * t[0]))
    exported = again(export.export(jit(f))(1.0), vjp_order=1)
    assert exported.call(3.0) == 9.0
    assert jacana.grad(exported.call)(3.0) == 7.0


def test_trees_of_registered_types():
    def f(s, p):
        assert s.unit == "m"
        return (
            Scaled(s.value * 2, "km"),
            Pair(p.second, {"x": p.first}),
            collections.OrderedDict(a=1),
        )

    exported = again(export.export(jit(f))(Scaled(1.0, "m"), Pair(1, 2.0)))
    scaled, pair, ordered = exported.call(Scaled(3.0, "m"), Pair(1, 2.0))
    assert (scaled.value, scaled.unit) == (6.0, "km")
    assert pair == Pair(2.0, {"x": 1})
    assert list(ordered) == ["a"]


def test_trees_of_types_without_a_name():
    class Nameless:
        pass

    jacana.tree_util.register_pytree_node(Nameless, lambda _: ((), None), lambda *_: Nameless())
    exported = export.export(jit(lambda _: 1.0))(Nameless())
    assert exported.call(Nameless()) == 1.0
    with pytest.raises(ValueError, match="Nameless: register it with export"):
        exported.serialize()
    with pytest.raises(ValueError, match="not a pytree node"):
        export.register_pytree_node_serialization(
            int, serialized_name="int", serialize_auxdata=bytes, deserialize_auxdata=bytes
        )
    with pytest.raises(ValueError, match="is registered for serialization already"):
        export.register_namedtuple_serialization(Pair, serialized_name="other")


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ((jnp.ones(4), 1), r"Shape mismatch for args\[0\]: <lambda> was exported for float32\[3\]"),
        ((jnp.ones(3, int), 1), r"Dtype mismatch for args\[0\]"),
        (
            (jnp.ones(3),),
            r"structural differences:\n   - args: the prefix has a tuple of length",
        ),
    ],
)
def test_wrong_arguments(args, message):
    exported = export.export(jit(lambda x, n: x * n))(jnp.ones(3), 1)
    with pytest.raises(ValueError, match=message):
        exported.call(*args)


def test_static_arguments_become_part_of_the_program():
    power = jit(lambda x, n: x**n, static_argnums=1)
    assert again(export.export(power)(2.0, 3)).call(2.0) == 8.0


def test_platforms():
    exported = export.export(jit(jnp.sin), platforms=("cpu", "tpu"))(1.0)
    assert again(exported).platforms == ("cpu", "tpu")
    elsewhere = export.export(jit(jnp.sin), platforms=["cuda"])(0.0)
    with pytest.raises(ValueError, match="exported for platforms"):
        elsewhere.call(0.0)
    check = export.DisabledSafetyCheck.platform()
    anywhere = export.export(jit(jnp.sin), platforms=["cuda"], disabled_checks=[check])(0.0)
    assert again(anywhere).call(0.0) == 0.0
    with pytest.raises(ValueError, match="platforms to export for are among"):
        export.export(jit(jnp.sin), platforms=["abacus"])


def test_only_jitted_functions_are_exported():
    with pytest.raises(ValueError, match="must be the result of `jit`"):
        export.export(jnp.ones)
    key = jacana.random.key(0)
    exported = export.export(jit(lambda: jacana.random.uniform(key)))()
    with pytest.raises(ValueError, match="captured random keys"):
        exported.serialize()

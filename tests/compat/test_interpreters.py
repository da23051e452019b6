"""JAX's tutorial on interpreters, and the names that libraries import."""

import importlib
import sys

import numpy as np
import pytest

import jacana
import jacana.numpy as jnp
from jacana import compat, lax
from jacana.compat import api_util, internals
from jacana.compat.extend import core, linear_util
from jacana.compat.internals.sequences import safe_map, split_list, unzip2
from jacana.compat.interpreters import partial_eval


def eval_jaxpr(jaxpr, consts, *args):
    """The tutorial's interpreter, of user primitives and calls."""
    env = dict(zip(jaxpr.constvars, consts, strict=True))
    env.update(zip(jaxpr.invars, args, strict=True))

    def read(var):
        return var.val if type(var) is core.Literal else env[var]

    for eqn in jaxpr.eqns:
        subfuns, params = eqn.primitive.get_bind_params(eqn.params)
        out = eqn.primitive.bind(*subfuns, *safe_map(read, eqn.invars), **params)
        env.update(zip(eqn.outvars, out if eqn.primitive.multiple_results else [out], strict=True))
    return safe_map(read, jaxpr.outvars)


def test_evaluating_jaxprs():
    @jacana.custom_jvp
    def logistic(x):
        return 1 / (1 + jnp.exp(-x))

    logistic.defjvp(lambda p, t: (logistic(*p), t[0]))

    def f(x):
        return jacana.jit(jnp.tanh)(logistic(x)) + lax.cond(x > 0, jnp.sin, jnp.cos, x)

    closed = jacana.make_jaxpr(f)(1.0)
    ours = eval_jaxpr(closed.jaxpr, closed.consts, 1.0)[0]
    assert ours == core.eval_jaxpr(closed.jaxpr, closed.consts, 1.0)[0]
    assert core.jaxpr_as_fun(closed)(1.0)[0] == ours
    assert ours == pytest.approx(f(1.0))
    replayed = jacana.make_jaxpr(lambda x: eval_jaxpr(closed.jaxpr, closed.literals, x))(1.0)
    assert [e.primitive for e in replayed.eqns] == [e.primitive for e in closed.eqns]
    assert len(list(core.subjaxprs(closed.jaxpr))) == 4


def test_inverting_functions():
    inverses = {lax.exp_p: jnp.log, lax.tanh_p: jnp.arctanh}

    def inverse(fun):
        def run(*args):
            closed = jacana.make_jaxpr(fun)(*args)
            jaxpr, env = closed.jaxpr, dict(zip(closed.jaxpr.outvars, args, strict=True))
            for eqn in jaxpr.eqns[::-1]:
                if eqn.primitive not in inverses:
                    raise NotImplementedError(f"{eqn.primitive} has no inverse")
                (out,) = [env[v] for v in eqn.outvars]
                env[eqn.invars[0]] = inverses[eqn.primitive](out)
            return env[jaxpr.invars[0]]

        return run

    def f(x):
        return jnp.exp(jnp.tanh(x))

    assert inverse(f)(f(1.0)) == pytest.approx(1.0)
    assert jacana.jit(jacana.vmap(jacana.grad(inverse(f))))((jnp.arange(5) + 1.0) / 5).shape == (5,)


def test_types_of_batches():
    aval = core.ShapedArray((2, 3), np.float32)
    batched = core.unmapped_aval(4, 1, aval)
    assert batched.shape == (2, 4, 3)
    assert core.mapped_aval(4, 1, batched) is aval
    assert core.mapped_aval(4, None, aval) is aval


def test_what_is_current():
    states = [core.get_opaque_trace_state(), core.get_opaque_trace_state()]
    jacana.jit(lambda x: states.append(core.get_opaque_trace_state()) or x)(1.0)
    assert states[0] == states[1] != states[2]


def test_all_primitives_are_primitives():
    assert isinstance(lax.sin_p, core.Primitive)
    assert isinstance(core.Primitive("p"), core.Primitive)
    assert core.primitives.sin_p is lax.sin_p
    with pytest.raises(AttributeError, match="no primitive of the name never_p"):
        core.primitives.never_p  # noqa: B018


def test_wrapped_functions():
    @linear_util.transformation_with_aux
    def counted(n, *args):
        out = yield args, {}
        yield out * n, len(args)

    doubled, count = counted(linear_util.wrap_init(lambda x, y, k: x + y + k, {"k": 1.0}), 2)
    assert (doubled.call_wrapped(1.0, 2.0), count()) == (8.0, 2)


def test_sequences():
    assert unzip2([(1, 2), (3, 4)]) == ((1, 3), (2, 4))
    assert split_list([1, 2, 3, 4], [1, 2]) == [[1], [2, 3], [4]]
    with pytest.raises(ValueError, match="zip"):
        safe_map(lambda x, y: x, [1], [1, 2])


@pytest.mark.parametrize(
    ("name", "target"),
    [
        ("jax.interpreters.ad", "jacana.compat.interpreters.ad"),
        ("jax.extend.core", "jacana.compat.extend.core"),
        ("jax.extend.core.primitives", "jacana.compat.extend.primitives"),
        ("jax.version", "jacana.compat.version"),
        ("jax._src.core", "jacana.compat.internals.core"),
        ("jax._src.util", "jacana.compat.internals.sequences"),
        ("jax._src.dtypes", "jacana.compat.internals.dtypes"),
        ("jax.stages", "jacana.stages"),
        ("jax.kernel", None),
    ],
)
def test_where_modules_are(name, target):
    assert compat.jacana_name(name) == target
    if target is not None:
        assert importlib.import_module(target) is sys.modules[target]


def test_settings_as_scopes():
    for name in ("check_tracer_leaks", "enable_checks", "explain_cache_misses"):
        before = jacana.config.read(f"jax_{name}")
        with getattr(jacana, name)(not before):
            assert jacana.config.read(f"jax_{name}") is not before
        assert jacana.config.read(f"jax_{name}") is before
    with jacana.default_prng_impl("rbg"):
        assert jacana.config.jax_default_prng_impl == "rbg"


def test_what_of_the_inside_is_there():
    assert internals.core.ShapedArray is core.ShapedArray
    assert internals.util.safe_map is safe_map
    with pytest.raises(AttributeError, match="JAX's inside"):
        internals.lib  # noqa: B018


def test_avals_with_shardings():
    sharding = jacana.NamedSharding(jacana.sharding.Mesh(jacana.devices()[:1], ("x",)), jacana.P())
    assert core.ShapedArray((2,), np.float32, sharding=None).sharding is None
    assert core.ShapedArray((2,), np.float32, sharding=sharding).sharding is sharding


def test_partial_evaluation():
    def f(x, y):
        return [jnp.sin(x), x * y]

    pvals = [
        partial_eval.PartialVal.known(jnp.float32(0.0)),
        partial_eval.PartialVal.unknown(core.ShapedArray((), np.float32)),
    ]
    jaxpr, outs, consts = partial_eval.trace_to_jaxpr_nounits(linear_util.wrap_init(f), pvals)
    assert [o.is_known() for o in outs] == [True, False]
    assert outs[0].get_known() == 0.0
    assert [e.primitive for e in jaxpr.eqns] == [lax.mul_p]
    assert core.eval_jaxpr(jaxpr, consts, 3.0) == [0.0]


def test_flat_functions():
    in_tree = jacana.tree.structure((([0],), {"y": 0}))
    wrapped = linear_util.wrap_init(lambda x, *, y: {"s": x[0] + y})
    flat, out_tree = api_util.flatten_fun(wrapped, in_tree)
    assert flat.call_wrapped(1.0, 2.0) == [3.0]
    assert out_tree() == jacana.tree.structure({"s": 0})
    assert api_util.shaped_abstractify(1.0).shape == ()
    with pytest.raises(ValueError, match="cannot intersect"):
        api_util.rebase_donate_argnums((1,), (1,))

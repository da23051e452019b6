"""Transformations of transformations: the outermost one against what it means numerically.

By induction over the depth this checks them all: `vmap` against a loop, `jvp` against central
differences, `vjp` against `jvp`, `jit` against the function itself.
"""

import itertools

import numpy as np
import pytest

import jacana
from jacana import numpy as jnp

BATCH = 2


@jacana.custom_jvp
def with_rule(x):
    return jnp.sin(x) * x


@with_rule.defjvp
def _(primals, tangents):
    (x,), (t,) = primals, tangents
    return with_rule(x), t * (jnp.cos(x) * x + jnp.sin(x))


def of_two_kinds(x, n):
    return x * n + jnp.sum(x), n + 1


def chosen(x):
    return jacana.lax.cond(x > 0, lambda x: jnp.log(x) * x, lambda x: jnp.sin(x), x)


def looped(x):
    return jacana.lax.while_loop(
        lambda c: jnp.abs(c) < 2.0, lambda c: c * 1.7 + x, x, reverse_differentiable=True
    )


WEIGHTS = np.arange(12.0).reshape(3, 4) / 7

# name -> (function of arrays to a tuple of arrays, shapes of its arguments)
ZOO = {
    "repeated": (lambda x: (jnp.sin(x) * x * x,), [(3,)]),
    "bilinear": (lambda x, y: (x @ y, jnp.sum(x)), [(2, 3), (3, 2)]),
    "identity and constant": (lambda x: (x, jnp.ones(2)), [(3,)]),
    "branches": (lambda x: (jnp.where(x > 0, x**3, jnp.exp(x)),), [(4,)]),
    "unused": (lambda x, y: (3.0 * x,), [(2,), (3,)]),
    "captured": (lambda x: (jnp.tanh(x @ WEIGHTS),), [(3,)]),
    "empty": (lambda x: (x[:0], jnp.sum(x[1:1]) + x), [(3,)]),
    "slices": (lambda x: (jnp.concatenate([x[::2], x[::-1]]) / 3,), [(3,)]),
    "maximum": (lambda x: (jnp.max(x, axis=0) * jnp.cumsum(x[0]),), [(3, 2)]),
    "nested jit": (lambda x: (jacana.jit(lambda y: jnp.cos(y) * x)(x * 2),), [(2,)]),
    "custom rule": (lambda x: (with_rule(x) * 2,), [(3,)]),
    "choices": (lambda x: (jacana.vmap(chosen)(x),), [(3,)]),
    "loops": (lambda x: (jacana.vmap(looped)(x),), [(2,)]),
    "scalar": (lambda x: (jnp.log(x * x + 1.0) ** 2,), [()]),
}
DEEP = ["repeated", "identity and constant", "nested jit", "custom rule"]


class Case:
    """A function from arrays to a tuple of arrays, and arguments for it."""

    def __init__(self, function, args):
        self.function, self.args = function, args

    def outs(self):
        return self.function(*self.args)


def values_like(rng, xs):
    return [rng.uniform(0.2, 1.2, np.shape(x)) * rng.choice([-1, 1], np.shape(x)) for x in xs]


def jit(case, rng):
    return Case(jacana.jit(case.function), case.args)


def jvp(case, rng):
    n = len(case.args)

    def function(*both):
        outs, tangents = jacana.jvp(case.function, both[:n], both[n:])
        return (*outs, *tangents)

    return Case(function, [*case.args, *values_like(rng, case.args)])


def linearize(case, rng):
    n = len(case.args)

    def function(*both):
        outs, push = jacana.linearize(case.function, *both[:n])
        return (*outs, *push(*both[n:]))

    return Case(function, [*case.args, *values_like(rng, case.args)])


def vjp(case, rng):
    n = len(case.args)

    def function(*both):
        return jacana.vjp(case.function, *both[:n])[1](tuple(both[n:]))

    return Case(function, [*case.args, *values_like(rng, case.outs())])


def vmap(case, rng):
    batches = [np.stack(values_like(rng, [x] * BATCH)) for x in case.args]
    return Case(jacana.vmap(case.function), batches)


TRANSFORMS = {f.__name__: f for f in (jit, jvp, linearize, vjp, vmap)}


def check(transform, inner, outer):
    """The outer case, `transform` of the inner one, against the meaning of the transformation."""
    found = [np.asarray(x) for x in outer.outs()]
    if transform == "jit":
        expected = inner.outs()
    elif transform == "vmap":
        rows = [inner.function(*[x[i] for x in outer.args]) for i in range(BATCH)]
        expected = [np.stack([np.asarray(x) for x in xs]) for xs in zip(*rows, strict=True)]
    elif transform in ("jvp", "linearize"):
        tangents = outer.args[len(inner.args) :]
        expected = [*inner.outs(), *differences(inner, tangents)]
    else:
        tangents = [np.cos(np.arange(np.size(x), dtype=float)).reshape(np.shape(x)) for x in found]
        pushed = jacana.jvp(inner.function, tuple(inner.args), tuple(tangents))[1]
        cts = outer.args[len(inner.args) :]
        found = sum(np.vdot(x, t) for x, t in zip(found, tangents, strict=True))
        expected = sum(np.vdot(ct, np.asarray(t)) for ct, t in zip(cts, pushed, strict=True))
        found, expected = [found], [expected]
    for x, y in zip(found, expected, strict=True):
        np.testing.assert_allclose(np.asarray(x), np.asarray(y), rtol=2e-5, atol=2e-6)


def differences(case, tangents, step=1e-5):
    ends = [
        case.function(*[x + sign * step * t for x, t in zip(case.args, tangents, strict=True)])
        for sign in (1, -1)
    ]
    return [(np.asarray(a) - np.asarray(b)) / (2 * step) for a, b in zip(*ends, strict=True)]


def depth_of(name):
    return 3 if name in DEEP else 2


@pytest.fixture(autouse=True)
def _x64():
    with jacana.enable_x64(True):
        yield


@pytest.mark.parametrize("last", TRANSFORMS)
@pytest.mark.parametrize("name", ZOO)
def test_composition(name, last, rng):
    function, shapes = ZOO[name]
    first = Case(function, values_like(rng, [np.zeros(s) for s in shapes]))
    for inner in itertools.product(TRANSFORMS, repeat=depth_of(name) - 1):
        case = first
        for transform in inner:
            case = TRANSFORMS[transform](case, rng)
        try:
            check(last, case, TRANSFORMS[last](case, rng))
        except Exception as error:
            raise AssertionError(f"{last} of {' of '.join(reversed(inner))} of {name}") from error

"""Laws of programs that hold programs, in double precision: what each transformation means."""

import numpy as np

import jacana
import jacana.numpy as jnp

STEP = 1e-5


def leaves(out):
    return [np.asarray(x) for x in jacana.tree.leaves(out)]


def same_bits(got, want):
    for g, w in zip(leaves(got), leaves(want), strict=True):
        np.testing.assert_array_equal(g, w)


def close(got, want, rtol=2e-5, atol=1e-6):
    for g, w in zip(leaves(got), leaves(want), strict=True):
        np.testing.assert_allclose(g, w, rtol=rtol, atol=atol)


def directions(args, seed=0):
    rng = np.random.default_rng(seed)
    return [jnp.asarray(rng.uniform(-1, 1, np.shape(x))) for x in args]


def differences(function, args, tangents):
    ends = [
        leaves(function(*[x + sign * STEP * t for x, t in zip(args, tangents, strict=True)]))
        for sign in (1, -1)
    ]
    return [(a - b) / (2 * STEP) for a, b in zip(*ends, strict=True)]


def scalar(function):
    """One number of all the outputs."""
    return lambda *xs: sum(jnp.sum(jnp.sin(o)) for o in jacana.tree.leaves(function(*xs)))


def slope(function, tangents):
    return lambda *xs: jacana.jvp(function, xs, tuple(tangents))[1]


def check_forward(function, args):
    """jit is the function; jvp has its slopes, to second order."""
    same_bits(jacana.jit(function)(*args), function(*args))
    tangents = directions(args)
    once = slope(function, tangents)
    close(once(*args), differences(function, args, tangents))
    close(jacana.jit(once)(*args), once(*args))
    again = slope(once, directions(args, 1))
    close(again(*args), differences(once, args, directions(args, 1)), rtol=1e-4)


def check_reverse(function, args):
    """grad has the slopes of jvp, and so has the gradient of what it gives."""
    argnums, loss, tangents = tuple(range(len(args))), scalar(function), directions(args)
    gradient = jacana.grad(loss, argnums)
    check_along(gradient, loss, args, tangents)
    close(jacana.jit(gradient)(*args), gradient(*args), rtol=1e-9, atol=1e-9)

    def along(*xs):
        return sum(jnp.sum(g * t) for g, t in zip(gradient(*xs), tangents, strict=True))

    check_along(jacana.grad(along, argnums), along, args, directions(args, 1))


def check_along(gradient, loss, args, tangents):
    along = sum(np.sum(g * np.asarray(t)) for g, t in zip(gradient(*args), tangents, strict=True))
    close(along, slope(loss, tangents)(*args), rtol=1e-8, atol=1e-9)
    close(along, differences(loss, args, tangents), rtol=1e-4)


def check_batches(function, batches, axes=None, reverse=True):
    """vmap is the loop, also of derivatives; derivatives of vmap are those of the loop."""
    axes = axes or (0,) * len(batches)
    size = next(len(x) for x, a in zip(batches, axes, strict=True) if a == 0)

    def rows(f):
        def loop(*xs):
            outs = [f(*[x if a is None else x[i] for x, a in zip(xs, axes)]) for i in range(size)]
            return jacana.tree.map(lambda *os: jnp.stack(os), *outs)

        return loop

    both = jacana.vmap(function, axes)
    close(both(*batches), rows(function)(*batches), rtol=1e-12, atol=1e-12)
    same_bits(jacana.jit(both)(*batches), both(*batches))
    check_forward(both, batches)
    if not reverse:
        return
    argnums = tuple(range(len(batches)))
    gradient = jacana.grad(scalar(function), argnums)
    close(jacana.vmap(gradient, axes)(*batches), rows(gradient)(*batches), rtol=1e-9, atol=1e-9)
    whole = jacana.grad(scalar(both), argnums)(*batches)
    close(whole, jacana.grad(scalar(rows(function)), argnums)(*batches), rtol=1e-9, atol=1e-9)
    check_reverse(both, batches)

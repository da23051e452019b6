"""jax.experimental.ode: initial value problems of ordinary differential equations.

The method is that of Dormand and Prince (J. Comp. Appl. Math. 6, 1980), with the step control and
the continuous extension of Hairer, Norsett and Wanner, Solving Ordinary Differential Equations I,
sections II.4 to II.6. Reverse mode solves the adjoint equation backwards in time.
"""

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jacana.numpy as jnp
from jacana import lax
from jacana.api.custom import custom_vjp
from jacana.api.derivatives import vjp
from jacana.api.jit import jit
from jacana.core import dtypes, tree
from jacana.core.evaluate import evaluate
from jacana.core.trace import Tracer
from jacana.core.values import aval_of, is_array_like
from jacana.flatten_util import ravel_pytree
from jacana.lax.control_flow import traced

Rate = Callable[..., Any]  # (y, t, *args) -> dy/dt, of vectors y

# The tableau: stage i is at time NODES[i], of the point that STAGES[i] weighs from earlier slopes.
NODES = (0.0, 1 / 5, 3 / 10, 4 / 5, 8 / 9, 1.0, 1.0)
STAGES = (
    (),
    (1 / 5,),
    (3 / 40, 9 / 40),
    (44 / 45, -56 / 15, 32 / 9),
    (19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729),
    (9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656),
    (35 / 384, 0.0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84),
)
# The solution of order five less that of order four.
ERROR = (
    71 / 57600, 0.0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40
)  # fmt: skip
# What the continuous extension, of order four, adds to the cubic through both ends.
DENSE = (
    -12715105075 / 11282082432, 0.0, 87487479700 / 32700410799, -10690763975 / 1880347072,
    701980252875 / 199316789632, -1453857185 / 822651844, 69997945 / 29380423,
)  # fmt: skip
SAFETY, SLOWEST, FASTEST, ORDER = 0.9, 0.2, 10.0, 5


class Control(NamedTuple):
    """Tolerances and limits of the steps."""

    rtol: float
    atol: float
    mxstep: float
    hmax: float


class Position(NamedTuple):
    """Where the integration stands, and the polynomial of the step that led there."""

    steps: Any
    y: Any
    slope: Any
    t: Any
    size: Any
    t_before: Any
    polynomial: tuple[Any, ...]


def odeint(
    func: Callable[..., Any], y0: Any, t: Any, *args: Any, rtol: float = 1.4e-8,
    atol: float = 1.4e-8, mxstep: float = jnp.inf, hmax: float = jnp.inf,
) -> Any:  # fmt: skip
    """y at the times t, which increase, where dy/dt = func(y, t, *args) and y(t[0]) = y0.

    y0 is an array or a pytree of arrays, and the results are stacked along a first axis. An error
    of `atol + rtol * abs(y)` is allowed in each step, of which there are at most mxstep between two
    times. Gradients in y0, t, args and in what func captures are those of the adjoint equation;
    there is no forward mode.

    >>> y = odeint(lambda y, t: -y, jnp.float32(1), jnp.array([0.0, 1.0]), rtol=1e-5)
    >>> round(float(y[1]), 4)
    0.3679
    """
    leaves, structure = tree.flatten(args)
    for leaf in leaves:
        if not is_array_like(leaf):
            raise TypeError(
                f"The contents of odeint *args must be arrays or scalars, but got {leaf}."
            )
    times = jnp.asarray(t)
    if times.ndim != 1 or not times.shape[0]:
        raise ValueError(f"odeint needs a vector of times, at least one, got shape {times.shape}.")
    control = Control(rtol, atol, mxstep, hmax)
    return _solve(func, structure, control, y0, times, *leaves)


@functools.partial(jit, static_argnums=(0, 1, 2))
def _solve(
    func: Callable[..., Any], args_structure: Any, control: Control, y0: Any, t: Any, *args: Any
) -> Any:
    leaves, structure = tree.flatten(y0)
    start, unravel = ravel_pytree([jnp.asarray(x) for x in leaves])
    if not dtypes.is_differentiable(start.dtype):
        raise TypeError(
            f"odeint needs an initial state y0 of floating-point numbers, got elements of dtype "
            f"{dtypes.name(start.dtype)}. Convert it with astype(float)."
        )
    times = t.astype(jnp.result_type(t.dtype, float))
    start = start.astype(start.dtype)

    def function(y: Any, time: Any, xs: Any) -> Any:
        state = structure.unflatten(unravel(y))
        slope = func(state, time, *args_structure.unflatten(xs))
        return flat_slope(slope, structure, start)

    rate, captured = without_captured_tracers(function, (start, times[0], list(args)))
    rows = integrate(rate, control, start, times, *args, *captured)
    ends, parts = 0, []
    for x in leaves:
        aval = aval_of(x)
        begin, ends = ends, ends + math.prod(aval.shape)
        part = jnp.reshape(rows[:, begin:ends], (rows.shape[0], *aval.shape))
        parts.append(part.astype(aval.dtype))
    return structure.unflatten(parts)


def flat_slope(slope: Any, structure: Any, start: Any) -> Any:
    """What func gave, as a vector like the state."""
    leaves, found = tree.flatten(slope)
    if found != structure:
        raise TypeError(
            f"odeint needs func(y, t, *args) to give what y0 is made of, {structure}; it gave "
            f"{found}."
        )
    flat = jnp.concatenate([jnp.ravel(x) for x in leaves])
    if flat.shape != start.shape:
        raise TypeError(
            f"odeint needs func(y, t, *args) to give as many numbers as y0 has, {start.shape[0]}; "
            f"it gave {flat.shape[0]}."
        )
    return flat.astype(start.dtype)


def without_captured_tracers(function: Rate, example: tuple[Any, ...]) -> tuple[Rate, list[Any]]:
    """(y, t, *args, *captured) -> slope, and what the function captures that is traced."""
    leaves, structure = tree.flatten(example)
    jaxpr, consts, _ = traced(function, structure, [aval_of(x) for x in leaves], "odeint")
    is_traced = [isinstance(c, Tracer) for c in consts]

    def rate(*args: Any) -> Any:
        given = iter(args[len(leaves) :])
        known = [next(given) if r else c for c, r in zip(consts, is_traced, strict=True)]
        return evaluate(jaxpr.jaxpr, (), [*known, *args[: len(leaves)]])[0]

    return rate, [c for c, r in zip(consts, is_traced, strict=True) if r]


# --- steps ---


def weighted(weights: tuple[float, ...], slopes: Sequence[Any]) -> Any:
    terms = [w * k for w, k in zip(weights, slopes, strict=True) if w]
    return functools.reduce(lambda total, term: total + term, terms)


def in_tolerance(error: Any, y: Any, y_after: Any, control: Control) -> Any:
    """The root mean square of errors over what is tolerated: at most one where all is well."""
    scale = control.atol + control.rtol * jnp.maximum(jnp.abs(y), jnp.abs(y_after))
    return jnp.sqrt(jnp.mean(jnp.square(jnp.abs(error) / scale)))


def first_size(f: Rate, t: Any, y: Any, slope: Any, control: Control) -> Any:
    """A step of which order, of state and slope and its change, cannot go far wrong (II.4)."""
    d0 = in_tolerance(y, y, y, control)
    d1 = in_tolerance(slope, y, y, control)
    is_small = (d0 < 1e-5) | (d1 < 1e-5)
    h0 = jnp.where(is_small, 1e-6, 0.01 * d0 / jnp.where(is_small, 1, d1))
    later = f(y + h0 * slope, t + h0.astype(t.dtype))
    d2 = in_tolerance(later - slope, y, y, control) / h0
    steepest = jnp.maximum(d1, d2)
    is_flat = steepest <= 1e-15
    guess = (0.01 / jnp.where(is_flat, 1, steepest)) ** (1 / ORDER)
    h1 = jnp.where(is_flat, jnp.maximum(1e-6, h0 * 1e-3), guess)
    return jnp.clip(jnp.minimum(100 * h0, h1).astype(t.dtype), 0, control.hmax)


def step(f: Rate, control: Control, at: Position) -> Position:
    """The position after one step, which is taken back if its error is too large."""
    h = at.size.astype(dtypes.real_dtype(at.y.dtype))
    slopes, y = [at.slope], at.y
    for node, weights in zip(NODES[1:], STAGES[1:], strict=True):
        y = at.y + h * weighted(weights, slopes)
        slopes.append(f(y, at.t + at.size * node))
    error = in_tolerance(h * weighted(ERROR, slopes), at.y, y, control)
    accept = error <= 1
    factor = SAFETY * error ** (-1 / ORDER)
    factor = jnp.minimum(FASTEST, jnp.maximum(factor, jnp.where(accept, 1.0, SLOWEST)))
    size = jnp.clip(at.size * factor.astype(at.t.dtype), 0, control.hmax)
    rise = y - at.y
    bend = h * slopes[0] - rise
    polynomial = (at.y, rise, bend, rise - h * slopes[-1] - bend, h * weighted(DENSE, slopes))
    after = (y, slopes[-1], at.t + at.size, at.t, polynomial)
    before = (at.y, at.slope, at.t, at.t_before, at.polynomial)
    y, slope, t, t_before, polynomial = tree.map(
        lambda a, b: jnp.where(accept, a, b), after, before
    )
    return Position(at.steps + 1, y, slope, t, size, t_before, polynomial)


def between(at: Position, t: Any) -> Any:
    """The continuous extension of the last step, at a time within it."""
    x = ((t - at.t_before) / (at.t - at.t_before)).astype(dtypes.real_dtype(at.y.dtype))
    c0, c1, c2, c3, c4 = at.polynomial
    return c0 + x * (c1 + (1 - x) * (c2 + x * (c3 + (1 - x) * c4)))


def advance(f: Rate, control: Control, at: Position, target: Any) -> tuple[Position, Any]:
    """The position of the first step that reaches the target time, and the state there."""

    def goes_on(at: Position) -> Any:
        go = (at.t < target) & (at.size > 0)
        return go if control.mxstep == jnp.inf else go & (at.steps < control.mxstep)

    start = at._replace(steps=jnp.zeros_like(at.steps))
    at = lax.while_loop(goes_on, functools.partial(step, f, control), start)
    return at, between(at, target).astype(at.y.dtype)


@functools.partial(custom_vjp, nondiff_argnums=(0, 1))
def integrate(rate: Rate, control: Control, y: Any, t: Any, *args: Any) -> Any:
    """The states at the times t, stacked."""

    def f(y: Any, time: Any) -> Any:
        return rate(y, time, *args)

    slope = f(y, t[0])
    size = first_size(f, t[0], y, slope, control)
    zero = jnp.zeros_like(y)
    at = Position(jnp.int32(0), y, slope, t[0], size, t[0], (y, zero, zero, zero, zero))
    _, rows = lax.scan(functools.partial(advance, f, control), at, t[1:])
    return jnp.concatenate([y[None], rows])


# --- the adjoint equation ---


def integrate_forward(rate: Rate, control: Control, y: Any, t: Any, *args: Any) -> Any:
    rows = integrate(rate, control, y, t, *args)
    return rows, (rows, t, args)


def integrate_backward(rate: Rate, control: Control, residuals: Any, ct: Any) -> Any:
    """Cotangents of the first state, the times and the args.

    Between two times, from the later to the earlier, the state goes back along with its cotangent
    c, for which dc/dt = -c df/dy, and with the integrals of c df/dt and c df/dargs.
    """
    rows, t, args = residuals
    chosen = [i for i, x in enumerate(args) if dtypes.is_differentiable(aval_of(x).dtype)]
    zeros = [jnp.zeros(aval_of(args[i]).shape, aval_of(args[i]).dtype) for i in chosen]
    example = (rows[0], rows[0], jnp.zeros_like(t[0]), zeros)
    _, unravel = ravel_pytree(example)

    def back(state: Any, minus_t: Any, *xs: Any) -> Any:
        y, c, _, _ = unravel(state)

        def slope(y: Any, time: Any, inexact: list[Any]) -> Any:
            given = dict(zip(chosen, inexact, strict=True))
            return rate(y, time, *[given.get(i, x) for i, x in enumerate(xs)])

        dy, pull = vjp(slope, y, -minus_t, [xs[i] for i in chosen])
        return ravel_pytree((-dy, *pull(c)))[0]

    def leg(carry: Any, x: Any) -> Any:
        c, t_total, totals = carry
        y, ct, t, earlier_ct, earlier_t = x
        t_ct = jnp.real(jnp.sum(rate(y, t, *args) * ct)).astype(t.dtype)
        state, _ = ravel_pytree((y, c, t_total - t_ct, totals))
        ends = jnp.stack([-t, -earlier_t])
        _, c, t_total, totals = unravel(integrate(back, control, state, ends, *args)[1])
        return (c + earlier_ct, t_total, totals), t_ct

    legs = (rows[1:], ct[1:], t[1:], ct[:-1], t[:-1])
    start = (ct[-1], jnp.zeros_like(t[0]), zeros)
    (c, t_first, totals), t_cts = lax.scan(leg, start, legs, reverse=True)
    found = dict(zip(chosen, totals, strict=True))
    arg_cts = [found.get(i) for i in range(len(args))]
    return (c, jnp.concatenate([t_first[None], t_cts]), *arg_cts)


integrate.defvjp(integrate_forward, integrate_backward)

"""Optimizers as triples of functions: (init, update, get_params).

Each is written for one array; `optimizer` makes it one of a tree of them.
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from jacana import numpy as jnp
from jacana.core import tree

Schedule = Callable[[Any], Any]


class Optimizer(NamedTuple):
    """init_fn(params) -> state; update_fn(step, gradients, state) -> state; params_fn(state)."""

    init_fn: Callable[..., Any]
    update_fn: Callable[..., Any]
    params_fn: Callable[..., Any]


class OptimizerState(NamedTuple):
    """The leaves of each parameter's state, and the structures to put them together."""

    packed_state: Any
    tree_def: Any
    subtree_defs: Any


tree.register_pytree_node(
    OptimizerState,
    lambda s: ((s.packed_state,), (s.tree_def, s.subtree_defs)),
    lambda data, children: OptimizerState(children[0], *data),
)


class JoinPoint:
    """A leaf of a tree that is itself a tree: the state of one parameter."""

    def __init__(self, subtree: Any):
        self.subtree = subtree

    def __iter__(self) -> Any:
        yield self.subtree


def optimizer(opt_maker: Callable[..., Any]) -> Callable[..., Optimizer]:
    """Makes a maker of optimizers of one array one of optimizers of a tree of arrays.

    >>> @optimizer
    ... def descent(rate):
    ...     return lambda x: x, lambda i, g, x: x - rate * g, lambda x: x
    >>> init, update, get_params = descent(0.5)
    >>> get_params(update(0, {"a": 1.0}, init({"a": 3.0})))
    {'a': 2.5}
    """

    @functools.wraps(opt_maker)
    def make(*args: Any, **kwargs: Any) -> Optimizer:
        init, update, get_params = opt_maker(*args, **kwargs)

        def tree_init(x0_tree: Any) -> OptimizerState:
            leaves, structure = tree.flatten(x0_tree)
            return _packed([init(x) for x in leaves], structure)

        def tree_update(i: Any, grad_tree: Any, opt_state: OptimizerState) -> OptimizerState:
            grads, structure = tree.flatten(grad_tree)
            if structure != opt_state.tree_def:
                raise TypeError(
                    f"optimizer update function was passed a gradient tree that did not match the "
                    f"parameter tree structure with which it was initialized: parameter tree "
                    f"{opt_state.tree_def} and grad tree {structure}."
                )
            states = [update(i, g, s) for g, s in zip(grads, _states(opt_state), strict=True)]
            made = _packed(states, structure)
            for i, (old, found) in enumerate(
                zip(opt_state.subtree_defs, made.subtree_defs, strict=True)
            ):
                if old != found:
                    raise TypeError(
                        f"optimizer update function produced an output structure that did not "
                        f"match its input structure for parameter {i}: input {old} and output "
                        f"{found}."
                    )
            return made

        def tree_params(opt_state: OptimizerState) -> Any:
            return opt_state.tree_def.unflatten([get_params(s) for s in _states(opt_state)])

        return Optimizer(tree_init, tree_update, tree_params)

    return make


def _packed(states: Sequence[Any], structure: Any) -> OptimizerState:
    flat = [tree.flatten(s) for s in states]
    return OptimizerState(
        tuple(tuple(leaves) for leaves, _ in flat), structure, tuple(s for _, s in flat)
    )


def _states(opt_state: OptimizerState) -> list[Any]:
    pairs = zip(opt_state.subtree_defs, opt_state.packed_state, strict=True)
    return [structure.unflatten(leaves) for structure, leaves in pairs]


def unpack_optimizer_state(opt_state: OptimizerState) -> Any:
    """The parameters' tree with the state of each as a JoinPoint, to be saved."""
    return opt_state.tree_def.unflatten([JoinPoint(s) for s in _states(opt_state)])


def pack_optimizer_state(marked_pytree: Any) -> OptimizerState:
    """The state that unpack_optimizer_state made the tree of."""
    points, structure = tree.flatten(marked_pytree)
    if not all(isinstance(p, JoinPoint) for p in points):
        raise TypeError("pack_optimizer_state needs a tree whose leaves are JoinPoints.")
    return _packed([p.subtree for p in points], structure)


# --- optimizers ---


@optimizer
def sgd(step_size: Any) -> Any:
    """Gradient descent; `step_size` is a number, or a schedule of the step's number."""
    rate = make_schedule(step_size)
    return lambda x0: x0, lambda i, g, x: x - rate(i) * g, lambda x: x


@optimizer
def momentum(step_size: Any, mass: float) -> Any:
    """Gradient descent with momentum: v = mass v + g, x = x - step_size v."""
    rate = make_schedule(step_size)

    def update(i: Any, g: Any, state: Any) -> Any:
        x, velocity = state
        velocity = mass * velocity + g
        return x - rate(i) * velocity, velocity

    return _with_zeros, update, _first


@optimizer
def nesterov(step_size: Any, mass: float) -> Any:
    """Gradient descent with Nesterov's momentum: x = x - step_size (mass v + g)."""
    rate = make_schedule(step_size)

    def update(i: Any, g: Any, state: Any) -> Any:
        x, velocity = state
        velocity = mass * velocity + g
        return x - rate(i) * (mass * velocity + g), velocity

    return _with_zeros, update, _first


@optimizer
def adagrad(step_size: Any, momentum: float = 0.9) -> Any:
    """Adagrad: gradients are divided by the root of the sum of their squares so far."""
    rate = make_schedule(step_size)

    def init(x0: Any) -> Any:
        return x0, jnp.zeros_like(x0), jnp.zeros_like(x0)

    def update(i: Any, g: Any, state: Any) -> Any:
        x, squares, mean = state
        squares = squares + jnp.square(g)
        scale = jnp.where(squares > 0, 1.0 / jnp.sqrt(squares), 0.0)
        mean = (1.0 - momentum) * (g * scale) + momentum * mean
        return x - rate(i) * mean, squares, mean

    return init, update, _first


@optimizer
def rmsprop(step_size: Any, gamma: float = 0.9, eps: float = 1e-8) -> Any:
    """RMSProp: gradients are divided by the root of the running mean of their squares."""
    rate = make_schedule(step_size)

    def update(i: Any, g: Any, state: Any) -> Any:
        x, mean = state
        mean = mean * gamma + jnp.square(g) * (1.0 - gamma)
        return x - rate(i) * g / jnp.sqrt(mean + eps), mean

    return _with_zeros, update, _first


@optimizer
def rmsprop_momentum(
    step_size: Any, gamma: float = 0.9, eps: float = 1e-8, momentum: float = 0.9
) -> Any:
    """RMSProp whose steps have momentum."""
    rate = make_schedule(step_size)

    def init(x0: Any) -> Any:
        return x0, jnp.zeros_like(x0), jnp.zeros_like(x0)

    def update(i: Any, g: Any, state: Any) -> Any:
        x, mean, step = state
        mean = mean * gamma + jnp.square(g) * (1.0 - gamma)
        step = momentum * step + rate(i) * g / jnp.sqrt(mean + eps)
        return x - step, mean, step

    return init, update, _first


@optimizer
def adam(step_size: Any, b1: float = 0.9, b2: float = 0.999, eps: float = 1e-8) -> Any:
    """Adam: running means of gradients and of their squares, corrected for how they begin."""
    rate = make_schedule(step_size)

    def init(x0: Any) -> Any:
        return x0, jnp.zeros_like(x0), jnp.zeros_like(x0)

    def update(i: Any, g: Any, state: Any) -> Any:
        x, m, v = state
        m = (1 - b1) * g + b1 * m
        v = (1 - b2) * jnp.square(g) + b2 * v
        first = m / (1 - jnp.asarray(b1, m.dtype) ** (i + 1))
        second = v / (1 - jnp.asarray(b2, m.dtype) ** (i + 1))
        return x - rate(i) * first / (jnp.sqrt(second) + eps), m, v

    return init, update, _first


@optimizer
def adamax(step_size: Any, b1: float = 0.9, b2: float = 0.999, eps: float = 1e-8) -> Any:
    """Adam with the greatest of the gradients so far, which decays, in place of their squares."""
    rate = make_schedule(step_size)

    def init(x0: Any) -> Any:
        return x0, jnp.zeros_like(x0), jnp.zeros_like(x0)

    def update(i: Any, g: Any, state: Any) -> Any:
        x, m, greatest = state
        m = (1 - b1) * g + b1 * m
        greatest = jnp.maximum(b2 * greatest, jnp.abs(g))
        correction = 1 - jnp.asarray(b1, m.dtype) ** (i + 1)
        return x - rate(i) / correction * m / (greatest + eps), m, greatest

    return init, update, _first


@optimizer
def sm3(step_size: Any, momentum: float = 0.9) -> Any:
    """SM3: Adagrad whose sums of squares are kept for each axis, not for each element."""
    rate = make_schedule(step_size)

    def along(x: Any, axis: int) -> tuple[Any, ...]:
        return tuple(slice(None) if k == axis else None for k in range(x.ndim))

    def init(x0: Any) -> Any:
        x0 = jnp.asarray(x0)
        sums = [jnp.zeros(n, x0.dtype) for n in x0.shape] or [jnp.zeros((), x0.dtype)]
        return x0, jnp.zeros_like(x0), sums

    def update(i: Any, g: Any, state: Any) -> Any:
        x, mean, sums = state
        spread = [s[along(x, k)] for k, s in enumerate(sums)] if x.ndim else sums
        squares = functools.reduce(jnp.minimum, spread) + jnp.square(g)
        scale = jnp.where(squares > 0, 1.0 / jnp.sqrt(squares), 0.0)
        mean = (1.0 - momentum) * (g * scale) + momentum * mean
        others = [tuple(j for j in range(x.ndim) if j != k) for k in range(x.ndim)] or [()]
        return x - rate(i) * mean, mean, [squares.max(axes) for axes in others]

    return init, update, _first


def _with_zeros(x0: Any) -> Any:
    return x0, jnp.zeros_like(x0)


def _first(state: Any) -> Any:
    return state[0]


# --- schedules ---


def make_schedule(scalar_or_schedule: Any) -> Schedule:
    """A schedule: what is given if it is one, else the constant one."""
    if callable(scalar_or_schedule):
        return scalar_or_schedule  # type: ignore[no-any-return]
    if jnp.ndim(scalar_or_schedule) == 0:
        return constant(scalar_or_schedule)
    raise TypeError(
        f"a step size is a number or a function of the step's number, got an array of shape "
        f"{jnp.shape(scalar_or_schedule)}."
    )


def constant(step_size: Any) -> Schedule:
    """The same at each step."""
    return lambda i: step_size


def exponential_decay(step_size: Any, decay_steps: Any, decay_rate: Any) -> Schedule:
    """step_size * decay_rate ** (i / decay_steps).

    >>> exponential_decay(2.0, 10, 0.5)(10)
    1.0
    """
    return lambda i: step_size * decay_rate ** (i / decay_steps)


def inverse_time_decay(
    step_size: Any, decay_steps: Any, decay_rate: Any, staircase: bool = False
) -> Schedule:
    """step_size / (1 + decay_rate * i / decay_steps), i / decay_steps rounded down if staircase."""
    if staircase:
        return lambda i: step_size / (1 + decay_rate * jnp.floor(i / decay_steps))
    return lambda i: step_size / (1 + decay_rate * i / decay_steps)


def polynomial_decay(
    step_size: Any, decay_steps: Any, final_step_size: Any, power: Any = 1.0
) -> Schedule:
    """From step_size to final_step_size in decay_steps, along (1 - t) ** power."""

    def schedule(i: Any) -> Any:
        left = 1 - jnp.minimum(i, decay_steps) / decay_steps
        return left**power * (step_size - final_step_size) + final_step_size

    return schedule


def piecewise_constant(boundaries: Any, values: Any) -> Schedule:
    """values[k] while k of the boundaries are passed; there is one value more than boundaries."""
    limits, levels = jnp.array(boundaries), jnp.array(values)
    if not limits.ndim == levels.ndim == 1:
        raise ValueError("boundaries and values must be sequences.")
    if limits.shape[0] != levels.shape[0] - 1:
        raise ValueError("boundaries length must be one shorter than values length.")
    return lambda i: levels[jnp.sum(i > limits)]


# --- gradients ---


def l2_norm(tree: Any) -> Any:
    """The root of the sum of the squares of all elements of a tree of arrays.

    >>> float(l2_norm({"a": jnp.array([3.0]), "b": 4.0}))
    5.0
    """
    return jnp.sqrt(sum(jnp.vdot(x, x) for x in _leaves(tree)))


_leaves = tree.leaves


def clip_grads(grad_tree: Any, max_norm: Any) -> Any:
    """The gradients, made smaller by one factor if their l2_norm is above max_norm."""
    norm = l2_norm(grad_tree)

    def clipped(g: Any) -> Any:
        return jnp.where(norm < max_norm, g, g * (max_norm / norm))

    return tree.map(clipped, grad_tree)

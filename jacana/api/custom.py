"""Functions with derivatives that the user gives: custom_jvp, custom_vjp, custom_gradient."""

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jacana import ops
from jacana.api.arguments import name_of
from jacana.api.pullback import zero_cotangent
from jacana.core import dtypes, tree
from jacana.core.errors import NotAnArrayError
from jacana.core.values import aval_of, is_array_like
from jacana.higher_order.custom_jvp import custom_jvp_call
from jacana.higher_order.custom_vjp import custom_vjp_call


class CallArguments:
    """The arguments of one call: which are not differentiated, and the leaves of the others."""

    def __init__(
        self,
        function: Callable[..., Any],
        args: Sequence[Any],
        kwargs: dict[str, Any],
        static: Sequence[int],
    ):
        self.function = function
        args = resolve_keywords(function, args, kwargs)
        self.args = list(args)
        self.static = sorted(n % len(args) for n in static)
        self.dynamic = [i for i in range(len(args)) if i not in self.static]
        self.leaves, self.structure = tree.flatten(tuple(args[i] for i in self.dynamic))
        for x in self.leaves:
            if not is_array_like(x):
                raise NotAnArrayError(x, name_of(function))
        self.out_structure: Any = None

    @property
    def static_values(self) -> list[Any]:
        return [self.args[i] for i in self.static]

    def restored(self, leaves: Sequence[Any]) -> list[Any]:
        full = list(self.args)
        for i, value in zip(self.dynamic, self.structure.unflatten(leaves), strict=True):
            full[i] = value
        return full

    def flatten_out(self, out: Any, what: str) -> list[Any]:
        leaves, structure = tree.flatten(out)
        if self.out_structure is None:
            self.out_structure = structure
        elif structure != self.out_structure:
            raise TypeError(
                f"{what} must produce the same container (pytree) structure as the output of "
                f"{name_of(self.function)}, which is {self.out_structure}, but got {structure}."
            )
        return leaves

    def call(self, *leaves: Any) -> list[Any]:
        """The function as a flat one."""
        return self.flatten_out(self.function(*self.restored(leaves)), "the function")


def resolve_keywords(
    function: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]
) -> tuple[Any, ...]:
    """All arguments as positional ones."""
    if not kwargs:
        return tuple(args)

    bound = inspect.signature(function).bind(*args, **kwargs)
    bound.apply_defaults()
    if bound.kwargs:
        raise TypeError(
            f"keyword arguments could not be resolved to positions for {name_of(function)}: "
            f"{sorted(bound.kwargs)}."
        )
    return bound.args


class custom_jvp:
    """A function whose derivative is given by a rule in forward mode.

    The rule gets the primals and tangents as tuples and returns (output, tangent of the output).

    >>> @custom_jvp
    ... def f(x): return x * x
    >>> @f.defjvp
    ... def f_jvp(primals, tangents):
    ...     return f(*primals), 3.0 * tangents[0]
    """

    def __init__(
        self,
        fun: Callable[..., Any],
        nondiff_argnums: Sequence[int] = (),
        nondiff_argnames: Sequence[str] = (),
    ):
        functools.update_wrapper(self, fun)
        self.fun = fun
        self.nondiff_argnums = tuple(nondiff_argnums)
        self.jvp: Callable[..., Any] | None = None
        self.symbolic_zeros = False

    def defjvp(self, jvp: Callable[..., Any], symbolic_zeros: bool = False) -> Callable[..., Any]:
        """Give the rule jvp(*nondiff_args, primals, tangents) -> (out, tangent_out)."""
        self.jvp, self.symbolic_zeros = jvp, symbolic_zeros
        return jvp

    def defjvps(self, *jvps: Callable[..., Any] | None) -> None:
        """Give one rule for each argument: jvp_i(tangent_i, output, *primals), or None for zero."""
        if self.nondiff_argnums:
            raise TypeError("Can't use ``defjvps`` with ``nondiff_argnums``.")

        def jvp(primals: Any, tangents: Any) -> tuple[Any, Any]:
            out = self(*primals)
            parts = [r(t, out, *primals) for r, t in zip(jvps, tangents, strict=True) if r]
            total = tree.map(lambda *ts: functools.reduce(ops.add_any, ts), *parts) if parts else (
                tree.map(zero_cotangent, out)
            )  # fmt: skip
            return out, total

        self.defjvp(jvp)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        rule = self.jvp
        if rule is None:
            raise AttributeError(
                f"No JVP defined for custom_jvp function {name_of(self.fun)} using defjvp."
            )
        given = CallArguments(self.fun, args, kwargs, self.nondiff_argnums)

        def flat_rule(*both: Any) -> list[Any]:
            n = len(both) // 2
            primals = given.structure.unflatten(both[:n])
            tangents = given.structure.unflatten([
                np.zeros(np.shape(p), dtypes.float0)
                if not dtypes.is_differentiable(aval_of(p).dtype) else t
                for p, t in zip(both[:n], both[n:], strict=True)
            ])  # fmt: skip
            pair = rule(*given.static_values, primals, tangents)
            if not isinstance(pair, tuple | list) or len(pair) != 2:
                raise TypeError(
                    f"Custom JVP rule {name_of(rule)} for function {name_of(self.fun)} must produce "
                    f"a pair (list or tuple of length two) representing primal and tangent outputs, "
                    f"but got {pair!r}."
                )
            outs = given.flatten_out(pair[0], "the primal output of a custom JVP rule")
            outs_dot = given.flatten_out(pair[1], "the tangent output of a custom JVP rule")
            return [
                *outs,
                *[matched(t, o, name_of(rule)) for t, o in zip(outs_dot, outs, strict=True)],
            ]

        outs = custom_jvp_call(*given.leaves, call=given.call, rule=flat_rule)
        if given.out_structure is None:  # only the rule ran
            raise AssertionError("a custom_jvp call produced no structure")
        return given.out_structure.unflatten(outs)


def matched(tangent: Any, out: Any, rule: str) -> Any:
    """A tangent of the type of the output it belongs to, or None where there is none."""
    wanted, found = aval_of(out).to_tangent_aval(), aval_of(tangent)
    if wanted.dtype == dtypes.float0:
        return None
    if found.shape != wanted.shape or found.dtype != wanted.dtype and not found.weak_type:
        raise TypeError(
            f"Custom JVP rule {rule} must produce primal and tangent outputs with equal shapes and "
            f"dtypes, but got primal {aval_of(out).str_short()} and tangent {found.str_short()}."
        )
    if found.dtype != wanted.dtype:
        return ops.convert_element_type(tangent, new_dtype=wanted.dtype, weak_type=False)
    return tangent


class custom_vjp:
    """A function whose derivative in reverse mode is given by two functions.

    forward(*args) -> (output, residuals); backward(*nondiff_args, residuals, cotangent) -> a tuple
    with a cotangent (or None for zero) for each differentiated argument.
    """

    def __init__(
        self,
        fun: Callable[..., Any],
        nondiff_argnums: Sequence[int] = (),
        nondiff_argnames: Sequence[str] = (),
    ):
        functools.update_wrapper(self, fun)
        self.fun = fun
        self.nondiff_argnums = tuple(nondiff_argnums)
        self.fwd: Callable[..., Any] | None = None
        self.bwd: Callable[..., Any] | None = None

    def defvjp(
        self,
        fwd: Callable[..., Any],
        bwd: Callable[..., Any],
        symbolic_zeros: bool = False,
        optimize_remat: bool = False,
    ) -> None:
        """Give the forward and backward functions."""
        self.fwd, self.bwd = fwd, bwd

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        fwd, bwd = self.fwd, self.bwd
        if fwd is None or bwd is None:
            raise AttributeError(
                f"No VJP defined for custom_vjp function {name_of(self.fun)} using defvjp."
            )
        given = CallArguments(self.fun, args, kwargs, self.nondiff_argnums)
        residual_structure: list[Any] = []

        def forward(*leaves: Any) -> tuple[list[Any], list[Any]]:
            pair = fwd(*given.restored(leaves))
            if not isinstance(pair, tuple | list) or len(pair) != 2:
                raise TypeError(
                    f"Custom VJP fwd rule {name_of(fwd)} for function {name_of(self.fun)} must "
                    f"produce a pair (list or tuple of length two) of the primal output and "
                    f"residuals, but got {pair!r}."
                )
            outs = given.flatten_out(pair[0], "the output of a custom VJP fwd rule")
            residuals, structure = tree.flatten(pair[1])
            residual_structure[:] = [structure]
            return residuals, outs

        def backward(*flat: Any) -> list[Any]:
            n = residual_structure[0].num_leaves
            residuals = residual_structure[0].unflatten(flat[:n])
            cotangent = given.out_structure.unflatten(flat[n:])
            result = bwd(*given.static_values, residuals, cotangent)
            return cotangents_of(result, given, name_of(bwd))

        outs = custom_vjp_call(*given.leaves, call=given.call, forward=forward, backward=backward)
        return given.out_structure.unflatten(outs)


def cotangents_of(result: Any, given: CallArguments, rule: str) -> list[Any]:
    """The backward function's result as one cotangent (or None) for each leaf."""
    if isinstance(result, list):
        result = tuple(result)
    if not isinstance(result, tuple) or len(result) != len(given.dynamic):
        raise TypeError(
            f"Custom VJP bwd rule {rule} must produce a tuple with one entry for each differentiated "
            f"argument ({len(given.dynamic)} of them), but got {result!r}."
        )
    leaves: list[Any] = []
    for argument, ct in zip([given.args[i] for i in given.dynamic], result, strict=True):
        inputs = tree.leaves(argument)
        if ct is None:
            leaves += [None] * len(inputs)
            continue
        found = tree.leaves(ct, is_leaf=lambda x: x is None)
        if len(found) != len(inputs):
            raise TypeError(
                f"Custom VJP bwd rule {rule} must produce cotangents with the structure of the "
                f"arguments: an argument has {tree.structure(argument)}, its cotangent "
                f"{tree.structure(ct)}."
            )
        leaves += [checked(ct_leaf, x, rule) for ct_leaf, x in zip(found, inputs, strict=True)]
    return leaves


def checked(ct: Any, x: Any, rule: str) -> Any:
    wanted = aval_of(x).to_tangent_aval()
    if ct is None or wanted.dtype == dtypes.float0 or aval_of(ct).dtype == dtypes.float0:
        return None
    found = aval_of(ct)
    if found.shape != wanted.shape:
        raise ValueError(
            f"Custom VJP bwd rule {rule} must produce cotangents of the arguments' shapes: got "
            f"{found.str_short()} for an argument of type {wanted.str_short()}."
        )
    if found.dtype != wanted.dtype:
        return ops.convert_element_type(ct, new_dtype=wanted.dtype, weak_type=False)
    return ct


def custom_gradient(fun: Callable[..., Any]) -> Callable[..., Any]:
    """A function from one that returns (output, pullback), for programs in that style."""

    @custom_vjp
    def wrapped(*args: Any) -> Any:
        return fun(*args)[0]

    def forward(*args: Any) -> Any:
        out, pullback = fun(*args)
        return out, tree.Partial(pullback)

    def backward(pullback: Any, ct: Any) -> Any:
        cts = pullback(ct)
        return cts if isinstance(cts, tuple) else (cts,)

    wrapped.defvjp(forward, backward)
    return wrapped

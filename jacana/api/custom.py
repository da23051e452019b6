"""custom_jvp, custom_vjp, custom_gradient: functions whose derivatives the user writes."""

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

from jacana.api.arguments import check_callable, name_of
from jacana.core import dtypes, tree
from jacana.core.avals import ShapedArray
from jacana.core.errors import NotAnArrayError
from jacana.core.tree import map as map_tree
from jacana.core.values import aval_of, is_argument, is_array_like
from jacana.higher_order.custom_jvp import CustomJVP
from jacana.higher_order.custom_rule import Named
from jacana.higher_order.custom_vjp import CustomVJP
from jacana.ops import add_any, convert_element_type
from jacana.transforms.jvp import zero_of, zero_tangent


class SymbolicZero:
    """A tangent that is known to be zero, in rules defined with symbolic_zeros=True."""

    __slots__ = ("aval",)

    def __init__(self, aval: ShapedArray):
        self.aval = aval

    @property
    def shape(self) -> tuple[int, ...]:
        return self.aval.shape

    @property
    def dtype(self) -> Any:
        return self.aval.dtype

    def instantiate(self) -> Any:
        """The zero as an array."""
        return zero_of(self.aval)

    def __repr__(self) -> str:
        return f"SymbolicZero({self.aval.str_short()})"

    @staticmethod
    def from_primal_value(val: Any) -> "SymbolicZero":
        """The zero tangent of a value."""
        return SymbolicZero(aval_of(val).to_tangent_aval())


def zero_from_primal(val: Any, symbolic_zeros: bool = False) -> Any:
    """The zero tangent of each value of a tree: arrays, or SymbolicZero objects if asked.

    >>> zero_from_primal({"a": 2.0})["a"].item()
    0.0
    """
    zeros = tree.map(SymbolicZero.from_primal_value, val)
    return zeros if symbolic_zeros else tree.map(lambda zero: zero.instantiate(), zeros)


class CustomVJPPrimal:
    """An argument of a forward pass defined with symbolic_zeros=True.

    `perturbed` tells whether the argument is differentiated.
    """

    __slots__ = ("value", "perturbed")

    def __init__(self, value: Any, perturbed: bool):
        self.value, self.perturbed = value, perturbed

    def __repr__(self) -> str:
        return f"CustomVJPPrimal(value={self.value!r}, perturbed={self.perturbed})"


def custom_vjp_primal_tree_values(tree: Any) -> Any:
    """A tree of CustomVJPPrimals as one of their values.

    >>> custom_vjp_primal_tree_values([CustomVJPPrimal(1.0, True), CustomVJPPrimal(2.0, False)])
    [1.0, 2.0]
    """

    def value(leaf: Any) -> Any:
        if not isinstance(leaf, CustomVJPPrimal):
            raise TypeError(f"unexpected leaf type {type(leaf)}: it should be a CustomVJPPrimal")
        return leaf.value

    return map_tree(value, tree, is_leaf=lambda x: isinstance(x, CustomVJPPrimal))


class Call:
    """The form of a call: which arguments are fixed, and the structure and types of the others."""

    __slots__ = ("fixed", "avals", "structure", "function_name", "_numbers", "_count")

    def __init__(self, custom: Any, args: Sequence[Any], structure: Any, leaves: Sequence[Any]):
        self.function_name = name_of(custom.fun)
        self._count = len(args)
        self._numbers = [n % len(args) for n in custom.nondiff_argnums]
        self.fixed = [args[n] for n in self._numbers]
        self.structure, self.avals = structure, [aval_of(x) for x in leaves]

    @classmethod
    def begin(
        cls, custom: Any, args: Sequence[Any], kwargs: dict[str, Any]
    ) -> tuple["Call", list[Any]]:
        """The form of a call and its flat differentiable arguments."""
        args = resolved(custom.fun, args, kwargs)
        numbers = {n % len(args) for n in custom.nondiff_argnums}
        leaves, structure = tree.flatten(tuple([x for i, x in enumerate(args) if i not in numbers]))
        for x in leaves:
            if not is_argument(x):
                raise NotAnArrayError(x, f"{name_of(custom.fun)}, which has a derivative rule,")
        return cls(custom, args, structure, leaves), leaves

    def dynamic(self, leaves: Sequence[Any]) -> tuple[Any, ...]:
        return self.structure.unflatten(leaves)  # type: ignore[no-any-return]

    def arguments(self, leaves: Sequence[Any]) -> list[Any]:
        """All arguments in order, with these leaves."""
        fixed = dict(zip(self._numbers, self.fixed, strict=True))
        rest = iter(self.dynamic(leaves))
        return [fixed[i] if i in fixed else next(rest) for i in range(self._count)]


def resolved(
    function: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]
) -> Sequence[Any]:
    """Arguments by position, keywords and defaults filled in."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        if kwargs:
            raise TypeError(
                f"{name_of(function)} has no signature to resolve keyword arguments by: pass them "
                f"by position."
            ) from None
        return args
    bound = signature.bind(*args, **kwargs)
    bound.apply_defaults()
    if bound.kwargs:
        raise TypeError(
            f"keyword arguments could not be resolved to positions: {name_of(function)} takes "
            f"{', '.join(bound.kwargs)} by keyword only, and custom rules work by position."
        )
    return bound.args


def flat_output(out: Any, owner: str) -> tuple[list[Any], Any]:
    leaves, structure = tree.flatten(out)
    for x in leaves:
        if not is_array_like(x):
            raise NotAnArrayError(x, f"{owner} as a result")
    return leaves, structure


def fixed_positions(
    function: Callable[..., Any], numbers: Sequence[int], names: Sequence[str]
) -> tuple[int, ...]:
    if names:
        parameters = list(inspect.signature(function).parameters)
        numbers = [*numbers, *[parameters.index(name) for name in names]]
    return tuple(sorted(set(numbers)))


class custom_jvp:
    """A function whose jvp rule is set by `defjvp`; `grad`, `vmap` and `jit` follow from it.

    >>> import jacana.numpy as jnp
    >>> from jacana.api.grad import grad
    >>> @custom_jvp
    ... def f(x):
    ...     return jnp.sin(x)
    >>> @f.defjvp
    ... def f_jvp(primals, tangents):
    ...     return f(*primals), 2.0 * tangents[0]
    >>> float(grad(f)(1.0))
    2.0
    """

    def __init__(
        self,
        fun: Callable[..., Any],
        nondiff_argnums: Sequence[int] = (),
        nondiff_argnames: Sequence[str] = (),
    ):
        check_callable(fun, "custom_jvp")
        functools.update_wrapper(self, fun)
        self.fun = fun
        self.nondiff_argnums = fixed_positions(fun, nondiff_argnums, nondiff_argnames)
        self.jvp: Callable[..., Any] | None = None
        self.symbolic_zeros = False

    def defjvp(self, jvp: Callable[..., Any], symbolic_zeros: bool = False) -> Callable[..., Any]:
        """Set the rule jvp(primals, tangents) -> (out, tangent of out).

        Arguments that are not differentiated (nondiff_argnums) come before these two.
        """
        self.jvp, self.symbolic_zeros = jvp, symbolic_zeros
        return jvp

    def defjvps(self, *jvps: Callable[..., Any] | None) -> None:
        """Set one rule jvp(tangent, out, *primals) per argument; None where it adds nothing."""
        if self.nondiff_argnums:
            raise TypeError("Can't use ``defjvps`` with ``nondiff_argnums``.")

        def jvp(primals: Any, tangents: Any) -> Any:
            out = self(*primals)
            parts = [rule(t, out, *primals) for rule, t in zip(jvps, tangents, strict=True) if rule]
            if not parts:
                return out, tree.map(zero_tangent, out)
            return out, functools.reduce(lambda a, b: tree.map(add_any, a, b), parts)

        self.defjvp(jvp)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.jvp is None:
            raise AttributeError(
                f"No JVP defined for custom_jvp function {name_of(self.fun)} using defjvp."
            )
        call, leaves = Call.begin(self, args, kwargs)
        structures: list[Any] = []

        def function(*xs: Any) -> list[Any]:
            out, structure = flat_output(self.fun(*call.arguments(xs)), name_of(self.fun))
            structures.append(structure)
            return out

        def rule(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
            outs, out_tangents, structure = self._apply(call, primals, tangents)
            structures.append(structure)
            return outs, out_tangents

        named = Named(rule, name_of(self.jvp))
        outs = CustomJVP(name_of(self.fun), function, named, self.symbolic_zeros)(*leaves)
        return structures[0].unflatten(outs)

    def _apply(
        self, call: Call, primals: Sequence[Any], tangents: Sequence[Any]
    ) -> tuple[list[Any], list[Any], Any]:
        """Flat results of the user's rule, and their structure."""
        assert self.jvp is not None
        given = [
            SymbolicZero(aval_of(p).to_tangent_aval()) if t is None else t
            for p, t in zip(primals, tangents, strict=True)
        ]
        result = self.jvp(*call.fixed, call.dynamic(primals), call.dynamic(given))
        rule, name = name_of(self.jvp), name_of(self.fun)
        if not isinstance(result, tuple | list) or len(result) != 2:
            raise TypeError(
                f"Custom JVP rule {rule} for function {name} must produce a pair (list or tuple of "
                f"length two) representing primal and tangent outputs, but got {result}."
            )
        outs, structure = flat_output(result[0], f"the jvp rule {rule}")
        out_tangents, tangent_structure = tree.flatten(result[1])
        if structure != tangent_structure:
            raise TypeError(
                f"Custom JVP rule {rule} for function {name} must produce primal and tangent "
                f"outputs with equal container (pytree) structures, but got {structure} and "
                f"{tangent_structure} respectively."
            )
        checked = [
            None if isinstance(t, SymbolicZero) else checked_tangent(o, t, rule, name)
            for o, t in zip(outs, out_tangents, strict=True)
        ]
        return outs, checked, structure

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else functools.partial(self, instance)


def checked_tangent(out: Any, tangent: Any, rule: str, name: str) -> Any:
    """The tangent with the dtype of the output, or None where that has no tangents."""
    wanted, found = aval_of(out).to_tangent_aval(), aval_of(tangent)
    if wanted.dtype == dtypes.float0:
        return None
    converted = like(tangent, wanted)
    if converted is None:
        raise TypeError(
            f"Custom JVP rule {rule} for function {name} must produce primal and tangent outputs "
            f"with corresponding shapes and dtypes. Expected {wanted.str_short()} (tangent type of "
            f"{aval_of(out).str_short()}) but got {found.str_short()}."
        )
    return converted


def like(x: Any, wanted: ShapedArray) -> Any:
    """The value with a wanted dtype where only a weak type differs, None where more does."""
    found = aval_of(x)
    if (wanted.shape, wanted.dtype) == (found.shape, found.dtype):
        return x
    if wanted.shape == found.shape and found.weak_type:
        return convert_element_type(x, new_dtype=wanted.dtype, weak_type=False)
    return None


class custom_vjp:
    """A function whose reverse-mode derivative is set by `defvjp`.

    >>> import jacana.numpy as jnp
    >>> from jacana.api.grad import grad
    >>> @custom_vjp
    ... def clip_gradient(x):
    ...     return x
    >>> clip_gradient.defvjp(lambda x: (x, None), lambda _, ct: (jnp.clip(ct, -1.0, 1.0),))
    >>> float(grad(lambda x: 10.0 * clip_gradient(x))(1.0))
    1.0
    """

    def __init__(
        self,
        fun: Callable[..., Any],
        nondiff_argnums: Sequence[int] = (),
        nondiff_argnames: Sequence[str] = (),
    ):
        check_callable(fun, "custom_vjp")
        functools.update_wrapper(self, fun)
        self.fun = fun
        self.nondiff_argnums = fixed_positions(fun, nondiff_argnums, nondiff_argnames)
        self.fwd: Callable[..., Any] | None = None
        self.bwd: Callable[..., Any] | None = None
        self.symbolic_zeros = False

    def defvjp(
        self,
        fwd: Callable[..., Any],
        bwd: Callable[..., Any],
        symbolic_zeros: bool = False,
        optimize_remat: bool = False,
    ) -> None:
        """Set fwd(*args) -> (out, residuals) and bwd(residuals, ct) -> a tuple of cotangents.

        The tuple has one cotangent per differentiated argument, None for zero. `fwd` takes
        arguments that are not differentiated in their places, `bwd` takes them first.

        With symbolic_zeros the leaves of the differentiated arguments of `fwd` are CustomVJPPrimal
        objects, and cotangents that are zero are SymbolicZero objects for `bwd`. optimize_remat is
        accepted for JAX's sake: under `checkpoint` what `fwd` computes for nobody is left out.
        """
        self.fwd, self.bwd, self.symbolic_zeros = fwd, bwd, symbolic_zeros

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.fwd is None or self.bwd is None:
            raise AttributeError(
                f"No VJP defined for custom_vjp function {name_of(self.fun)} using defvjp."
            )
        call, leaves = Call.begin(self, args, kwargs)
        passes = Passes(self.fun, self.fwd, self.bwd, call, self.symbolic_zeros)
        custom = CustomVJP(
            name_of(self.fun),
            passes.function,
            Named(passes.forward, name_of(self.fwd)),
            Named(passes.backward, name_of(self.bwd)),
        )
        outs = custom(*leaves)
        return passes.out.unflatten(outs)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else functools.partial(self, instance)


class Passes:
    """The user's functions for one call of a custom_vjp function, on flat lists."""

    def __init__(
        self,
        fun: Callable[..., Any],
        fwd: Callable[..., Any],
        bwd: Callable[..., Any],
        call: Call,
        symbolic_zeros: bool,
    ):
        self._fun, self._fwd, self._bwd, self._call = fun, fwd, bwd, call
        self._symbolic_zeros = symbolic_zeros
        self._tangent_avals: list[ShapedArray] = []
        self.out: Any = None
        self._residuals: Any = None

    def function(self, *leaves: Any) -> list[Any]:
        out = self._fun(*self._call.arguments(leaves))
        outs, self.out = flat_output(out, self._call.function_name)
        return outs

    def forward(self, *leaves: Any, perturbed: tuple[bool, ...]) -> tuple[list[Any], list[Any]]:
        if self._symbolic_zeros:
            leaves = tuple(map(CustomVJPPrimal, leaves, perturbed))
        pair = self._fwd(*self._call.arguments(leaves))
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise TypeError(
                f"Custom VJP fwd rule {name_of(self._fwd)} for function "
                f"{self._call.function_name} must produce a pair (list or tuple of length two): "
                f"the output, and the residuals that are kept for the backward pass. It gave "
                f"{pair}."
            )
        outs, self.out = flat_output(pair[0], f"the forward pass {name_of(self._fwd)}")
        self._tangent_avals = [aval_of(x).to_tangent_aval() for x in outs]
        residuals, self._residuals = tree.flatten(pair[1])
        return outs, residuals

    def backward(self, residuals: Sequence[Any], cotangents: Sequence[Any]) -> list[Any]:
        call = self._call
        zero = SymbolicZero if self._symbolic_zeros else zero_of
        cts = [
            zero(a) if ct is None else ct
            for a, ct in zip(self._tangent_avals, cotangents, strict=True)
        ]
        result = self._bwd(
            *call.fixed, self._residuals.unflatten(residuals), self.out.unflatten(cts)
        )
        rule, name = name_of(self._bwd), call.function_name
        count = len(call.structure.children())
        if not isinstance(result, tuple | list) or len(result) != count:
            found = f"{len(result)} of them" if isinstance(result, tuple | list) else repr(result)
            raise TypeError(
                f"Custom VJP bwd rule {rule} for function {name} must produce a tuple with one "
                f"cotangent for each of the {count} differentiated arguments, got {found}."
            )
        try:
            parts = tree.broadcast_prefix(
                tuple(result), call.dynamic(call.avals), is_leaf=lambda x: x is None
            )
        except ValueError as error:
            raise TypeError(
                f"Custom VJP bwd rule {rule} for function {name} must produce cotangents of the "
                f"structure of the differentiated arguments, {call.structure}: {error}"
            ) from error
        return [
            checked_cotangent(a, ct, rule, name) for a, ct in zip(call.avals, parts, strict=True)
        ]


def checked_cotangent(aval: ShapedArray, ct: Any, rule: str, name: str) -> Any:
    """The cotangent of a value of this aval, or None where it is zero."""
    wanted = aval.to_tangent_aval()
    if ct is None or isinstance(ct, SymbolicZero) or wanted.dtype == dtypes.float0:
        return None
    converted = like(ct, wanted)
    if converted is None:
        raise ValueError(
            f"Custom VJP bwd rule {rule} for function {name} must produce cotangents of the shapes "
            f"and dtypes of the differentiated arguments. Expected {wanted.str_short()} but got "
            f"{aval_of(ct).str_short()}."
        )
    return converted


def custom_gradient(fun: Callable[..., Any]) -> Callable[..., Any]:
    """A function made of one that returns (output, pullback of cotangents to its arguments).

    >>> from jacana.api.grad import grad
    >>> @custom_gradient
    ... def f(x):
    ...     return x * x, lambda ct: 10.0 * ct
    >>> float(grad(f)(3.0))
    10.0
    """
    check_callable(fun, "custom_gradient")

    @custom_vjp
    @functools.wraps(fun)
    def function(*args: Any) -> Any:
        return fun(*args)[0]

    def forward(*args: Any) -> Any:
        return fun(*args)[0], args

    def backward(args: Any, ct: Any) -> Any:
        # A pullback is no array that could be kept: it is made again.
        cts = fun(*args)[1](ct)
        return cts if isinstance(cts, tuple) else (cts,)

    function.defvjp(forward, backward)
    return function

"""checkpoint: derivatives that compute intermediate values again, to keep less memory."""

import functools
import inspect
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from jacana import ops
from jacana.api.arguments import check_callable, flatten_arguments, flatten_arrays, name_of
from jacana.api.references import check_not_returned
from jacana.core import dtypes, tree
from jacana.core.errors import NotAnArrayError
from jacana.core.jaxpr import Jaxpr, JaxprEqn, Literal, Var
from jacana.core.stage import stage
from jacana.core.values import aval_of, is_array_like
from jacana.higher_order.checkpoint import bind_checkpoint
from jacana.higher_order.custom_rule import staged
from jacana.transforms.linearize import linearize_programs


def checkpoint(
    fun: Callable[..., Any] | None = None,
    *,
    prevent_cse: bool | Sequence[bool] = True,
    policy: Callable[..., Any] | None = None,
    static_argnums: int | Sequence[int] = (),
    static_argnames: str | Iterable[str] = (),
    concrete: bool = False,
) -> Any:
    """`fun`, whose derivative keeps its arguments and computes what it needs of the rest again.

    Args:
      fun: a function of arrays, or of containers of arrays, to the same.
      policy: which results are kept nevertheless (jax.checkpoint_policies).
      prevent_cse: whether the compiler is kept from using values of the first run. False saves a
        little where the function runs in a loop (scan), whose steps are apart anyway.
      static_argnums: arguments that are part of the program: `fun` may branch on them in Python.
      static_argnames: the same, by keyword.
      concrete: JAX's former name for that; must be False.

    >>> import jacana.numpy as jnp
    >>> from jacana.api.grad import grad
    >>> f = checkpoint(lambda x: jnp.sin(jnp.sin(x)))
    >>> float(grad(f)(0.0))
    1.0
    """
    if concrete:
        raise NotImplementedError(
            "The `concrete` option to `jax.checkpoint` was removed in JAX v0.10.0. Mark the "
            "arguments that the function branches on with static_argnums."
        )
    settings: dict[str, Any] = {
        "prevent_cse": prevent_cse, "policy": policy, "static_argnums": static_argnums,
        "static_argnames": static_argnames,
    }  # fmt: skip
    if fun is None:
        return functools.partial(checkpoint, **settings)
    check_callable(fun, "checkpoint")
    function: Callable[..., Any] = fun
    numbers = [static_argnums] if isinstance(static_argnums, int) else list(static_argnums)
    names = {static_argnames} if isinstance(static_argnames, str) else set(static_argnames)
    barrier = prevent_cse if isinstance(prevent_cse, bool) else any(prevent_cse)
    params = {"prevent_cse": barrier, "differentiated": False, "policy": policy}

    @functools.wraps(function)
    def checkpointed(*args: Any, **kwargs: Any) -> Any:
        fixed = {n % len(args) if args else n for n in numbers}
        bound = {k: v for k, v in kwargs.items() if k in names}
        named = {k: v for k, v in kwargs.items() if k not in names}
        return _run(functools.partial(function, **bound), args, named, fixed, params)

    return checkpointed


def _run(
    function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], fixed: set[int],
    params: dict[str, Any],
) -> Any:  # fmt: skip
    """The result of a call as one operation; arguments at `fixed` positions are part of it."""
    name = name_of(function.func)
    owner = f"checkpoint of {name}"
    dynamic = [x for i, x in enumerate(args) if i not in fixed]
    leaves, structure = flatten_arguments((dynamic, kwargs), owner)
    out_trees: list[Any] = []

    def flat(*xs: Any) -> list[Any]:
        positional, by_name = structure.unflatten(xs)
        rest = iter(positional)
        given = [x if i in fixed else next(rest) for i, x in enumerate(args)]
        out, out_tree = tree.flatten(function(*given, **by_name))
        out_trees.append(out_tree)
        for x in out:
            if not is_array_like(x):
                check_not_returned(out_tree.unflatten(out), name, "checkpoint")
                raise NotAnArrayError(x, f"{owner} as a result")
        return out

    jaxpr, consts = staged(flat, leaves, name)
    return out_trees[0].unflatten(bind_checkpoint(jaxpr, [*consts, *leaves], params))


remat = checkpoint


def checkpoint_name(x: Any, name: str) -> Any:
    """x, which policies of `checkpoint` know by this name. x may be a pytree.

    >>> checkpoint_name(1.0, "scale")
    Array(1., dtype=float32, weak_type=True)
    """
    if not isinstance(name, str):
        raise TypeError(f"checkpoint_name needs a string as the name, got {name!r}.")
    return tree.map(lambda leaf: ops.name(leaf, name=name), x)


# --- what is kept ---


def saved_residuals(fun: Callable[..., Any], *args: Any, **kwargs: Any) -> list[tuple[Any, str]]:
    """The type of each value that the backward pass of a call keeps, and where it comes from."""
    leaves, structure = flatten_arrays((args, kwargs), f"saved_residuals of {name_of(fun)}")
    paths, _ = tree.flatten_with_path((args, kwargs))
    parameters = list(inspect.signature(fun).parameters)

    def flat(*xs: Any) -> list[Any]:
        given, named = structure.unflatten(xs)
        return tree.leaves(fun(*given, **named))

    jaxpr, consts = stage(flat, [aval_of(x) for x in leaves], name_of(fun))
    whole = jaxpr.with_constvars_as_inputs()
    nonzero = [False] * len(consts) + [aval_of(x).dtype.kind in "fcV" for x in leaves]
    halves = linearize_programs(whole, tuple(nonzero))
    primal = halves.primal.jaxpr
    texts: dict[Any, str] = dict.fromkeys(primal.invars[: len(consts)], "from a constant")
    for v, (path, _) in zip(primal.invars[len(consts) :], paths, strict=True):
        texts[v] = f"from the argument {_argument(parameters, path)}"
    values = [*primal.invars, *primal.outvars]
    found = []
    for place in dict.fromkeys(halves.places):
        atom = values[place]
        if isinstance(atom, Literal):
            found.append((atom.aval, "from a literal"))
        else:
            found.append((atom.aval, texts.get(atom) or _origin(primal, atom)))
    return found


def _argument(parameters: Sequence[str], path: tuple[Any, ...]) -> str:
    """A leaf of the arguments (args, kwargs) by the name of its parameter: x[0]."""
    is_named, place = path[0] == tree.SequenceKey(1), path[1]
    if is_named:
        return f"{place.key}{tree.keystr(path[2:])}"
    known = parameters[place.idx] if place.idx < len(parameters) else f"args[{place.idx}]"
    return f"{known}{tree.keystr(path[2:])}"


def _origin(jaxpr: Jaxpr, var: Var) -> str:
    """Which operation made a variable, also inside of a called program."""
    for eqn in jaxpr.eqns:
        if var in eqn.outvars:
            callee = eqn.primitive.callee(eqn.params)
            if callee is not None:
                inner = callee.outvars[eqn.outvars.index(var)]
                if isinstance(inner, Var) and inner not in callee.invars:
                    return _origin(callee, inner)
            return _text_of(eqn)
    return "from a constant"


def _text_of(eqn: JaxprEqn) -> str:
    where = f" from {eqn.source}" if eqn.source is not None else ""
    if eqn.primitive is ops.name:
        return f"named '{eqn.params['name']}'{where}"
    return f"output of {eqn.primitive.name}{where}"


def print_saved_residuals(fun: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
    """Print the type and origin of each value that the backward pass of fun(*args) keeps."""
    for aval, text in saved_residuals(fun, *args, **kwargs):
        shape = ",".join(map(str, aval.shape))
        sys.stdout.write(f"{dtypes.short_name(aval.dtype)}[{shape}] {text}\n")

"""closure_convert: what a function captures as arguments."""

from collections.abc import Callable
from typing import Any

from jacana.api.arguments import check_callable, flatten_arrays, name_of
from jacana.core import dtypes, tree
from jacana.core.evaluate import evaluate
from jacana.core.stage import JaxprTracer, stage
from jacana.core.trace import Tracer
from jacana.core.values import aval_of
from jacana.transforms.batch import BatchTracer


def closure_convert(fun: Callable[..., Any], *example_args: Any) -> tuple[Any, list[Any]]:
    """A function of (*args, *captured) and the captured values that derivatives may flow through.

    For functions given to ones with derivative rules of their own, which see arguments alone. The
    result works for arguments of the types of the examples.

    >>> from jacana.api.grad import grad
    >>> def apply(y):
    ...     multiply, captured = closure_convert(lambda x: x * y, 1.0)
    ...     return multiply(2.0, *captured)
    >>> float(grad(apply)(3.0))
    2.0
    """
    check_callable(fun, "closure_convert")
    leaves, in_tree = flatten_arrays(example_args, f"closure_convert of {name_of(fun)}")
    out_trees: list[Any] = []

    def flat(*xs: Any) -> list[Any]:
        out, out_tree = tree.flatten(fun(*in_tree.unflatten(xs)))
        out_trees.append(out_tree)
        return out

    jaxpr, consts = stage(flat, [aval_of(x) for x in leaves], name_of(fun))
    is_hoisted = [may_be_differentiated(c) for c in consts]
    hoisted = [c for c, h in zip(consts, is_hoisted, strict=True) if h]
    count = len(hoisted)

    def converted(*args_and_captured: Any) -> Any:
        number = len(args_and_captured) - count
        args, captured = args_and_captured[:number], iter(args_and_captured[number:])
        given, structure = tree.flatten(args)
        if structure != in_tree:
            raise TypeError(
                f"The inputs to the closure produced by closure_convert must have the same Pytree "
                f"structure as the example arguments passed when closure_convert was called. "
                f"Expected {in_tree}, but got {structure}"
            )
        values = [next(captured) if h else c for c, h in zip(consts, is_hoisted, strict=True)]
        return out_trees[0].unflatten(evaluate(jaxpr, values, given))

    return converted, hoisted


def may_be_differentiated(x: Any) -> bool:
    """Whether a value may carry a tangent, as far as can be seen from here."""
    if not isinstance(x, Tracer):
        return False
    if isinstance(x, JaxprTracer):
        return dtypes.is_differentiable(x.dtype)
    if isinstance(x, BatchTracer):
        return may_be_differentiated(x.value)
    return True

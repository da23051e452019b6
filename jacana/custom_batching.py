"""jax.custom_batching: functions that say how they are mapped by vmap."""

import functools
from collections.abc import Callable, Sequence
from typing import Any

from jacana import lax
from jacana.api.arguments import check_callable, name_of
from jacana.api.custom import flat_output, resolved
from jacana.core import tree
from jacana.core.errors import NotAnArrayError
from jacana.core.stage import stage
from jacana.core.values import aval_of, is_array_like
from jacana.higher_order.custom_rule import Named
from jacana.higher_order.custom_vmap import CustomVmap
from jacana.transforms.batch import without_axis


class custom_vmap:
    """A function whose batches are computed by the rule that `def_vmap` sets.

    Forward mode, and reverse mode of what vmap made, differentiate the rule. For reverse mode of
    the function itself wrap it in custom_vjp.

    >>> import jacana.numpy as jnp
    >>> from jacana.api.vmap import vmap
    >>> @custom_vmap
    ... def f(x, y):
    ...     return x + y
    >>> @f.def_vmap
    ... def rule(axis_size, in_batched, x, y):
    ...     return x * y, True
    >>> vmap(f)(jnp.arange(3), jnp.arange(1, 4))
    Array([0, 2, 6], dtype=int32)
    """

    def __init__(self, fun: Callable[..., Any]):
        check_callable(fun, "custom_vmap")
        functools.update_wrapper(self, fun)
        self.fun = fun
        self.vmap_rule: Callable[..., Any] | None = None

    def def_vmap(self, vmap_rule: Callable[..., Any]) -> Callable[..., Any]:
        """Set the rule (axis_size, in_batched, *args) -> (out, out_batched).

        in_batched is a list of trees of bools like the arguments: those that are true have the
        batch axis, which is the first; out_batched says the same of the results.
        """
        self.vmap_rule = vmap_rule
        return vmap_rule

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        name = name_of(self.fun)
        if self.vmap_rule is None:
            raise AttributeError(
                f"No batching rule defined for custom_vmap function {name} using def_vmap."
            )
        given = tuple(resolved(self.fun, args, kwargs))
        leaves, structure = tree.flatten(given)
        for x in leaves:
            if not is_array_like(x):
                raise NotAnArrayError(x, f"{name}, which has a batching rule,")
        structures: list[Any] = []

        def function(*xs: Any) -> list[Any]:
            outs, out_structure = flat_output(self.fun(*structure.unflatten(xs)), name)
            structures.append(out_structure)
            return outs

        def rule(size: int, batched: Sequence[bool], *xs: Any) -> tuple[list[Any], list[bool]]:
            if not structures:
                avals = [without_axis(aval_of(x), 0) if b else aval_of(x)
                         for x, b in zip(xs, batched, strict=True)]  # fmt: skip
                stage(function, avals, name)
            return self._apply(size, structure, batched, xs, structures[0])

        named = Named(rule, name_of(self.vmap_rule))
        outs = CustomVmap(name, function, named)(*leaves)
        return structures[0].unflatten(outs)

    def _apply(
        self, size: int, structure: Any, batched: Sequence[bool], xs: Sequence[Any], wanted: Any
    ) -> tuple[list[Any], list[bool]]:
        """Flat results of the user's rule, of the wanted structure, and which are batched."""
        assert self.vmap_rule is not None
        rule = name_of(self.vmap_rule)
        result = self.vmap_rule(size, list(structure.unflatten(batched)), *structure.unflatten(xs))
        if not isinstance(result, tuple | list) or len(result) != 2:
            raise ValueError(
                f"the custom vmap rule {rule} must return a pair: the output, and a tree of bools "
                f"that says which of its arrays are batched. It returned {result!r}."
            )
        outs, out_structure = flat_output(result[0], f"the vmap rule {rule}")
        if out_structure != wanted:
            raise ValueError(
                f"structure of output returned by custom vmap rule ({rule}) does not match that of "
                f"original custom-vmapped function.\nOriginal output: {wanted}\n"
                f"Rule output: {out_structure}"
            )
        flags = tree.broadcast_prefix(result[1], result[0], name=f"out_batched of {rule}")
        for x, b in zip(outs, flags, strict=True):
            if b and (not x.shape or x.shape[0] != size):
                raise ValueError(
                    f"the custom vmap rule {rule} says that an output is batched whose shape is "
                    f"{x.shape}; its first axis must be the batch, of size {size}."
                )
        return outs, [bool(b) for b in flags]


def sequential_vmap(f: Callable[..., Any]) -> custom_vmap:
    """A function that vmap calls for one example after the other, in a loop.

    >>> import jacana.numpy as jnp
    >>> from jacana.api.vmap import vmap
    >>> vmap(sequential_vmap(lambda x: x + 1))(jnp.arange(3))
    Array([1, 2, 3], dtype=int32)
    """
    mapped = custom_vmap(f)

    @mapped.def_vmap
    def rule(axis_size: int, in_batched: Any, *args: Any) -> tuple[Any, Any]:
        leaves, structure = tree.flatten(args)
        flags = tree.leaves(in_batched)

        def one(rows: Sequence[Any]) -> Any:
            own = iter(rows)
            given = [next(own) if b else x for x, b in zip(leaves, flags, strict=True)]
            return mapped(*structure.unflatten(given))

        rows = [x for x, b in zip(leaves, flags, strict=True) if b]
        out = lax.map(one, rows)
        return out, tree.map(lambda _: True, out)

    return mapped

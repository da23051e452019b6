"""What the native front of a jitted function learns from a call that went the way of Python."""

from collections.abc import Collection, Sequence
from typing import Any

from jacana.core import config, tree
from jacana.runtime import patterns
from jacana.runtime.array import Array
from jacana.runtime.calls import (
    FORM_FINISHED,
    FORM_SINGLE,
    FORM_TREE,
    Call,
    Due,
    Given,
    Result,
    due_of,
)
from jacana.runtime.executable import Executable
from jacana.runtime.fronts import Calls


def learn(
    calls: Calls,
    executable: Executable,
    consts: Sequence[Array],
    out_tree: tree.PyTreeDef,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    leaves: Sequence[Any],
    static: tuple[Collection[int], Collection[str]],
) -> None:
    """Let calls with such arguments run natively, unless only Python can tell or take them."""
    if not executable.layout.is_native or config.is_overridden():
        return
    now = config.current()
    avals = executable.in_avals[len(consts) :]
    dues = [due_of(x, aval) for x, aval in zip(leaves, avals, strict=True)]
    found = [due for due in dues if due is not None]
    key = (executable, out_tree, now, tuple(dues), tuple(kwargs), *map(id, consts))
    if len(found) < len(dues) or calls.knows(key) or _gives_scalars(executable, consts, dues):
        return
    trees = None
    is_flat = not kwargs and len(args) == len(leaves)
    if not is_flat or any(x is not leaf for x, leaf in zip(args, leaves)):
        trees = _trees(args, kwargs, leaves, static, found)
        if trees is None:
            return
    result = _result(out_tree, executable.layout.results)
    calls.add(Call(executable.layout, found, consts, now, result=result, trees=trees), key)


def _gives_scalars(
    executable: Executable, consts: Sequence[Array], dues: Sequence[Due | None]
) -> bool:
    """Whether a result is an argument that is no array yet."""
    scalars = {len(consts) + i for i, due in enumerate(dues) if isinstance(due, int)}
    return not scalars.isdisjoint(executable.layout.results)


def _trees(
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    leaves: Sequence[Any],
    static: tuple[Collection[int], Collection[str]],
    dues: Sequence[Due],
) -> Given | None:
    # Leaves are met in their own order.
    words = iter([due if isinstance(due, int) else id(due) for due in dues])
    pattern = patterns.of_arguments(args, kwargs, *static, lambda _: next(words, None))
    if pattern is None or [*map(id, pattern.leaves)] != [*map(id, leaves)]:
        return None
    places = {name: place for place, name in enumerate(kwargs)}
    names = tuple((name, places[name]) for name in sorted(kwargs))
    return Given(len(args), pattern, names)


def _result(out_tree: tree.PyTreeDef, numbers: Sequence[int]) -> Result:
    if tree.treedef_is_leaf(out_tree) and numbers:
        return Result(FORM_SINGLE)
    shown = out_tree.unflatten(list(range(len(numbers))))
    pattern = patterns.of_results(shown, numbers)
    if pattern is not None:
        return Result(FORM_TREE, pattern)
    return Result(FORM_FINISHED, out_tree.unflatten)

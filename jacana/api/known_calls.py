"""How a program that ran for arguments in Python becomes a call that native code knows."""

from collections.abc import Callable, Collection, Sequence
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
    FromNumpy,
    Given,
    Layout,
    Recording,
    Result,
    due_of,
    word_of,
)
from jacana.runtime.executable import Executable
from jacana.runtime.fronts import Calls

# Whether Python scalars and arrays in the argument of a number or name are leaves.
IsLeaf = Callable[[int | str, Any], bool]


def learn(
    calls: Calls,
    executable: Executable,
    consts: Sequence[Array],
    out_tree: tree.PyTreeDef,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    leaves: Sequence[Any],
    static: tuple[Collection[int], Collection[str]],
    donated: Sequence[bool],
) -> None:
    """Let calls of a jitted function with such arguments run natively, if native code can.

    Leaves that are donated are deleted; results are Arrays of their own.
    """
    if config.is_overridden():
        return
    avals = executable.in_avals[len(consts) :]
    dues = [due_of(x, aval) for x, aval in zip(leaves, avals, strict=True)]
    found = [due for due in dues if due is not None]
    if len(found) < len(dues):
        return
    key = (executable, out_tree, config.current(), tuple(found), tuple(kwargs), *map(id, consts))
    if not calls.wants(key):
        return
    is_leaf: IsLeaf = lambda place, _: place not in static[type(place) is str]
    results = executable.layout.results
    if any(
        isinstance(due, FromNumpy) and len(consts) + i in results for i, due in enumerate(found)
    ):
        return
    layout = executable.layout.with_results_apart()
    result = result_of(out_tree, layout.results)
    given_away = [i for i, is_so in enumerate(donated) if is_so]
    call = make_call(layout, consts, result, args, kwargs, leaves, found, is_leaf, given_away)
    if call is not None:
        calls.add(call, key)


def make_call(
    layout: Layout,
    consts: Sequence[Array],
    result: Result,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    leaves: Sequence[Any],
    dues: Sequence[Due],
    is_leaf: IsLeaf,
    donated: Sequence[int] = (),
) -> Call | None:
    """The call for arguments whose leaves are given; None if only Python can tell or take them."""
    scalars = {len(consts) + i for i, due in enumerate(dues) if isinstance(due, int)}
    # Residuals may be scalars, results are arrays.
    gives_scalars = not scalars.isdisjoint(n if n >= 0 else -1 - n for n in layout.results)
    if not layout.is_native or gives_scalars and not isinstance(result.finish, Recording):
        return None
    trees = None
    is_flat = not kwargs and len(args) == len(leaves)
    is_flat = is_flat and not any(isinstance(due, FromNumpy) for due in dues)
    if not is_flat or any(x is not leaf for x, leaf in zip(args, leaves)):
        # Leaves are met in their own order.
        words = iter([word_of(due) for due in dues])

        def leaf_word_of(place: int | str) -> patterns.LeafWord:
            return lambda value: next(words, None) if is_leaf(place, value) else None

        pattern = patterns.of_arguments(args, kwargs, leaf_word_of)
        if pattern is None or [*map(id, pattern.leaves)] != [*map(id, leaves)]:
            return None
        places = {name: place for place, name in enumerate(kwargs)}
        names = tuple((name, places[name]) for name in sorted(kwargs))
        trees = Given(len(args), pattern, names)
    return Call(layout, dues, consts, config.current(), result, trees, donated)


def result_of(out_tree: tree.PyTreeDef, numbers: Sequence[int]) -> Result:
    """How the results of these numbers become the tree that a function gives."""
    if tree.treedef_is_leaf(out_tree) and numbers:
        return Result(FORM_SINGLE)
    shown = out_tree.unflatten(list(range(len(numbers))))
    pattern = patterns.of_results(shown, numbers)
    if pattern is not None:
        return Result(FORM_TREE, pattern)
    return Result(FORM_FINISHED, out_tree.unflatten)

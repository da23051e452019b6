"""What transformed functions may do with references: each goes in one way, and none comes out."""

from collections.abc import Callable, Sequence
from typing import Any

from jacana.core import errors, tree
from jacana.core.values import is_ref


def check_distinct(
    leaves: Sequence[Any], names: Callable[[], Sequence[str]], function: str, transformation: str
) -> None:
    """ValueError if two arguments are one reference: writing one would change the other."""
    place_of: dict[int, int] = {}
    for i, x in enumerate(leaves):
        if not is_ref(x):
            continue
        first = place_of.setdefault(id(x), i)
        if first != i:
            known = names()
            raise ValueError(
                f"only one reference to a mutable array may be passed as an argument to a "
                f"function, but when tracing {function} for {transformation} the mutable array "
                f"reference of type {x.aval} appeared at both {known[first]} and {known[i]}. Pass "
                f"it once, or a second reference to a copy: new_ref(ref[...])."
            )


def check_captured(
    captured: Sequence[Any],
    leaves: Sequence[Any],
    names: Callable[[], Sequence[str]],
    function: str,
    transformation: str,
) -> None:
    """ValueError if a function has a reference as an argument that it uses from outside too."""
    inside = {id(c) for c in captured if is_ref(c)}
    for i, x in enumerate(leaves):
        if id(x) in inside:
            raise ValueError(
                f"when tracing {function} for {transformation}, a mutable array reference of type "
                f"{x.aval} was both closed over and passed as the argument {names()[i]}. Use one "
                f"of the two."
            )


def check_not_returned(out: Any, function: str, transformation: str) -> None:
    """ValueError if a result holds a reference."""
    for path, x in tree.flatten_with_path(out)[0]:
        if is_ref(x):
            place = f"result{tree.keystr(path)}" if path else ""
            raise errors.returned_ref(function, transformation, x.aval, place)

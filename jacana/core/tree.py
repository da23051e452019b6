"""Pytrees: nested containers as lists of leaves and a structure, with JAX's names and meaning.

None is a node without children, dicts are ordered by their keys. What counts as a node is in
`tree_nodes`, the structure itself in `tree_def`.
"""

import functools
from collections.abc import Callable, Hashable, Iterable
from typing import Any

import optree

from jacana.core.tree_def import (
    LEAF,
    IsLeaf,
    PyTreeDef,
    differences,
    flatten,
    flatten_up_to,
    prefix_error,
)
from jacana.core.tree_nodes import (
    NAMESPACE,
    DictKey,
    FlattenedIndexKey,
    GetAttrKey,
    KeyPath,
    Partial,
    SequenceKey,
    keystr,
    node_type,
    one_level,
    register_dataclass,
    register_pytree_node,
    register_pytree_node_class,
    register_pytree_with_keys,
    register_pytree_with_keys_class,
    register_static,
    static,
)

__all__ = [
    "LEAF", "DictKey", "FlattenedIndexKey", "GetAttrKey", "KeyPath", "Partial", "PyTreeDef",
    "SequenceKey", "all", "all_leaves", "broadcast", "broadcast_prefix", "differences", "flatten",
    "flatten_one_level", "flatten_one_level_with_keys", "flatten_with_path", "is_tree_node",
    "keystr", "leaves", "leaves_with_path", "map", "map_with_path", "prefix_errors", "reduce",
    "reduce_associative", "register_dataclass", "register_pytree_node",
    "register_pytree_node_class", "register_pytree_with_keys", "register_pytree_with_keys_class",
    "register_static", "static", "structure", "transpose", "treedef_children", "treedef_is_leaf",
    "treedef_tuple", "unflatten",
]  # fmt: skip

_MISSING: Any = object()


def leaves(tree: Any, is_leaf: IsLeaf | None = None) -> list[Any]:
    """The leaves of a tree, in order."""
    return flatten(tree, is_leaf)[0]


def structure(tree: Any, is_leaf: IsLeaf | None = None) -> PyTreeDef:
    """The structure of a tree."""
    return flatten(tree, is_leaf)[1]


def unflatten(treedef: PyTreeDef, leaves: Iterable[Any]) -> Any:
    """The tree of the given structure with the given leaves."""
    if not isinstance(treedef, PyTreeDef):
        raise TypeError(f"tree.unflatten needs a PyTreeDef first, got {type(treedef).__name__}.")
    return treedef.unflatten(leaves)


def map(f: Callable[..., Any], tree: Any, *rest: Any, is_leaf: IsLeaf | None = None) -> Any:
    """`f` of each leaf, in the same structure; `rest` are trees that this one is a prefix of.

    >>> map(lambda x, y: x + y, {"a": 1, "b": None}, {"a": 2, "b": None})
    {'a': 3, 'b': None}
    """
    first, treedef = flatten(tree, is_leaf)
    if not rest:
        return treedef.unflatten([f(x) for x in first])
    others = [flatten_up_to(treedef, other, "tree") for other in rest]
    return treedef.unflatten([f(*xs) for xs in zip(first, *others)])


def reduce(
    function: Callable[[Any, Any], Any],
    tree: Any,
    initializer: Any = _MISSING,
    is_leaf: IsLeaf | None = None,
) -> Any:
    """function(...function(function(first leaf, second), third)..., last)."""
    start = () if initializer is _MISSING else (initializer,)
    return functools.reduce(function, leaves(tree, is_leaf), *start)


def reduce_associative(
    operation: Callable[[Any, Any], Any],
    tree: Any,
    *,
    identity: Any = _MISSING,
    is_leaf: IsLeaf | None = None,
) -> Any:
    """The leaves combined pairwise in rounds, for an operation that is associative."""
    values = leaves(tree, is_leaf)
    if not values:
        if identity is _MISSING:
            raise TypeError("tree.reduce_associative of a tree without leaves needs an identity.")
        return identity
    while len(values) > 1:
        odd = values[len(values) & ~1 :]
        values = [operation(a, b) for a, b in zip(values[::2], values[1::2])] + odd
    return values[0]


def all(tree: Any, *, is_leaf: IsLeaf | None = None) -> bool:
    """Whether every leaf is true."""
    return False not in (bool(leaf) for leaf in leaves(tree, is_leaf))


def transpose(
    outer_treedef: PyTreeDef, inner_treedef: PyTreeDef | None, pytree_to_transpose: Any
) -> Any:
    """A tree of `outer` structure of trees of `inner` structure, the other way round.

    >>> transpose(structure([0, 0]), structure({"a": 0}), [{"a": 1}, {"a": 2}])
    {'a': [1, 2]}
    """
    try:
        columns = flatten_up_to(outer_treedef, pytree_to_transpose, "tree")
        if inner_treedef is None:
            inner_treedef = structure(columns[0]) if columns else structure(())
        rows = [flatten_up_to(inner_treedef, column, "tree") for column in columns]
    except ValueError as error:
        raise TypeError(f"tree.transpose: {error}") from error
    by_inner = zip(*rows) if rows else [()] * inner_treedef.num_leaves
    return inner_treedef.unflatten([outer_treedef.unflatten(row) for row in by_inner])


# --- prefixes ---


def broadcast_prefix(
    prefix_tree: Any, full_tree: Any, is_leaf: IsLeaf | None = None, name: str = "prefix_tree"
) -> list[Any]:
    """The leaf of `prefix_tree` above each leaf of `full_tree`; `name` says whose it is in errors.

    >>> broadcast_prefix((1, 2), ((0, 0), [0]))
    [1, 1, 2]
    """
    values, treedef = flatten(prefix_tree, is_leaf)
    result: list[Any] = []
    for value, subtree in zip(values, flatten_up_to(treedef, full_tree, name)):
        result += [value] * len(leaves(subtree))
    return result


def broadcast(prefix_tree: Any, full_tree: Any, is_leaf: IsLeaf | None = None) -> Any:
    """The tree of `full_tree`'s structure whose leaves are those of `prefix_tree` above them."""
    values, treedef = flatten(prefix_tree, is_leaf)
    subtrees = flatten_up_to(treedef, full_tree, "prefix_tree")
    below = [map(lambda _, v=v: v, t, is_leaf=is_leaf) for v, t in zip(values, subtrees)]
    return treedef.unflatten(below)


def prefix_errors(
    prefix_tree: Any, full_tree: Any, is_leaf: IsLeaf | None = None
) -> list[Callable[[str], ValueError]]:
    """What keeps one tree from being a prefix of another: functions of its name to errors."""

    def error(path: KeyPath, difference: str) -> Callable[[str], ValueError]:
        return lambda name: prefix_error(name, path, difference)

    found = differences(structure(prefix_tree, is_leaf), full_tree)
    return [error(path, difference) for path, difference in found]


# --- paths ---


def flatten_with_path(
    tree: Any, is_leaf: Callable[..., bool] | None = None, is_leaf_takes_path: bool = False
) -> tuple[list[tuple[KeyPath, Any]], PyTreeDef]:
    """The leaves with the keys that lead to each, and the structure."""
    stops: list[bool] = []
    found: list[tuple[KeyPath, Any]] = []

    def visit(path: KeyPath, x: Any) -> None:
        stop = is_leaf is not None and bool(is_leaf(path, x) if is_leaf_takes_path else is_leaf(x))
        stops.append(stop)
        level = None if stop else one_level(x)
        if level is None:
            found.append((path, x))
            return
        for key, child in level[0]:
            visit((*path, key), child)

    visit((), tree)
    if is_leaf is None:
        return found, structure(tree)
    # Flattening asks about the same values in the same order.
    decisions = iter(stops)
    return found, structure(tree, lambda _: next(decisions))


def leaves_with_path(
    tree: Any, is_leaf: Callable[..., bool] | None = None, is_leaf_takes_path: bool = False
) -> list[tuple[KeyPath, Any]]:
    """The leaves with the keys that lead to each."""
    return flatten_with_path(tree, is_leaf, is_leaf_takes_path)[0]


def map_with_path(
    f: Callable[..., Any],
    tree: Any,
    *rest: Any,
    is_leaf: Callable[..., bool] | None = None,
    is_leaf_takes_path: bool = False,
) -> Any:
    """As map, with the path of each leaf as the first argument of `f`."""
    pairs, treedef = flatten_with_path(tree, is_leaf, is_leaf_takes_path)
    others = [flatten_up_to(treedef, other, "tree") for other in rest]
    return treedef.unflatten([f(path, x, *xs) for (path, x), *xs in zip(pairs, *others)])


# --- nodes ---


def is_tree_node(typ: type) -> bool:
    """Whether values of the type are nodes."""
    return node_type(typ) is not None


def all_leaves(iterable: Iterable[Any], is_leaf: IsLeaf | None = None) -> bool:
    """Whether all the values are leaves."""
    for x in iterable:
        if is_tree_node(type(x)) and not (is_leaf is not None and is_leaf(x)):
            return False
    return True


def flatten_one_level(tree: Any) -> tuple[Iterable[Any], Hashable]:
    """The children of a node and its static data; ValueError for a leaf."""
    found = node_type(type(tree))
    if found is None:
        raise ValueError(f"can't tree-flatten type: {type(tree)}")
    children, metadata = found.flatten(tree)
    return children, tuple(metadata) if type(tree) is dict else metadata


def flatten_one_level_with_keys(tree: Any) -> tuple[Iterable[tuple[Any, Any]], Hashable]:
    """The (key, child) pairs of a node and its static data; ValueError for a leaf."""
    found = one_level(tree)
    if found is None:
        raise ValueError(f"can't tree-flatten type: {type(tree)}")
    return found[0], tuple(found[1]) if type(tree) is dict else found[1]


def treedef_tuple(treedefs: Iterable[PyTreeDef]) -> PyTreeDef:
    """The structure of a tuple of trees of the given structures."""
    specs = [treedef.spec() for treedef in treedefs]
    return PyTreeDef(optree.treespec_tuple(specs, namespace=NAMESPACE), True)


def treedef_children(treedef: PyTreeDef) -> list[PyTreeDef]:
    """The structures of the children of the outermost node."""
    return treedef.children()


def treedef_is_leaf(treedef: PyTreeDef) -> bool:
    """Whether the structure is a leaf or a node without children."""
    return treedef.num_nodes == 1

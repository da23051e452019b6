"""PyTreeDef, the structure of a pytree, and flattening, both on optree.

optree differs from JAX in a few places, settled where a structure is first seen: dicts come back
in the order of their keys, keys without an order are an error, deques and the like are leaves.
"""

import collections
import functools
from collections.abc import Callable, Iterable
from typing import Any, cast

import optree

from jacana.core.tree_nodes import (
    NAMESPACE,
    KeyPath,
    is_namedtuple,
    is_registered,
    keystr,
    leaf_types,
    node_type,
    one_level,
    sorted_keys,
)

IsLeaf = Callable[[Any], bool]

_flatten = optree.tree_flatten
_SHARED_LIMIT = 4096


class PyTreeDef:
    """The structure of a pytree: its nodes and their static data, with a `*` for each leaf."""

    __slots__ = ("_hash", "_mappings", "_sorted", "_spec", "__weakref__", "num_leaves")
    num_leaves: int

    def __init__(self, spec: Any, is_sorted: bool = False):
        # Until it is needed, the spec may hold dicts in the order they were written in.
        self._spec, self._sorted = spec, is_sorted
        self._hash: int | None = None
        self._mappings: bool | None = None
        self.num_leaves = spec.num_leaves

    def spec(self) -> Any:
        """What optree calls this structure, its dicts in the order of their keys."""
        if not self._sorted:
            self._spec, self._sorted = self._spec.transform(_with_sorted_keys), True
        return self._spec

    def unflatten(self, leaves: Iterable[Any]) -> Any:
        """The tree of this structure that has the given leaves."""
        if type(leaves) is not list:
            leaves = list(leaves)
        if self is LEAF and len(leaves) == 1:
            return leaves[0]
        try:
            return self.spec().unflatten(leaves)
        except ValueError:
            wanted, given = self.num_leaves, len(leaves)
            if wanted == given:
                raise  # by the class of a node
        raise ValueError(
            f"Too {'few' if given < wanted else 'many'} leaves for PyTreeDef; expected {wanted}, "
            f"got {given}."
        )

    def flatten_up_to(self, tree: Any) -> list[Any]:
        """The subtrees of `tree` where this structure, a prefix of it, has leaves."""
        return flatten_up_to(self, tree, "tree")

    @property
    def num_nodes(self) -> int:
        return int(self._spec.num_nodes)

    def has_mappings(self) -> bool:
        """Whether some node is a dict of one kind or another."""
        if self._mappings is None:
            found: list[bool] = []
            visit = lambda type_, _, __: found.append(issubclass(type_, dict))
            self._spec.walk([None] * self.num_leaves, visit, None)
            self._mappings = any(found)
        return self._mappings

    def children(self) -> list["PyTreeDef"]:
        return [PyTreeDef(child, self._sorted) for child in self._spec.children()]

    def node_data(self) -> tuple[type, Any] | None:
        """The type of the outermost node and its static data; None for a leaf."""
        if self._spec.num_nodes == 1 and self._spec.num_leaves == 1:
            return None
        top = self._spec.one_level()
        data: tuple[type, Any] = top.walk([None] * top.num_leaves, _node_data, None)
        return data

    def compose(self, inner: "PyTreeDef") -> "PyTreeDef":
        """This structure with `inner` in place of each leaf."""
        return PyTreeDef(self.spec().compose(inner.spec()), True)

    def walk(
        self,
        f_node: Callable[[tuple[Any, ...], Any], Any],
        f_leaf: Callable[[Any], Any] | None,
        leaves: Iterable[Any],
    ) -> Any:
        """The value that f_leaf(leaf) and f_node(children's values, static data) give upwards."""

        def visit(type_: type, data: Any, children: tuple[Any, ...]) -> Any:
            return f_node(children, _node_data(type_, data, children)[1])

        return self.spec().walk(leaves, visit, f_leaf)

    @staticmethod
    def from_node_data_and_children(
        registry: Any, node_data: tuple[type, Any] | None, children: Iterable["PyTreeDef"]
    ) -> "PyTreeDef":
        """The structure of one node (None for a leaf) over the given children."""
        if node_data is None:
            return LEAF
        found = node_type(node_data[0])
        if found is None:
            raise ValueError(f"{node_data[0]} is not a type of pytree node.")
        data = node_data[0] if is_namedtuple(node_data[0]) else node_data[1]
        parts = tuple(child.unflatten([0] * child.num_leaves) for child in children)
        return flatten(found.unflatten(data, parts))[1]

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, PyTreeDef):
            return NotImplemented
        return bool(self._spec == other._spec)

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash(self._spec)
        return self._hash

    def __repr__(self) -> str:
        shown = self._spec.walk([None] * self.num_leaves, _show_node, lambda _: "*")
        return f"PyTreeDef({shown})"

    def __reduce__(self) -> Any:
        return PyTreeDef, (self.spec(), True)


def _node_data(type_: type, data: Any, _: tuple[Any, ...]) -> tuple[type, Any]:
    """A node's type and static data as JAX reports them."""
    if type_ is collections.OrderedDict:
        return type_, tuple(data)
    if type_ is collections.defaultdict:
        return type_, (data[0], tuple(data[1]))
    if data is type_:
        return type_, None
    return type_, data


def _show_node(type_: type, data: Any, children: tuple[str, ...]) -> str:
    if type_ is type(None):
        return "None"
    if type_ is dict:
        return "{" + ", ".join(f"{k!r}: {c}" for k, c in zip(data, children)) + "}"
    inner = ", ".join(children)
    if type_ is tuple:
        return f"({inner},)" if len(children) == 1 else f"({inner})"
    if type_ is list:
        return f"[{inner}]"
    if is_namedtuple(type_) and not is_registered(type_):
        return f"CustomNode(namedtuple[{type_.__name__}], [{inner}])"
    return f"CustomNode({type_.__name__}[{_node_data(type_, data, children)[1]}], [{inner}])"


def _with_sorted_keys(node: Any) -> Any:
    """The one-level spec, rebuilt if it is a dict so that its keys come back sorted."""
    if node.type is dict:
        leaves = {key: optree.treespec_leaf(namespace=NAMESPACE) for key in node.entries()}
        return optree.treespec_dict(leaves, namespace=NAMESPACE)
    if node.type is collections.defaultdict:
        leaves = {key: optree.treespec_leaf(namespace=NAMESPACE) for key in node.entries()}
        factory = node.walk(leaves, lambda _, data, __: data[0], None)
        return optree.treespec_defaultdict(factory, leaves, namespace=NAMESPACE)
    return node


# --- flattening ---

# Structures of built-in containers, which are many uses of few. Each is one PyTreeDef.
_shared: dict[Any, PyTreeDef] = {}
_CONTAINERS = frozenset((tuple, list, dict))
_PLAIN_KEYS = frozenset((str, int))


class _Survey:
    """What a walk over a structure finds that optree sees differently from JAX."""

    __slots__ = ("foreign", "shareable")

    def __init__(self, spec: Any):
        self.foreign = False  # a node of optree's that is a leaf here
        self.shareable = True  # equal structures are the same in every respect
        spec.walk([None] * spec.num_leaves, self._visit, None)

    def _visit(self, type_: type, data: Any, _: Any) -> None:
        if type_ is tuple or type_ is list or data is None and type_ is type(None):
            return
        if type_ is dict or type_ is collections.defaultdict or type_ is collections.OrderedDict:
            keys = data[1] if type_ is collections.defaultdict else data
            if type_ is not collections.OrderedDict:
                sorted_keys(dict.fromkeys(keys))
            self.shareable &= _PLAIN_KEYS.issuperset(map(type, keys))
        elif node_type(type_) is None:
            self.foreign = True
        elif is_registered(type_):
            self.shareable = False


def flatten(tree: Any, is_leaf: IsLeaf | None = None) -> tuple[list[Any], PyTreeDef]:
    """The leaves of a tree and its structure. None is a node without children.

    >>> flatten({"b": 1, "a": (2, None)})
    ([2, 1], PyTreeDef({'a': (*, None), 'b': *}))
    """
    if is_leaf is None:
        flat = _flatten_flat(tree)
        if flat is not None:
            return flat
    leaves, spec = _flatten(tree, is_leaf, namespace=NAMESPACE)
    treedef = _shared.get(spec)
    if treedef is not None:
        return leaves, treedef
    survey = _Survey(spec)
    if survey.foreign:
        return _flatten_around_foreign(tree, is_leaf)
    if not survey.shareable:
        return leaves, PyTreeDef(spec)
    return leaves, _share(spec)


def _flatten_flat(tree: Any) -> tuple[list[Any], PyTreeDef] | None:
    """As flatten, for a leaf or a tuple of leaves of known types: quicker than a call of optree."""
    kind = type(tree)
    if kind in leaf_types or kind not in _CONTAINERS and _is_leaf_type(kind):
        return [tree], LEAF
    if kind is not tuple or len(tree) > 16:
        return None
    for x in tree:
        if type(x) not in leaf_types and not _is_leaf_type(type(x)):
            return None
    return list(tree), _flat_tuple(len(tree))


def _is_leaf_type(type_: type) -> bool:
    if node_type(type_) is not None:
        return False
    if len(leaf_types) < _SHARED_LIMIT:
        leaf_types.add(type_)
    return True


@functools.cache
def _flat_tuple(length: int) -> PyTreeDef:
    return _share(optree.tree_structure(cast("Any", (0,) * length), namespace=NAMESPACE))


def _share(spec: Any) -> PyTreeDef:
    if len(_shared) >= _SHARED_LIMIT:
        _shared.clear()
    treedef = PyTreeDef(spec)
    # The key is the sorted spec, so that it cannot be told which order came first.
    return _shared.setdefault(treedef.spec(), treedef)


def _flatten_around_foreign(tree: Any, is_leaf: IsLeaf | None) -> tuple[list[Any], PyTreeDef]:
    def stops(x: Any) -> bool:
        return node_type(type(x)) is None or (is_leaf is not None and bool(is_leaf(x)))

    leaves, spec = _flatten(tree, stops, namespace=NAMESPACE)
    return leaves, PyTreeDef(spec)


# The structure of a leaf.
LEAF = _share(optree.tree_structure(cast("Any", 0), namespace=NAMESPACE))


# --- prefixes ---


def flatten_up_to(prefix: PyTreeDef, tree: Any, name: str) -> list[Any]:
    """The subtrees of `tree` at the leaves of `prefix`; ValueError with the path if it is none."""
    try:
        if prefix.has_mappings():
            return _up_to_with_mappings(prefix, tree)
        subtrees: list[Any] = prefix.spec().flatten_up_to(tree)
        return subtrees
    except ValueError as error:
        for path, difference in differences(prefix, tree):
            raise prefix_error(name, path, difference) from error
        raise


def _up_to_with_mappings(prefix: PyTreeDef, tree: Any) -> list[Any]:
    """As flatten_up_to; optree alone would take one kind of dict for another."""
    leaves, treedef = flatten(tree)
    if treedef is prefix:
        return leaves
    subtrees: list[Any] = prefix.spec().flatten_up_to(tree)
    if treedef != prefix and any(True for _ in differences(prefix, tree)):
        raise ValueError("not a prefix")
    return subtrees


def prefix_error(name: str, path: KeyPath, difference: str) -> ValueError:
    return ValueError(f"pytree structure error at {name}{keystr(path)}: {difference}")


def differences(prefix: PyTreeDef, tree: Any, path: KeyPath = ()) -> Iterable[tuple[KeyPath, str]]:
    """Where `prefix` is not a prefix of `tree`: the path and what differs there."""
    data = prefix.node_data()
    if data is None:
        return
    wanted, metadata = data
    if type(tree) is not wanted:
        yield path, f"the prefix has {_describe(wanted)} there, the full tree {_of(tree)}."
        return
    pairs, found = one_level(tree) or ([], None)
    found = _node_data(wanted, found, ())[1]
    children = prefix.children()
    if wanted in (tuple, list) and len(children) != len(pairs):
        lengths = f"length {len(children)} there, the full tree one of length {len(pairs)}."
        yield path, f"the prefix has {_describe(wanted)} of {lengths}"
    elif metadata != found:
        what = "keys" if wanted is dict else "static data"
        yield path, f"the {what} of {_describe(wanted)} differ: {metadata} and {found}."
    elif len(children) != len(pairs):
        numbers = f"{len(children)} children in the prefix, {len(pairs)} in the full tree."
        yield path, f"{_describe(wanted)} has {numbers}"
    else:
        for child, (key, subtree) in zip(children, pairs):
            yield from differences(child, subtree, (*path, key))


def _describe(type_: type) -> str:
    if type_ is type(None):
        return "None"
    return f"{'an' if type_.__name__[0] in 'AEIOU' else 'a'} {type_.__name__}"


def _of(tree: Any) -> str:
    is_leaf = node_type(type(tree)) is None
    return f"a leaf of type {type(tree).__name__}" if is_leaf else _describe(type(tree))

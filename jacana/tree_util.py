"""Pytrees under the names of jax.tree_util."""

from typing import Any, TypeVar

from jacana.core.tree import (
    DictKey as DictKey,
    FlattenedIndexKey as FlattenedIndexKey,
    GetAttrKey as GetAttrKey,
    KeyPath as KeyPath,
    Partial as Partial,
    PyTreeDef as PyTreeDef,
    SequenceKey as SequenceKey,
    all as tree_all,
    all_leaves as all_leaves,
    broadcast as tree_broadcast,
    flatten as tree_flatten,
    flatten_one_level as flatten_one_level,
    flatten_one_level_with_keys as flatten_one_level_with_keys,
    flatten_with_path as tree_flatten_with_path,
    is_tree_node as is_tree_node,
    keystr as keystr,
    leaves as tree_leaves,
    leaves_with_path as tree_leaves_with_path,
    map as tree_map,
    map_with_path as tree_map_with_path,
    reduce as tree_reduce,
    reduce_associative as tree_reduce_associative,
    register_dataclass as register_dataclass,
    register_pytree_node as register_pytree_node,
    register_pytree_node_class as register_pytree_node_class,
    register_pytree_with_keys as register_pytree_with_keys,
    register_pytree_with_keys_class as register_pytree_with_keys_class,
    register_static as register_static,
    structure as tree_structure,
    transpose as tree_transpose,
    treedef_children as treedef_children,
    treedef_is_leaf as treedef_is_leaf,
    treedef_tuple as treedef_tuple,
    unflatten as tree_unflatten,
)

KeyEntry = TypeVar("KeyEntry")

__all__ = [
    "DictKey", "FlattenedIndexKey", "GetAttrKey", "KeyEntry", "KeyPath", "Partial", "PyTreeDef",
    "SequenceKey", "all_leaves", "default_registry", "flatten_one_level",
    "flatten_one_level_with_keys", "is_tree_node", "keystr", "register_dataclass",
    "register_pytree_node", "register_pytree_node_class", "register_pytree_with_keys",
    "register_pytree_with_keys_class", "register_static", "tree_all", "tree_broadcast",
    "tree_flatten", "tree_flatten_with_path", "tree_leaves", "tree_leaves_with_path", "tree_map",
    "tree_map_with_path", "tree_reduce", "tree_reduce_associative", "tree_structure",
    "tree_transpose", "tree_unflatten", "treedef_children", "treedef_is_leaf", "treedef_tuple",
]  # fmt: skip


class PyTreeRegistry:
    """The types that are nodes; there is one such registry."""

    def flatten(self, tree: Any, is_leaf: Any = None) -> tuple[list[Any], PyTreeDef]:
        return tree_flatten(tree, is_leaf)

    def flatten_one_level(self, tree: Any) -> Any:
        return flatten_one_level(tree) if is_tree_node(type(tree)) else None

    def is_node(self, typ: type) -> bool:
        return is_tree_node(typ)


default_registry = PyTreeRegistry()

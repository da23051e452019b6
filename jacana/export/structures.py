"""Trees of arguments and results in exported programs: by names, never by pickles.

Types that users register are written under the name they give, with static data that their own
functions turn into bytes.
"""

import collections
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from jacana.core import tree
from jacana.core.records import record
from jacana.core.tree_nodes import is_namedtuple, node_type

Node = TypeVar("Node", bound=type)
Data = list[Any]


@record
class Serialized:
    """How nodes of a registered type are written."""

    type: type
    name: str
    serialize: Callable[[Any], bytes]
    deserialize: Callable[[bytes], Any]
    from_children: Callable[[Any, Any], Any]


_by_type: dict[type, Serialized] = {}
_by_name: dict[str, Serialized] = {}


def register_pytree_node_serialization(
    nodetype: Node,
    *,
    serialized_name: str,
    serialize_auxdata: Callable[[Any], bytes],
    deserialize_auxdata: Callable[[bytes], Any],
    from_children: Callable[[Any, Any], Any] | None = None,
) -> Node:
    """Say how nodes of a registered type are written in exported programs; gives the type back.

    Args:
      nodetype: a type that is registered as a pytree node.
      serialized_name: the name it has in files; it must be registered wherever they are read.
      serialize_auxdata: the static data of a node as bytes.
      deserialize_auxdata: the static data from such bytes.
      from_children: a node from (static data, children); None: as it was registered.

    Raises ValueError if the type or the name was registered before.
    """
    found = node_type(nodetype)
    if found is None:
        raise ValueError(
            f"{nodetype.__qualname__} is not a pytree node: register it with "
            f"jax.tree_util.register_pytree_node first."
        )
    _register(
        Serialized(
            nodetype, serialized_name, serialize_auxdata, deserialize_auxdata,
            from_children or found.unflatten,
        )
    )  # fmt: skip
    return nodetype


def register_namedtuple_serialization(nodetype: Node, *, serialized_name: str) -> Node:
    """Say under which name a namedtuple type is written in exported programs.

    >>> Pair = collections.namedtuple("Pair", "a b")
    >>> register_namedtuple_serialization(Pair, serialized_name="docs.Pair") is Pair
    True
    """
    if not is_namedtuple(nodetype):
        raise ValueError(f"{nodetype!r} is not a namedtuple type.")
    fields = "\n".join(nodetype._fields)  # type: ignore[attr-defined]

    def check(data: bytes) -> Any:
        if data.decode() != fields:
            raise ValueError(
                f"the namedtuple {serialized_name} was exported with other fields: "
                f"{data.decode().split()}, not {fields.split()}."
            )
        return nodetype

    _register(
        Serialized(
            nodetype, serialized_name, lambda _: fields.encode(), check,
            lambda _, children: nodetype(*children),
        )
    )  # fmt: skip
    return nodetype


def _register(entry: Serialized) -> None:
    if entry.type in _by_type:
        raise ValueError(f"{entry.type.__qualname__} is registered for serialization already.")
    if entry.name in _by_name:
        raise ValueError(
            f"the name {entry.name!r} is registered already, for {_by_name[entry.name].type}."
        )
    _by_type[entry.type] = _by_name[entry.name] = entry


def structure_data(structure: Any) -> Data | str:
    """A structure as JSON can hold it; ValueError if a type in it has no name."""
    node = structure.node_data()
    if node is None:
        return "*"
    kind, data = node
    children = [structure_data(child) for child in structure.children()]
    if kind in (type(None), tuple, list):
        return [{type(None): "none", tuple: "tuple", list: "list"}[kind], None, children]
    if kind in (dict, collections.OrderedDict):
        keys = list(data)
        if not all(isinstance(k, str | int) and not isinstance(k, bool) for k in keys):
            raise ValueError(f"keys of dicts in exported programs are str or int, got {keys}.")
        return ["dict" if kind is dict else "ordered", keys, children]
    entry = _by_type.get(kind)
    if entry is None:
        function = "namedtuple" if is_namedtuple(kind) else "pytree_node"
        raise ValueError(
            f"Cannot serialize a program with arguments or results of type {kind.__module__}."
            f"{kind.__qualname__}: register it with export.register_{function}_serialization."
        )
    return ["node", [entry.name, entry.serialize(data).hex()], children]


def structure_from(data: Data | str) -> Any:
    """The structure that structure_data gave; ValueError for types that are not registered here."""
    return tree.structure(_example(data))


def _example(data: Any) -> Any:
    if data == "*":
        return 0
    kind, static, children = data
    values = [_example(child) for child in children]
    if kind == "none":
        return None
    if kind in ("tuple", "list"):
        return tuple(values) if kind == "tuple" else values
    if kind in ("dict", "ordered"):
        pairs: Sequence[Any] = list(zip(static, values, strict=True))
        return dict(pairs) if kind == "dict" else collections.OrderedDict(pairs)
    name, text = static
    entry = _by_name.get(name)
    if entry is None:
        raise ValueError(
            f"the exported program has a tree node {name!r}, which is not registered here: call "
            f"export.register_pytree_node_serialization before it is loaded."
        )
    return entry.from_children(entry.deserialize(bytes.fromhex(text)), tuple(values))

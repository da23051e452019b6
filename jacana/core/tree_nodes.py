"""What counts as a node of a pytree: the built-in containers and what users register.

The registry here is in Python, for paths, printing and messages; registering also tells optree,
which does the flattening.
"""

import collections
import dataclasses
import functools
import warnings
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, TypeVar

import numpy as np
import optree

from jacana.core.records import record

NAMESPACE = "jacana"
"""Types are registered with optree under this name, so that other users of it do not see them."""

T = TypeVar("T")
Typ = TypeVar("Typ", bound=type)


# --- keys ---


@record
class SequenceKey:
    """The position of a child in a tuple or list."""

    idx: int

    def __str__(self) -> str:
        return f"[{self.idx}]"


@record
class DictKey:
    """The key of a child in a dict."""

    key: Hashable

    def __str__(self) -> str:
        return f"[{self.key!r}]"


@record
class GetAttrKey:
    """The name of a child that is an attribute."""

    name: str

    def __str__(self) -> str:
        return f".{self.name}"


@record
class FlattenedIndexKey:
    """The position of a child of a type that was registered without keys."""

    key: int

    def __str__(self) -> str:
        return f"[<flat index {self.key}>]"


KeyPath = tuple[Any, ...]


def keystr(keys: KeyPath, *, simple: bool = False, separator: str = "") -> str:
    """The path as the expression that reaches it, `['a'][1].x`; bare keys if `simple`."""
    return separator.join(_bare(key) if simple else str(key) for key in keys)


def _bare(key: Any) -> str:
    for field in ("idx", "key", "name"):
        if hasattr(key, field):
            return str(getattr(key, field))
    return str(key)


# --- the registry ---


@record
class NodeType:
    """How a container is taken apart and put together; `keyed` gives (key, child) pairs."""

    flatten: Callable[[Any], tuple[Iterable[Any], Any]]
    unflatten: Callable[[Any, Iterable[Any]], Any]
    keyed: Callable[[Any], tuple[Iterable[tuple[Any, Any]], Any]]


def sorted_keys(mapping: dict[Any, Any]) -> list[Any]:
    """The keys in the order of the children; ValueError if they have none."""
    try:
        return sorted(mapping)
    except TypeError as error:
        raise ValueError(
            f"The keys of a dict in a pytree must be sortable, got {list(mapping)!r}. Use keys of "
            f"one type, or an OrderedDict, whose order is its own."
        ) from error


def _dict_parts(x: dict[Any, Any]) -> tuple[list[Any], list[Any]]:
    keys = sorted_keys(x)
    return [x[k] for k in keys], keys


def _defaultdict_parts(x: collections.defaultdict[Any, Any]) -> tuple[list[Any], Any]:
    children, keys = _dict_parts(x)
    return children, (x.default_factory, tuple(keys))


def _zip_keys(flatten: Callable[[Any], tuple[Any, Any]], key: Callable[..., Any]) -> Any:
    def keyed(x: Any) -> tuple[list[tuple[Any, Any]], Any]:
        children, metadata = flatten(x)
        return [(key(k), child) for k, child in enumerate(children)], metadata

    return keyed


def _mapping_keyed(flatten: Callable[[Any], tuple[Any, Any]], keys: Callable[[Any], Any]) -> Any:
    def keyed(x: Any) -> tuple[list[tuple[Any, Any]], Any]:
        children, metadata = flatten(x)
        return [(DictKey(k), child) for k, child in zip(keys(metadata), children)], metadata

    return keyed


def _of_parts(
    flatten: Callable[[Any], tuple[Any, Any]],
    unflatten: Callable[[Any, Any], Any],
    keys: Callable[[Any], Any] | None = None,
) -> NodeType:
    keyed = _zip_keys(flatten, SequenceKey) if keys is None else _mapping_keyed(flatten, keys)
    return NodeType(flatten, unflatten, keyed)


_builtin: dict[type, NodeType] = {
    type(None): _of_parts(lambda _: ((), None), lambda _, __: None),
    tuple: _of_parts(lambda x: (x, None), lambda _, children: tuple(children)),
    list: _of_parts(lambda x: (x, None), lambda _, children: list(children)),
    dict: _of_parts(_dict_parts, lambda keys, children: dict(zip(keys, children)), lambda m: m),
    collections.OrderedDict: _of_parts(
        lambda x: (list(x.values()), tuple(x)),
        lambda keys, children: collections.OrderedDict(zip(keys, children)),
        lambda m: m,
    ),
    collections.defaultdict: _of_parts(
        _defaultdict_parts,
        lambda m, children: collections.defaultdict(m[0], zip(m[1], children)),
        lambda m: m[1],
    ),
}
_registered: dict[type, NodeType] = {}

leaf_types: set[type] = {bool, int, float, complex, np.ndarray}
"""Types that were seen to be leaves, so that asking again is quick."""


def is_namedtuple(type_: type) -> bool:
    return issubclass(type_, tuple) and isinstance(getattr(type_, "_fields", None), tuple)


def _namedtuple_node(type_: type) -> NodeType:
    def keyed(x: Any) -> tuple[list[tuple[Any, Any]], Any]:
        return [(GetAttrKey(f), child) for f, child in zip(x._fields, x)], type_

    return NodeType(lambda x: (list(x), type_), lambda t, children: t(*children), keyed)


def node_type(type_: type) -> NodeType | None:
    """How values of the type are taken apart; None if they are leaves."""
    found = _builtin.get(type_) or _registered.get(type_)
    if found is None and is_namedtuple(type_):
        return _namedtuple_node(type_)
    return found


def is_registered(type_: type) -> bool:
    """Whether a user registered the type."""
    return type_ in _registered


def one_level(tree: Any) -> tuple[list[tuple[Any, Any]], Any] | None:
    """The (key, child) pairs of a node and its metadata; None for a leaf."""
    found = node_type(type(tree))
    if found is None:
        return None
    pairs, metadata = found.keyed(tree)
    return list(pairs), metadata


# --- registering ---


def register_pytree_node(
    nodetype: type[T],
    flatten_func: Callable[[T], tuple[Any, Any]],
    unflatten_func: Callable[[Any, Any], T],
    flatten_with_keys_func: Callable[[T], tuple[Any, Any]] | None = None,
) -> None:
    """Make values of a class nodes of pytrees.

    `flatten_func` gives (children, static data), `unflatten_func` takes (static data, children).
    Structures with equal static data are equal, so it needs `==` and a hash.

    >>> from jacana.core import tree
    >>> class Pair:
    ...     def __init__(self, a, b):
    ...         self.a, self.b = a, b
    >>> register_pytree_node(Pair, lambda p: ((p.a, p.b), None), lambda _, parts: Pair(*parts))
    >>> tree.leaves(Pair(1, [2, 3]))
    [1, 2, 3]
    """
    if nodetype in _builtin or nodetype in _registered:
        raise ValueError(
            f"Duplicate custom PyTreeDef type registration for {nodetype}: it is a node already."
        )
    keyed = flatten_with_keys_func or _zip_keys(flatten_func, FlattenedIndexKey)
    with warnings.catch_warnings():
        # optree warns where a named tuple is given rules of its own, which is what is asked for.
        warnings.simplefilter("ignore", UserWarning)
        optree.register_pytree_node(
            nodetype,  # type: ignore[arg-type, type-var, unused-ignore]
            flatten_func,  # type: ignore[arg-type, unused-ignore]
            unflatten_func,  # type: ignore[arg-type]
            namespace=NAMESPACE,
        )
    leaf_types.discard(nodetype)
    _registered[nodetype] = NodeType(flatten_func, unflatten_func, keyed)


def register_pytree_with_keys(
    nodetype: type[T],
    flatten_with_keys: Callable[[T], tuple[Iterable[tuple[Any, Any]], Any]],
    unflatten_func: Callable[[Any, Any], T],
    flatten_func: Callable[[T], tuple[Any, Any]] | None = None,
) -> None:
    """As register_pytree_node; `flatten_with_keys` gives ((key, child) pairs, static data)."""

    def without_keys(x: T) -> tuple[tuple[Any, ...], Any]:
        pairs, metadata = flatten_with_keys(x)
        return tuple(child for _, child in pairs), metadata

    register_pytree_node(nodetype, flatten_func or without_keys, unflatten_func, flatten_with_keys)


def register_pytree_node_class(cls: Typ) -> Typ:
    """Decorator: the class has tree_flatten(self) and tree_unflatten(cls, aux, children)."""
    register_pytree_node(cls, cls.tree_flatten, cls.tree_unflatten)  # type: ignore[attr-defined]
    return cls


def register_pytree_with_keys_class(cls: Typ) -> Typ:
    """Decorator: as register_pytree_node_class, with tree_flatten_with_keys(self)."""
    register_pytree_with_keys(
        cls,
        cls.tree_flatten_with_keys,  # type: ignore[attr-defined]
        cls.tree_unflatten,  # type: ignore[attr-defined]
        getattr(cls, "tree_flatten", None),
    )
    return cls


def register_static(cls: Typ) -> Typ:
    """Decorator: values are nodes without children, part of the structure itself."""
    register_pytree_node(cls, lambda x: ((), x), lambda x, _: x)
    return cls


def static(**kwargs: Any) -> Any:
    """A dataclass field that register_dataclass takes as static data."""
    metadata = {**(kwargs.pop("metadata", None) or {}), "static": True}
    return dataclasses.field(metadata=metadata, **kwargs)


def register_dataclass(
    nodetype: Typ,
    data_fields: Sequence[str] | None = None,
    meta_fields: Sequence[str] | None = None,
    drop_fields: Sequence[str] = (),
) -> Typ:
    """Make a dataclass a node: `data_fields` are children, `meta_fields` static data.

    Without either, fields with `metadata={"static": True}` are static and all others are children.
    """
    data, meta = _fields_of(nodetype, data_fields, meta_fields, drop_fields)

    def flatten(x: Any) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        return tuple(getattr(x, f) for f in data), tuple(getattr(x, f) for f in meta)

    def keyed(x: Any) -> tuple[list[tuple[Any, Any]], tuple[Any, ...]]:
        return [(GetAttrKey(f), getattr(x, f)) for f in data], tuple(getattr(x, f) for f in meta)

    def unflatten(metadata: tuple[Any, ...], children: Iterable[Any]) -> Any:
        return nodetype(**dict(zip(meta, metadata)), **dict(zip(data, children)))

    register_pytree_node(nodetype, flatten, unflatten, keyed)
    return nodetype


def _fields_of(
    nodetype: type,
    data: Sequence[str] | None,
    meta: Sequence[str] | None,
    dropped: Sequence[str],
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The names of the children and of the static data, checked against the dataclass."""
    if (data is None) != (meta is None):
        raise TypeError("register_dataclass needs both data_fields and meta_fields, or neither.")
    if not dataclasses.is_dataclass(nodetype):
        if data is None or meta is None:
            raise TypeError(
                f"register_dataclass needs data_fields and meta_fields for {nodetype}, which is "
                f"not a dataclass."
            )
        return tuple(data), tuple(meta)
    init = [f for f in dataclasses.fields(nodetype) if f.init and f.name not in dropped]
    if data is None or meta is None:
        data = [f.name for f in init if not f.metadata.get("static", False)]
        meta = [f.name for f in init if f.metadata.get("static", False)]
    given, wanted = {*data, *meta}, {f.name for f in init}
    if given != wanted:
        raise ValueError(
            f"data_fields and meta_fields must together name every field of {nodetype.__name__} "
            f"that its constructor takes: missing {sorted(wanted - given)}, unknown "
            f"{sorted(given - wanted)}. Name the fields to leave out in drop_fields."
        )
    return tuple(data), tuple(meta)


class _Opaque:
    """A partial as the function of another, kept whole instead of merged with it."""

    def __init__(self, func: Callable[..., Any]):
        self.func = func

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.func(*args, **kwargs)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Opaque) and self.func == other.func

    def __hash__(self) -> int:
        return hash(self.func)

    def __repr__(self) -> str:
        return repr(self.func)


class Partial(functools.partial[Any]):
    """functools.partial as a pytree: its arguments are children, its function is static data.

    >>> from jacana.core import tree
    >>> tree.leaves(Partial(max, 1, key=2))
    [1, 2]
    """

    def __new__(cls, func: Callable[..., Any], /, *args: Any, **kw: Any) -> "Partial":
        # functools.partial would merge the arguments of a partial that it is given.
        if isinstance(func, functools.partial):
            func = _Opaque(func)
        return super().__new__(cls, func, *args, **kw)


register_pytree_node(
    Partial,
    lambda p: ((p.args, p.keywords), p.func),
    lambda func, parts: Partial(func, *parts[0], **parts[1]),
)

"""Records: frozen data with named fields, declared as a dataclass is.

Declaring a dataclass writes and compiles six methods, which takes a third of a millisecond; the
methods of a record are shared, and its constructor is compiled when the first one is made.
"""

import operator
from collections.abc import Callable
from typing import Any, TypeVar, dataclass_transform, overload

Class = TypeVar("Class", bound=type)
Instance = TypeVar("Instance")

FIELDS = "__record_fields__"


@overload
@dataclass_transform(frozen_default=True)
def record(cls: Class, /) -> Class: ...


@overload
@dataclass_transform(frozen_default=True)
def record(*, eq: bool = True, frozen: bool = True) -> Callable[[Class], Class]: ...


def record(cls: Any = None, /, *, eq: bool = True, frozen: bool = True) -> Any:
    """Decorator: the class with a slot and a constructor argument for each annotated name.

    With eq=False its objects are equal only to themselves; with frozen=False they may be changed.
    """
    if cls is None:
        return lambda cls: _declare(cls, eq, frozen)
    return _declare(cls, eq, frozen)


def fields_of(cls: type) -> tuple[str, ...]:
    """The names of a record's fields, in the order of its constructor."""
    found: tuple[str, ...] = getattr(cls, FIELDS)
    return found


def replace(record: Instance, **changes: Any) -> Instance:
    """A record like the given one but for some fields."""
    cls = type(record)
    return cls(**{**{name: getattr(record, name) for name in fields_of(cls)}, **changes})


def _declare(cls: type, eq: bool, frozen: bool) -> type:
    own = tuple(cls.__annotations__)
    inherited = tuple(name for base in cls.__bases__ for name in getattr(base, FIELDS, ()))
    names = (*inherited, *own)
    namespace = dict(cls.__dict__)
    defaults = {k: v for base in cls.__bases__ for k, v in getattr(base, "_defaults", {}).items()}
    defaults |= {name: namespace.pop(name) for name in own if name in namespace}
    for name in ("__dict__", "__weakref__"):
        namespace.pop(name, None)
    namespace.update(
        {"__slots__": own, "__match_args__": names, FIELDS: names, "_defaults": defaults}
    )
    namespace.setdefault("__repr__", _repr)
    namespace["__reduce__"] = _reduce
    namespace["__init__"] = _init_when_first_made
    if frozen:
        namespace["__setattr__"] = namespace["__delattr__"] = _refuse
    if eq:
        namespace["_values"] = operator.attrgetter(*names) if names else staticmethod(_nothing)
        namespace.setdefault("__eq__", _eq)
        namespace.setdefault("__hash__", _hash if frozen else None)
    return type(cls)(cls.__name__, cls.__bases__, namespace)


def _init_when_first_made(self: Any, *args: Any, **kwargs: Any) -> None:
    cls = next(c for c in type(self).__mro__ if FIELDS in c.__dict__)
    constructor = _constructor(cls)
    type.__setattr__(cls, "__init__", constructor)
    constructor(self, *args, **kwargs)


def _constructor(cls: type) -> Any:
    """An `__init__` that sets the slots directly, whether or not they are frozen."""
    names, defaults = fields_of(cls), getattr(cls, "_defaults", {})
    scope: dict[str, Any] = {f"_default_{name}": value for name, value in defaults.items()}
    scope |= {f"_set_{name}": getattr(cls, name).__set__ for name in names}
    params = [f"{name}=_default_{name}" if name in defaults else name for name in names]
    body = [f"    _set_{name}(self, {name})" for name in names]
    if hasattr(cls, "__post_init__"):
        body.append("    self.__post_init__()")
    source = "\n".join([f"def __init__(self, {', '.join(params)}):", *(body or ["    pass"])])
    exec(source, scope)
    made = scope["__init__"]
    made.__qualname__ = f"{cls.__qualname__}.__init__"
    return made


def _nothing(self: Any) -> tuple[()]:
    return ()


def _eq(self: Any, other: Any) -> Any:
    if type(other) is not type(self):
        return NotImplemented
    return self._values(self) == self._values(other)


def _hash(self: Any) -> int:
    return hash(self._values(self))


def _repr(self: Any) -> str:
    fields = ", ".join(f"{name}={getattr(self, name)!r}" for name in fields_of(type(self)))
    return f"{type(self).__qualname__}({fields})"


def _reduce(self: Any) -> tuple[type, tuple[Any, ...]]:
    cls = type(self)
    return cls, tuple([getattr(self, name) for name in fields_of(cls)])


def _refuse(self: Any, name: str, value: Any = None) -> None:
    raise AttributeError(
        f"{type(self).__name__} is frozen: `{name}` cannot be changed. Make another one, for "
        f"example with replace."
    )

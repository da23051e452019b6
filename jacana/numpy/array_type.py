"""The type that `isinstance(x, jax.Array)` asks about: arrays, and tracers that stand for them."""

from typing import Any

from jacana.core.trace import Tracer
from jacana.runtime import array


class _ArrayType(type):
    """Makes tracers instances of Array without making them arrays."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, array.Array | Tracer)

    def __subclasscheck__(cls, subclass: type) -> bool:
        return issubclass(subclass, array.Array | Tracer)


class Array(metaclass=_ArrayType):
    """An array: what jnp functions take and give, concrete or traced. Not to be constructed."""

    __module__ = "jax"

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        raise TypeError("jax.Array has no constructor: make arrays with jnp.array or jnp.zeros.")


ndarray = Array

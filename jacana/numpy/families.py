"""Makers of elementwise functions: operands promoted and broadcast, then one primitive."""

from collections.abc import Callable
from typing import Any

from jacana.numpy.promotion import promote_args, promote_args_inexact

Function = Callable[..., Any]


def unary(name: str, primitive: Any, doc: str, inexact: bool = True) -> Function:
    """A function of one array; `inexact` ones compute integers in floating point."""

    def function(x: Any, /) -> Any:
        (x,) = promote_args_inexact(name, x) if inexact else promote_args(name, x)
        return primitive(x)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    return function


def binary(name: str, primitive: Any, doc: str, inexact: bool = False) -> Function:
    """A function of two arrays that broadcast against each other."""

    def function(x: Any, y: Any, /) -> Any:
        x, y = promote_args_inexact(name, x, y) if inexact else promote_args(name, x, y)
        return primitive(x, y)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    return function

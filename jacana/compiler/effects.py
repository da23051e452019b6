"""Order of effects: commands with effects hand a token on, each to the next one.

So they all stay, and run in the order of the program, also in branches and loops.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jacana.core import dtypes
from jacana.core.avals import ShapedArray
from jacana.core.jaxpr import Jaxpr, Var

TOKEN = ShapedArray((), dtypes.uint8)


def passing_token(jaxpr: Jaxpr, after_inputs: int, after_outputs: int | None) -> Jaxpr:
    """The program with a token among its inputs and, unless None, the same among its outputs."""
    token = Var(TOKEN)
    invars, outvars = list(jaxpr.invars), list(jaxpr.outvars)
    invars.insert(after_inputs, token)
    if after_outputs is not None:
        outvars.insert(after_outputs, token)
    return Jaxpr(jaxpr.constvars, invars, outvars, jaxpr.eqns, jaxpr.debug_name)


def giving_token(function: Callable[..., Sequence[Any]], inputs: int) -> Callable[..., list[Any]]:
    """A host function that ignores what follows its inputs, and gives a token at the end."""
    return lambda *args: [*function(*args[:inputs]), np.uint8(0)]

"""jax.scipy.sparse: iterative solvers of linear systems that are known by what they do."""

from typing import TYPE_CHECKING

from jacana.core.deferred import deferred

if TYPE_CHECKING:
    from jacana.scipy.sparse import linalg as linalg

__getattr__, __dir__ = deferred(__name__, ("linalg",))

"""checkpoint: derivatives that compute intermediate values again. For now they keep them all."""

import functools
from collections.abc import Callable
from typing import Any

from jacana.api.arguments import check_callable


def checkpoint(
    fun: Callable[..., Any] | None = None,
    *,
    prevent_cse: bool | tuple[bool, ...] = True,
    policy: Callable[..., bool] | None = None,
    static_argnums: int | tuple[int, ...] = (),
    concrete: bool = False,
) -> Any:
    """The function itself: what it computes, and its derivatives, are the same.

    TypeError if it is not callable.
    """
    if fun is None:
        return functools.partial(
            checkpoint, prevent_cse=prevent_cse, policy=policy, static_argnums=static_argnums
        )
    check_callable(fun, "checkpoint")
    function: Callable[..., Any] = fun

    @functools.wraps(function)
    def same(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    return same


remat = checkpoint

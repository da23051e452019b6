"""jax.experimental.checkify: functions that also give what went wrong in them, also when compiled.

`checkify(f)` gives (error, result): error.get() is a message or None, error.throw() raises it.
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jacana.api.arguments import check_callable, flatten_arguments, name_of
from jacana.core import tree
from jacana.core.errors import NotAnArrayError
from jacana.core.stage import JaxprTrace, stage
from jacana.core.trace import Tracer, current
from jacana.core.values import aval_of, is_array_like
from jacana.experimental.checked_programs import Checks, Kinds, Recording
from jacana.higher_order.call import bind_jit
from jacana.higher_order.check import (
    DivisionByZeroError,
    FailedCheckError,
    JaxRuntimeError as JaxRuntimeError,
    NaNError,
    OOBError,
    Site,
    check as check_primitive,
)
from jacana.numpy.references import freeze
from jacana.transforms.derived import closed

ErrorCategory = type[JaxRuntimeError]

user_checks: Kinds = frozenset((FailedCheckError,))
nan_checks: Kinds = frozenset((NaNError,))
index_checks: Kinds = frozenset((OOBError,))
div_checks: Kinds = frozenset((DivisionByZeroError,))
float_checks: Kinds = nan_checks | div_checks
automatic_checks: Kinds = float_checks | index_checks
all_checks: Kinds = automatic_checks | user_checks


@tree.register_pytree_node_class
class Error:
    """What the checks of a call found: a code, and what messages are made of. A pytree."""

    __slots__ = ("_code", "_payload", "_sites")

    def __init__(self, code: Any, payload: Sequence[Sequence[Any]], sites: tuple[Site, ...]):
        self._code, self._payload, self._sites = code, payload, sites

    def get(self) -> str | None:
        """The message of the first check that failed, or None; of each example, of a batch."""
        codes = np.asarray(self._code)
        if not codes.ndim:
            return self._message(int(codes), ()) if codes else None
        lines = [
            f"at mapped index {', '.join(map(str, at))}: {self._message(int(codes[at]), at)}"
            for at in np.ndindex(codes.shape)
            if codes[at]
        ]
        return "\n".join(lines) or None

    def _message(self, code: int, at: tuple[int, ...]) -> str:
        return self._sites[code - 1].message([x[at] for x in self._payload[code - 1]])

    def get_exception(self) -> JaxRuntimeError | None:
        """The exception for what was found, or None."""
        message = self.get()
        if message is None:
            return None
        codes = np.ravel(np.asarray(self._code))
        return self._sites[int(codes[codes > 0][0]) - 1].kind(message)

    def throw(self) -> None:
        """Raise JaxRuntimeError if a check failed; inside of compiled code, check_error."""
        check_error(self)

    def __repr__(self) -> str:
        if isinstance(self._code, Tracer):
            return f"Error(code={self._code})"
        return f"Error({self.get() or ''})"

    def tree_flatten(self) -> tuple[Any, Any]:
        return (self._code, self._payload), self._sites

    @classmethod
    def tree_unflatten(cls, sites: Any, children: Any) -> "Error":
        code, payload = children
        return cls(code, payload, sites)


init_error = Error(np.int32(0), (), ())


def checkify(
    f: Callable[..., Any], errors: Kinds = user_checks
) -> Callable[..., tuple[Error, Any]]:
    """A function giving (error, result of f), which may be jitted, vmapped and differentiated.

    `errors` says what is checked: calls of `check` (user_checks), nan (nan_checks), divisors
    (div_checks; both: float_checks), indices (index_checks), or several of these joined with |.

    >>> import jacana as jax
    >>> def f(x):
    ...     check(x > 0, "must be positive, got {x}", x=x)
    ...     return jnp.log(x)
    >>> error, _ = jax.jit(checkify(f))(jnp.float32(-1))
    >>> error.get()
    'must be positive, got -1.0 (`check` failed)'
    """
    check_callable(f, "checkify")
    kinds = frozenset(errors)

    @functools.wraps(f, assigned=("__name__", "__qualname__", "__doc__", "__module__"))
    def checked(*args: Any, **kwargs: Any) -> tuple[Error, Any]:
        leaves, structure = flatten_arguments((args, kwargs), f"checkify of {name_of(f)}")
        structures: list[Any] = []

        def flat(*xs: Any) -> list[Any]:
            given, named = structure.unflatten(xs)
            out, out_structure = tree.flatten(f(*given, **named))
            structures.append(out_structure)
            for x in out:
                if not is_array_like(x):
                    raise NotAnArrayError(x, f"checkify (as a result of {name_of(f)})")
            return out

        jaxpr, consts = stage(flat, [aval_of(x) for x in leaves], name_of(f))
        jaxpr = jaxpr.with_constvars_as_inputs()
        checks = Checks(jaxpr, kinds)

        def run(*xs: Any) -> list[Any]:
            state = checks.state()
            outs = Recording(checks, state).run(jaxpr, xs)
            return [*[freeze(ref) for ref in state], *outs]

        program = closed(run, jaxpr.in_avals)
        n = 1 + len(checks.payload)
        outs = bind_jit(program, name_of(f), [*consts, *leaves])
        return made_error(checks, outs[:n]), structures[0].unflatten(outs[n:])

    return checked


def made_error(checks: Checks, state: Sequence[Any]) -> Error:
    places = [p for found in checks.places.values() for p in found]
    places.sort(key=lambda p: p.number)
    payload = [tuple(state[p.start : p.start + len(p.avals)]) for p in places]
    return Error(state[0], tuple(payload), tuple(checks.sites))


def check(pred: Any, msg: str, *fmt_args: Any, debug: bool = False, **fmt_kwargs: Any) -> None:
    """Check that `pred`, a boolean scalar, holds; `msg` is formatted with the arrays that follow.

    Under `checkify` the first failure is part of the result. Elsewhere it raises JaxRuntimeError,
    in compiled code ValueError at compile time, unless `debug`.

    >>> check(jnp.float32(1) > 0, "all is well")
    """
    if not is_array_like(pred) or np.shape(pred) or aval_of(pred).dtype != np.dtype(bool):
        raise TypeError(f"checkify.check takes a scalar pred as argument, got {pred!r}.")
    payload, structure = tree.flatten((fmt_args, fmt_kwargs))
    for x in payload:
        if not is_array_like(x) or isinstance(x, bool | int | float | complex):
            raise TypeError(
                f"Formatting arguments to checkify.check need to be PyTrees of arrays, but got "
                f"{x!r} of type {type(x)}. Write it into the message, or make an array of it."
            )
    _check(pred, payload, Site(FailedCheckError, msg, structure, debug=debug))


def debug_check(pred: Any, msg: str, *fmt_args: Any, **fmt_kwargs: Any) -> None:
    """As `check`, of which nothing is left where the function is not checkified."""
    check(pred, msg, *fmt_args, debug=True, **fmt_kwargs)


def check_error(error: Error) -> None:
    """Raise the error, if there is one; under `checkify`, make it part of the result.

    >>> check_error(init_error)
    """
    if not isinstance(error, Error):
        raise TypeError(
            f"check_error takes an Error as argument, got {error!r}. It is the first result of a "
            f"function that checkify gave."
        )
    if not isinstance(error._code, Tracer):
        message = error.get()
        if message is not None:
            raise JaxRuntimeError(message)
        return
    code: Any = error._code
    for number, (site, payload) in enumerate(zip(error._sites, error._payload), 1):
        _check(code != number, payload, site)


def _check(pred: Any, payload: Sequence[Any], site: Site) -> None:
    staged = isinstance(current(), JaxprTrace)
    if staged or isinstance(pred, Tracer) or any(isinstance(x, Tracer) for x in payload):
        check_primitive(pred, *payload, site=site)
    elif not site.debug and not pred:
        raise JaxRuntimeError(site.message(payload))

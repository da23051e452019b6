"""Eager functions: functions of arrays that become programs of their own after a few calls.

A jnp function may run several operations, each found by its operands. What it does with arguments
of certain kinds is traced, compiled, and from then on run by a native front, in un-jitted
derivatives too (`taped`); while functions are traced, its equations are recorded again
(`templates`). Inside other transformations, and for arguments that native code cannot tell, the
function itself runs.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jacana.api import known_calls, taped, templates
from jacana.api.eager_arguments import (
    INDEX,
    LEARN_AT,
    NEVER,
    OPERAND,
    STATIC,
    VALUE,
    Arguments,
    Roles,
    UnknownArgumentError,
    same_objects,
    traced_like,
)
from jacana.core import config, tree
from jacana.core.bounded import Bounded
from jacana.core.errors import JAXIndexError, JAXTypeError
from jacana.core.jaxpr import JaxprEqn
from jacana.core.stage import JaxprTrace
from jacana.core.trace import base_trace, current
from jacana.runtime import number_checks
from jacana.runtime.array import Array, to_array
from jacana.runtime.calls import Call
from jacana.runtime.executable import executable_for
from jacana.runtime.fronts import Calls, operation
from jacana.transforms.linearize import EagerLinearizeTrace

__all__ = ["INDEX", "OPERAND", "STATIC", "VALUE", "clear", "eager"]

_ALL_STATIC = Roles((), STATIC)
# What a function raises where it looks at values, which a program of it cannot.
_NEEDS_VALUES = (JAXTypeError, JAXIndexError, UnknownArgumentError, MemoryError)


def eager(
    function: Callable[..., Any], *roles: str, rest: str = STATIC, only: type | None = None
) -> Any:
    """The function, which native code calls once it knows the kinds of its arguments.

    `roles` say what Python scalars are in each positional argument, `rest` in all others. With
    `only`, native code knows calls whose first argument is of that type.
    """
    learner = Learner(function, Roles(roles, rest))

    def slow(*args: Any, **kwargs: Any) -> Any:
        trace = current()
        if only is not None and not (args and type(args[0]) is only):
            return function(*args, **kwargs)
        if type(trace) is JaxprTrace:
            first = len(trace.eqns)
            out = function(*args, **kwargs)
            learner.see(learner.staged, args, kwargs, out, trace.eqns[first:])
            return out
        out = function(*args, **kwargs)
        if trace is base_trace:
            # What is put off is fused later, with more.
            if not (type(out) is Array and out.address == 0):
                learner.see(learner.calls, args, kwargs, out)
        elif type(trace) is EagerLinearizeTrace:
            learner.see(learner.taped, args, kwargs, out)
        return out

    slow.__name__, slow.__doc__ = function.__name__, function.__doc__
    made, learner.calls = operation(slow, function)
    if learner.calls is not None:
        learner.taped = learner.calls.in_derivatives()
        learner.staged = learner.calls.in_programs()
    return made


learners: list["Learner"] = []


def clear() -> None:
    """Forget the programs of all functions."""
    for learner in learners:
        learner.forget()


class Learner:
    """Makes programs of what a function does with arguments that come again."""

    def __init__(self, function: Callable[..., Any], roles: Roles):
        learners.append(self)
        self._function, self._roles = function, roles
        self._counts: Bounded[Any, int] = Bounded(1024)
        self.calls: Calls | None = None
        # Those with tracers of un-jitted derivatives among their arguments.
        self.taped: Calls | None = None
        # Those that are equations of a program.
        self.staged: Calls | None = None

    def forget(self) -> None:
        self._counts.clear()
        for calls in (self.calls, self.taped, self.staged):
            if calls is not None:
                calls.clear()

    def see(
        self,
        calls: Calls | None,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        out: Any,
        recorded: Sequence[JaxprEqn] = (),
    ) -> None:
        """Note a call and what it gave; one that came again becomes one of the known calls."""
        if calls is None:
            return
        # Checks of numbers look at each operation that runs.
        if calls is not self.staged and number_checks.is_on():
            return
        try:
            # Programs have scalars as literals.
            roles = _ALL_STATIC if calls is self.staged else self._roles
            arguments = Arguments(args, kwargs, roles)
        except (UnknownArgumentError, OverflowError):
            return
        count = self._counts.get(arguments.key, 0)
        if count == NEVER:
            return
        self._counts[arguments.key] = count + 1
        if count + 1 < LEARN_AT or config.is_overridden() or not calls.wants(arguments.key):
            return
        try:
            if calls is self.taped:
                call = taped.learn(self._function, arguments, out, self._roles)
            elif calls is self.staged:
                call = templates.learn(self._function, arguments, out, recorded)
            else:
                call = self._learn(arguments, out)
        except _NEEDS_VALUES:
            call = None
        if call is None:
            self._counts[arguments.key] = NEVER
        else:
            calls.add(call, arguments.key)

    def _learn(self, arguments: Arguments, out: Any) -> Call | None:
        """The call of a program that does what the function did; None if there is none."""
        results = tree.leaves(out)
        if not results or not all(type(x) is Array for x in results):
            return None
        jaxpr, consts, out_tree = traced_like(self._function, arguments, out)
        executable = executable_for(jaxpr)
        arrays = [to_array(c) for c in consts]
        # What comes from NumPy is an Array of its own.
        leaves = [None if type(x) is np.ndarray else x for x in arguments.leaves]
        if not same_objects(executable.layout.results, [*arrays, *leaves], results):
            return None
        result = known_calls.result_of(out_tree, executable.layout.results)
        return known_calls.make_call(
            executable.layout, arrays, result, arguments.args, arguments.kwargs, arguments.leaves,
            arguments.dues, self._roles.is_leaf,
        )  # fmt: skip

"""jax.checkpoint_policies: which results `checkpoint` keeps for the backward pass.

A policy is a function policy(primitive, *avals, **params) -> bool, asked for each operation.
"""

from collections.abc import Callable
from typing import Any

from jacana import ops

Policy = Callable[..., Any]


def everything_saveable(*_: Any, **__: Any) -> bool:
    """Keep all results: as without checkpoint."""
    return True


def nothing_saveable(*_: Any, **__: Any) -> bool:
    """Keep nothing but the inputs: what checkpoint does without a policy."""
    return False


def dots_saveable(prim: Any, *_: Any, **__: Any) -> bool:
    """Keep results of matrix products and convolutions."""
    return prim in (ops.dot_general, ops.conv_general_dilated)


def dots_with_no_batch_dims_saveable(prim: Any, *_: Any, **params: Any) -> bool:
    """Keep results of matrix products without batch axes, such as those with weights."""
    if prim is not ops.dot_general:
        return False
    _, (left, right) = params["dimension_numbers"]
    return not left and not right


checkpoint_dots = dots_saveable
checkpoint_dots_with_no_batch_dims = dots_with_no_batch_dims_saveable


class _Names:
    """A policy about names given by checkpoint_name; equal ones are the same policy."""

    def __init__(self, *names: str):
        for name in names:
            if not isinstance(name, str):
                raise TypeError(f"names that a policy saves are strings, got {name!r}.")
        self.names = frozenset(names)

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other.names == self.names

    def __hash__(self) -> int:
        return hash((type(self), self.names))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(map(repr, sorted(self.names)))})"


class save_only_these_names(_Names):
    """Keep values that have these names."""

    def __call__(self, prim: Any, *_: Any, **params: Any) -> bool:
        return prim is ops.name and params["name"] in self.names


class save_any_names_but_these(_Names):
    """Keep values that have other names."""

    def __call__(self, prim: Any, *_: Any, **params: Any) -> bool:
        return prim is ops.name and params["name"] not in self.names


class save_anything_except_these_names(_Names):
    """Keep everything but values that have these names."""

    def __call__(self, prim: Any, *_: Any, **params: Any) -> bool:
        return prim is not ops.name or params["name"] not in self.names


class save_from_both_policies:
    """Keep what either policy keeps."""

    def __init__(self, policy_1: Policy, policy_2: Policy):
        self.policies = (policy_1, policy_2)

    def __call__(self, prim: Any, *avals: Any, **params: Any) -> bool:
        return any(bool(policy(prim, *avals, **params)) for policy in self.policies)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, save_from_both_policies) and other.policies == self.policies

    def __hash__(self) -> int:
        return hash(self.policies)

"""Calls of the user's Python from compiled programs: pure ones, and ones with effects.

A callback is a flat function on NumPy arrays; callbacks that compare equal are the same one.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jacana.core.avals import ShapedArray
from jacana.core.primitive import Inapplicable, Primitive
from jacana.core.records import record
from jacana.ops.families import move_axis, spread_axis
from jacana.transforms.batch import BatchTrace

Callback = Callable[..., Sequence[Any]]
VMAP_METHODS = (
    "sequential", "sequential_unrolled", "expand_dims", "broadcast_all", "legacy_vectorized",
)  # fmt: skip


@record()
class OneByOne:
    """A callback called for each example of a batch; flags say which operands are batched."""

    callback: Callback
    size: int
    batched: tuple[bool, ...]
    avals: tuple[ShapedArray, ...]

    def __call__(self, *args: Any) -> list[Any]:
        rows = [
            list(self.callback(*[x[k] if b else x for x, b in zip(args, self.batched)]))
            for k in range(self.size)
        ]
        if not rows:
            return [np.zeros((0, *a.shape), a.dtype) for a in self.avals]
        return [np.stack([np.asarray(row[i]) for row in rows]) for i in range(len(self.avals))]


class Callbacks(Primitive):
    """The outputs, of types `result_avals`, of the callback on the operands."""

    multiple_results = True
    is_total = False
    jvp = Inapplicable("jvp_rule says what to do instead")
    transpose = Inapplicable("a call of Python is not linear")
    batch = Inapplicable("batch_rule calls it for a batch")

    def type_rule(
        self, *xs: ShapedArray, result_avals: tuple[ShapedArray, ...], **_: Any
    ) -> list[ShapedArray]:
        return list(result_avals)

    def reference(self, *xs: Any, callback: Callback, **_: Any) -> list[Any]:
        return list(callback(*xs))

    def lower(
        self, build: Any, *xs: Any, callback: Callback, result_avals: Any, **params: Any
    ) -> Any:
        outputs = [(a.shape, a.dtype) for a in result_avals]
        return build.host(callback, outputs, xs, effects=bool(self.effects(params)))

    def call_in_turn(
        self, trace: BatchTrace, values: list[Any], axes: list[Any], params: dict[str, Any]
    ) -> tuple[list[Any], list[Any]]:
        """One call for each example."""
        batched = tuple(a is not None for a in axes)
        avals = params["result_avals"]
        callback = OneByOne(params["callback"], trace.size, batched, avals)
        moved = [x if a is None else move_axis(x, a, 0) for x, a in zip(values, axes, strict=True)]
        changed = {"callback": callback, "result_avals": with_batch(avals, trace.size)}
        outs = self(*moved, **{**params, **changed})
        return outs, [0] * len(outs)


def with_batch(avals: Sequence[ShapedArray], size: int) -> tuple[ShapedArray, ...]:
    return tuple(a.update(shape=(size, *a.shape)) for a in avals)


class PureCallback(Callbacks):
    """A call that may be left out, merged with an equal one, or repeated."""

    name = "pure_callback"

    def jvp_rule(self, primals: list[Any], tangents: list[Any], params: dict[str, Any]) -> Any:
        raise ValueError(
            "Pure callbacks do not support JVP. Please use `jax.custom_jvp` to use callbacks while "
            "taking gradients."
        )

    def batch_rule(
        self, trace: BatchTrace, values: list[Any], axes: list[Any], params: dict[str, Any]
    ) -> tuple[list[Any], list[Any]]:
        method, size = params["vmap_method"], trace.size
        if method is None:
            raise NotImplementedError(
                "vmap is only supported for the pure_callback primitive when vmap_method is one of "
                "'sequential', 'sequential_unrolled', 'expand_dims', 'broadcast_all', or "
                "'legacy_vectorized'. Got vmap_method=None."
            )
        if method.startswith("sequential"):
            return self.call_in_turn(trace, values, axes, params)
        width = {"expand_dims": 1, "broadcast_all": size}.get(method)
        given = [
            move_axis(x, a, 0) if a is not None else x if width is None else spread_axis(x, width)
            for x, a in zip(values, axes, strict=True)
        ]
        avals = with_batch(params["result_avals"], size)
        outs = self(*given, **{**params, "result_avals": avals})
        return outs, [0] * len(outs)


class IOCallback(Callbacks):
    """A call that happens each time the program comes by."""

    name = "io_callback"

    def effects(self, params: dict[str, Any]) -> frozenset[str]:
        return frozenset(("io",))

    def jvp_rule(self, primals: list[Any], tangents: list[Any], params: dict[str, Any]) -> Any:
        raise ValueError(
            "IO callbacks do not support JVP. Use jax.debug.callback, which returns nothing, or "
            "jax.custom_jvp."
        )

    def batch_rule(
        self, trace: BatchTrace, values: list[Any], axes: list[Any], params: dict[str, Any]
    ) -> tuple[list[Any], list[Any]]:
        if params["ordered"]:
            raise ValueError(
                "Cannot `vmap` ordered IO callback. Give ordered=False, if the order of calls for "
                "the examples of a batch does not matter."
            )
        return self.call_in_turn(trace, values, axes, params)


class DebugCallback(Callbacks):
    """A call that looks at values and returns nothing: derivatives call it on the primals."""

    name = "debug_callback"

    def effects(self, params: dict[str, Any]) -> frozenset[str]:
        return frozenset(("debug",))

    def jvp_rule(
        self, primals: list[Any], tangents: list[Any], params: dict[str, Any]
    ) -> tuple[list[Any], list[Any]]:
        return self(*primals, **params), []

    def batch_rule(
        self, trace: BatchTrace, values: list[Any], axes: list[Any], params: dict[str, Any]
    ) -> tuple[list[Any], list[Any]]:
        return self.call_in_turn(trace, values, axes, params)


pure_callback_primitive = PureCallback()
io_callback_primitive = IOCallback()
debug_callback_primitive = DebugCallback()

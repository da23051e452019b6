"""pmap: a function of examples, one for each device, along an axis of its arguments."""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jacana import ops
from jacana.api.arguments import check_callable, flatten_arrays, name_of
from jacana.api.jit import Ints, jit
from jacana.core import tree
from jacana.core.errors import NotAnArrayError
from jacana.core.mesh import Mesh
from jacana.core.sharding import named
from jacana.core.values import aval_of, is_array_like
from jacana.ops.families import move_axis
from jacana.runtime.device import Device, devices as known_devices
from jacana.transforms.batch import without_axis
from jacana.transforms.blocks import run_blocks, stage_body

# The axis of a function that gives it no name.
UNNAMED = "_internal_pmap_axis_name"


def pmap(
    fun: Callable[..., Any],
    axis_name: Any = None,
    *,
    in_axes: Any = 0,
    out_axes: Any = 0,
    static_broadcasted_argnums: Ints = (),
    devices: Sequence[Device] | None = None,
    backend: str | None = None,
    axis_size: int | None = None,
    donate_argnums: Ints = (),
) -> Any:
    """`fun` compiled, and run on each device for its own slice of the arguments.

    Args:
      fun: a function of arrays, or of containers of arrays, to the same, for one slice.
      axis_name: a name for collectives such as lax.psum between the devices.
      in_axes: which axis of each argument is mapped: an int, None (all devices get the whole), or
        a tuple of these and of containers that begin the arguments' structure.
      out_axes: where the axis goes in the results; None for results that all devices agree on, of
        which the first one's is taken.
      static_broadcasted_argnums: positions of arguments that are part of the program.
      devices: which devices; by default as many of the first ones as the axis is long.
      backend: "cpu" or None.
      axis_size: the size of the axis; needed only where no argument is mapped.
      donate_argnums: positions of arguments whose memory may be reused; they are deleted.

    Raises ValueError where sizes do not agree or there are too few devices.

    >>> import jacana.numpy as jnp
    >>> pmap(lambda x, y: x * y, in_axes=(0, None))(jnp.ones((1, 2)), 3.0)
    Array([[3., 3.]], dtype=float32)
    """
    check_callable(fun, "pmap")
    if isinstance(in_axes, list):
        in_axes = tuple(in_axes)
    static = _numbers(static_broadcasted_argnums)
    mapping = ParallelMap(fun, axis_name, in_axes, out_axes, static, devices, backend, axis_size)

    @functools.wraps(fun, assigned=("__name__", "__qualname__", "__doc__", "__module__"))
    def mapped(*args: Any, **kwargs: Any) -> Any:
        return mapping.call(args, kwargs)

    return jit(mapped, static_argnums=static_broadcasted_argnums, donate_argnums=donate_argnums)


def _numbers(value: Ints) -> tuple[int, ...]:
    if value is None:
        return ()
    return (value,) if isinstance(value, int) else tuple(value)


class ParallelMap:
    """What is known of a mapped function before its arguments are."""

    def __init__(
        self,
        function: Callable[..., Any],
        axis_name: Any,
        in_axes: Any,
        out_axes: Any,
        static: tuple[int, ...],
        devices: Sequence[Device] | None,
        backend: str | None,
        axis_size: int | None,
    ):
        self.function, self.name = function, name_of(function)
        self.axis_name = UNNAMED if axis_name is None else axis_name
        self.in_axes, self.out_axes, self.static = in_axes, out_axes, static
        self.devices, self.backend, self.axis_size = devices, backend, axis_size

    def call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The results, where arrays are traced."""
        static = {n % len(args) if n < 0 and args else n for n in self.static}
        dynamic = [i for i in range(len(args)) if i not in static]
        in_axes = self.in_axes
        if isinstance(in_axes, tuple):
            if len(in_axes) != len(args):
                raise ValueError(
                    f"pmap in_axes must be an int, None, or a tuple with an entry for each "
                    f"positional argument, but got len(in_axes)={len(in_axes)}, "
                    f"len(args)={len(args)}."
                )
            in_axes = tuple([in_axes[i] for i in dynamic])
        given = (tuple([args[i] for i in dynamic]), kwargs)
        leaves, structure = flatten_arrays(given, f"pmap of {self.name}")
        places = tree.broadcast_prefix(
            (in_axes, 0), given, is_leaf=lambda x: x is None, name="pmap in_axes"
        )
        axes = [None if a is None else self._axis(x, a) for x, a in zip(leaves, places)]
        size = self._size(leaves, axes)
        trees: list[Any] = []

        def flat(*xs: Any) -> list[Any]:
            positional, named_ = structure.unflatten(xs)
            every = list(args)
            for i, value in zip(dynamic, positional, strict=True):
                every[i] = value
            outs, out_tree = tree.flatten(self.function(*every, **named_))
            trees.append(out_tree)
            for x in outs:
                if not is_array_like(x):
                    raise NotAnArrayError(x, f"pmap (as a result of {self.name})")
            return outs

        avals = [
            aval_of(x) if a is None else without_axis(aval_of(x), a) for x, a in zip(leaves, axes)
        ]
        body = stage_body(flat, avals, self.name, {self.axis_name: size}, checked=False)
        wanted = tree.broadcast_prefix(
            self.out_axes, trees[0].unflatten(body.jaxpr.out_avals), is_leaf=lambda x: x is None,
            name="pmap out_axes",
        )  # fmt: skip
        outs = run_blocks(
            body, {self.axis_name: size}, leaves,
            [{} if a is None else {self.axis_name: a} for a in axes],
            [() if a is None else (self.axis_name,) for a in wanted],
        )  # fmt: skip
        mesh = Mesh(self._devices(size), (self.axis_name,))
        placed = [self._placed(o, a, mesh) for o, a in zip(outs, wanted, strict=True)]
        return trees[0].unflatten(placed)

    def _axis(self, x: Any, axis: int) -> int:
        rank = np.ndim(x)
        if not -rank <= axis < rank:
            raise ValueError(
                f"pmap of {self.name} was requested to map its argument along axis {axis}, but an "
                f"argument of shape {np.shape(x)} has rank {rank}."
            )
        return axis % rank

    def _size(self, leaves: list[Any], axes: list[int | None]) -> int:
        sizes = {np.shape(x)[a] for x, a in zip(leaves, axes, strict=True) if a is not None}
        if self.axis_size is not None:
            sizes.add(self.axis_size)
        if not sizes:
            raise ValueError("pmap requires at least one argument with a mapped axis.")
        if len(sizes) > 1:
            raise ValueError(
                f"pmap of {self.name} got inconsistent sizes for array axes to be mapped: "
                f"{', '.join(map(str, sorted(sizes)))}. They must be equal."
            )
        return int(sizes.pop())

    def _devices(self, size: int) -> list[Device]:
        found = list(known_devices(self.backend) if self.devices is None else self.devices)
        if self.devices is not None and size != len(found):
            raise ValueError(
                f"pmap of {self.name} was given {len(found)} devices and a mapped axis of size "
                f"{size}. They must be equal."
            )
        if size > len(found):
            raise ValueError(
                f"compiling computation that requires {size} logical devices, but only "
                f"{len(found)} XLA devices are available (num_replicas={size}): pmap of "
                f"{self.name} needs a device for each slice. Set jax_num_cpu_devices, or use vmap."
            )
        return found[:size]

    def _placed(self, x: Any, axis: int | None, mesh: Mesh) -> Any:
        rank = np.ndim(x)
        spec: list[tuple[Any, ...]] = [()] * rank
        if axis is not None:
            if not -rank <= axis < rank:
                raise ValueError(
                    f"pmap out_axes {axis} is out of bounds for an output of dimension {rank}."
                )
            x = move_axis(x, 0, axis % rank)
            spec[axis % rank] = (self.axis_name,)
        return ops.sharding_constraint(x, sharding=named(mesh, tuple(spec)))

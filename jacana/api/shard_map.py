"""shard_map: a function of blocks of arrays, one for each device of a mesh."""

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jacana import ops
from jacana.api.arguments import check_callable, name_of, parameter_name
from jacana.core import tree
from jacana.core.avals import ShapedArray
from jacana.core.errors import NotAnArrayError
from jacana.core.jaxpr import ClosedJaxpr
from jacana.core.mesh import AbstractMesh, Mesh, PartitionSpec, current_mesh
from jacana.core.sharding import NamedSharding
from jacana.core.stage import stage
from jacana.core.tree_def import flatten_up_to
from jacana.core.values import aval_of, is_array_like
from jacana.higher_order.call import bind_jit
from jacana.runtime.array import Array
from jacana.transforms.blocks import Body, Places, run_blocks, stage_body

AnyMesh = Mesh | AbstractMesh


class _Infer:
    """Stands for in_specs that are those of the arguments."""

    def __repr__(self) -> str:
        return "Infer"


Infer = _Infer()


def shard_map(
    f: Callable[..., Any] | None = None,
    /,
    *,
    out_specs: Any,
    in_specs: Any = Infer,
    mesh: AnyMesh | None = None,
    axis_names: Any = frozenset(),
    check_vma: bool = True,
) -> Any:
    """`f` on blocks of its arguments, one for each device of a mesh; collectives are between them.

    Args:
      f: a function of arrays, or of containers of arrays, to the same, for one block.
      out_specs: how blocks of results are put together: a PartitionSpec, or a tree of these that
        begins as the results do. Mesh axes that a spec does not name must not change the result.
      in_specs: how arguments are cut into blocks, in the same way; None passes an argument on.
        Without it, arguments are cut as they are divided already.
      mesh: the devices; that of `jax.set_mesh` if there is none.
      axis_names: the mesh axes that arguments are cut along; all of them if empty.
      check_vma: whether types say over which axes values vary (`float32[2]{V:x}`). Then out_specs
        are checked, and gradients of values that do not vary are summed over the blocks.

    Raises ValueError where specs do not fit the mesh, the arguments or the results.

    >>> import jacana
    >>> mesh = jacana.make_mesh((1,), ("i",))
    >>> spec = PartitionSpec("i")
    >>> total = shard_map(
    ...     lambda x: jacana.lax.psum(x, "i"), mesh=mesh, in_specs=spec, out_specs=PartitionSpec()
    ... )
    >>> total(jacana.numpy.arange(3))
    Array([0, 1, 2], dtype=int32)
    """
    if f is None:
        return functools.partial(
            shard_map, out_specs=out_specs, in_specs=in_specs, mesh=mesh, axis_names=axis_names,
            check_vma=check_vma,
        )  # fmt: skip
    check_callable(f, "shard_map")
    function = f

    @functools.wraps(f, assigned=("__name__", "__qualname__", "__doc__", "__module__"))
    def mapped(*args: Any) -> Any:
        mapping = Mapping(function, mesh, in_specs, out_specs, axis_names, check_vma)
        return mapping.call(args)

    return mapped


class Mapping:
    """One call of a function of blocks."""

    def __init__(
        self,
        function: Callable[..., Any],
        mesh: AnyMesh | None,
        in_specs: Any,
        out_specs: Any,
        axis_names: Any,
        checked: bool,
    ):
        self.function, self.in_specs, self.out_specs = function, in_specs, out_specs
        self.checked, self.name = checked, name_of(function)
        found = current_mesh() if mesh is None else mesh
        if found is None:
            raise ValueError(
                "shard_map: The context mesh cannot be empty. Use `jax.set_mesh(mesh)` to enter "
                "into a mesh context, or give shard_map a mesh."
            )
        if not isinstance(found, AnyMesh):
            raise TypeError(f"shard_map requires a `jax.sharding.Mesh` instance, got {found!r}.")
        self.mesh = found
        names = tuple(axis_names) or found.axis_names
        unknown = [n for n in names if n not in found.axis_names]
        if unknown:
            raise ValueError(
                f"shard_map got axis_names {unknown}, which are not axes of the mesh "
                f"{found.axis_names}."
            )
        self.axes = {n: size for n, size in found.shape_tuple if n in names}

    def call(self, args: Sequence[Any]) -> Any:
        """The results, under the current trace."""
        given, structure = tree.flatten(args, is_leaf=lambda x: x is None)
        specs = self._specs_of_arguments(args, given)
        places = [i for i, spec in enumerate(specs) if spec is not None]
        for i in places:
            self._check_argument(args, i, given[i], specs[i])
        values = [given[i] for i in places]
        avals = [self._block_type(aval_of(given[i]), specs[i]) for i in places]
        trees: list[Any] = []

        def flat(*blocks: Any) -> list[Any]:
            leaves = list(given)
            for i, block in zip(places, blocks, strict=True):
                leaves[i] = block
            outs, out_tree = tree.flatten(self.function(*structure.unflatten(leaves)))
            trees.append(out_tree)
            for x in outs:
                if not is_array_like(x):
                    raise NotAnArrayError(x, f"shard_map (as a result of {self.name})")
            return outs

        body = stage_body(flat, avals, self.name, self.axes, self.checked)
        out_specs = self._specs_of_results(body, trees[0])
        in_specs = [specs[i] for i in places]

        def whole(*xs: Any) -> list[Any]:
            return self._run(body, xs, in_specs, out_specs)

        closed = ClosedJaxpr(*stage(whole, [aval_of(x) for x in values], self.name))
        return trees[0].unflatten(bind_jit(closed, self.name, values))

    # --- cutting and putting together -------------------------------------------------------------

    def _names(self, spec: PartitionSpec, ndim: int) -> list[tuple[Any, ...]]:
        names = spec.names()
        return [*names, *[()] * (ndim - len(names))]

    def _block_type(self, aval: ShapedArray, spec: PartitionSpec) -> ShapedArray:
        names = self._names(spec, aval.ndim)
        shape = tuple([n // self._factor(axes) for n, axes in zip(aval.shape, names)])
        used = frozenset([n for axes in names for n in axes]) if self.checked else frozenset()
        return aval.update(shape=shape).varying(aval.vma | used)

    def _factor(self, names: Sequence[Any]) -> int:
        return math.prod([self.axes[n] for n in names])

    def _run(
        self, body: Body, xs: Sequence[Any], in_specs: list[Any], out_specs: list[PartitionSpec]
    ) -> list[Any]:
        cut = [self._cut(x, spec) for x, spec in zip(xs, in_specs, strict=True)]
        wanted = [[n for axes in spec.names() for n in axes] for spec in out_specs]
        outs = run_blocks(body, self.axes, [x for x, _ in cut], [p for _, p in cut], wanted)
        return [self._joined(out, spec) for out, spec in zip(outs, out_specs, strict=True)]

    def _cut(self, x: Any, spec: PartitionSpec) -> tuple[Any, Places]:
        """An array with an axis for each mesh axis that divides it, and where those are."""
        x = self._placed(x, spec)
        shape: list[int] = []
        places: Places = {}
        for n, axes in zip(np.shape(x), self._names(spec, np.ndim(x))):
            for name in axes:
                places[name] = len(shape)
                shape.append(self.axes[name])
            shape.append(n // self._factor(axes))
        return ops.reshape(x, new_sizes=tuple(shape)) if places else x, places

    def _joined(self, x: Any, spec: PartitionSpec) -> Any:
        """Blocks along leading axes, in the order of the spec, as one array."""
        count = sum(map(len, spec.names()))
        rank = np.ndim(x) - count
        leading = iter(range(count))
        order, shape = [], []
        for i, axes in enumerate(self._names(spec, rank)):
            order += [next(leading) for _ in axes] + [count + i]
            shape.append(np.shape(x)[count + i] * self._factor(axes))
        if count:
            x = ops.reshape(ops.transpose(x, permutation=tuple(order)), new_sizes=tuple(shape))
        return self._placed(x, spec)

    def _placed(self, x: Any, spec: PartitionSpec) -> Any:
        if isinstance(self.mesh, AbstractMesh):
            return x
        return ops.sharding_constraint(x, sharding=NamedSharding(self.mesh, spec))

    # --- specs ------------------------------------------------------------------------------------

    def _specs_of_arguments(self, args: Sequence[Any], leaves: list[Any]) -> list[Any]:
        if self.in_specs is Infer:
            return [self._inferred(x) for x in leaves]
        specs = self.in_specs
        if isinstance(specs, list):
            specs = tuple(specs)
        found = _broadcast("shard_map in_specs", specs, tuple(args))
        for spec in found:
            self._check_spec("in_specs", spec)
        return found

    def _inferred(self, x: Any) -> PartitionSpec:
        sharding = x.sharding if type(x) is Array else None
        return sharding.spec if isinstance(sharding, NamedSharding) else PartitionSpec()

    def _check_spec(self, which: str, spec: Any) -> None:
        if spec is None and which == "in_specs":
            return
        if not isinstance(spec, PartitionSpec):
            raise TypeError(
                f"shard_map {which} must be a pytree of `jax.sharding.PartitionSpec` instances, "
                f"but found {spec!r} of type {type(spec).__name__}."
            )
        names = [n for axes in spec.names() for n in axes]
        for name in names:
            if name not in self.axes:
                raise ValueError(
                    f"shard_map {which}: {spec} refers to {name!r}, but the axes that {self.name} "
                    f"is mapped over are {tuple(self.axes)}."
                )
        if len(set(names)) != len(names):
            raise ValueError(f"shard_map {which}: {spec} uses an axis twice.")

    def _specs_of_results(self, body: Body, out_tree: Any) -> list[PartitionSpec]:
        avals = body.jaxpr.out_avals
        specs = self.out_specs
        if isinstance(specs, list):
            specs = tuple(specs)
        found = _broadcast("shard_map out_specs", specs, out_tree.unflatten(avals))
        for spec, aval in zip(found, avals, strict=True):
            self._check_spec("out_specs", spec)
            self._check_rank("out_specs", spec, f"{self.name}(*args)", aval)
            rest = aval.vma & set(self.axes) - {n for axes in spec.names() for n in axes}
            if rest:
                raise ValueError(
                    f"shard_map applied to the function '{self.name}' was given out_specs which "
                    f"require replication which can't be statically inferred given the mesh "
                    f"{self.mesh}: out_specs is {spec}, but the output of type {aval} may vary "
                    f"over {', '.join(sorted(map(repr, rest)))}. Name these axes in out_specs, "
                    f"fold them in {self.name} (for example with jax.lax.psum), or pass "
                    f"check_vma=False if the outputs are equal nevertheless."
                )
        return found

    def _check_rank(self, which: str, spec: PartitionSpec, what: str, aval: ShapedArray) -> None:
        if len(spec) > aval.ndim:
            hint = "" if aval.ndim else " For scalars, use PartitionSpec(), or give them an axis."
            raise ValueError(
                f"shard_map applied to the function '{self.name}' was given an {which} entry which "
                f"is too long: {spec} has length {len(spec)}, but {what} is of type "
                f"{aval.plain.str_short()}, which has rank {aval.ndim}.{hint}"
            )

    def _check_argument(
        self, args: Sequence[Any], number: int, x: Any, spec: PartitionSpec
    ) -> None:
        path = tree.flatten_with_path(args, is_leaf=lambda x: x is None)[0][number][0]
        what = f"{parameter_name(self.function, path[0].idx)}{tree.keystr(path[1:])}"
        if not is_array_like(x):
            raise NotAnArrayError(x, f"shard_map of {self.name}", what)
        aval = aval_of(x)
        self._check_rank("in_specs", spec, f"argument {what}", aval)
        for i, axes in enumerate(spec.names()):
            factor = self._factor(axes)
            if aval.shape[i] % factor:
                raise ValueError(
                    f"shard_map applied to the function '{self.name}' was given argument arrays "
                    f"with axis sizes that are not evenly divisible by the corresponding mesh axis "
                    f"sizes: argument {what} of type {aval.plain.str_short()} has spec {spec}, "
                    f"which maps axis {i} (of size {aval.shape[i]}) to mesh axes {axes} (of size "
                    f"{factor}). Pad it, or change the mesh."
                )


def _broadcast(name: str, specs: Any, values: Any) -> list[Any]:
    """The spec of each leaf of a tree, of which None is a leaf where a spec is None."""
    prefix, structure = tree.flatten(specs, is_leaf=_is_spec)
    result: list[Any] = []
    for spec, below in zip(prefix, flatten_up_to(structure, values, name), strict=True):
        result += [spec] * len(tree.leaves(below, is_leaf=lambda x: x is None))
    return result


def _is_spec(x: Any) -> bool:
    return x is None or isinstance(x, PartitionSpec)

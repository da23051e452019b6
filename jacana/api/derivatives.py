"""jvp, vjp, linearize, linear_transpose, and Jacobians made of them."""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jacana import ops
from jacana.api.arguments import (
    Argnums,
    check_callable,
    check_differentiable,
    flatten_arrays,
    name_of,
    split_argnums,
    update_arguments,
)
from jacana.api.pullback import LinearMap, linearize_tree
from jacana.core import dtypes, tree
from jacana.core.avals import ShapedArray
from jacana.core.stage import stage
from jacana.core.values import aval_of
from jacana.transforms.batch import batch, to_axis
from jacana.transforms.jvp import jvp as jvp_flat, zero_tangent
from jacana.transforms.transpose import transpose


def jvp(
    fun: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any], has_aux: bool = False
) -> Any:
    """(fun(*primals), its directional derivative along the tangents[, auxiliary data]).

    Tangents have the structure, shapes and dtypes of the primals (float0 for integers).
    """
    check_callable(fun, "jvp")
    for name, given in (("primal", primals), ("tangent", tangents)):
        if not isinstance(given, tuple | list):
            raise TypeError(
                f"primal and tangent arguments to jax.jvp must be tuples or lists; found the "
                f"{name}s {type(given).__name__}."
            )
    leaves, structure = flatten_arrays(tuple(primals), "jvp")
    tangent_leaves, tangent_structure = flatten_arrays(tuple(tangents), "jvp")
    if structure != tangent_structure:
        raise TypeError(
            f"primal and tangent arguments to jax.jvp must have the same tree structure; primals "
            f"have tree structure {structure} whereas tangents have tree structure "
            f"{tangent_structure}."
        )
    given_tangents = [
        checked_tangent(p, t, "jvp") for p, t in zip(leaves, tangent_leaves, strict=True)
    ]
    structures: list[Any] = []
    aux: list[Any] = []

    def flat(*xs: Any) -> list[Any]:
        out = fun(*structure.unflatten(xs))
        if has_aux:
            out, extra = out
            aux[:] = tree.flatten(extra)
        flat_out, out_structure = tree.flatten(out)
        structures.append(out_structure)
        return [*flat_out, *(aux[0] if has_aux else [])]

    outs, out_tangents = jvp_flat(flat, leaves, given_tangents)
    n = structures[0].num_leaves
    full = [zero_tangent(o) if t is None else t for o, t in zip(outs[:n], out_tangents)]
    results = structures[0].unflatten(outs[:n]), structures[0].unflatten(full)
    return (*results, aux[1].unflatten(outs[n:])) if has_aux else results


def checked_tangent(primal: Any, tangent: Any, function: str) -> Any:
    """The tangent, or None where it can only be zero; TypeError if it has another type."""
    p, t = aval_of(primal), aval_of(tangent)
    wanted = p.to_tangent_aval()
    if t.dtype != wanted.dtype:
        raise TypeError(
            f"primal and tangent arguments to jax.{function} do not match; dtypes must be equal, "
            f"or in case of int/bool primal dtype the tangent dtype must be float0. Got primal "
            f"dtype {dtypes.name(p.dtype)} and so expected tangent dtype "
            f"{dtypes.name(wanted.dtype)}, but got tangent dtype {dtypes.name(t.dtype)} instead."
        )
    if t.shape != p.shape:
        raise ValueError(
            f"jvp called with different primal and tangent shapes; got primal shape {p.shape} and "
            f"tangent shape as {t.shape}."
        )
    return None if wanted.dtype == dtypes.float0 else tangent


def vjp(
    fun: Callable[..., Any], *primals: Any, has_aux: bool = False, reduce_axes: Sequence[Any] = ()
) -> Any:
    """(fun(*primals), a function from a cotangent of it to those of the primals[, aux]).

    The function returns a tuple with one cotangent for each primal.
    """
    check_callable(fun, "vjp")
    leaves, structure = flatten_arrays(primals, "vjp")

    def flat(*xs: Any) -> Any:
        return fun(*structure.unflatten(xs))

    out, aux, pullback = linearize_tree(flat, leaves, has_aux, name_of(fun))
    function = tree.Partial(VJP(pullback.map, out, structure), pullback.residuals)
    value = out.unflatten(pullback.outs)
    return (value, function, aux) if has_aux else (value, function)


class VJP:
    """The pullback of a function, a map from residuals and a cotangent.

    With residuals it is a pytree (tree.Partial), which jitted functions may return.
    """

    __slots__ = ("_map", "_out", "_structure")
    __name__ = "vjp"

    def __init__(self, map_: LinearMap, out: Any, structure: Any):
        self._map, self._out, self._structure = map_, out, structure

    def __call__(self, residuals: Sequence[Any], *cotangents: Any) -> Any:
        if len(cotangents) != 1:
            raise TypeError(
                f"The function returned by vjp was called with {len(cotangents)} arguments, but "
                f"must be called with a single argument corresponding to the single value returned "
                f"by the function being differentiated (even if that returned value is a tuple or "
                f"other container)."
            )
        leaves, structure = flatten_arrays(cotangents[0], "the function returned by vjp")
        if structure != self._out:
            raise ValueError(
                f"unexpected tree structure of argument to vjp function: got {structure}, but "
                f"expected to match {self._out}."
            )
        cts = [checked_cotangent(a, ct) for a, ct in zip(self._map.out_avals, leaves, strict=True)]
        return self._structure.unflatten(self._map.pull(residuals, cts))


def checked_cotangent(o: ShapedArray, ct: Any) -> Any:
    """The cotangent, or None where it can only be zero; ValueError if it is of another type."""
    c = aval_of(ct)
    if (c.shape, c.dtype) != (o.shape, o.dtype):
        raise ValueError(
            f"unexpected JAX type (e.g. shape/dtype) for argument to vjp function: got "
            f"{c.str_short()}, but expected {o.str_short()}, the type of tangents of the "
            f"corresponding output of the differentiated function."
        )
    return None if o.dtype == dtypes.float0 else ct


def linearize(fun: Callable[..., Any], *primals: Any, has_aux: bool = False) -> Any:
    """(fun(*primals), its derivative there as a linear function of tangents[, aux]).

    The function runs once; pushing tangents forward repeats only the linear part.
    """
    check_callable(fun, "linearize")
    leaves, structure = flatten_arrays(primals, "linearize")

    def flat(*xs: Any) -> Any:
        return fun(*structure.unflatten(xs))

    out, aux, pullback = linearize_tree(flat, leaves, has_aux, name_of(fun))

    pushforward = tree.Partial(Pushforward(pullback.map, out, structure), pullback.residuals)
    value = out.unflatten(pullback.outs)
    return (value, pushforward, aux) if has_aux else (value, pushforward)


class Pushforward:
    """The derivative of a function, a map from residuals and tangents."""

    __slots__ = ("_map", "_out", "_structure")
    __name__ = "linearize"

    def __init__(self, map_: LinearMap, out: Any, structure: Any):
        self._map, self._out, self._structure = map_, out, structure

    def __call__(self, residuals: Sequence[Any], *tangents: Any) -> Any:
        given, given_structure = flatten_arrays(tangents, "the function returned by linearize")
        if given_structure != self._structure:
            raise TypeError(
                f"tangents have tree structure {given_structure}, primals have {self._structure}."
            )
        for a, t in zip(self._map.in_avals, given, strict=True):
            if (aval_of(t).shape, aval_of(t).dtype) != (a.shape, a.dtype):
                raise ValueError(
                    f"linearized function called on tangent values inconsistent with the original "
                    f"primal values: got tangent {aval_of(t).str_short()}, but expected "
                    f"{a.str_short()}."
                )
        return self._out.unflatten(self._map.push(residuals, given))


def linear_transpose(fun: Callable[..., Any], *primals: Any, reduce_axes: Any = ()) -> Any:
    """The transpose of a linear function of arguments like `primals` (values are not used)."""
    check_callable(fun, "linear_transpose")
    leaves, structure = flatten_arrays(primals, "linear_transpose")
    avals = [aval_of(x) for x in leaves]
    structures: list[Any] = []

    def flat(*xs: Any) -> list[Any]:
        out, out_structure = tree.flatten(fun(*structure.unflatten(xs)))
        structures.append(out_structure)
        return out

    jaxpr, consts = stage(flat, avals, name_of(fun))

    def transposed(cotangent: Any) -> Any:
        cts, ct_structure = flatten_arrays(cotangent, "the function returned by linear_transpose")
        if ct_structure != structures[0]:
            raise TypeError(
                f"cotangent tree does not match function output, expected {structures[0]} but got "
                f"{ct_structure}."
            )
        for ct, aval in zip(cts, jaxpr.out_avals, strict=True):
            if (aval_of(ct).shape, aval_of(ct).dtype) != (aval.shape, aval.dtype):
                raise TypeError(
                    f"cotangent type does not match function output, expected {aval.str_short()} "
                    f"but got {aval_of(ct).str_short()}."
                )
        found = transpose(jaxpr, consts, cts)
        full = [zero_tangent(x) if f is None else f for x, f in zip(leaves, found, strict=True)]
        return structure.unflatten(full)

    return transposed


# --- Jacobians ---


def basis(leaves: Sequence[Any]) -> tuple[int, list[Any]]:
    """How many unit vectors the leaves' space has, and all of them: leaves with a leading axis."""
    sizes = [int(np.size(x)) for x in leaves]
    total, start, vectors = sum(sizes), 0, []
    for x, size in zip(leaves, sizes, strict=True):
        shape = (total, size)
        rows = ops.iota(dtype=dtypes.int32, shape=shape, dimension=0)
        columns = ops.iota(dtype=dtypes.int32, shape=shape, dimension=1)
        if start:
            columns = ops.add(columns, np.int32(start))
        unit = ops.convert_element_type(
            ops.eq(rows, columns), new_dtype=aval_of(x).dtype, weak_type=aval_of(x).weak_type
        )
        vectors.append(ops.reshape(unit, new_sizes=(total, *np.shape(x))))
        start += size
    return total, vectors


def split_axis(x: Any, axis: int, leaves: Sequence[Any]) -> list[Any]:
    """The axis of unit vectors taken apart into the axes of each leaf."""
    parts, start, shape = [], 0, np.shape(x)
    for leaf in leaves:
        size = int(np.size(leaf))
        limits = [n if i != axis else start + size for i, n in enumerate(shape)]
        starts = [0 if i != axis else start for i in range(len(shape))]
        part = x if size == shape[axis] else ops.slice(
            x, start_indices=tuple(starts), limit_indices=tuple(limits)
        )  # fmt: skip
        wanted = (*shape[:axis], *np.shape(leaf), *shape[axis + 1 :])
        parts.append(part if np.shape(part) == wanted else ops.reshape(part, new_sizes=wanted))
        start += size
    return parts


def _jacobian_arguments(
    fun: Callable[..., Any],
    name: str,
    argnums: Argnums,
    args: Sequence[Any],
    kwargs: dict[str, Any],
    holomorphic: bool,
    allow_int: bool,
) -> tuple[Callable[..., Any], list[Any], Any]:
    """The function of the chosen arguments' leaves, those leaves, and their structure."""
    numbers, chosen = split_argnums(args, argnums, name)
    leaves, structure = flatten_arrays(
        chosen[0] if isinstance(argnums, int) else tuple(chosen), name
    )
    check_differentiable(leaves, name, holomorphic, allow_int)

    def flat(*xs: Any) -> Any:
        given = structure.unflatten(xs)
        values = [given] if isinstance(argnums, int) else given
        return fun(*update_arguments(args, numbers, values), **kwargs)

    return flat, leaves, structure


def check_real(values: Sequence[Any], name: str, role: str) -> None:
    """TypeError unless all are real floating-point numbers."""
    for x in values:
        dtype = aval_of(x).dtype
        if not dtypes.is_float(dtype):
            raise TypeError(
                f"{name} requires real-valued {role}s ({role} dtype that is a sub-dtype of "
                f"np.floating), but got {dtypes.name(dtype)}. For holomorphic differentiation, "
                f"pass holomorphic=True. For differentiation of non-holomorphic functions "
                f"involving complex or integer {role}s, use {'jvp' if role == 'input' else 'vjp'} "
                f"directly."
            )


def jacfwd(
    fun: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False, holomorphic: bool = False
) -> Callable[..., Any]:
    """The Jacobian of `fun`, column by column in forward mode; good for tall Jacobians.

    Its shape is that of the output followed by that of the input, for each pair of leaves.

    >>> import jacana.numpy as jnp
    >>> jacfwd(lambda x: x ** 2)(jnp.array([1.0, 2.0]))
    Array([[2., 0.],
           [0., 4.]], dtype=float32)
    """
    check_callable(fun, "jacfwd")

    @functools.wraps(fun, assigned=("__name__", "__doc__", "__module__"))
    def jacobian(*args: Any, **kwargs: Any) -> Any:
        flat, leaves, structure = _jacobian_arguments(
            fun, "jacfwd", argnums, args, kwargs, holomorphic, True
        )
        if not holomorphic:
            check_real(leaves, "jacfwd", "input")
        out, aux, pullback = linearize_tree(flat, leaves, has_aux, name_of(fun))
        size, vectors = basis(leaves)
        columns, axes = batch(lambda *ts: pullback.push(ts), size, vectors, [0] * len(vectors))
        rows = []
        for column, axis, value in zip(columns, axes, pullback.outs, strict=True):
            full = to_axis(column, axis, np.ndim(value), size)
            rows.append(structure.unflatten(split_axis(full, np.ndim(value), leaves)))
        result = out.unflatten(rows)
        return (result, aux) if has_aux else result

    return jacobian


def jacrev(
    fun: Callable[..., Any],
    argnums: Argnums = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
) -> Callable[..., Any]:
    """The Jacobian of `fun`, row by row in reverse mode; good for wide Jacobians."""
    check_callable(fun, "jacrev")

    @functools.wraps(fun, assigned=("__name__", "__doc__", "__module__"))
    def jacobian(*args: Any, **kwargs: Any) -> Any:
        flat, leaves, structure = _jacobian_arguments(
            fun, "jacrev", argnums, args, kwargs, holomorphic, allow_int
        )
        out, aux, pullback = linearize_tree(flat, leaves, has_aux, name_of(fun))
        if not holomorphic:
            check_real(pullback.outs, "jacrev", "output")
        size, vectors = basis(pullback.outs)
        rows, axes = batch(lambda *cts: pullback.pull(cts), size, vectors, [0] * len(vectors))
        by_input = [
            split_axis(to_axis(row, axis, 0, size), 0, pullback.outs)
            for row, axis in zip(rows, axes, strict=True)
        ]
        results = [
            structure.unflatten([parts[k] for parts in by_input]) for k in range(len(pullback.outs))
        ]
        result = out.unflatten(results)
        return (result, aux) if has_aux else result

    return jacobian


jacobian = jacrev


def hessian(
    fun: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False, holomorphic: bool = False
) -> Callable[..., Any]:
    """The Hessian of a scalar function, as jacfwd of jacrev."""
    return jacfwd(jacrev(fun, argnums, has_aux, holomorphic), argnums, has_aux, holomorphic)

"""jvp, vjp, linearize and linear_transpose."""

from collections.abc import Callable, Sequence
from typing import Any

from jacana.api.arguments import check_callable, flatten_arrays, name_of
from jacana.api.pullback import LinearMap, linearize_tree
from jacana.core import dtypes, tree
from jacana.core.avals import ShapedArray
from jacana.core.stage import stage
from jacana.core.values import aval_of
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

"""Control flow that is compiled: cond, switch, while_loop, fori_loop, scan, map."""

from collections.abc import Callable, Sequence
from typing import Any, SupportsIndex

import numpy as np

from jacana import ops
from jacana.api.references import check_captured, check_distinct, check_not_returned
from jacana.api.vmap import vmap
from jacana.core import config, dtypes, tree
from jacana.core.avals import ShapedArray
from jacana.core.errors import NotAnArrayError, describe, here
from jacana.core.evaluate import evaluate
from jacana.core.jaxpr import ClosedJaxpr
from jacana.core.stage import stage
from jacana.core.trace import Tracer
from jacana.core.values import aval_of, is_argument, is_array_like, is_ref
from jacana.core.variance import vary
from jacana.higher_order.cond import cond as cond_primitive
from jacana.higher_order.scan import scan as scan_primitive
from jacana.higher_order.while_loop import while_loop as while_primitive
from jacana.ops.shape import reshape_to
from jacana.transforms.derived import closed, evaluated


def name_of(function: Any) -> str:
    return getattr(function, "__name__", type(function).__name__)


def traced(
    function: Callable[..., Any], structure: Any, avals: Sequence[ShapedArray], what: str
) -> tuple[ClosedJaxpr, list[Any], Any]:
    """A function of one tree's leaves as a jaxpr without consts, what it captured, its tree."""
    structures: list[Any] = []

    def flat(*leaves: Any) -> list[Any]:
        out, out_structure = tree.flatten(function(*structure.unflatten(leaves)))
        structures.append(out_structure)
        for x in out:
            if not is_array_like(x):
                known = what.removeprefix("lax.")
                check_not_returned(out_structure.unflatten(out), name_of(function), known)
                raise NotAnArrayError(x, f"{what} (the result of {name_of(function)})")
        return out

    jaxpr, consts = stage(flat, avals, name_of(function), of_user=True)
    return ClosedJaxpr(jaxpr.with_constvars_as_inputs()), consts, structures[0]


def flatten_operands(value: Any, what: str) -> tuple[list[Any], Any]:
    leaves, structure = tree.flatten(value)
    for x in leaves:
        if is_ref(x):
            raise ValueError(
                f"{what} holds a mutable array reference of type {x.aval}: a carry is returned, "
                f"but mutable array references cannot be returned. Close over it, or pass it to "
                f"scan among the xs."
            )
        if not is_array_like(x):
            raise NotAnArrayError(x, what)
    return leaves, structure


def flatten_arguments(value: Any, what: str) -> tuple[list[Any], Any]:
    """The leaves, which may be references, and the structure of arguments."""
    leaves, structure = tree.flatten(value)
    for x in leaves:
        if not is_argument(x):
            raise NotAnArrayError(x, what)
    return leaves, structure


def check_refs(leaves: Sequence[Any], captured: Sequence[Any], function: Any, what: str) -> None:
    """ValueError if one reference goes into a function by two ways."""
    names: Callable[[], list[str]] = lambda: [f"argument {i}" for i in range(len(leaves))]
    check_distinct(leaves, names, name_of(function), what)
    check_captured(captured, leaves, names, name_of(function), what)


# --- cond -----------------------------------------------------------------------------------------


def cond(pred: Any, true_fun: Callable[..., Any], false_fun: Callable[..., Any], *operands: Any,
         operand: Any = None, linear: Any = None) -> Any:  # fmt: skip
    """true_fun(*operands) if pred else false_fun(*operands); only one of them runs.

    pred is a scalar; both functions must give the same structure, shapes and dtypes.

    >>> cond(True, lambda x: x + 1, lambda x: x - 1, 3)
    Array(4, dtype=int32, weak_type=True)
    """
    if not all(callable(f) for f in (true_fun, false_fun)):
        raise TypeError("lax.cond: true_fun and false_fun arguments should be callable.")
    if operand is not None and not operands:
        operands = (operand,)
    if not is_array_like(pred):
        raise TypeError(f"Pred type must be either boolean or number, got {pred!r}.")
    if np.shape(pred):
        raise TypeError(
            f"Pred must be a scalar, got {pred} of shape {np.shape(pred)}. Use jnp.where to choose "
            f"elementwise."
        )
    if config.current().disable_jit:
        return (true_fun if bool(pred) else false_fun)(*operands)
    aval = aval_of(pred)
    if not dtypes.is_bool(aval.dtype):
        pred = ops.ne(pred, np.zeros((), aval.dtype)[()])
    index = ops.convert_element_type(pred, new_dtype=dtypes.int32, weak_type=False)
    return _branch(index, (false_fun, true_fun), operands, "cond")


def switch(index: Any, branches: Sequence[Callable[..., Any]], *operands: Any,
           operand: Any = None) -> Any:  # fmt: skip
    """branches[index](*operands), with the index clamped to the branches there are."""
    if operand is not None and not operands:
        operands = (operand,)
    if not all(callable(b) for b in branches):
        raise TypeError("lax.switch: branches argument should be a sequence of callables.")
    if np.shape(index):
        raise TypeError(f"Branch index must be scalar, got {index} of shape {np.shape(index)}.")
    if not dtypes.is_integer(aval_of(index).dtype):
        raise TypeError(f"Index type must be an integer, got {aval_of(index)}.")
    if not branches:
        raise ValueError("Empty branch sequence")
    if len(branches) == 1:
        return branches[0](*operands)
    if config.current().disable_jit:
        return branches[max(0, min(int(index), len(branches) - 1))](*operands)
    kind = aval_of(index).dtype
    if dtypes.is_unsigned_integer(kind) or kind.itemsize > 4:
        index = ops.min(index, kind.type(len(branches) - 1))
    index = ops.convert_element_type(index, new_dtype=dtypes.int32, weak_type=False)
    top = np.int32(len(branches) - 1)
    return _branch(ops.clamp(np.int32(0), index, top), branches, operands, "switch")


def _branch(index: Any, functions: Sequence[Callable[..., Any]], operands: Any, what: str) -> Any:
    leaves, structure = flatten_arguments(operands, f"lax.{what}")
    avals = [aval_of(x) for x in leaves]
    found = [traced(f, structure, avals, f"lax.{what}") for f in functions]
    structures = [s for _, _, s in found]
    for k, s in enumerate(structures[1:], 1):
        if s != structures[0]:
            raise TypeError(
                f"lax.{what}: the branches' results must have the same structure, but branch 0 "
                f"({name_of(functions[0])}) gives {structures[0]} and branch {k} "
                f"({name_of(functions[k])}) gives {s}."
            )
    check_branch_types(functions, [j.out_avals for j, _, _ in found], what)
    # Every branch takes what all of them captured, a reference once.
    captured: list[Any] = []
    own: list[list[int]] = []
    for _, consts, _ in found:
        own.append([])
        for c in consts:
            known = [k for k, other in enumerate(captured) if other is c and is_ref(c)]
            own[-1].append(known[0] if known else len(captured))
            captured += [] if known else [c]
    check_refs(leaves, captured, functions[0], what)
    vma = aval_of(index).vma
    if vma:
        # What a block computes differs where the branch that it takes does.
        captured, leaves = ([vary(x, vma) for x in xs] for xs in (captured, leaves))
        avals = [aval_of(x) for x in leaves]
    branches = [
        taking(jaxpr, captured, places, avals)
        for (jaxpr, _, _), places in zip(found, own, strict=True)
    ]
    outs = cond_primitive(index, *captured, *leaves, branches=tuple(branches))
    return structures[0].unflatten(outs)


def check_branch_types(functions: Sequence[Any], avals: Sequence[Any], what: str) -> None:
    for k, other in enumerate(avals[1:], 1):
        for a, b in zip(avals[0], other, strict=True):
            if (a.shape, a.dtype, a.vma) != (b.shape, b.dtype, b.vma):
                fix = "Convert one with astype." if a.vma == b.vma else VARY
                raise TypeError(
                    f"lax.{what}: the branches' results must have equal types, but branch 0 "
                    f"({name_of(functions[0])}) gives {a.str_short()} where branch {k} "
                    f"({name_of(functions[k])}) gives {b.str_short()}. {fix}"
                )


# How values come to vary alike over the axes of a mesh.
VARY = (
    "The blocks of a shard_map differ in one and not in the other: apply jax.lax.pcast(..., "
    "axis_names, to='varying') to the value that does not vary."
)


def taking(
    jaxpr: ClosedJaxpr, captured: Sequence[Any], places: list[int], avals: Sequence[Any]
) -> ClosedJaxpr:
    """The branch, whose own are those at the places, as a program of everything captured and the
    operands.
    """
    from_core = jaxpr.jaxpr
    total = len(captured)
    wanted = [*[aval_of(c) for c in captured], *avals]
    if wanted == jaxpr.in_avals and places == list(range(total)):
        return jaxpr

    def run(*args: Any) -> list[Any]:
        return evaluate(from_core, (), [*[args[k] for k in places], *args[total:]])

    made, consts = stage(run, wanted, from_core.debug_name)
    return ClosedJaxpr(made, consts)


# --- loops ----------------------------------------------------------------------------------------


def body_of(
    body: Callable[..., Any], structure: Any, avals: list[ShapedArray], carry: Any, what: str,
    carried: int,
) -> tuple[ClosedJaxpr, list[Any], Any, list[ShapedArray]]:  # fmt: skip
    """The traced body, for carry types that it keeps: weak types go where it drops them."""
    jaxpr, consts, out = traced(body, structure, avals, what)
    while True:
        outs = jaxpr.out_avals[:carried]
        check_carry(body, carry, avals[:carried], outs, what)
        changed = [
            a.strip_weak_type() if a.weak_type and not b.weak_type else a
            for a, b in zip(avals[:carried], outs, strict=True)
        ]
        if changed == avals[:carried]:
            return jaxpr, consts, out, avals
        avals = [*changed, *avals[carried:]]
        # The body is traced once, so what it does besides computing happens once.
        every = [*[aval_of(c) for c in consts], *avals]
        jaxpr = closed(evaluated(jaxpr.jaxpr), every)


def check_carry(
    body: Any, carry: Any, before: Sequence[ShapedArray], after: Sequence[ShapedArray], what: str
) -> None:
    """TypeError naming the component of the carry whose type the body changes."""
    if len(before) != len(after):
        return
    for k, (a, b) in enumerate(zip(before, after, strict=True)):
        if a.shape != b.shape or a.dtype != b.dtype or a.vma != b.vma:
            fix = "Convert the initial value, or the result, with astype."
            fix = fix if a.vma == b.vma else VARY
            paths = [tree.keystr(p) for p, _ in tree.flatten_with_path(carry)[0]]
            raise TypeError(
                f"{what} body function carry input and carry output must have equal types, but "
                f"they differ: the input carry component carry{paths[k]} has type {a.str_short()} "
                f"but the corresponding output carry component has type {b.str_short()} (function "
                f"{name_of(body)}). {fix}"
            )


def as_type(x: Any, aval: ShapedArray) -> Any:
    """The initial value of a carry, with its weak type dropped if the loop drops it."""
    if aval_of(x).weak_type and not aval.weak_type:
        if isinstance(x, bool | int | float | complex):
            return aval.dtype.type(x)
        return ops.convert_element_type(x, new_dtype=aval.dtype, weak_type=False)
    return x


def while_loop(
    cond_fun: Callable[[Any], Any], body_fun: Callable[[Any], Any], init_val: Any, *,
    reverse_differentiable: bool = False,
) -> Any:  # fmt: skip
    """The value for which cond_fun is false: `while cond_fun(v): v = body_fun(v)`.

    The value keeps its structure, shapes and dtypes. Forward-mode differentiable; in reverse mode
    with reverse_differentiable=True, for which the loop runs a second time and remembers its steps.

    >>> while_loop(lambda v: v < 10, lambda v: v * 2, 1)
    Array(16, dtype=int32, weak_type=True)
    """
    if not all(callable(f) for f in (body_fun, cond_fun)):
        raise TypeError("lax.while_loop: body_fun and cond_fun arguments should be callable.")
    if config.current().disable_jit:
        value = init_val
        while cond_fun(value):
            value = body_fun(value)
        return value
    leaves, structure = flatten_operands((init_val,), "lax.while_loop")
    avals = [aval_of(x) for x in leaves]
    body, body_consts, out, avals = body_of(
        body_fun, structure, avals, init_val, "while_loop", len(leaves)
    )
    if out != tree.structure(init_val):
        raise TypeError(
            f"body_fun output and input must have same type structure, got {out} and "
            f"{tree.structure(init_val)}."
        )
    cond_jaxpr, cond_consts, cond_out = traced(cond_fun, structure, avals, "lax.while_loop")
    if (
        not tree.treedef_is_leaf(cond_out)
        or cond_jaxpr.out_avals[0].shape
        or not dtypes.is_bool(cond_jaxpr.out_avals[0].dtype)
    ):
        raise TypeError(
            f"cond_fun must return a boolean scalar, but got output type(s) "
            f"{[a.str_short() for a in cond_jaxpr.out_avals]}."
        )
    init = [as_type(x, a) for x, a in zip(leaves, avals, strict=True)]
    outs = while_primitive(
        *cond_consts, *body_consts, *init, cond_nconsts=len(cond_consts), cond_jaxpr=cond_jaxpr,
        body_nconsts=len(body_consts), body_jaxpr=body,
        reverse_differentiable=reverse_differentiable,
    )  # fmt: skip
    return out.unflatten(outs)


def scan(
    f: Callable[[Any, Any], tuple[Any, Any]], init: Any, xs: Any = None, length: int | None = None,
    reverse: bool = False, unroll: int | bool = 1, _split_transpose: bool = False,
) -> tuple[Any, Any]:  # fmt: skip
    """(carry, ys): carry, y = f(carry, x) for each slice x of the xs along their first axis.

    The carry keeps its structure, shapes and dtypes; the ys are stacked. Compiled as one loop and
    differentiable in both modes.

    >>> import jacana.numpy as jnp
    >>> scan(lambda c, x: (c + x, c), 0.0, jnp.arange(3.0))
    (Array(3., dtype=float32), Array([0., 0., 1.], dtype=float32))
    """
    if not callable(f):
        raise TypeError("lax.scan: f argument should be a callable.")
    carry, carry_structure = flatten_operands(init, "lax.scan (init)")
    slices, xs_structure = flatten_arguments(xs, "lax.scan (xs)")
    count = scan_length(slices, length)
    if config.current().disable_jit:
        return _scan_in_python(f, init, slices, xs_structure, count, reverse)
    structure = tree.structure((init, xs))
    avals = [aval_of(x) for x in carry]
    avals += [a.update(shape=a.shape[1:]) for a in (aval_of(x) for x in slices)]
    body, consts, out, avals = body_of(f, structure, avals, init, "scan", len(carry))
    check_refs(slices, consts, f, "scan")
    children = tree.treedef_children(out)
    if len(children) != 2 or children[0] != carry_structure:
        raise TypeError(
            f"scan body output must be a pair (carry, y) whose carry has the structure of init, "
            f"{carry_structure}; got {out}."
        )
    start = [as_type(x, a) for x, a in zip(carry, avals, strict=False)]
    outs = scan_primitive(
        *consts, *start, *slices, jaxpr=body, length=count, num_consts=len(consts),
        num_carry=len(carry), reverse=bool(reverse), unroll=int(unroll) or 1,
    )  # fmt: skip
    n = len(carry)
    return children[0].unflatten(outs[:n]), children[1].unflatten(outs[n:])


def scan_length(slices: Sequence[Any], length: SupportsIndex | Tracer | None) -> int:
    for x in slices:
        if not np.shape(x):
            raise ValueError(
                f"scan got value with no leading axis to scan over: {aval_of(x).str_short()}."
            )
    lengths: set[int] = {np.shape(x)[0] for x in slices}
    if length is not None:
        try:
            lengths.add(length.__index__())
        except Exception as e:
            found = describe(length) if isinstance(length, Tracer) else repr(length)
            raise TypeError(
                f"The `length` argument to `scan` must be a static integer, got{here()} {found}."
            ) from e
    if len(lengths) > 1:
        raise ValueError(
            f"scan got values with different leading axis sizes: "
            f"{', '.join(str(np.shape(x)[0]) for x in slices)}"
            + (f", and length={length}." if length is not None else ".")
        )
    if not lengths:
        raise ValueError("scan got no values to scan over and `length` not provided.")
    return lengths.pop()


def _scan_in_python(
    f: Any, init: Any, slices: Sequence[Any], structure: Any, length: int, reverse: bool
) -> tuple[Any, Any]:
    """The loop step by step, for disable_jit."""
    if not length:
        raise ValueError("zero-length scan is not supported in disable_jit() mode")
    carry, ys = init, []
    for i in reversed(range(length)) if reverse else range(length):
        rows = [x.at[i] if is_ref(x) else x[i] for x in slices]
        carry, y = f(carry, structure.unflatten(rows))
        ys.append(y)
    stack = ys[::-1] if reverse else ys
    return carry, tree.map(_stacked, *stack)


def _stacked(*ys: Any) -> Any:
    rows = [ops.broadcast_in_dim(y, shape=(1, *np.shape(y)),
                                 broadcast_dimensions=tuple(range(1, np.ndim(y) + 1)))
            for y in ys]  # fmt: skip
    return ops.concatenate(*rows, dimension=0)


def fori_loop(
    lower: Any, upper: Any, body_fun: Callable[[Any, Any], Any], init_val: Any,
    *, unroll: int | bool | None = None, reverse_differentiable: bool = False,
) -> Any:  # fmt: skip
    """`for i in range(lower, upper): v = body_fun(i, v)`.

    Bounds that are Python integers make it a scan, which is differentiable in reverse mode; others
    a while_loop, which needs reverse_differentiable=True for that.

    >>> fori_loop(0, 5, lambda i, v: v + i, 0)
    Array(10, dtype=int32, weak_type=True)
    """
    if not callable(body_fun):
        raise TypeError("lax.fori_loop: body_fun argument should be callable.")
    static = all(isinstance(b, int | np.integer) for b in (lower, upper))
    if static:
        count = max(int(upper) - int(lower), 0)

        def step(carry: Any, _: Any) -> tuple[Any, None]:
            i, value = carry
            return (i + 1, body_fun(i, value)), None

        (_, result), _ = scan(step, (int(lower), init_val), None, length=count)
        return result

    lower, upper = (_bound(b, lower, upper) for b in (lower, upper))

    def advance(carry: Any) -> Any:
        i, top, value = carry
        return i + 1, top, body_fun(i, value)

    _, _, result = while_loop(
        lambda c: c[0] < c[1], advance, (lower, upper, init_val),
        reverse_differentiable=reverse_differentiable,
    )  # fmt: skip
    return result


def _bound(bound: Any, *both: Any) -> Any:
    """A loop bound in the dtype of the bound that is an array."""
    kinds = [aval_of(b).dtype for b in both if not isinstance(b, int)]
    if not all(dtypes.is_integer(k) for k in kinds):
        raise TypeError(f"lower and upper arguments to fori_loop must be integers, got {kinds}.")
    return kinds[0].type(bound) if isinstance(bound, int) else bound


def map(f: Callable[[Any], Any], xs: Any, *, batch_size: int | None = None) -> Any:
    """f of each slice of the xs along their first axis, one after the other, stacked.

    With a batch_size, f is vectorised over as many slices at a time; the last may be fewer.
    """
    if batch_size is None:
        return scan(lambda _, x: ((), f(x)), (), xs)[1]
    if batch_size < 1:
        raise ValueError(f"lax.map needs a batch_size of at least one, got {batch_size}.")
    leaves, structure = flatten_operands(xs, "lax.map")
    length = scan_length(leaves, None)
    whole, each = length - length % batch_size, vmap(f)
    parts = []
    if whole:
        shape = (whole // batch_size, batch_size)
        batches = [reshape_to(_rows(x, 0, whole), (*shape, *np.shape(x)[1:])) for x in leaves]
        made = scan(lambda _, x: ((), each(x)), (), structure.unflatten(batches))[1]
        parts.append(tree.map(lambda y: reshape_to(y, (whole, *np.shape(y)[2:])), made))
    if whole < length or not parts:
        parts.append(each(structure.unflatten([_rows(x, whole, length) for x in leaves])))
    if len(parts) == 1:
        return parts[0]
    return tree.map(lambda *ys: ops.concatenate(*ys, dimension=0), *parts)


def _rows(x: Any, start: int, end: int) -> Any:
    shape = np.shape(x)
    return ops.slice(
        x, start_indices=(start, *[0] * (len(shape) - 1)), limit_indices=(end, *shape[1:]),
        strides=None,
    )  # fmt: skip

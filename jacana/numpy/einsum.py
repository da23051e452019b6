"""Einstein summation: a formula of labels, as contractions of two operands at a time."""

import functools
import importlib
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from jacana import ops
from jacana.core import dtypes
from jacana.core.values import aval_of
from jacana.lax.contraction import canonical_precision
from jacana.numpy.products import convert_array, diagonal, requested
from jacana.numpy.promotion import as_arrays, refuse_out, result_type_of

# A label of an axis: a letter, or a number for an axis that an ellipsis stands for.
Labels = tuple[Any, ...]
Shape = tuple[int, ...]
Path = tuple[tuple[int, ...], ...]


class Formula(NamedTuple):
    """The labels of each operand's axes, and of the result's."""

    inputs: tuple[Labels, ...]
    output: Labels


def einsum(
    subscripts: Any, /, *operands: Any, out: None = None, optimize: Any = "auto",
    precision: Any = None, preferred_element_type: Any = None, _dot_general: Any = None,
    out_sharding: Any = None,
) -> Any:  # fmt: skip
    """Products of elements at indices named by letters, summed over the letters not in the result.

    "ij,jk->ik" is the matrix product, "ii" the trace, "...ij->...ji" a transpose; without "->" the
    letters that occur once remain, in alphabetical order. Labels may also be given as lists:
    einsum(x, [0, 1], y, [1, 2], [0, 2]). An axis of extent 1 serves all indices.

    `optimize` is an order of contractions, or how opt_einsum finds one for three operands and more.
    ValueError for labels and shapes that do not fit.

    >>> einsum('ij,j->i', jnp.ones((2, 3)), jnp.arange(3.0)).tolist()
    [3.0, 3.0]
    """
    refuse_out("einsum", out)
    text, given = _separated(subscripts, operands)
    xs = as_arrays("einsum", *given)
    shapes = tuple(x.shape for x in xs)
    formula = parsed(text, tuple(len(s) for s in shapes))
    sizes = label_sizes(formula, shapes)
    dtype, weak = result_type_of([aval_of(x) for x in xs])
    xs = [convert_array(x, dtype) for x in xs]
    preferred = None if preferred_element_type is None else requested(preferred_element_type)
    contraction = Contraction(canonical_precision(precision), preferred or dtype)
    terms = [contraction.simple(x, labels, sizes) for x, labels in zip(xs, formula.inputs)]
    for step in _path(formula, tuple(sizes.items()), optimize):
        chosen = [terms[i] for i in step]
        terms = [t for i, t in enumerate(terms) if i not in step]
        later = {label for _, labels in terms for label in labels} | set(formula.output)
        terms.append(contraction.joined(chosen, later))
    result, labels = terms[0]
    result = contraction.finished(result, labels, formula.output, sizes)
    return (
        ops.convert_element_type(result, new_dtype=dtype, weak_type=True)
        if (weak and preferred is None)
        else result
    )


def einsum_path(subscripts: Any, /, *operands: Any, optimize: Any = "auto") -> tuple[Path, Any]:
    """The order in which einsum would contract, and a report on what it costs.

    >>> path, report = einsum_path('ij,jk->ik', jnp.ones((2, 3)), jnp.ones((3, 4)))
    >>> path
    [(0, 1)]
    """
    text, given = _separated(subscripts, operands)
    shapes = [np.shape(x) for x in given]
    if not isinstance(text, str):
        text = _as_text(text)
    made: tuple[Path, Any] = opt_einsum().contract_path(
        text, *shapes, shapes=True, optimize=optimize
    )
    return made


def opt_einsum() -> Any:
    """opt_einsum, loaded by the first formula of three operands."""
    return importlib.import_module("opt_einsum")


# --- the formula ----------------------------------------------------------------------------------


def _separated(subscripts: Any, operands: Sequence[Any]) -> tuple[Any, Sequence[Any]]:
    """The formula (text, or lists of labels as tuples) and the operands."""
    if isinstance(subscripts, str):
        return subscripts, operands
    parts = [subscripts, *operands]
    count = len(parts) // 2
    lists = [tuple(labels) for labels in parts[1::2]]
    output = tuple(parts[-1]) if len(parts) % 2 else None
    return (tuple(lists[:count]), output), parts[: 2 * count : 2]


def _as_text(lists: Any) -> str:
    """Lists of labels as a formula in letters."""
    inputs, output = lists
    known = sorted({x for labels in inputs for x in labels if x is not Ellipsis})
    letter = {x: chr(ord("a") + i) if i < 26 else chr(ord("A") + i - 26)
              for i, x in enumerate(known)}  # fmt: skip
    letter[Ellipsis] = "..."
    text = ",".join("".join(letter[x] for x in labels) for labels in inputs)
    return text if output is None else text + "->" + "".join(letter[x] for x in output)


@functools.lru_cache(1024)
def parsed(text: Any, ranks: tuple[int, ...]) -> Formula:
    """The formula for operands of these ranks; ValueError if it does not fit them."""
    if isinstance(text, str):
        left, arrow, right = text.replace(" ", "").partition("->")
        inputs = [_letters(term, text) for term in left.split(",")]
        output = _letters(right, text) if arrow else None
    else:
        inputs, output = list(text[0]), text[1]
    if len(inputs) != len(ranks):
        raise ValueError(
            f"Number of einsum subscripts, {len(inputs)}, must be equal to the number of operands, "
            f"{len(ranks)}."
        )
    whole = [_expanded(labels, rank, i) for i, (labels, rank) in enumerate(zip(inputs, ranks))]
    hidden = max((x for labels in whole for x in labels if _is_hidden(x)), default=None)
    broadcast = () if hidden is None else tuple(_Hidden(i) for i in range(hidden.place, -1, -1))
    if output is None:
        every = [x for labels in whole for x in labels if not _is_hidden(x)]
        output = (*broadcast, *sorted(x for x in set(every) if every.count(x) == 1))
    else:
        output = _with_ellipsis(output, broadcast)
    _check_output(output, {x for labels in whole for x in labels})
    return Formula(tuple(whole), output)


@functools.total_ordering
class _Hidden(NamedTuple):
    """The label of an axis that an ellipsis stands for, counted from its last."""

    place: int

    def __lt__(self, other: Any) -> bool:
        return self.place < other.place  # type: ignore[no-any-return]


def _is_hidden(label: Any) -> bool:
    return isinstance(label, _Hidden)


def _letters(term: str, text: str) -> Labels:
    before, dots, after = term.partition("...")
    if not all(c.isalpha() for c in before + after):
        raise ValueError(
            f"einsum formulas are made of letters, commas, '...' and '->', got {text!r}."
        )
    return (*before, *([Ellipsis] if dots else []), *after)


def _expanded(labels: Labels, rank: int, position: int) -> Labels:
    """Labels with one for each axis that an ellipsis stands for."""
    count = rank - len([x for x in labels if x is not Ellipsis])
    has_dots = Ellipsis in labels
    if count < 0 or (count > 0 and not has_dots):
        raise ValueError(
            f"Einstein sum subscript {_shown(labels)!r} does not contain the correct number of "
            f"indices for operand {position}, which has {rank} axes."
        )
    return _with_ellipsis(labels, tuple(_Hidden(i) for i in range(count - 1, -1, -1)))


def _with_ellipsis(labels: Labels, hidden: Labels) -> Labels:
    if Ellipsis not in labels:
        return tuple(labels)
    at = labels.index(Ellipsis)
    return (*labels[:at], *hidden, *labels[at + 1 :])


def _shown(labels: Labels) -> str:
    return "".join("..." if x is Ellipsis else str(x) for x in labels)


def _check_output(output: Labels, known: set[Any]) -> None:
    for label in output:
        if label not in known:
            raise ValueError(f"Output character {label!r} did not appear in the input")
        if output.count(label) > 1:
            raise ValueError(f"Output character {label!r} appeared more than once in the output.")


def label_sizes(formula: Formula, shapes: Sequence[Shape]) -> dict[Any, int]:
    """The extent of each label; ValueError if operands disagree (an extent of 1 always agrees)."""
    sizes: dict[Any, int] = {}
    for position, (labels, shape) in enumerate(zip(formula.inputs, shapes, strict=True)):
        for label, n in zip(labels, shape, strict=True):
            known = sizes.get(label, 1)
            if n != known and n != 1 and known != 1:
                raise ValueError(
                    f"Size of label '{label}' for operand {position} ({n}) does not match previous "
                    f"terms ({known})."
                )
            sizes[label] = n if known == 1 else known
    return sizes


def _path(formula: Formula, sizes: tuple[tuple[Any, int], ...], optimize: Any) -> Path:
    count = len(formula.inputs)
    if not isinstance(optimize, str | bool):
        steps = [tuple(step) for step in optimize if not isinstance(step, str)]
        return tuple(steps)
    if count < 2:
        return ()
    if count == 2:
        return ((0, 1),)
    if optimize is False:
        return ((0, 1), *(((count - 2 - i, 0)) for i in range(count - 2)))
    return _found_path(formula, sizes, "auto" if optimize is True else optimize)


@functools.lru_cache(1024)
def _found_path(formula: Formula, sizes: tuple[tuple[Any, int], ...], optimize: str) -> Path:
    known = dict(sizes)
    letter = {label: opt_einsum().get_symbol(i) for i, label in enumerate(known)}
    terms = ["".join(letter[x] for x in dict.fromkeys(labels)) for labels in formula.inputs]
    output = "".join(letter[x] for x in formula.output)
    shapes = [tuple(known[x] for x in dict.fromkeys(labels)) for labels in formula.inputs]
    text = ",".join(terms) + "->" + output
    path, _ = opt_einsum().contract_path(text, *shapes, shapes=True, optimize=optimize)
    return tuple(tuple(step) for step in path)


# --- contractions ---------------------------------------------------------------------------------

Term = tuple[Any, Labels]


class Contraction(NamedTuple):
    """How products are computed, and the dtype of the result."""

    precision: Any
    dtype: Any

    def simple(self, x: Any, labels: Labels, sizes: dict[Any, int]) -> Term:
        """x with each label on one axis, without axes of extent 1 that are repeated elsewhere."""
        single = [i for i, (label, n) in enumerate(zip(labels, x.shape)) if sizes[label] != n]
        if single:
            x = ops.squeeze(x, dimensions=tuple(single))
            labels = tuple(x for i, x in enumerate(labels) if i not in single)
        while len(set(labels)) < len(labels):
            label = next(x for x in labels if labels.count(x) > 1)
            i = labels.index(label)
            j = labels.index(label, i + 1)
            x = diagonal(x, 0, i, j)
            labels = (*(x for k, x in enumerate(labels) if k not in (i, j)), label)
        return x, labels

    def joined(self, terms: Sequence[Term], later: set[Any]) -> Term:
        """The product of terms, summed over all labels that are not needed later."""
        made = terms[0]
        for i, term in enumerate(terms[1:], 1):
            needed = later.union(*[labels for _, labels in terms[i + 1 :]])
            made = self.product(made, term, needed)
        return self.summed(*made, later)

    def summed(self, x: Any, labels: Labels, needed: set[Any]) -> Term:
        axes = tuple(i for i, label in enumerate(labels) if label not in needed)
        if not axes:
            return x, labels
        fold = ops.reduce_or if dtypes.is_bool(x.dtype) else ops.reduce_sum
        return fold(x, axes=axes), tuple(x for x in labels if x in needed)

    def product(self, left: Term, right: Term, needed: set[Any]) -> Term:
        x, of_x = self.summed(*left, needed | set(right[1]))
        y, of_y = self.summed(*right, needed | set(left[1]))
        shared = [label for label in of_x if label in of_y]
        batch = [label for label in shared if label in needed]
        contracting = [label for label in shared if label not in needed]
        if not contracting and x.dtype == self.dtype:
            return self.elementwise(x, of_x, y, of_y)
        result = ops.dot_general(
            x, y,
            dimension_numbers=(
                (_places(of_x, contracting), _places(of_y, contracting)),
                (_places(of_x, batch), _places(of_y, batch)),
            ),
            precision=self.precision, preferred_element_type=self.dtype,
        )  # fmt: skip
        rest = [v for v in (*of_x, *of_y) if v not in shared]
        return result, (*batch, *rest)

    def elementwise(self, x: Any, of_x: Labels, y: Any, of_y: Labels) -> Term:
        """A product that sums nothing."""
        labels = (*of_x, *(label for label in of_y if label not in of_x))
        extent = dict(zip(of_x, x.shape)) | dict(zip(of_y, y.shape))
        shape = tuple(extent[label] for label in labels)
        x, y = (_spread(v, of_v, labels, shape) for v, of_v in ((x, of_x), (y, of_y)))
        multiply = ops.and_ if dtypes.is_bool(x.dtype) else ops.mul
        return multiply(x, y), labels

    def finished(self, x: Any, labels: Labels, output: Labels, sizes: dict[Any, int]) -> Any:
        """The result with its axes in order."""
        x, labels = self.summed(x, labels, set(output))
        missing = [label for label in output if label not in labels]
        if missing:
            shape = (*x.shape, *(sizes[label] for label in missing))
            dims = tuple(range(x.ndim))
            x = ops.broadcast_in_dim(x, shape=shape, broadcast_dimensions=dims)
            labels = (*labels, *missing)
        x = convert_array(x, self.dtype)
        order = _places(labels, output)
        return x if order == tuple(range(len(order))) else ops.transpose(x, permutation=order)


def _places(labels: Labels, wanted: Sequence[Any]) -> tuple[int, ...]:
    return tuple(labels.index(x) for x in wanted)


def _spread(x: Any, of_x: Labels, labels: Labels, shape: Shape) -> Any:
    """x with an axis for each label."""
    if of_x == labels:
        return x
    order = sorted(range(len(of_x)), key=lambda i: labels.index(of_x[i]))
    if order != list(range(len(order))):
        x = ops.transpose(x, permutation=tuple(order))
    dims = tuple(labels.index(of_x[i]) for i in order)
    return ops.broadcast_in_dim(x, shape=shape, broadcast_dimensions=dims)

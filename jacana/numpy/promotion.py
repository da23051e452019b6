"""What operands of jnp functions become: one dtype, and shapes that broadcast."""

import operator
import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from jacana import ops
from jacana.core import config, dtypes
from jacana.core.avals import ShapedArray
from jacana.core.errors import NotAnArrayError, TracerIntegerConversionError
from jacana.core.trace import Tracer, is_eager
from jacana.core.values import aval_of, is_array_like
from jacana.runtime.array import Array, to_array

Shape = tuple[int, ...]


def check_operands(function: str, *xs: Any) -> None:
    """Raise TypeError for what is neither array nor scalar: lists and None are not converted."""
    for i, x in enumerate(xs):
        if type(x) is Array or isinstance(x, Tracer) or is_array_like(x):
            continue
        if x is None or isinstance(x, list | tuple):
            raise TypeError(
                f"{function} requires ndarray or scalar arguments, got {type(x)} at position {i}. "
                f"Convert it first with jnp.array."
            )
        raise NotAnArrayError(x, function, str(i))


def as_array(function: str, x: Any) -> Any:
    """x as an array or tracer: NumPy values and Python scalars become arrays."""
    if type(x) is Array or isinstance(x, Tracer):
        return x
    if hasattr(x, "__jax_array__"):
        return x.__jax_array__()
    check_operands(function, x)
    return to_array(x)


def as_arrays(function: str, *xs: Any) -> list[Any]:
    """The operands as arrays or tracers."""
    made = [x.__jax_array__() if hasattr(x, "__jax_array__") else x for x in xs]
    check_operands(function, *made)
    return [x if type(x) is Array or isinstance(x, Tracer) else to_array(x) for x in made]


def literal(value: Any, x: Any) -> Any:
    """A scalar of x's type, weak if x is; programs hold it as a literal."""
    aval = aval_of(x)
    return scalar(value, aval.dtype, True) if aval.weak_type else aval.dtype.type(value)


def kind_of(x: Any) -> str:
    """The kind of x's dtype: bool, int, uint, float, complex or key."""
    return dtypes.kind(aval_of(x).dtype)


def normalized_axis(axis: Any, rank: int) -> int:
    """The axis counted from the front; ValueError if it is out of bounds."""
    index = operator.index(axis)
    if not -rank <= index < rank:
        raise ValueError(f"axis {index} is out of bounds for array of dimension {rank}")
    return index + rank if index < 0 else index


def normalized_axes(axes: Any, rank: int) -> tuple[int, ...]:
    """An axis or several, counted from the front and distinct."""
    if isinstance(axes, tuple | list):
        found = tuple([normalized_axis(a, rank) for a in axes])
        if len(set(found)) < len(found):
            raise ValueError(f"duplicate value in 'axis': {tuple(axes)}")
        return found
    return (normalized_axis(axes, rank),)


def canonical_shape(shape: Any) -> Shape:
    """A size or a sequence of sizes as a tuple of Python integers."""
    single = np.ndim(shape) == 0 if not isinstance(shape, tuple | list) else False
    try:
        found = (operator.index(shape),) if single else tuple([operator.index(n) for n in shape])
    except TracerIntegerConversionError:
        raise
    except TypeError:
        given = (shape,) if single else shape
        raise TypeError(
            f"Shapes must be 1D sequences of concrete values of integer type, got {given}. Give "
            f"Python integers; a value that is traced must be a static argument of jit."
        ) from None
    if any(n < 0 for n in found):
        raise TypeError(f"shape must have every element be nonnegative, got {found}.")
    return found


def refuse_out(function: str, out: Any) -> None:
    """Arrays never change, so there is nothing to write a result to."""
    if out is not None:
        raise NotImplementedError(
            f"The 'out' argument to jnp.{function} is not supported. Use the result instead."
        )


def result_type_of(avals: Sequence[ShapedArray]) -> tuple[Any, bool]:
    """The common dtype of operands, and whether it is weak."""
    now = config.current()
    pairs = [(a.dtype, a.weak_type) for a in avals]
    strict = now.numpy_dtype_promotion == "strict"
    return dtypes.promote(*pairs, strict=strict, x64=now.enable_x64)


def convert(x: Any, dtype: Any, weak: bool = False) -> Any:
    """x with the dtype and weak type: a scalar stays a literal, an array is converted."""
    if isinstance(x, bool | int | float | complex | np.generic):
        return scalar(x, dtype, weak)
    aval = aval_of(x)
    if aval.dtype == dtype and aval.weak_type == weak and not isinstance(x, np.ndarray):
        return x
    return ops.convert_element_type(x, new_dtype=dtype, weak_type=weak)


PYTHON_TYPES = {"bool": bool, "int": int, "float": float, "complex": complex}


def scalar(value: Any, dtype: Any, weak: bool) -> Any:
    """A literal of the type: a Python scalar where it is weak and of the default width."""
    if weak and not isinstance(value, np.generic):
        kind = PYTHON_TYPES.get(dtypes.kind(dtype))
        x64 = config.current().enable_x64
        if kind is not None and dtypes.python_scalar_dtype(kind, x64) == dtype:
            return kind(value)
    if isinstance(value, np.generic) and value.dtype == dtype:
        return value
    if dtypes.is_integer(dtype) and isinstance(value, int) and not isinstance(value, bool):
        info = dtypes.iinfo(dtype)
        if not info.min <= value <= info.max:
            raise OverflowError(
                f"Python integer {value} out of bounds for {dtype}. Use a wider dtype, for example "
                f"by converting the array first."
            )
    return np.asarray(value).astype(dtype)[()]


def promote_dtypes(*xs: Any) -> list[Any]:
    """Operands converted to their common dtype; scalars stay literals."""
    avals = [aval_of(x) for x in xs]
    dtype, weak = result_type_of(avals)
    return [convert_operand(x, a, dtype, weak) for x, a in zip(xs, avals, strict=True)]


def convert_operand(x: Any, aval: ShapedArray, dtype: Any, weak: bool) -> Any:
    if aval.dtype == dtype and (aval.weak_type or not weak):
        # A weakly typed operand of the right dtype serves a strong result as it is.
        return x
    return convert(x, dtype, weak)


def promote_inexact(*xs: Any) -> list[Any]:
    """Operands converted to their common dtype, integers and bools to floating point."""
    avals = [aval_of(x) for x in xs]
    dtype, weak = result_type_of(avals)
    if not dtypes.is_differentiable(dtype):
        dtype = inexact_dtype(dtype)
        weak = weak and all(a.weak_type for a in avals)
    return [convert_operand(x, a, dtype, weak) for x, a in zip(xs, avals, strict=True)]


def inexact_dtype(dtype: Any) -> Any:
    """The float dtype that computing with this dtype gives: float64 for 64-bit integers."""
    if dtypes.is_differentiable(dtype):
        return dtype
    wide = config.current().enable_x64 and dtypes.is_integer(dtype) and dtype.itemsize == 8
    return dtypes.float64 if wide else dtypes.float32


def promote_args_numeric(function: str, *xs: Any) -> list[Any]:
    """promote_args, with booleans as int32."""
    found = _promoted(function, xs, False)
    if aval_of(found[0]).dtype is not dtypes.bool_:
        return found
    return [convert(x, dtypes.int32) for x in found]


def broadcast_shape(function: str, *shapes: Shape) -> Shape:
    """The shape that all broadcast to; TypeError naming the shapes if there is none."""
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        raise TypeError(
            f"{function} got incompatible shapes for broadcasting: {', '.join(map(str, shapes))}. "
            f"Each pair of axes, counted from the right, must be equal or 1."
        ) from None


def broadcast_to(x: Any, shape: Shape) -> Any:
    """x repeated to the shape it broadcasts to.

    >>> jnp.broadcast_to(jnp.arange(2), (2, 2))
    Array([[0, 1],
           [0, 1]], dtype=int32)
    """
    old = np.shape(x)
    if old == shape:
        return x
    first = len(shape) - len(old)
    return ops.broadcast_in_dim(
        x, shape=shape, broadcast_dimensions=tuple(range(first, len(shape)))
    )


def broadcast_operands(function: str, *xs: Any) -> list[Any]:
    """Operands of one shape; those of rank 0 stay as they are, since they serve every element."""
    shapes = [np.shape(x) for x in xs]
    ranked = {s for s in shapes if s}
    if len(ranked) <= 1:
        return list(xs)
    mode = config.current().numpy_rank_promotion
    if mode != "allow" and len({len(s) for s in ranked}) > 1:
        check_rank_promotion(function, shapes, mode)
    shape = broadcast_shape(function, *shapes)
    return [broadcast_to(x, shape) if s else x for x, s in zip(xs, shapes, strict=True)]


def check_rank_promotion(function: str, shapes: Sequence[Shape], mode: str) -> None:
    message = (
        f"Operands could not be broadcast together for {function} on shapes "
        f"{' '.join(map(str, shapes))} and with the config option "
        f"jax_numpy_rank_promotion='{mode}'. Reshape them to one rank."
    )
    if mode == "raise":
        raise ValueError(message)
    warnings.warn(message, stacklevel=4)


# --- all of it at once ---


class Step(NamedTuple):
    """What becomes of an operand: its dtype, and the shape it is broadcast to (None: its own)."""

    dtype: Any
    weak: bool
    shape: Shape | None


# What promotion does to operands of certain types, in each Config; None where it does nothing.
_plans: dict[bool, dict[int, dict[tuple[ShapedArray, ...], list[Step | None]]]] = {
    False: {}, True: {},
}  # fmt: skip
# Python scalars as arrays: eager programs use few of them, again and again.
_constants: dict[tuple[Any, ...], Array] = {}
MAX_CONSTANTS = 4096


def promote_args(function: str, *xs: Any) -> list[Any]:
    """Operands of one dtype and of shapes that an elementwise primitive takes."""
    return _promoted(function, xs, False)


def promote_args_inexact(function: str, *xs: Any) -> list[Any]:
    """The same, in floating point."""
    return _promoted(function, xs, True)


def _promoted(function: str, xs: Sequence[Any], inexact: bool) -> list[Any]:
    try:
        avals = tuple([aval_of(x) for x in xs])
    except NotAnArrayError:
        if any(hasattr(x, "__jax_array__") for x in xs):
            return _promoted(function, as_arrays(function, *xs), inexact)
        check_operands(function, *xs)
        raise
    now = config.current()
    plans = _plans[inexact].get(id(now))
    if plans is None:
        # Configs are interned and live on, so that their ids stay theirs.
        plans = _plans[inexact].setdefault(id(now), {})
    plan = plans.get(avals)
    if plan is None:
        plan = plans[avals] = _plan(function, avals, inexact)
    return [
        x if step is None and type(x) is Array else _stepped(x, step) for x, step in zip(xs, plan)
    ]


def check_keys(function: str, avals: tuple[ShapedArray, ...]) -> None:
    """Raise TypeError where random keys meet other operands."""
    if any(dtypes.is_key(a.dtype) for a in avals) and len({a.dtype for a in avals}) > 1:
        found = ", ".join(dtypes.name(a.dtype) for a in avals)
        raise TypeError(
            f"{function} does not accept dtypes {found}: random keys mix with keys only. "
            f"jax.random.key_data(key) gives the words of a key as integers."
        )


def _plan(function: str, avals: tuple[ShapedArray, ...], inexact: bool) -> list[Step | None]:
    check_keys(function, avals)
    dtype, weak = result_type_of(avals)
    if inexact and not dtypes.is_differentiable(dtype):
        dtype = inexact_dtype(dtype)
    shapes = [a.shape for a in avals]
    ranked = {s for s in shapes if s}
    shape: Shape | None = None
    if len(ranked) > 1:
        mode = config.current().numpy_rank_promotion
        if mode != "allow" and len({len(s) for s in ranked}) > 1:
            check_rank_promotion(function, shapes, mode)
        shape = broadcast_shape(function, *shapes)
    plan: list[Step | None] = []
    for aval in avals:
        wider = shape if aval.shape and aval.shape != shape else None
        # A weakly typed operand of the right dtype serves a strong result as it is.
        suits = aval.dtype == dtype and (aval.weak_type or not weak)
        own = weak or (suits and aval.weak_type)
        plan.append(None if suits and wider is None else Step(dtype, own, wider))
    return plan


def _stepped(x: Any, step: Step | None) -> Any:
    """An operand after its step; a scalar becomes a literal, or an array in eager programs."""
    if isinstance(x, Array | Tracer):
        if step is None:
            return x
        x = convert(x, step.dtype, step.weak)
    elif isinstance(x, np.ndarray):
        x = to_array(x)
        return x if step is None else _stepped(x, step)
    elif is_eager():
        return constant(x, step)
    elif step is not None:
        x = scalar(x, step.dtype, step.weak)
    return x if step is None or step.shape is None else broadcast_to(x, step.shape)


def constant(value: Any, step: Step | None) -> Array:
    """A scalar as an array, kept for the next time."""
    # 0.0 and -0.0 are equal but not the same; so are 1, 1.0 and True.
    sign = value != 0 or type(value) is int or str(value)
    key = (type(value), value, sign, config.current().enable_x64, step)
    found = _constants.get(key)
    if found is None:
        literal = value if step is None else scalar(value, step.dtype, step.weak)
        found = to_array(literal)
        if step is not None and found.weak_type != step.weak:
            found = Array(found.aval.update(weak_type=step.weak), found.buffer)
        if len(_constants) >= MAX_CONSTANTS:
            _constants.clear()
        _constants[key] = found
    return found

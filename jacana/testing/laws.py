"""Laws that every primitive obeys, as functions of a Case; each raises AssertionError if broken.

They run a primitive's rules directly, on compiled operations, and hold each rule against another:
so a rule that is wrong disagrees with the reference, with finite differences or with a loop.
"""

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jacana import ops
from jacana.core import config, dtypes
from jacana.core.avals import ShapedArray
from jacana.core.primitive import Linear
from jacana.core.stage import stage
from jacana.ops.families import NUMERIC
from jacana.runtime import dispatch
from jacana.runtime.array import from_numpy
from jacana.testing.cases import Case
from jacana.transforms import jvp as transforms

Law = Callable[[Case, np.random.Generator], None]


def types(case: Case, rng: np.random.Generator) -> None:
    """The type rule tells the shape and dtype of the reference's result."""
    operands = case.operands(rng)
    stated = outputs(case, case.primitive.type_rule(*map(aval, operands), **case.params))
    for want, got in zip(stated, reference(case, operands), strict=True):
        assert want.shape == got.shape and dtypes.storage_dtype(want.dtype) == got.dtype, (
            f"{case}: the type rule says {want}, the reference gives {aval(got)}"
        )


def compiled(case: Case, rng: np.random.Generator) -> None:
    """The compiled operation computes what the reference does."""
    operands = case.operands(rng)
    for got, want in zip(run(case, operands), reference(case, operands), strict=True):
        assert_close(got, want, case.ulps, f"{case}: compiled and reference")


def jvp(case: Case, rng: np.random.Generator) -> None:
    """The jvp rule, operand by operand, agrees with central differences."""
    operands = case.operands(rng)
    primal = case.primitive(*operands, **case.params)
    for i in smooth_operands(case, operands):
        tangent = random_like(operands[i], rng)
        made = tangents_out(case, operands, i, tangent, primal)

        def along(x: Any, i: int = i) -> list[Any]:
            return run(case, replaced(operands, i, x))

        wanted = central_differences(along, operands[i], tangent)
        compare_slopes(case, f"jvp in operand {i}", made, wanted)


def second(case: Case, rng: np.random.Generator) -> None:
    """The jvp rule has, as a program of primitives, the derivative that differences of it have."""
    operands = case.operands(rng)
    for i in smooth_operands(case, operands):
        inner, outer = random_like(operands[i], rng), random_like(operands[i], rng)

        def slopes(x: Any, i: int = i, inner: Any = inner) -> list[Any]:
            at = replaced(operands, i, x)
            made = tangents_out(case, at, i, inner, case.primitive(*at, **case.params))
            return [m for m in made if m is not None]

        made = transforms.jvp(slopes, [operands[i]], [outer])[1]
        wanted = central_differences(
            lambda x: [np.asarray(y) for y in slopes(x)], operands[i], outer
        )
        compare_slopes(case, f"second derivative in operand {i}", made, wanted)


def transpose(case: Case, rng: np.random.Generator) -> None:
    """<ct, L t> == <transpose(ct), t>, for every set of operands that the case is linear in."""
    operands = case.operands(rng)
    for linear in case.linear_in:
        tangents = [random_like(x, rng) if i in linear else x for i, x in enumerate(operands)]
        outs = run(case, tangents)
        cts = [random_like(x, rng) for x in outs]
        marked = [Linear(aval(x)) if i in linear else x for i, x in enumerate(operands)]
        ct = cts if case.primitive.multiple_results else cts[0]
        made = case.primitive.transpose(ct, *marked, **case.params)
        total = sum(pairing(c, x) for c, x in zip(cts, outs, strict=True))
        adjoint = 0.0
        for i in linear:
            if made[i] is not None:
                got = np.asarray(made[i])
                assert got.shape == operands[i].shape and got.dtype == operands[i].dtype, (
                    f"{case}: the cotangent of operand {i} is {aval(got)}, not {aval(operands[i])}"
                )
                adjoint += pairing(got, tangents[i])
        scale = sum(np.sum(np.abs(c) * np.abs(x)) for c, x in zip(cts, outs, strict=True))
        tolerance = 64 * max(float(dtypes.finfo(x.dtype).eps) for x in cts)
        assert abs(total - adjoint) <= tolerance * (float(scale) + abs(total)), (
            f"{case}: <ct, L t> is {total}, <transpose(ct), t> is {adjoint}, linear in {linear}"
        )


def batch(case: Case, rng: np.random.Generator) -> None:
    """The batch rule computes what a loop does, for every choice of batch axes."""
    size = 3
    samples = [case.operands(rng) for _ in range(size)]
    if any(x.shape != y.shape for xs in samples for x, y in zip(xs, samples[0], strict=True)):
        return
    for axes in batch_axes(samples[0]):
        operands = [
            samples[0][i] if a is None else stacked([s[i] for s in samples], a)
            for i, a in enumerate(axes)
        ]
        rows = [[samples[0][i] if a is None else s[i] for i, a in enumerate(axes)] for s in samples]
        single = not case.primitive.multiple_results
        out, out_axes = case.primitive.batch(size, operands, axes, **case.params)
        got = zip([out] if single else out, [out_axes] if single else out_axes, strict=True)
        wanted = zip(*[run(case, row) for row in rows], strict=True)
        for (value, axis), want in zip(got, wanted, strict=True):
            one_by_one, array = np.stack(want), plain(value)
            if axis is None:
                array = np.broadcast_to(array, one_by_one.shape)
            else:
                array = np.moveaxis(array, axis, 0)
            text = f"{case}: batched over {axes} and one by one"
            assert_close(array, one_by_one, case.batch_ulps, text)


def jit(case: Case, rng: np.random.Generator) -> None:
    """A program computes, to the bit, what its operations compute one by one."""
    operands = case.operands(rng)

    def program(*xs: Any) -> list[Any]:
        outs = outputs(case, case.primitive(*[ops.copy(x) for x in xs], **case.params))
        # Sums of products, which a compiler could contract.
        numeric = [y for y in outs if dtypes.kind(y.dtype) in NUMERIC]
        return outs + [ops.add(ops.mul(y, y), y) for y in numeric]

    jaxpr, consts = stage(program, [aval(x) for x in operands])
    together = dispatch.run_jaxpr(jaxpr, consts, operands)
    for got, want in zip(together, program(*operands), strict=True):
        assert_close(plain(got), plain(want), 0, f"{case}: as one program and op by op")


LAWS: dict[str, Law] = {
    f.__name__: f for f in (types, compiled, jvp, second, transpose, batch, jit)
}


def applies(law: str, case: Case, rng: np.random.Generator) -> bool:
    """Whether a law says anything about the case."""
    if law in case.excluded:
        return False
    if law == "transpose":
        return bool(case.linear_in)
    if law == "second" and ("jvp" in case.excluded or not case.is_twice_smooth):
        return False
    if law in ("jvp", "second"):
        return bool(smooth_operands(case, case.operands(rng)))
    return True


def check(law: str, case: Case, seed: int = 0) -> bool:
    """Check the law, with 64-bit types on and warnings of NumPy off; False if it says nothing."""
    with config.override(enable_x64=True), np.errstate(all="ignore"):
        if not applies(law, case, np.random.default_rng(seed)):
            return False
        LAWS[law](case, np.random.default_rng(seed))
        return True


# --- parts --------------------------------------------------------------------------------------


def aval(x: Any) -> ShapedArray:
    return ShapedArray(x.shape, x.dtype)


def outputs(case: Case, made: Any) -> list[Any]:
    return list(made) if case.primitive.multiple_results else [made]


def run(case: Case, operands: Sequence[Any]) -> list[Any]:
    """The compiled results as NumPy arrays."""
    made = case.primitive(*operands, **case.params)
    return [plain(x) for x in outputs(case, made)]


def plain(x: Any) -> np.ndarray:
    """An array as NumPy's; random keys as the integers they are stored as."""
    return x._value if dtypes.is_key(x.dtype) else np.asarray(x)


def stacked(xs: Sequence[Any], axis: int) -> Any:
    """Operands along a batch axis."""
    made, dtype = np.stack([plain(x) for x in xs], axis), xs[0].dtype
    return from_numpy(made, ShapedArray(made.shape, dtype)) if dtypes.is_key(dtype) else made


def reference(case: Case, operands: Sequence[Any]) -> list[Any]:
    made = case.primitive.reference(*map(plain, operands), **case.params)
    return [np.asarray(x) for x in outputs(case, made)]


def smooth_operands(case: Case, operands: Sequence[Any]) -> list[int]:
    """The operands that the jvp rule can be held against differences in: of 64-bit precision."""
    if not case.primitive.has_rule("jvp"):
        return []
    precise = (dtypes.float64, dtypes.complex128)
    named = range(len(operands)) if case.smooth_in is None else case.smooth_in
    return [i for i in named if operands[i].dtype in precise]


def replaced(operands: Sequence[Any], i: int, x: Any) -> list[Any]:
    """The operands with x as number i."""
    return [x if k == i else y for k, y in enumerate(operands)]


def tangents_out(
    case: Case, operands: Sequence[Any], i: int, tangent: Any, primal: Any
) -> list[Any]:
    """What the jvp rule says of each output; None is zero."""
    made = case.primitive.jvp(i, tangent, primal, *operands, **case.params)
    return list(made) if case.primitive.multiple_results else [made]


def central_differences(
    f: Callable[[Any], list[Any]], x: Any, tangent: Any, step: float = 2e-4
) -> list[Any]:
    """The slopes of f's outputs at x along a tangent, with an error of step**4."""

    def moved(h: float) -> list[Any]:
        return f((x + h * tangent).astype(x.dtype))

    near = zip(moved(step), moved(-step), strict=True)
    far = zip(moved(2 * step), moved(-2 * step), strict=True)
    return [
        (8 * (a - b) - (c - d)) / (12 * step) if dtypes.is_differentiable(a.dtype) else a
        for (a, b), (c, d) in zip(near, far, strict=True)
    ]


def compare_slopes(case: Case, what: str, made: Sequence[Any], wanted: Sequence[Any]) -> None:
    for got, want in zip(made, wanted, strict=True):
        if not dtypes.is_differentiable(want.dtype):
            continue
        value = np.zeros_like(want) if got is None else np.asarray(got)
        assert value.shape == want.shape, f"{case}: tangent {value.shape}, output {want.shape}"
        scale = 1 + np.max(np.abs(want), initial=0)
        error = np.max(np.abs(value - want), initial=0) / scale
        assert error <= case.slope_tolerance, (
            f"{case}: {what} is {error:.1e} from central differences"
            f"\nrule: {value}\ndifferences: {want}"
        )


def random_like(x: Any, rng: np.random.Generator) -> Any:
    """Normally distributed numbers of x's shape and dtype."""
    made = np.asarray(rng.normal(size=x.shape))
    if dtypes.is_complex(x.dtype):
        made = made + 1j * rng.normal(size=x.shape)
    return made.astype(x.dtype)


def pairing(ct: Any, x: Any) -> float:
    """The real pairing of a cotangent and a tangent."""
    wide = np.complex128 if dtypes.is_complex(x.dtype) else np.float64
    return float(np.real(np.sum(ct.astype(wide) * x.astype(wide))))


def batch_axes(operands: Sequence[Any], limit: int = 30) -> list[tuple[int | None, ...]]:
    """Choices of a batch axis, or None, for each operand, at least one of them batched."""
    choices: list[list[int | None]] = [[None, *sorted({0, x.ndim})] for x in operands]
    found = [axes for axes in itertools.product(*choices) if any(a is not None for a in axes)]
    stride = -(-len(found) // limit)
    return found[::stride]


def assert_close(got: Any, want: Any, ulps: float, text: str) -> None:
    """The arrays have one type, and values at most `ulps` apart; 0 means the same values."""
    assert got.shape == want.shape and got.dtype == want.dtype, (
        f"{text} differ in type: {aval(got)}, {aval(want)}"
    )
    error = distance(got, want)
    if error.size and np.max(error) > ulps:
        at = np.unravel_index(np.argmax(error), error.shape)
        raise AssertionError(
            f"{text} differ by {np.max(error):.3g} ulp at {tuple(map(int, at))}: {got[at]!r} and "
            f"{want[at]!r}"
        )


def distance(got: Any, want: Any) -> Any:
    """Elementwise distance in units in the last place of `want`; nan equals nan."""
    if not dtypes.is_differentiable(want.dtype):
        return (got != want).astype(np.float64)
    parts = dtypes.real_dtype(want.dtype)
    info = dtypes.finfo(parts)
    if dtypes.is_complex(want.dtype):
        same = _same_value(got.real, want.real) & _same_value(got.imag, want.imag)
    else:
        same = _same_value(got, want)
    if dtypes.bit_width(parts) < 32:
        got, want = got.astype(np.float64), want.astype(np.float64)
    wide = np.clongdouble if dtypes.is_complex(want.dtype) else np.longdouble
    size = np.abs(want.astype(wide))
    _, exponent = np.frexp(np.maximum(size, float(info.tiny)))
    unit = np.ldexp(np.longdouble(1), exponent + (int(np.log2(float(info.eps))) - 1))
    error = np.abs(got.astype(wide) - want.astype(wide)) / unit
    return np.where(same, 0.0, np.where(np.isnan(error), np.inf, error)).astype(np.float64)


def _same_value(got: Any, want: Any) -> Any:
    equal = (got == want) & (np.signbit(got) == np.signbit(want))
    return equal | np.isnan(got) & np.isnan(want)

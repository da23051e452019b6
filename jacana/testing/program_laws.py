"""What every random program obeys; each law raises AssertionError where it is broken."""

from collections.abc import Sequence
from typing import Any

import numpy as np

import jacana
from jacana.core import dtypes
from jacana.core.jaxpr import Jaxpr, Literal
from jacana.runtime import lazy, operations, threads
from jacana.testing.programs import Program, leaves

# Of central differences in float64: their error is about STEP ** 2 and eps / STEP.
STEP = 1e-6


def jit_is_eager(program: Program, arrays: Sequence[np.ndarray]) -> None:
    """Compiled as a whole, a program gives the bits of its operations one by one."""
    function = program.function()
    given = [jacana.numpy.asarray(x) for x in arrays]
    same_bits(jacana.jit(function)(*given), function(*given), "jit and eager")
    for x, y in zip(given, arrays, strict=True):
        assert np.array_equal(bits(np.asarray(x)), bits(y)), "an input was written to"


def put_off_is_eager(program: Program, arrays: Sequence[np.ndarray]) -> None:
    """Operations that are put off and fused give the bits of those that are not."""
    function = program.function()
    given = [jacana.numpy.asarray(x) for x in arrays]
    expected = [np.array(x) for x in leaves(function(*given))]
    before, operations.LARGE = operations.LARGE, 0
    try:
        jacana.clear_caches()
        for _ in range(lazy.FUSE_AT + 1):
            same_bits(function(*given), expected, "put off and eager")
    finally:
        operations.LARGE = before
        jacana.clear_caches()


def threads_agree(program: Program, arrays: Sequence[np.ndarray]) -> None:
    """One thread gives the bits of two."""
    function = jacana.jit(program.function())
    before = threads.get_num_threads()
    try:
        threads.set_num_threads(1)
        one = [np.array(x) for x in leaves(function(*arrays))]
        threads.set_num_threads(2)
        same_bits(function(*arrays), one, "two threads and one")
    finally:
        threads.set_num_threads(before)


def operations_are_references(program: Program, arrays: Sequence[np.ndarray]) -> None:
    """Each operation is its NumPy reference, on the operands that it has in this program."""
    closed = jacana.make_jaxpr(program.function())(*arrays)
    values = [jacana.numpy.asarray(x) for x in arrays]
    _follow(closed.jaxpr, closed.consts, values)


def _follow(jaxpr: Jaxpr, consts: Sequence[Any], args: Sequence[Any]) -> list[Any]:
    values: dict[Any, Any] = dict(zip(jaxpr.constvars, consts, strict=True))
    values.update(zip(jaxpr.invars, args, strict=True))

    def read(a: Any) -> Any:
        return a.val if isinstance(a, Literal) else values[a]

    for e in jaxpr.eqns:
        operands = [read(a) for a in e.invars]
        if e.primitive.name == "jit":
            callee = e.params["jaxpr"]
            outs = _follow(callee.jaxpr, callee.consts, operands)
        else:
            found = e.primitive(*operands, **e.params)
            outs = found if e.primitive.multiple_results else [found]
            _compare(e, operands, outs)
        values.update(zip(e.outvars, outs, strict=True))
    return [read(a) for a in jaxpr.outvars]


def _compare(eqn: Any, operands: Sequence[Any], outs: Sequence[Any]) -> None:
    given = [
        a.aval.dtype.type(x) if isinstance(a, Literal) else np.asarray(x)
        for a, x in zip(eqn.invars, operands, strict=True)
    ]
    with np.errstate(all="ignore"):
        found = eqn.primitive.reference(*given, **eqn.params)
    wanted = found if eqn.primitive.multiple_results else [found]
    size = max([x.size for x in map(np.asarray, given)], default=1)
    for got, want, v in zip(outs, wanted, eqn.outvars, strict=True):
        assert (got.shape, got.dtype) == (v.aval.shape, v.aval.dtype), f"{eqn}: {got.aval}"
        close(np.asarray(got), np.asarray(want), 4 + size, f"{eqn.primitive.name} {eqn.params}")


def close(got: np.ndarray, want: np.ndarray, ulps: float, what: str) -> None:
    """Equal but for rounding, in units of the largest element's last place."""
    assert got.shape == want.shape, f"{what}: shapes {got.shape}, {want.shape}"
    if not (dtypes.is_float(got.dtype) or dtypes.is_complex(got.dtype)):
        assert np.array_equal(got, want), f"{what}:\n{got}\n{want}"
        return
    wide = np.complex128 if dtypes.is_complex(got.dtype) else np.float64
    eps = float(dtypes.finfo(got.dtype).eps)
    x, y = got.astype(wide), want.astype(wide)
    finite = np.isfinite(x) & np.isfinite(y)
    scale = max(float(np.max(np.abs(y[finite]), initial=0.0)), 1.0)
    with np.errstate(all="ignore"):
        apart = np.where(finite, np.abs(x - y), 0.0)
        overflow = np.abs(np.where(np.isfinite(x), x, y)) > float(dtypes.finfo(got.dtype).max) / 2
        same = finite | (x == y) | (np.isnan(x) & np.isnan(y)) | overflow
    worst = float(np.max(apart, initial=0.0)) / scale / eps
    assert same.all() and worst <= ulps, f"{what}: {worst:.3g} ulps\n{got}\n{want}"


def vmap_is_the_loop(program: Program, arrays: Sequence[np.ndarray]) -> None:
    """A batch of programs gives what each gives; to the bit where no product is involved."""
    function = program.function()
    bitwise = not any("@" in s.text or "dot(" in s.text for s in program.steps)
    rows = [np.stack([x, np.roll(x, 1), x[..., ::-1] if x.ndim else x]) for x in arrays]
    axes = [0 if x.ndim == 1 or k % 2 == 0 else -1 for k, x in enumerate(rows)]
    moved = [np.moveaxis(x, 0, a) for x, a in zip(rows, axes, strict=True)]
    both = leaves(jacana.vmap(function, in_axes=tuple(axes))(*moved))
    for i in range(3):
        alone = leaves(function(*[jacana.numpy.asarray(x[i]) for x in rows]))
        for b, a in zip(both, alone, strict=True):
            if bitwise:
                same_bits([b[i]], [a], f"example {i} under vmap and alone")
            else:
                close(b[i], a, 4096, f"example {i} under vmap and alone")


def gradients_agree(program: Program, arrays: Sequence[np.ndarray]) -> bool:
    """jit(grad) gives the bits of grad, and both are the slope that central differences have.

    False where the program has a kink here, so that nothing was learnt.
    """
    function = program.function()
    rng = np.random.default_rng(0)
    arrays = [jacana.numpy.asarray(x) for x in arrays]
    weights: list[Any] = [rng.uniform(0.5, 1.5, o.aval.shape) for o in _float_outputs(program)]
    numbers = [i for i, x in enumerate(arrays) if dtypes.is_float(x.dtype)]
    if not weights or not numbers:
        return False

    def loss(*xs: Any) -> Any:
        outs = [o for o in function(*xs) if dtypes.is_float(o.dtype)]
        return sum(jacana.numpy.sum(o * w) for o, w in zip(outs, weights, strict=True))

    slopes = jacana.grad(loss, tuple(numbers))(*arrays)
    same_bits(jacana.jit(jacana.grad(loss, tuple(numbers)))(*arrays), slopes, "jit(grad), grad")
    directions = [rng.uniform(-1, 1, arrays[i].shape) for i in numbers]
    compiled = jacana.jit(loss)

    def along(t: float) -> float:
        moved = list(arrays)
        for i, d in zip(numbers, directions, strict=True):
            moved[i] = arrays[i] + t * d
        return float(compiled(*moved))

    ahead, here, behind = along(STEP), along(0.0), along(-STEP)
    difference = (ahead - behind) / (2 * STEP)
    bend = abs(ahead - 2 * here + behind) / STEP
    size = max(1.0, abs(difference), abs(here))
    if not np.isfinite(size + bend) or bend > 1e-3 * size or size > 1e4:
        return False
    terms = [np.sum(np.asarray(s) * d) for s, d in zip(slopes, directions, strict=True)]
    slope = float(sum(terms))
    assert abs(slope - difference) <= 1e-4 * size, f"grad {slope}, slope {difference}"
    _, tangent = jacana.jvp(loss, arrays, _tangents(arrays, numbers, directions))
    if np.isnan(tangent):
        return False
    assert abs(float(tangent) - slope) <= 1e-8 * size, f"jvp {tangent}, grad {slope}"
    return True


def _tangents(arrays: Sequence[np.ndarray], numbers: list[int], directions: Any) -> list[Any]:
    tangents: list[Any] = [np.zeros(x.shape, dtypes.float0) for x in arrays]
    for i, d in zip(numbers, directions, strict=True):
        tangents[i] = d
    return tangents


def _float_outputs(program: Program) -> list[Any]:
    n = len(program.inputs)
    steps = [program.steps[o - n] for o in program.outputs if o >= n]
    return [s for s in steps if dtypes.is_float(s.aval.dtype)]


def same_bits(got: Any, want: Any, what: str) -> None:
    pairs = list(zip(leaves(got), leaves(want), strict=True))
    for k, (g, w) in enumerate(pairs):
        assert (g.shape, g.dtype) == (w.shape, w.dtype), (
            f"{what}, result {k}: {g.dtype}{g.shape}, {w.dtype}{w.shape}"
        )
        if not np.array_equal(bits(g), bits(w)):
            raise AssertionError(f"{what} differ, result {k}:\n{g}\n{w}")


def bits(x: np.ndarray) -> np.ndarray:
    """The bit patterns; every nan counts as one."""
    if x.dtype.kind in "biu":
        return x
    if dtypes.is_complex(x.dtype):
        return np.stack([bits(x.real), bits(x.imag)])
    if not dtypes.is_float(x.dtype):
        return x
    wide = x.astype(np.float64)
    return np.where(np.isnan(wide), np.nan, wide).view(np.uint64)

"""Random programs: made from a seed, run in several ways, shrunk to the smallest that fails.

A program is text, a step a line, in the words of `jax.numpy`; so what fails can be pasted. What
every program must obey stands in `program_laws`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import jacana
from jacana import lax
from jacana.core import dtypes, tree
from jacana.core.avals import ShapedArray
from jacana.testing import program_steps
from jacana.testing.program_steps import FAMILIES, Pool

NAMES: dict[str, Any] = {"jax": jacana, "jnp": jacana.numpy, "lax": lax, "np": np}


@dataclass(frozen=True)
class Step:
    """One value: an expression of earlier ones, which it names {0}, {1}, ..."""

    text: str
    args: tuple[int, ...]
    aval: ShapedArray


@dataclass(frozen=True)
class Program:
    """Values in order: the inputs, then one for each step; `outputs` says which are returned.

    The steps of `nested` (first, after last) stand in a jitted function of their own.
    """

    inputs: tuple[ShapedArray, ...]
    steps: tuple[Step, ...]
    outputs: tuple[int, ...]
    nested: tuple[int, int] | None = None

    def aval(self, value: int) -> ShapedArray:
        n = len(self.inputs)
        return self.inputs[value] if value < n else self.steps[value - n].aval

    def source(self) -> str:
        """The program as Python text that defines `program`."""
        n = len(self.inputs)
        lines = [f"def program({', '.join(f'v{i}' for i in range(n))}):"]
        lines += [f"    # v{i}: {a.str_short()}" for i, a in enumerate(self.inputs)]
        first, last = self.nested or (len(self.steps), 0)
        for k, step in enumerate(self.steps):
            indent = "    "
            if first <= k < last:
                indent = "        "
                if k == first:
                    lines += ["    @jax.jit", "    def inner():"]
            text = step.text.format(*[f"v{a}" for a in step.args])
            lines.append(f"{indent}v{n + k} = {text}  # {step.aval.str_short()}")
            if k == last - 1:
                made = "".join(f"v{n + i}, " for i in range(first, last))
                lines += [f"        return ({made})", f"    ({made}) = inner()"]
        lines.append(f"    return ({''.join(f'v{o}, ' for o in self.outputs)})")
        return "\n".join(lines)

    def function(self) -> Callable[..., tuple[Any, ...]]:
        names = dict(NAMES)
        exec(compile(self.source(), "<random program>", "exec"), names)
        return names["program"]  # type: ignore[no-any-return]

    def arguments(self, seed: int, ties: bool = True) -> list[np.ndarray]:
        """NumPy arrays for the inputs; with ties, about half of them hold multiples of 1/4."""
        rng = np.random.default_rng(seed)
        return [values_of(a, rng, ties) for a in self.inputs]


def values_of(aval: ShapedArray, rng: np.random.Generator, ties: bool) -> np.ndarray:
    if dtypes.is_bool(aval.dtype):
        return rng.integers(0, 2, aval.shape).astype(bool)
    if dtypes.is_integer(aval.dtype):
        low = 0 if dtypes.is_unsigned_integer(aval.dtype) else -9
        return rng.integers(low, 10, aval.shape).astype(aval.dtype)
    x = rng.uniform(-2, 2, aval.shape)
    x = np.round(x * 4) / 4 if ties and rng.integers(2) else x
    if dtypes.is_complex(aval.dtype):
        return np.asarray(x + 1j * rng.uniform(-2, 2, aval.shape)).astype(aval.dtype)
    return np.asarray(x).astype(aval.dtype)


# --- making ---------------------------------------------------------------------------------------


def random_program(
    seed: int,
    steps: int = 12,
    families: Sequence[str] = tuple(FAMILIES),
    kinds: Sequence[Any] = program_steps.KINDS,
    scale: int = 1,
) -> Program:
    """A program of the families' steps over inputs of the kinds; `scale` makes arrays larger."""
    rng = np.random.default_rng(seed)
    inputs = []
    for _ in range(rng.integers(1, 4)):
        shape = program_steps.random_shape(rng, scale)
        inputs.append(ShapedArray(shape, dtypes.dtype(kinds[int(rng.integers(len(kinds)))])))
    made: list[Step] = []
    attempts = 0
    while len(made) < steps and attempts < 20 * steps:
        attempts += 1
        pool = Pool([*inputs, *[s.aval for s in made]], rng)
        # Elementwise steps join the others into kernels, so they come more often.
        often = "elementwise" in families and rng.random() < 0.3
        family = FAMILIES["elementwise" if often else families[int(rng.integers(len(families)))]]
        chosen = family[int(rng.integers(len(family)))](pool)
        if chosen is None:
            continue
        text, args = chosen
        aval = step_type(text, [pool.avals[a] for a in args])
        if aval is not None and aval.size <= 40000 * scale:
            made.append(Step(text, tuple(args), aval))
    total = len(inputs) + len(made)
    wanted = {int(rng.integers(len(inputs), total)) for _ in range(2)} | {total - 1}
    nested = None
    if len(made) > 3 and rng.integers(2):
        first = int(rng.integers(0, len(made) - 1))
        nested = (first, int(rng.integers(first + 1, len(made) + 1)))
    return without_unused(Program(tuple(inputs), tuple(made), tuple(sorted(wanted)), nested))


def step_type(text: str, operands: Sequence[ShapedArray]) -> ShapedArray | None:
    """The type of a step's value, or None if it has several results or none."""
    arguments = [f"v{i}" for i in range(len(operands))]
    code = f"lambda {', '.join(arguments)}: {text.format(*arguments)}"
    out = jacana.make_jaxpr(eval(code, dict(NAMES)))(
        *[jacana.ShapeDtypeStruct(a.shape, a.dtype, weak_type=a.weak_type) for a in operands]
    )
    return out.out_avals[0] if len(out.out_avals) == 1 else None


# --- shrinking ------------------------------------------------------------------------------------


def shrink(program: Program, fails: Callable[[Program], bool], limit: int = 400) -> Program:
    """A smaller program that still fails, by leaving out what can be left out."""
    tried = 0
    moved = True
    while moved:
        moved = False
        for smaller in simplifications(program):
            tried += 1
            if tried > limit:
                return program
            if fails(smaller):
                program, moved = smaller, True
                break
    return program


def simplifications(program: Program) -> list[Program]:
    """Programs that are one thing simpler."""
    found = []
    for o in program.outputs:
        if len(program.outputs) > 1:
            rest = tuple(x for x in program.outputs if x != o)
            found.append(without_unused(replace(program, outputs=rest)))
    if program.nested is not None:
        found.append(replace(program, nested=None))
    n = len(program.inputs)
    for k, step in enumerate(program.steps):
        # Return an operand instead of the result.
        if n + k in program.outputs:
            for a in step.args:
                outs = tuple(sorted({a if o == n + k else o for o in program.outputs}))
                found.append(without_unused(replace(program, outputs=outs)))
        for a in step.args:
            if program.aval(a) == step.aval:
                found.append(without_unused(substituted(program, n + k, a)))
        if len(program.steps) > 1:
            found.append(without_unused(as_input(program, k)))
    return [p for p in found if p.steps]


def substituted(program: Program, value: int, by: int) -> Program:
    """Another value of the same type in a value's place."""
    steps = tuple(
        replace(s, args=tuple(by if a == value else a for a in s.args)) for s in program.steps
    )
    outs = tuple(by if o == value else o for o in program.outputs)
    return replace(program, steps=steps, outputs=outs)


def as_input(program: Program, k: int) -> Program:
    """The program with the value of step k given from outside."""
    n = len(program.inputs)

    def moved(value: int) -> int:
        if value == n + k:
            return n
        return value + 1 if n <= value < n + k else value

    steps = [replace(s, args=tuple(map(moved, s.args))) for s in program.steps]
    made = steps.pop(k)
    inputs = (*program.inputs, made.aval.strip_weak_type())
    outs = tuple(sorted({moved(o) for o in program.outputs} - {n} or {len(inputs)}))
    return Program(inputs, tuple(steps), outs, shortened(program.nested, k))


def shortened(nested: tuple[int, int] | None, k: int) -> tuple[int, int] | None:
    """The range of steps that are nested once step k is gone."""
    if nested is None:
        return None
    first, last = nested[0] - (k < nested[0]), nested[1] - (k < nested[1])
    return (first, last) if first < last else None


def without_unused(program: Program) -> Program:
    """Only the inputs and steps that outputs depend on."""
    n = len(program.inputs)
    used: set[int] = set()
    todo = list(program.outputs)
    while todo:
        value = todo.pop()
        if value not in used:
            used.add(value)
            todo += program.steps[value - n].args if value >= n else ()
    place = {value: i for i, value in enumerate(sorted(used))}
    steps, nested = [], program.nested
    for k in reversed(range(len(program.steps))):
        if n + k in used:
            step = program.steps[k]
            steps.append(replace(step, args=tuple(place[a] for a in step.args)))
        else:
            nested = shortened(nested, k)
    inputs = tuple(a for i, a in enumerate(program.inputs) if i in used)
    return Program(inputs, tuple(steps[::-1]), tuple(place[o] for o in program.outputs), nested)


def leaves(out: Any) -> list[np.ndarray]:
    return [np.asarray(x) for x in tree.leaves(out)]

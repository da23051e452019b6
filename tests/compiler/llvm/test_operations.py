"""Each operation on each type, compiled for vectors and for scalars, equals the interpreter."""

import ml_dtypes
import numpy as np
import pytest

from jacana.kernel import arithmetic, ir
from tests.compiler.llvm.harness import KernelWriter, compiled, run, same

COMPARISONS = {"eq", "ne", "lt", "le", "gt", "ge"}
FLOAT_ONLY = {"fma", "sqrt", "floor", "ceil", "trunc", "round", "copysign"}
INTEGER_ONLY = {"and", "or", "xor", "not", "shl", "shr", "popcount", "clz", "mulhi"}
BOOL = {"and", "or", "xor", "not", "min", "max", "select", *COMPARISONS}
WHOLE_FLOATS = {"float32", "float64"}

pytestmark = pytest.mark.usefixtures("processor")


def applies(operation, type):
    if operation in ("convert", "bitcast"):
        return False
    if type == "bool":
        return operation in BOOL
    if type in ir.FLOATS:
        return operation not in INTEGER_ONLY and (
            operation not in ("fma", "sqrt") or type in WHOLE_FLOATS
        )
    return operation not in FLOAT_ONLY


def special(type):
    """Values where operations change their behaviour."""
    if type == "bool":
        return [False, True]
    width = ir.WIDTH[type]
    if type in ir.FLOATS:
        info = ml_dtypes.finfo(arithmetic.DTYPES[type])
        sizes = [
            0.0, float(info.smallest_subnormal), float(info.tiny), float(info.max), 1.0, 0.5, 1.5,
            2.5, 127.5, 128.0, 255.5, 3.7e4, 2.0**31, 2.0**31 - 128, 2.0**32, 2.0**63, 2.0**64,
            float("inf"), float("nan"), 3.1415926, 0.1,
        ]  # fmt: skip
        return [s * v for v in sizes for s in (1, -1)]
    low = -(1 << width - 1) if type in ir.SIGNED else 0
    high = (1 << width - (type in ir.SIGNED)) - 1
    near = [0, 1, 2, 3, 7, -1, -2, -7, width - 1, width, width + 1, low, low + 1, high, high - 1]
    return [v for v in near if low <= v <= high]


def special_array(type):
    return np.concatenate([arithmetic.constant(v, type) for v in special(type)])


def sample(rng, type, size):
    """Special values, and random bits."""
    random = arithmetic.from_bits(rng.integers(0, 1 << 64, size, np.uint64, False), type)
    if type in ir.FLOATS:
        moderate = (rng.standard_normal(size) * 100).astype(arithmetic.DTYPES[type])
        random = np.where(rng.random(size) < 0.5, moderate, random)
    return np.where(rng.random(size) < 0.4, rng.choice(special_array(type), size), random)


def pairs(type):
    """Every pair of special values."""
    values = special_array(type)
    return [x.reshape(-1) for x in np.meshgrid(values, values)]


def operands(rng, type, count, size):
    made = [sample(rng, type, size) for _ in range(count)]
    if count >= 2:
        for i, values in enumerate(pairs(type)):
            made[i] = np.concatenate([values, made[i]])
        made[2:] = [sample(rng, type, len(made[0])) for _ in made[2:]]
    return made


@pytest.mark.parametrize("loop", ["serial", "vector"])
@pytest.mark.parametrize("type", ir.TYPES)
def test_operations(type, loop, rng):
    w = KernelWriter()
    arrays = operands(rng, type, 3, 600)
    size = len(arrays[0]) // 16 * 16 + 13
    arrays = [a[:size] for a in arrays]
    size = len(arrays[0])
    inputs = [w.buffer(a, type) for a in arrays]
    chooser = w.buffer(rng.random(size) < 0.5, "bool")
    with w.loop(w.index(size), loop, True) as i:
        loaded = [w.graph.load(b, i) for b in inputs]
        for operation, count in ir.OPERATIONS.items():
            if not applies(operation, type):
                continue
            args = loaded[:count]
            if operation == "select":
                value = w.graph.select(w.graph.load(chooser, i), *loaded[:2])
            else:
                value = w.graph.op(operation, *args)
            w.store(w.output(size, value.type), i, value)
    w.check((0, size))


@pytest.mark.parametrize("loop", ["serial", "vector"])
@pytest.mark.parametrize("target", ir.TYPES)
def test_conversions(target, loop, rng):
    for source in ir.TYPES:
        w = KernelWriter()
        x = np.concatenate([pairs(source)[0], sample(rng, source, 800)])
        x = x[: len(x) // 16 * 16 + 7]
        if (source, target) == ("float64", "bfloat16"):
            # The interpreter makes nan of these; test_float64_to_bfloat16 covers them.
            x = np.where(abs(x) < 2.0**-149, 0.0, x)
        size = len(x)
        buffer = w.buffer(x, source)
        with w.loop(w.index(size), loop, True) as i:
            value = w.graph.load(buffer, i)
            w.store(w.output(size, target), i, value.convert(target))
            if ir.WIDTH[source] == ir.WIDTH[target]:
                w.store(w.output(size, target), i, value.bitcast(target))
        w.check((0, size))


@pytest.mark.parametrize("type", ["int8", "uint8", "int32", "uint32", "int64", "index", "int4"])
def test_division_by_constants_and_scalars(type, rng):
    w = KernelWriter()
    x = sample(rng, type, 253)
    buffer = w.buffer(x, type)
    with w.loop(w.index(len(x)), "vector", True) as i:
        value = w.graph.load(buffer, i)
        for divisor in (0, 1, -1, 3, 7):
            if divisor < 0 and type in ir.UNSIGNED:
                continue
            for y in (w.graph.const(divisor, type), w.graph.scalar(divisor, type)):
                for operation in ("div", "rem", "shl", "shr"):
                    made = w.graph.op(operation, value, y)
                    w.store(w.output(len(x), type), i, made)
    w.check((0, len(x)))


def test_float64_to_bfloat16(rng):
    """Rounded once, also where float32 would round to zero or to a tie."""
    w = KernelWriter()
    tie = 1 + 2.0**-8
    special = [5e-324, -5e-324, 1e-46, 2.0**-150, tie + 2.0**-40, tie, tie - 2.0**-40, 1e300]
    x = np.concatenate([special, sample(rng, "float64", 1000)])
    buffer, result = w.buffer(x, "float64"), w.output(len(x), "bfloat16")
    with w.loop(w.index(len(x)), "vector", True) as i:
        w.store(result, i, w.graph.load(buffer, i).convert("bfloat16"))
    run(compiled(w.kernel()), w.arrays, w.param_values, 0, len(x))
    # ml_dtypes itself rounds twice in some versions.
    with np.errstate(all="ignore"):
        same(w.arrays[1], arithmetic.convert(x, "float64", "bfloat16"), "bfloat16")


@pytest.mark.parametrize("type", ["int64", "uint64", "index"])
def test_quotients_next_to_integers(type, rng):
    """Multiples of the divisor and their neighbours, small and where doubles are exact no more."""
    w = KernelWriter()
    y = rng.integers(1, 1 << 26, 160)
    factor = rng.integers(1, 1 << 25, 160)
    factor[::16] <<= 20  # one lane that is too large for doubles sends all of them another way
    x = y * factor + rng.integers(-1, 2, 160)
    if type != "uint64":
        x, y = x * rng.choice([-1, 1], 160), y * rng.choice([-1, 1], 160)
    a, b = w.buffer(np.roll(x, 80), type), w.buffer(np.roll(y, 80), type)
    with w.loop(w.index(160), "vector", True) as i:
        for operation in ("div", "rem"):
            made = w.graph.op(operation, w.graph.load(a, i), w.graph.load(b, i))
            w.store(w.output(160, type), i, made)
    w.check((0, 160), (3, 150))


@pytest.mark.parametrize("type", ["int32", "uint32"])
@pytest.mark.parametrize("operation", ["div", "rem"])
def test_division_by_one_number(type, operation, rng):
    info = np.iinfo(type)
    divisors = [0, 1, 2, 3, 7, 10, 1000, 65537, info.max, info.max - 1, info.max // 2 + 1]
    if type == "int32":
        divisors += [-1, -2, -7, info.min, info.min + 1]
    for divisor in divisors:
        near = max(abs(divisor), 1) * rng.integers(0, max(info.max // max(abs(divisor), 1), 1), 300)
        values = np.concatenate(
            [[0, 1, info.max, info.min, info.max - 1], near, near - 1, near + 1]
        )
        values = np.concatenate([values, -near, rng.integers(info.min, info.max, 300)])
        values = np.clip(values, info.min, info.max)
        w = KernelWriter()
        x, out = w.buffer(values, type), w.output(len(values), type)
        by = w.graph.scalar(divisor, type)
        with w.loop(w.index(len(values)), "vector", True) as i:
            w.store(out, i, w.graph.op(operation, w.graph.load(x, i), by))
        w.check((0, len(values)))

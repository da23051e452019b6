"""jacana.random beside JAX's results: the same bits, or within what tolerances.py derives."""

import functools
import json

import ml_dtypes
import numpy as np
import pytest

import jacana
from jacana import random
from jacana.core import config
from tests.random.tolerances import TOLERANCES

FILES = ("random_x32", "random_x64", "random_x32_nonpartitionable")


@functools.cache
def load(path):
    golden = json.loads(path.read_text())
    with np.load(path.with_suffix(".npz")) as arrays:
        results = {name: arrays[name] for name in arrays.files}
    # Keys of other kinds than threefry2x32 are not there.
    cases = [c for c in golden["cases"] if c.get("impl") not in ("rbg", "unsafe_rbg")]
    return golden, cases, results


def settings(golden):
    return config.override(
        enable_x64=golden["jax_enable_x64"],
        threefry_partitionable=golden["jax_threefry_partitionable"],
    )


def argument(value):
    if isinstance(value, dict):
        return jacana.numpy.asarray(np.asarray(value["array"], value["dtype"]))
    return tuple(map(argument, value)) if isinstance(value, list) else value


def key_of(case):
    key = random.key(case["seed"])
    if case.get("fold_in") is not None and case["fn"] != "fold_in":
        key = random.fold_in(key, case["fold_in"])
    return key


def call(case, key):
    args, kwargs = argument(case["args"]), {k: argument(v) for k, v in case["kwargs"].items()}
    out = getattr(random, case["fn"])(key, *args, **kwargs)
    return random.key_data(out) if case.get("of") == "key_data" else out


def result(case):
    if case["fn"] in ("key", "PRNGKey"):
        return random.key_data(getattr(random, case["fn"])(case["seed"], impl=case.get("impl")))
    if case.get("vmap_over"):
        return jacana.vmap(lambda k: call(case, k))(random.split(random.key(9), 4))
    return call(case, key_of(case))


def check(case, got, want):
    where = f"{case['id']}: {case['fn']}{case['args']} {case['kwargs']}"
    got = np.asarray(got)
    if case["result_dtype"] == "bfloat16":
        want = want.view(ml_dtypes.bfloat16)
    assert (str(got.dtype), list(got.shape)) == (case["result_dtype"], case["result_shape"]), where
    if case["exact"] or got.dtype.kind in "biu":
        assert got.tobytes() == want.tobytes(), where
        return
    eps = float(ml_dtypes.finfo(got.dtype).eps)
    wide = np.complex128 if got.dtype.kind == "c" else np.float64
    got, want = got.astype(wide), want.astype(wide)
    if case["fn"] in ("binomial", "choice", "geometric", "multinomial", "poisson"):
        np.testing.assert_array_equal(got, want, where)
        return
    allowed = TOLERANCES[case["fn"]](want, eps, case["args"])
    far = np.abs(got - want) > allowed
    assert not np.any(far), f"{where}: {got[far][:3]} beside {want[far][:3]}"


@pytest.mark.parametrize("name", FILES)
def test_eager(name, shared_file):
    golden, cases, results = load(shared_file(f"golden/{name}.json"))
    with settings(golden):
        for case in cases:
            if case.get("error"):
                with pytest.raises(__builtins__[case["error"]]):
                    result(case)
            else:
                check(case, result(case), results[case["id"]])


def traced(case, mode):
    """The result under jit, or of one key of a batch under vmap."""
    key = key_of(case)
    if mode == "jit":
        return jacana.jit(lambda k: call(case, k))(key)
    return jacana.vmap(lambda k: call(case, k))(jacana.numpy.stack([random.key(5), key]))[1]


@pytest.mark.parametrize("mode", ["jit", "vmap"])
@pytest.mark.parametrize("name", FILES)
def test_traced(name, mode, shared_file):
    """Eager results are held to the goldens: these have the same bits."""
    golden, cases, _ = load(shared_file(f"golden/{name}.json"))
    chosen = [
        c for c in cases
        if c["seed"] == 1701 and not c.get("error") and c["fn"] not in ("key", "PRNGKey")
    ]  # fmt: skip
    with settings(golden):
        for case in chosen[:: 2 if name == "random_x64" else 1]:
            got, want = np.asarray(traced(case, mode)), np.asarray(result(case))
            if mode == "vmap" and case["fn"] in ("multivariate_normal", "orthogonal"):
                # A batch of products has another order of sums than one product.
                np.testing.assert_allclose(got, want, 0, 64 * np.finfo(got.dtype).eps)
            else:
                assert got.tobytes() == want.tobytes(), (case["id"], case["fn"])

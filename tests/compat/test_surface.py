"""The names that JAX has: how many are here, and that those which are have JAX's parameters."""

import ast
import functools
import importlib
import importlib.util
import inspect
import json
import re
import sys

import pytest

import jacana
from jacana import compat

# Parameters that differ on purpose, with the reason: (module, name or *) -> reason.
REVIEWED = {
    ("jax.lax", "random_gamma_grad"): "JAX says *args",
    ("jax.debug", "callback"): "JAX's default is no function",
    ("jax.debug", "print"): "JAX's default is no format",
    ("jax.ref", "swap"): "the name in messages is the function's own",
    ("jax", "numpy_dtype_promotion"): "a mode is always given",
    ("jax", "numpy_rank_promotion"): "a mode is always given",
}
EMPTY = inspect.Parameter.empty


@pytest.fixture
def surface(shared_file):
    return json.loads(shared_file("golden/api_surface.json").read_text())


@functools.cache
def module_for(name):
    """The module that answers for a module of JAX, or None."""
    if name == "jax":
        return jacana
    target = compat.jacana_name(name)
    try:
        found = target is not None and importlib.util.find_spec(target) is not None
    except ModuleNotFoundError:
        found = False
    return importlib.import_module(target) if found else None


def functions(surface):
    """(module, name, JAX's parameters, our object) of every function that is here."""
    for module, names in surface["modules"].items():
        ours = module_for(module)
        for name, entry in names.items():
            if ours is not None and entry["kind"] == "function" and hasattr(ours, name):
                yield module, name, entry.get("params"), getattr(ours, name)


def parameters(function):
    """[(name, kind, default's repr)] of a function, or None where Python does not tell."""
    try:
        found = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return None
    return [(p.name, p.kind.name, None if p.default is EMPTY else repr(p.default)) for p in found]


POSITIONAL = ("POSITIONAL_ONLY", "POSITIONAL_OR_KEYWORD")


def difference(ours, theirs):
    """Which calls that JAX takes are refused here or mean something else, as a text, or None."""
    named = {n: d for n, kind, d in ours if kind != "POSITIONAL_ONLY"}
    kinds = {kind for _, kind, _ in ours}
    faults = []
    for name, kind, default in theirs:
        if kind.startswith("VAR_"):
            if kind not in kinds and not (len(theirs) > 1 or name in ("kwargs", "unused")):
                faults.append(f"no {name}")
        elif kind == "POSITIONAL_ONLY":
            continue
        elif name not in named:
            if "VAR_KEYWORD" not in kinds:
                faults.append(f"no {name}")
        elif is_plain(default) and is_plain(named[name]) and named[name] != default:
            faults.append(f"{name}={named[name]}, not {default}")
        elif (named[name] is None) and default is not None:
            faults.append(f"{name} has no default")
    mine = [n for n, kind, _ in ours if kind in POSITIONAL]
    given = [(n, kind) for n, kind, _ in theirs if kind in POSITIONAL]
    if "VAR_POSITIONAL" not in kinds:
        for i, (name, kind) in enumerate(given):
            if i >= len(mine) or (kind == "POSITIONAL_OR_KEYWORD" and mine[i] != name):
                faults.append(f"{name} is not argument {i}")
    required = [n for n, kind, d in ours if d is None and not kind.startswith("VAR_")]
    if len(required) > len([1 for _, kind, d in theirs if d is None and "VAR" not in kind]):
        faults.append(f"needs {', '.join(required)}")
    return "; ".join(dict.fromkeys(faults)) or None


def is_plain(default):
    """Whether a default's repr means the same in both libraries."""
    return default is not None and re.fullmatch(r"None|True|False|-?[\d.e-]+|'\w*'|\(\)", default)


def test_functions_have_the_parameters_of_jax(surface):
    faults = []
    for module, name, theirs, function in functions(surface):
        ours = parameters(function)
        # The arguments of a ufunc are those of its __call__ in NumPy.
        if (
            theirs is None
            or ours is None
            or surface["modules"][module][name].get("type") == "ufunc"
        ):
            continue
        fault = difference(ours, theirs)
        reviewed = {(module, name), (module, "*"), ("*", name)} & REVIEWED.keys()
        if fault and not reviewed:
            faults.append(f"{module}.{name}: {fault}")
    if faults:
        pytest.fail("\n".join([f"{len(faults)} differ", *faults]), pytrace=False)


WHOLE = ("jax.numpy", "jax.numpy.linalg", "jax.numpy.fft")


def test_whole_modules_lack_no_name(surface):
    missing = [
        f"{module}.{name}"
        for module in WHOLE
        for name in surface["modules"][module]
        if not hasattr(module_for(module), name)
    ]
    assert not missing


# Layouts and tracebacks are of JAX's runtime, the others raise there.
OF_OTHER_RUNTIMES = {"format", "traceback", "device_buffer", "device_buffers"}


@pytest.mark.parametrize("table", ["Array", "concrete_array"])
def test_arrays_lack_no_method(surface, table):
    found = dir(jacana.numpy.zeros(2))
    missing = {n for n in surface[table] if n not in found}
    assert missing <= OF_OTHER_RUNTIMES, sorted(missing - OF_OTHER_RUNTIMES)


def test_methods_have_the_parameters_of_jax(surface):
    array = jacana.numpy.zeros((2, 2))
    faults = []
    for owner, table in ((array, "Array"), (array.at[0], "Array.at")):
        for name, entry in surface[table].items():
            text = entry.get("signature") if isinstance(entry, dict) else entry
            method = getattr(owner, name, None)
            if text is None or not callable(method) or name.startswith("__"):
                continue
            named = set(re.findall(r"(\w+)(?=: |=|,|\))", without_annotations(text))) - {"self"}
            ours = parameters(method)
            lacking = named - {n for n, _, _ in ours or []}
            if ours is not None and lacking:
                faults.append(f"{table}.{name}: no {', '.join(sorted(lacking))}")
    assert not faults, "\n".join(faults)


def without_annotations(signature):
    """The parameters of a signature's text by name only."""
    tree = ast.parse(f"def f{signature}: pass").body[0].args
    names = [a.arg for a in (*tree.posonlyargs, *tree.args, *tree.kwonlyargs)]
    return f"({', '.join(names)})"


def test_coverage_is_listed(surface, record_property):
    """What is not there yet: with -s, and in the report of --junit-xml. It fails nothing."""
    for module, names in surface["modules"].items():
        ours = module_for(module)
        missing = [n for n in names if ours is None or not hasattr(ours, n)]
        text = f"{len(names) - len(missing)} of {len(names)}"
        if 0 < len(missing) < len(names):
            text += f"; without {', '.join(missing)}"
        record_property(module, text)
        sys.stdout.write(f"{module}: {text}\n")

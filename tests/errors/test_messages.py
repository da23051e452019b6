"""The full text of each error that a user's mistake raises, as golden files.

Lines of this file are shown as LINE, so that the texts do not change when it does.
"""

import math
import os
import re
import subprocess
import sys
import types

import numpy as np
import pytest

import jacana as jax
import jacana.numpy as jnp
from jacana import lax
from jacana.compat import install
from jacana.core import errors

X3, X22 = jnp.ones(3), jnp.ones((2, 2))
KEPT: dict = {}


def keep(x):
    """Leaks what it is traced with."""
    KEPT["doubled"] = x * 2
    KEPT["argument"] = x
    return x


def leaked(transformation, *args):
    KEPT.clear()
    transformation(*args)
    return KEPT["doubled"]


def given_leaked(use):
    return use(leaked(jax.jit(keep), 1.0))


def choose(x, y):
    if x > y:
        return x
    return y


def assign(x):
    x[0] = 1.0
    return x


def add_in_place(x):
    x[0] += 1.0
    return x


def donated():
    x = jnp.ones(3)
    jax.jit(lambda a: a + 1, donate_argnums=0)(x)
    return x + 1


def deleted(x):
    x.delete()
    return x + 1


class Holder:
    pass


HOLDER = Holder()


def hold(x):
    HOLDER.value = x * 2
    return x


def with_held(x):
    jax.jit(hold)(x)
    return jax.jit(lambda y: y + HOLDER.value)(x)


SHAPES = {
    "add": lambda: X3 + X22,
    "add under jit": lambda: jax.jit(lambda a, b: a + b)(X3, X22),
    "add under vmap": lambda: jax.vmap(lambda a: a + X3)(X22),
    "matmul": lambda: X3 @ X22,
    "dot": lambda: jnp.dot(X3, jnp.ones(4)),
    "einsum": lambda: jnp.einsum("ij,jk->ik", X3, X22),
    "concatenate": lambda: jnp.concatenate([X3, X22]),
    "stack": lambda: jnp.stack([X3, X22]),
    "where": lambda: jnp.where(X3 > 0, X22, 0),
    "reshape": lambda: X3.reshape(2, 2),
    "lax add": lambda: lax.add(X3, X22),
    "lax add dtypes": lambda: lax.add(X3, jnp.ones(3, int)),
    "broadcast_to": lambda: jnp.broadcast_to(X3, (2, 2)),
    "too many indices": lambda: X3[0, 0],
    "mask of another shape": lambda: X3[jnp.array([True, False])],
    "axis": lambda: jnp.sum(X3, axis=3),
    "axis twice": lambda: jnp.sum(X22, axis=(0, 0)),
    "transpose": lambda: jnp.transpose(X22, (0, 0)),
    "set": lambda: X3.at[:2].set(X3),
    "jvp": lambda: jax.jvp(jnp.sin, (X3,), (X22,)),
    "vjp": lambda: jax.vjp(jnp.sin, X3)[1](X22),
}
NOT_ARRAYS = {
    "sin of list": lambda: jnp.sin([1.0, 2.0]),
    "sin of text": lambda: jnp.sin("a"),
    "sum of None": lambda: jnp.sum(None),
    "plus None": lambda: X3 + None,
    "array of objects": lambda: jnp.asarray(np.array([None])),
    "array of text": lambda: jnp.array("a"),
    "ragged": lambda: jnp.array([[1, 2], [3]]),
    "jit": lambda: jax.jit(lambda x: x)({"a": [1, "b"]}),
    "result of jit": lambda: jax.jit(lambda x: {"a": "text"})(1.0),
    "grad": lambda: jax.grad(lambda x: x)("a"),
    "vmap": lambda: jax.vmap(lambda x: x)("a"),
    "scan": lambda: lax.scan(lambda c, x: (c, x), "a", X3),
    "index by text": lambda: X3["a"],
    "index by float": lambda: X3[1.5],
    "index by list": lambda: X3[[0, 1]],
}
TRACED = {
    "if": lambda: jax.jit(choose)(1.0, 2.0),
    "if under vmap": lambda: jax.vmap(choose)(X3, X3),
    "if under jit of grad": lambda: jax.jit(jax.grad(choose))(1.0, 2.0),
    "if under scan": lambda: lax.scan(lambda c, x: (choose(c, x), x), 0.0, X3),
    "and": lambda: jax.jit(lambda x, y: x > 0 and y > 0)(1.0, 2.0),
    "float": lambda: jax.jit(lambda x: float(x))(1.0),
    "int": lambda: jax.jit(lambda x: int(x * 2))(1.0),
    "bool": lambda: jax.jit(lambda x: bool(x))(1.0),
    "complex": lambda: jax.jit(lambda x: complex(x))(1.0),
    "item": lambda: jax.jit(lambda x: x.item())(1.0),
    "tolist": lambda: jax.jit(lambda x: x.tolist())(X3),
    "format": lambda: jax.jit(lambda x: f"{x:.3f}")(1.0),
    "hash": lambda: jax.jit(lambda x: {x: 1})(1.0),
    "math.sin": lambda: jax.jit(lambda x: math.sin(x))(1.0),
    "iterate": lambda: jax.jit(lambda x: list(x))(1.0),
    "index of a list": lambda: jax.jit(lambda i: [1, 2, 3][i])(1),
    "range": lambda: jax.jit(lambda n: list(range(n)))(3),
    "zeros": lambda: jax.jit(lambda n: jnp.zeros(n))(3),
    "arange": lambda: jax.jit(lambda n: jnp.arange(n))(3),
    "reshape": lambda: jax.jit(lambda x, n: x.reshape(n, -1))(X22, 2),
    "axis": lambda: jax.jit(lambda x, n: jnp.sum(x, axis=n))(X22, 0),
    "slice": lambda: jax.jit(lambda x, n: x[:n])(X3, 2),
    "np.asarray": lambda: jax.jit(lambda x: np.asarray(x))(X3),
    "np.asarray under vmap": lambda: jax.vmap(lambda x: np.asarray(x))(X3),
    "np.sin": lambda: jax.jit(lambda x: np.sin(x))(X3),
    "mask": lambda: jax.jit(lambda x: x[x > 0])(X3),
    "nonzero": lambda: jax.jit(jnp.nonzero)(X3),
    "unique": lambda: jax.jit(jnp.unique)(X3),
    "argument of a tree": lambda: jax.jit(lambda p, n: float(p["w"][1] * n))({"w": [1, 2]}, n=3),
    "argument after a static": lambda: jax.jit(lambda n, x: float(x), static_argnums=0)(2, 1.0),
    "scan length": lambda: jax.jit(lambda n: lax.scan(lambda c, x: (c, x), 0, None, n))(3),
}
LEAKED = {
    "used eagerly": lambda: leaked(jax.jit(keep), 1.0) + 1,
    "argument": lambda: (leaked(jax.jit(keep), 1.0), KEPT["argument"] + 1),
    "used in jit": lambda: given_leaked(lambda y: jax.jit(lambda x: x + y)(1.0)),
    "used in grad": lambda: given_leaked(lambda y: jax.grad(lambda x: x * y)(1.0)),
    "used in vmap": lambda: given_leaked(lambda y: jax.vmap(lambda x: x * y)(X3)),
    "float": lambda: float(leaked(jax.jit(keep), 1.0)),
    "if": lambda: 1 if leaked(jax.jit(keep), 1.0) else 2,
    "np.asarray": lambda: np.asarray(leaked(jax.jit(keep), 1.0)),
    "returned": lambda: given_leaked(lambda y: jax.jit(lambda x: y)(1.0)),
    "given to jit": lambda: jax.jit(lambda x: x)(leaked(jax.jit(keep), 1.0)),
    "from grad": lambda: leaked(jax.grad(keep), 1.0) + 1,
    "from vmap": lambda: leaked(jax.vmap(keep), X3) + 1,
    "from scan": lambda: leaked(lambda x: lax.scan(lambda c, y: (keep(c), y), x, X3), 1.0) + 1,
    "from cond": lambda: leaked(lambda x: lax.cond(True, keep, lambda y: y, x), 1.0) + 1,
    "attribute": lambda: with_held(1.0),
}
DERIVATIVES = {
    "result is not a scalar": lambda: jax.grad(lambda x: x * 2)(X3),
    "result is a tuple": lambda: jax.grad(lambda x: (x, x))(1.0),
    "result is None": lambda: jax.grad(lambda x: None)(1.0),
    "integer argument": lambda: jax.grad(lambda x: x * 2.0)(1),
    "bool argument": lambda: jax.grad(lambda x: x * 2.0)(True),
    "integer result": lambda: jax.grad(lambda x: x.astype(int))(1.0),
    "complex result": lambda: jax.grad(lambda x: x * 1j)(1.0),
    "holomorphic": lambda: jax.grad(lambda x: x, holomorphic=True)(1.0),
    "argnums too large": lambda: jax.grad(lambda x: x, argnums=1)(1.0),
    "argnums too small": lambda: jax.value_and_grad(lambda x: x, argnums=-2)(1.0),
    "argnums of text": lambda: jax.grad(lambda x: x, argnums="x")(1.0),
    "argnums of float": lambda: jax.grad(lambda x: x, argnums=0.5)(1.0),
    "only keywords": lambda: jax.grad(lambda x: x)(x=1.0),
    "has_aux": lambda: jax.grad(lambda x: x, has_aux=True)(1.0),
    "not a function": lambda: jax.grad(3),
    "tangent dtype": lambda: jax.jvp(jnp.sin, (1.0,), (1,)),
    "cotangent structure": lambda: jax.vjp(jnp.sin, 1.0)[1]((1.0,)),
    "reverse through while": lambda: jax.grad(
        lambda x: lax.while_loop(lambda v: v < 9, lambda v: v * 2, x)
    )(1.0),
}
MAPS = {
    "axis": lambda: jax.vmap(lambda x: x, in_axes=2)(X3),
    "scalar": lambda: jax.vmap(lambda x: x)(1.0),
    "number of axes": lambda: jax.vmap(lambda x: x, in_axes=(0, 0))(X3),
    "sizes": lambda: jax.vmap(lambda x, y: x)(X3, X22),
    "out axis": lambda: jax.vmap(lambda x: x, out_axes=3)(X3),
    "out axis None": lambda: jax.vmap(lambda x: x, out_axes=None)(X3),
    "in_axes of float": lambda: jax.vmap(lambda x: x, in_axes=0.5)(X3),
    "nothing mapped": lambda: jax.vmap(lambda x: x, in_axes=None)(X3),
    "structure": lambda: jax.vmap(lambda x: x, in_axes=({"a": 0},))({"b": X3}),
    "axis name": lambda: lax.psum(X3, "i"),
    "not a function": lambda: jax.vmap(3),
}
JIT = {
    "unhashable": lambda: jax.jit(lambda x, n: x, static_argnums=1)(X3, [1]),
    "unhashable by name": lambda: jax.jit(lambda x, n: x, static_argnames="n")(X3, n={}),
    "static array": lambda: jax.jit(lambda x, n: x, static_argnums=1)(X3, X3),
    "static number": lambda: jax.jit(lambda x: x, static_argnums=3),
    "static name": lambda: jax.jit(lambda x: x, static_argnames="foo"),
    "static and donated": lambda: jax.jit(lambda x: x, static_argnums=0, donate_argnums=0),
    "not a function": lambda: jax.jit(3),
    "missing argument": lambda: jax.jit(choose)(X3),
    "unknown argument": lambda: jax.jit(choose)(X3, z=1),
    "donated": donated,
    "deleted": lambda: deleted(jnp.ones(2)),
}
CONTROL = {
    "carry shape": lambda: lax.scan(lambda c, x: (jnp.stack([c, c]), x), 0.0, X3),
    "carry dtype": lambda: lax.scan(lambda c, x: (c + 1.5, x), 0, X3),
    "carry component": lambda: lax.while_loop(
        lambda c: c["i"] < 3, lambda c: {"i": c["i"] + 1, "x": c["x"][:2]}, {"i": 0, "x": X3}
    ),
    "carry structure": lambda: lax.scan(lambda c, x: ((c, c), x), 0.0, X3),
    "no pair": lambda: lax.scan(lambda c, x: c, 0.0, X3),
    "scan lengths": lambda: lax.scan(lambda c, x: (c, x), 0.0, (X3, X22)),
    "scan without length": lambda: lax.scan(lambda c, x: (c, x), 0.0, None),
    "scan of scalar": lambda: lax.scan(lambda c, x: (c, x), 0.0, 1.0),
    "while condition": lambda: lax.while_loop(lambda c: c, lambda c: c, 1.0),
    "while condition shape": lambda: lax.while_loop(lambda c: c > 0, lambda c: c, X3),
    "branch types": lambda: lax.cond(True, lambda x: x, lambda x: x.astype(int), 1.0),
    "branch structures": lambda: lax.cond(True, lambda x: x, lambda x: (x, x), 1.0),
    "pred shape": lambda: lax.cond(X3 > 0, lambda: 1, lambda: 2),
    "pred kind": lambda: lax.cond("yes", lambda: 1, lambda: 2),
    "branch is a value": lambda: lax.cond(True, 1, 2),
    "switch index": lambda: lax.switch(1.0, [lambda: 1, lambda: 2]),
    "switch nothing": lambda: lax.switch(1, []),
    "fori bounds": lambda: lax.fori_loop(0, 2.5, lambda i, x: x, 1.0),
}
VALUES = {
    "assignment": lambda: assign(jnp.ones(3)),
    "assignment under jit": lambda: jax.jit(assign)(X3),
    "augmented assignment": lambda: add_in_place(jnp.ones(3)),
    "out of memory": lambda: jnp.ones((10**15 // 4,)),
    "out of memory under jit": lambda: jax.jit(lambda x: jnp.broadcast_to(x, (10**15,)) + 1)(1.0),
    "size beyond 64 bits": lambda: jnp.zeros((2**40, 2**40)),
    "int32 scalar": lambda: jnp.int32(2**40),
    "int32 array": lambda: jnp.ones(3, jnp.int32) + 2**40,
    "uint8 array": lambda: jnp.ones(3, jnp.uint8) + 300,
    "int argument of jit": lambda: jax.jit(lambda x: x)(2**40),
    "dtype name": lambda: jnp.zeros(3, "float33"),
    "dtype of text": lambda: jnp.zeros(3, "U3"),
    "astype": lambda: X3.astype("foo"),
    "config name": lambda: jax.config.update("jax_enable_x65", True),
    "config value": lambda: jax.config.update("jax_enable_x64", "maybe"),
    "config attribute": lambda: jax.config.jax_foo,
    "truth of an array": lambda: bool(X3),
    "float of an array": lambda: float(X3),
    "item of an array": lambda: X3.item(),
    "hash of an array": lambda: hash(X3),
    "len of a scalar": lambda: len(jnp.float32(1)),
    "key": lambda: jax.random.normal(0),
    "device": lambda: jax.devices("gpu"),
    "tree.map": lambda: jax.tree.map(lambda a, b: a, {"a": 1}, {"b": 1}),
}
GROUPS = {
    "shapes": SHAPES, "not arrays": NOT_ARRAYS, "traced": TRACED, "leaked": LEAKED,
    "derivatives": DERIVATIVES, "maps": MAPS, "jit": JIT, "control": CONTROL, "values": VALUES,
}  # fmt: skip


def text_of(mistake):
    """Class and message, with this file's lines as LINE."""
    with pytest.raises(Exception) as caught:
        mistake()
    error = caught.value
    message = re.sub(re.escape(__file__) + r":\d+", "test_messages.py:LINE", str(error))
    message = re.sub(r"0x[0-9a-f]+", "0x...", message)
    classes = [c.__name__ for c in type(error).__mro__]
    return f"{' < '.join(classes[: classes.index('Exception') + 1])}\n\n{message}"


@pytest.mark.parametrize("group", GROUPS)
def test_message(group, golden):
    parts = []
    for name, mistake in GROUPS[group].items():
        text = text_of(mistake)
        text = re.sub(r"This process may use .* alive\.", "This process may use ... alive.", text)
        parts.append(f"== {name}: {text}\n")
    golden("\n".join(parts))
    # The process lives, and what failed left nothing behind.
    np.testing.assert_array_equal(jax.jit(lambda x: x + 1)(X3), [2, 2, 2])


@pytest.mark.parametrize("group", ["traced", "leaked"])
def test_messages_of_traced_values_name_the_users_line(group):
    for name, mistake in GROUPS[group].items():
        with pytest.raises(Exception) as caught:
            mistake()
        if name in ("hash", "iterate"):  # Python's own messages
            continue
        assert re.search(re.escape(__file__) + r":\d+ \(", str(caught.value)), (name, caught.value)


def test_line_is_the_one_that_asked():
    line = choose.__code__.co_firstlineno + 1
    with pytest.raises(errors.TracerBoolConversionError, match=rf"{__file__}:{line} \(choose\)"):
        jax.jit(choose)(1.0, 2.0)


def test_memory_error_leaves_the_process_alive():
    for _ in range(3):
        with pytest.raises(MemoryError):
            jnp.ones(10**15)
        with pytest.raises(MemoryError):
            jax.jit(lambda x: jnp.zeros((10**8, 10**7)) + x)(1.0)
    assert float(jnp.ones(10).sum()) == 10


def test_real_jax_refused(monkeypatch):
    monkeypatch.setitem(sys.modules, "jax", types.ModuleType("jax"))
    with pytest.raises(ImportError, match="the real JAX is already imported"):
        install()


# --- in processes of their own --------------------------------------------------------------------


def run(code, tmp_path, **env):
    script = tmp_path / "program.py"
    script.write_text(code)
    settings = {**os.environ, "JACANA_CACHE_DIR": str(tmp_path / "cache"), **env}
    return subprocess.run(
        [sys.executable, "-m", "jacana", str(script)], capture_output=True, text=True, env=settings,
        timeout=120,
    )  # fmt: skip


TRACEBACK = """
import jax, jax.numpy as jnp

def loss(w, x):
    if (x @ w).sum() > 0:
        return 1.0
    return 0.0

def train():
    return jax.jit(jax.value_and_grad(loss))(jnp.ones(3), jnp.ones((2, 3)))

train()
"""


def test_traceback_shows_the_users_lines_only(tmp_path):
    err = run(TRACEBACK, tmp_path).stderr
    files = re.findall(r'File "(.*?)", line (\d+), in (\S+)', err)
    assert [(f, name) for f, _, name in files] == [
        (str(tmp_path / "program.py"), name) for name in ("<module>", "train", "loss")
    ]
    assert "TracerBoolConversionError" in err
    assert "JAX_TRACEBACK_FILTERING=off" in err
    err = run(TRACEBACK, tmp_path, JAX_TRACEBACK_FILTERING="off").stderr
    assert "transforms" in err


CACHED = """
import sys, warnings
warnings.simplefilter("always")
import jax, jax.numpy as jnp
f = jax.jit(lambda x: jnp.tanh(x * 2) + 1)
g = jax.jit(lambda x: jnp.sinh(x * 2).sum())
print(f(jnp.arange(5.0)).sum(), g(jnp.arange(3.0)))
"""


@pytest.mark.parametrize("fault", ["damaged", "unwritable", "not a folder", "full"])
def test_cache_folder_that_cannot_be_used(fault, tmp_path):
    sound = run(CACHED, tmp_path)
    assert sound.returncode == 0, sound.stderr
    assert sound.stderr == ""
    cache = tmp_path / "cache"
    env = {}
    files = [p for p in cache.rglob("*") if p.is_file()]
    assert files
    if fault == "damaged":
        for k, path in enumerate(files):
            data = bytearray(path.read_bytes())
            if k % 2:
                data = data[: len(data) // 2]
            else:
                data[len(data) // 2] ^= 0xFF
            path.chmod(0o600)
            path.write_bytes(data)
    elif fault == "unwritable":
        if os.geteuid() == 0:
            env["JACANA_CACHE_DIR"] = "/proc/jacana"
        else:
            env["JACANA_CACHE_DIR"] = str(tmp_path / "closed" / "cache")
            (tmp_path / "closed").mkdir(mode=0o500)
    elif fault == "not a folder":
        env["JACANA_CACHE_DIR"] = str(tmp_path / "program.py")
    else:
        env["JACANA_CACHE_DIR"] = "/dev/full/cache"
    broken = run(CACHED, tmp_path, **env)
    assert broken.returncode == 0, broken.stderr
    assert broken.stdout == sound.stdout
    said = [line for line in broken.stderr.splitlines() if "Warning" in line]
    assert len(said) <= 1, broken.stderr
    if fault != "damaged":
        assert len(said) == 1, broken.stderr

"""`import jax` answered by jacana: in scripts, modules, commands, notebooks and by install()."""

import subprocess
import sys
import types

import pytest

import jacana
from jacana import compat
from jacana.compat import load_ipython_extension


def run(*args, cwd, **options):
    return subprocess.run(
        [sys.executable, *args], capture_output=True, text=True, cwd=cwd, timeout=120, **options
    )


SCRIPT = """
import atexit, pickle, sys
from dataclasses import dataclass
import jax
import jax.numpy as jnp
import jax.numpy.linalg
from jax import numpy, lax, tree_util
from jax.scipy.special import logsumexp
from jax.errors import ConcretizationTypeError
import neighbour

@dataclass
class Point:
    x: int

atexit.register(lambda: print("bye", Point(2), jnp.arange(2)))
assert numpy is jnp is jax.numpy
assert jax.lax is lax and jax.tree_util is tree_util
assert jax.numpy.linalg is sys.modules["jax.numpy.linalg"]
assert isinstance(jnp.ones(2), jax.Array)
assert issubclass(ConcretizationTypeError, TypeError)
print(jax.__version__, __name__, sys.argv, pickle.loads(pickle.dumps(Point(1))))
print(neighbour.NAME, logsumexp(jnp.zeros(2)))
sys.exit(3)
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "script.py").write_text(SCRIPT)
    (tmp_path / "neighbour.py").write_text("import jax\nNAME = jax.numpy.float32.__name__\n")
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "__init__.py").write_text("")
    (tmp_path / "package" / "__main__.py").write_text("import jax; print('main', jax.__version__)")
    return tmp_path


def test_script(folder):
    done = run("-W", "error", "-m", "jacana", "script.py", "a", "--b", cwd=folder)
    assert done.stdout.splitlines() == [
        f"{jacana.__jax_version__} __main__ ['script.py', 'a', '--b'] Point(x=1)",
        "float32 0.6931472",
        "bye Point(x=2) [0 1]",
    ], done.stderr
    assert (done.returncode, done.stderr) == (3, "")


def test_script_of_another_folder_finds_its_neighbours(folder, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    done = run("-m", "jacana", str(folder / "script.py"), cwd=elsewhere)
    assert done.returncode == 3, done.stderr


def test_modules_and_commands(folder):
    done = run("-m", "jacana", "-m", "script", "x", cwd=folder)
    assert done.returncode == 3
    assert "script.py', 'x']" in done.stdout
    assert run("-m", "jacana", "-m", "package", cwd=folder).stdout == "main 0.10.2\n"
    done = run("-m", "jacana", "-c", "import jax, sys; print(jax.devices()[0].platform, sys.argv)",
               "y", cwd=folder)  # fmt: skip
    assert done.stdout == "cpu ['-c', 'y']\n", done.stderr


@pytest.mark.parametrize(
    ("args", "status", "said"),
    [
        ([], 2, "python -m jacana script.py"),
        (["--help"], 0, "python -m jacana script.py"),
        (["nothing.py"], 2, "cannot open nothing.py"),
        (["-m", "nothing.here"], 1, "No module named nothing.here"),
        (["-c"], 2, "argument expected for -c"),
        (["-x"], 2, "unknown option -x"),
    ],
)
def test_command_lines_that_name_nothing(args, status, said, tmp_path):
    done = run("-m", "jacana", *args, cwd=tmp_path)
    assert done.returncode == status
    assert said in done.stdout + done.stderr
    assert "Traceback" not in done.stderr


INSTALLED = """
import sys, types
import jacana
from jacana import compat
compat.install()
compat.install()
import jax, jax.numpy as jnp
from jax import numpy as jnp2, random
assert jax.jit is jacana.jit and jnp is jacana.numpy
assert jax.__name__ == "jax" and jax.__version_info__ >= (0, 10)
assert "jit" in dir(jax) and "compiler" not in dir(jax)
for name in ("jax.nothing", "jax.compiler", "jax.runtime.array", "jax.api"):
    try:
        __import__(name)
    except ModuleNotFoundError as e:
        assert name.startswith(e.name) and "jacana" in str(e), e
    else:
        raise AssertionError(name)
try:
    jax.compiler
except AttributeError as e:
    assert "compiler" in str(e)
assert not hasattr(jax, "nothing")
import importlib, copy, pickle
assert importlib.import_module("jax.tree_util") is jacana.tree_util
assert jnp.__spec__.name == "jacana.numpy"
x = pickle.loads(pickle.dumps({"a": jnp.arange(3), "b": jnp.ones(2, jnp.bfloat16)}))
assert x["a"].tolist() == [0, 1, 2] and x["b"].dtype == jnp.bfloat16
"""


def test_install(tmp_path):
    done = run("-W", "error", "-c", INSTALLED, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")


def test_real_jax_is_not_replaced(monkeypatch):
    real = types.ModuleType("jax")
    monkeypatch.setitem(sys.modules, "jax", real)
    with pytest.raises(ImportError, match=r"python -m jacana script\.py"):
        compat.install()
    assert sys.modules["jax"] is real


NOTEBOOK = """
class Shell:
    def set_custom_exc(self, kinds, handler):
        self.handler = handler
    def showtraceback(self, triple, tb_offset=None):
        import traceback
        self.shown = [f.filename for f in traceback.extract_tb(triple[2])]

import sys
import jacana
shell = Shell()
jacana.load_ipython_extension(shell)
import jax
try:
    jax.numpy.ones(3) + jax.numpy.ones(2)
except TypeError as e:
    shell.handler(shell, type(e), e, e.__traceback__, None)
assert shell.shown == ["<string>"], shell.shown
"""


def test_notebook_extension(tmp_path):
    assert jacana.load_ipython_extension is load_ipython_extension
    done = run("-c", NOTEBOOK, cwd=tmp_path)
    assert done.returncode == 0, done.stderr


INTERPRETER = """
import jax, jax.numpy as jnp
import jax.extend.core
from jax import lax

inverses = {lax.exp_p: jnp.log, lax.tanh_p: jnp.arctanh}

def inverse(fun):
    def wrapped(*args):
        closed = jax.make_jaxpr(fun)(*args)
        out = inverse_jaxpr(closed.jaxpr, closed.literals, *args)
        return out[0]
    return wrapped

def inverse_jaxpr(jaxpr, consts, *args):
    env = {}
    def read(v):
        return v.val if type(v) is jax.extend.core.Literal else env[v]
    env.update(zip(jaxpr.outvars, args))
    env.update(zip(jaxpr.constvars, consts))
    for eqn in jaxpr.eqns[::-1]:
        env[eqn.invars[0]] = inverses[eqn.primitive](*map(read, eqn.outvars))
    return [read(v) for v in jaxpr.invars]

def f(x):
    return jnp.exp(jnp.tanh(x))
assert abs(inverse(f)(f(0.5)) - 0.5) < 1e-5
closed = jax.make_jaxpr(f)(0.5)
assert jax.core.eval_jaxpr(closed.jaxpr, closed.consts, 0.5)[0] == f(0.5)
assert jax.extend.core.jaxpr_as_fun(closed)(0.5)[0] == f(0.5)
assert [e.primitive.name for e in closed.eqns] == ["tanh", "exp"]
"""


def test_interpreters_of_jaxprs(tmp_path):
    done = run("-m", "jacana", "-c", INTERPRETER, cwd=tmp_path)
    assert done.returncode == 0, done.stderr

"""Names and signatures of nn, scipy, ops and flatten_util are those of JAX."""

import importlib
import inspect
import json

import pytest

MODULES = {
    "jax.nn": "jacana.nn",
    "jax.nn.initializers": "jacana.nn.initializers",
    "jax.scipy.special": "jacana.scipy.special",
    "jax.scipy.stats": "jacana.scipy.stats",
    "jax.scipy.signal": "jacana.scipy.signal",
    "jax.scipy.ndimage": "jacana.scipy.ndimage",
    "jax.scipy.optimize": "jacana.scipy.optimize",
    "jax.scipy.sparse.linalg": "jacana.scipy.sparse.linalg",
    "jax.image": "jacana.image",
    "jax.ops": "jacana.numpy.segments",
    "jax.flatten_util": "jacana.flatten_util",
}
# What is not there yet, and classes.
ABSENT = {
    "get_scaled_dot_general_config", "scaled_dot_general", "scaled_matmul", "Initializer",
    "ResizeMethod",
    "gaussian_kde", "csd", "detrend", "istft", "stft", "welch",
    "dawsn", "fresnel", "hyp1f1", "hyp2f1", "owens_t", "sici", "spence", "sph_harm_y", "wofz",
}  # fmt: skip


@pytest.fixture
def surface(shared_file):
    return json.loads(shared_file("golden/api_surface.json").read_text())["modules"]


@pytest.mark.parametrize("name", MODULES)
def test_signatures(name, surface):
    check(surface[name], importlib.import_module(MODULES[name]))


def test_distributions(surface):
    names = [n for n in surface if n.startswith("jax.scipy.stats.")]
    assert names
    for name in names:
        check(surface[name], importlib.import_module(name.replace("jax", "jacana", 1)))


def check(stated, module):
    for function, entry in stated.items():
        if function in ABSENT or "params" not in entry:
            continue
        value = getattr(module, function)
        params = inspect.signature(value).parameters.values()
        found = [[p.name, p.kind.name] for p in params]
        assert found == [[n, k] for n, k, _ in entry["params"]], function

"""Pictures of shardings."""

import numpy as np
import pytest

import jacana as jax
import jacana.numpy as jnp
from jacana.sharding import NamedSharding, PartitionSpec as P


@pytest.fixture
def shown(eight_devices, capsys):
    mesh = jax.make_mesh((4, 2), ("x", "y"))

    def show(shape, *spec, **options):
        jax.debug.visualize_sharding(shape, NamedSharding(mesh, P(*spec)), **options)
        return capsys.readouterr().out.splitlines()

    return show


def test_a_box_for_each_part(shown):
    lines = shown((8, 4), "x", "y")
    assert lines[0] == "┌─────────┬─────────┐" and lines[-1] == "└─────────┴─────────┘"
    assert lines[2] == "│  CPU 0  │  CPU 1  │" and lines[4] == "├─────────┼─────────┤"
    assert lines[14] == "│  CPU 6  │  CPU 7  │" and len(lines) == 17


def test_devices_that_share_a_part(shown):
    assert shown((8,), "y")[2] == "│  CPU 0,2,4,6  │  CPU 1,3,5,7  │"
    whole = shown((8, 8))
    assert whole[2].strip("│ ") == "CPU 0,1,2,3,4,5,6,7" and len(whole) == 5
    assert len(set(map(len, shown((8, 8), None, "x", scale=2.0, max_width=40)))) == 1


def test_of_arrays(eight_devices, capsys):
    mesh = jax.make_mesh((8,), ("x",))
    x = jax.device_put(np.ones(16), NamedSharding(mesh, P("x")))
    jax.debug.visualize_array_sharding(x)
    assert capsys.readouterr().out.count("CPU") == 8
    found = []
    jax.debug.inspect_array_sharding(x, callback=found.append)
    assert found == [x.sharding]


def test_what_is_refused():
    with pytest.raises(ValueError, match=r"1 and 2 dimensions, got \(1, 1, 1\)"):
        jax.debug.visualize_array_sharding(jnp.ones((1, 1, 1)))
    with pytest.raises(NotImplementedError, match="Inspect the function's results"):
        jax.jit(lambda a: jax.debug.visualize_array_sharding(a))(jnp.ones(2))

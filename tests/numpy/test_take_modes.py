"""Indices out of bounds mean in `take` what they mean in NumPy; integers modulo 0 are 0."""

import numpy as np
import pytest

from jacana import jit, numpy as jnp

VALUES = np.array([10, 20, 30], np.int32)
INDICES = np.array([-100, -7, -6, -5, -4, -3, -1, 0, 2, 3, 4, 7, 100], np.int32)


@pytest.mark.parametrize("mode", ["clip", "wrap"])
@pytest.mark.parametrize("dtype", [np.int32, np.int8, np.uint8])
def test_modes_of_take(mode, dtype):
    indices = INDICES[INDICES >= 0] if dtype is np.uint8 else INDICES
    wanted = np.take(VALUES, indices, mode=mode)
    indices = indices.astype(dtype)
    np.testing.assert_array_equal(jnp.take(VALUES, indices, mode=mode), wanted)
    np.testing.assert_array_equal(jit(lambda i: jnp.take(VALUES, i, mode=mode))(indices), wanted)
    assert int(jnp.take(VALUES, int(indices[0]), mode=mode)) == wanted[0]


def test_integers_modulo_zero():
    x, zero = np.array([-8, 5, 0], np.int32), np.zeros(3, np.int32)
    np.testing.assert_array_equal(jnp.remainder(x, zero), zero)
    np.testing.assert_array_equal(jnp.fmod(x, zero), zero)
    np.testing.assert_array_equal(jit(jnp.remainder)(x.astype(np.uint8), np.uint8(0)), zero)

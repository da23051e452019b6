"""Native copies and fills against NumPy."""

import numpy as np
import pytest

from jacana.compiler.library import copies
from tests.runtime.native_programs import run_native

DTYPES = (np.int8, np.int16, np.float32, np.uint64, np.float64, np.complex128)


@pytest.mark.parametrize("dtype", DTYPES)
def test_fill(dtype: type) -> None:
    value = np.array(-3).astype(dtype)
    y = np.zeros(1000, dtype)
    run_native(copies.fill(y.itemsize), copies.fill_launch(value.tobytes(), 999), [y])
    assert (y[:999] == value).all()
    assert y[999] == 0


@pytest.mark.parametrize("size", [0, 1, 5 << 20])
def test_copy(size: int) -> None:
    x, y = np.arange(size).astype(np.uint8), np.zeros(size, np.uint8)
    run_native(copies.copy(), copies.copy_launch(size), [x, y])
    np.testing.assert_array_equal(y, x)

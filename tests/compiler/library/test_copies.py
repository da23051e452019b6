"""Native copies against NumPy: every order of axes, element size, stride and offset."""

import itertools

import numpy as np
import pytest

from jacana.compiler.library import copies
from tests.runtime.native_programs import run_native

DTYPES = (np.int8, np.float16, np.float32, np.float64, np.complex128)
SHAPES = ((), (3,), (1, 5), (33, 65), (2, 3, 4), (2, 3, 4, 5), (2, 1, 3, 2, 4), (0, 3), (3, 0, 2))


def strided(source: np.ndarray, target: np.ndarray) -> None:
    """target[...] = source by the native function; both may be any views of memory."""
    size = source.itemsize
    launch = copies.strided_copy_launch(
        size,
        source.shape,
        [stride // size for stride in source.strides],
        [stride // size for stride in target.strides],
    )
    run_native(copies.strided_copy(size), launch, [source, target])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_every_transposition(dtype: type, shape: tuple[int, ...]) -> None:
    x = np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(dtype)
    for order in itertools.permutations(range(len(shape))):
        y = np.full([shape[i] for i in order], 77, dtype)
        strided(x.transpose(order), y)
        np.testing.assert_array_equal(y, x.transpose(order))


@pytest.mark.parametrize("shape", [(100, 700), (3, 200, 300), (65, 64, 63), (5, 1000, 3)])
def test_big_transpositions_that_threads_share(shape: tuple[int, ...]) -> None:
    x = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    for order in itertools.permutations(range(len(shape))):
        y = np.empty([shape[i] for i in order], np.float32)
        strided(x.transpose(order), y)
        np.testing.assert_array_equal(y, x.transpose(order))


def test_views_of_views() -> None:
    x = np.arange(5000.0).reshape(50, 100)
    target = np.zeros((110, 220))
    for view in (x[::-1], x[::-3, 5:80:4], x[10:20, ::-1].T, np.broadcast_to(x[0], (7, 100))):
        place = target[1 : 1 + view.shape[0], 2 : 2 + 2 * view.shape[1] : 2]
        strided(view, place)
        np.testing.assert_array_equal(place, view)


def test_offsets_count_elements() -> None:
    x, y = np.arange(20.0), np.zeros(20)
    launch = copies.strided_copy_launch(8, (4,), (-2,), (3,), source_offset=15, target_offset=1)
    run_native(copies.strided_copy(8), launch, [x, y])
    want = np.zeros(20)
    want[1:13:3] = [15, 13, 11, 9]
    np.testing.assert_array_equal(y, want)


def test_eight_axes_at_most() -> None:
    x = np.arange(2**8.0).reshape((2,) * 8)
    y = np.zeros_like(x)
    strided(x.transpose(1, 0, 3, 2, 5, 4, 7, 6), y)
    np.testing.assert_array_equal(y, x.transpose(1, 0, 3, 2, 5, 4, 7, 6))
    nine = np.zeros((2,) * 9).transpose(1, 0, 3, 2, 5, 4, 7, 6, 8)
    with pytest.raises(ValueError, match="9 axes"):
        strided(np.zeros((2, 2, 2, 2, 2, 2, 2, 2, 4))[..., ::2], nine)


@pytest.mark.parametrize("dtype", [*DTYPES, np.int16, np.uint64])
def test_fill(dtype: type) -> None:
    value = np.array(-3).astype(dtype)
    y = np.zeros(1000, dtype)
    run_native(copies.fill(y.itemsize), copies.fill_launch(value.tobytes(), 999), [y])
    assert (y[:999] == value).all()
    assert y[999] == 0


def test_merged_axes_are_few() -> None:
    assert copies.merge_axes((2, 3, 4), (12, 4, 1), (12, 4, 1)) == [(24, 1, 1)]
    assert copies.merge_axes((5, 1), (1, 7), (1, 9)) == [(5, 1, 1)]
    assert copies.merge_axes((2, 3), (1, 2), (3, 1)) == [(2, 1, 3), (3, 2, 1)]

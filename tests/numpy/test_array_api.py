"""The Python array API standard (2024.12): its names, kinds of results and special values."""

import math

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import jacana.numpy as jnp

FUNCTIONS = """
    abs acos acosh add all any arange argmax argmin argsort asarray asin asinh astype atan atan2
    atanh bitwise_and bitwise_invert bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor
    broadcast_arrays broadcast_to can_cast ceil clip concat conj copysign cos cosh count_nonzero
    cumulative_prod cumulative_sum diff divide empty empty_like equal exp expand_dims expm1 eye
    finfo flip floor floor_divide from_dlpack full full_like greater greater_equal hypot iinfo imag
    isdtype isfinite isinf isnan less less_equal linspace log log10 log1p log2 logaddexp logical_and
    logical_not logical_or logical_xor matmul matrix_transpose max maximum mean meshgrid min minimum
    moveaxis multiply negative nextafter nonzero not_equal ones ones_like permute_dims positive pow
    prod real reciprocal remainder repeat reshape result_type roll round searchsorted sign signbit
    sin sinh sort sqrt square squeeze stack std subtract sum take take_along_axis tan tanh tensordot
    tile tril triu trunc unique_all unique_counts unique_inverse unique_values unstack var vecdot
    where zeros zeros_like
"""
CONSTANTS = "e inf nan newaxis pi"
DTYPES = """
    bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64 complex64 complex128
"""
LINALG = """
    cholesky cross det diagonal eigh eigvalsh inv matmul matrix_norm matrix_power matrix_rank
    matrix_transpose outer pinv qr slogdet solve svd svdvals tensordot trace vecdot vector_norm
"""
FFT = """
    fft ifft fftn ifftn rfft irfft rfftn irfftn hfft ihfft fftfreq rfftfreq fftshift ifftshift
"""
METHODS = """
    __abs__ __add__ __and__ __array_namespace__ __bool__ __complex__ __dlpack__ __dlpack_device__
    __eq__ __float__ __floordiv__ __ge__ __getitem__ __gt__ __index__ __int__ __invert__ __le__
    __lshift__ __lt__ __matmul__ __mod__ __mul__ __ne__ __neg__ __or__ __pos__ __pow__ __rshift__
    __sub__ __truediv__ __xor__ to_device dtype device mT ndim shape size T
"""


@pytest.mark.parametrize(("owner", "names"), [
    (jnp, FUNCTIONS + CONSTANTS + DTYPES), (jnp.linalg, LINALG), (jnp.fft, FFT),
    (jnp.zeros((1, 1)), METHODS),
], ids=["functions", "linalg", "fft", "methods"])  # fmt: skip
def test_names(owner, names):
    assert [n for n in names.split() if not hasattr(owner, n)] == []


INF, NAN = math.inf, math.nan
# Function, operands, result: the special cases that the standard lists.
SPECIAL = [
    ("acos", (2.0,), NAN), ("acosh", (0.5,), NAN), ("acosh", (INF,), INF), ("asin", (-0.0,), -0.0),
    ("asinh", (-INF,), -INF), ("atan", (INF,), math.pi / 2), ("atanh", (1.0,), INF),
    ("atan2", (0.0, -0.0), math.pi), ("atan2", (-0.0, -0.0), -math.pi), ("atan2", (1.0, INF), 0.0),
    ("atan2", (INF, INF), math.pi / 4), ("atan2", (INF, -INF), 3 * math.pi / 4),
    ("ceil", (-0.5,), -0.0), ("copysign", (NAN, -1.0), NAN), ("cos", (INF,), NAN),
    ("cosh", (-INF,), INF), ("divide", (0.0, 0.0), NAN), ("divide", (1.0, -0.0), -INF),
    ("exp", (-INF,), 0.0), ("expm1", (-0.0,), -0.0), ("expm1", (-INF,), -1.0),
    ("floor", (0.5,), 0.0), ("hypot", (INF, NAN), INF), ("log", (0.0,), -INF),
    ("log", (-1.0,), NAN),
    ("log1p", (-1.0,), -INF), ("log2", (1.0,), 0.0), ("logaddexp", (INF, NAN), NAN),
    ("maximum", (NAN, 1.0), NAN), ("minimum", (1.0, NAN), NAN), ("multiply", (INF, 0.0), NAN),
    ("pow", (NAN, 0.0), 1.0), ("pow", (1.0, NAN), 1.0), ("pow", (1.0, INF), 1.0),
    ("pow", (-1.0, INF), 1.0), ("pow", (-0.0, -3.0), -INF), ("pow", (-8.0, 1 / 3), NAN),
    ("pow", (0.5, -INF), INF), ("remainder", (1.0, 0.0), NAN), ("remainder", (-1.0, 3.0), 2.0),
    ("round", (2.5,), 2.0), ("round", (-0.5,), -0.0), ("sign", (-0.0,), 0.0), ("sign", (NAN,), NAN),
    ("sinh", (-0.0,), -0.0), ("sqrt", (-0.0,), -0.0), ("sqrt", (-1.0,), NAN), ("tan", (INF,), NAN),
    ("tanh", (INF,), 1.0), ("trunc", (-0.9,), -0.0), ("add", (INF, -INF), NAN),
    ("subtract", (INF, INF), NAN), ("nextafter", (0.0, -0.0), -0.0), ("reciprocal", (-0.0,), -INF),
    ("signbit", (-0.0,), 1.0), ("isfinite", (NAN,), 0.0), ("logaddexp", (-INF, -INF), -INF),
]  # fmt: skip
SIGN_IS_FREE = {"sign"}


@pytest.mark.parametrize(("name", "operands", "want"), SPECIAL)
def test_special_values(name, operands, want):
    got = float(getattr(jnp, name)(*[jnp.asarray(v, jnp.float32) for v in operands]))
    if math.isnan(want):
        assert math.isnan(got)
        return
    assert got == pytest.approx(want, rel=1e-6)
    assert name in SIGN_IS_FREE or math.copysign(1, got) == math.copysign(1, want)


REAL = st.sampled_from(["int8", "int16", "int32", "uint8", "uint16", "uint32", "float32"])
SHAPES = st.lists(st.integers(0, 3), max_size=3).map(tuple)


@settings(max_examples=60)
@given(shape=SHAPES, dtype=REAL, data=st.data())
def test_statistics_keep_the_standard(shape, dtype, data):
    """Sums are of the default width at least; axes, keepdims and corrections as stated."""
    x = (np.arange(math.prod(shape)).reshape(shape) % 5).astype(dtype)
    axis = data.draw(st.sampled_from([None, *range(-len(shape), len(shape))]))
    keep = data.draw(st.booleans())
    total = jnp.sum(jnp.asarray(x), axis=axis, keepdims=keep)
    np.testing.assert_array_equal(total, np.sum(x, axis=axis, keepdims=keep))
    kind = "u" if dtype.startswith("u") else "i"
    assert total.dtype == (dtype if dtype == "float32" else {"i": "int32", "u": "uint32"}[kind])
    if shape:
        some = -1 if axis is None else axis
        sums = jnp.cumulative_sum(jnp.asarray(x), axis=some, include_initial=True)
        assert sums.shape[some] == shape[some] + 1
    made = jnp.unique_all(jnp.asarray(x))
    np.testing.assert_array_equal(made.values[made.inverse_indices], x)
    assert made.inverse_indices.shape == shape
    np.testing.assert_array_equal(x.ravel()[np.asarray(made.indices)], made.values)
    assert int(made.counts.sum()) == x.size


@settings(max_examples=60)
@given(shape=SHAPES, first=REAL, second=REAL)
def test_results_of_two_dtypes(shape, first, second):
    x, y = jnp.ones(shape, first), jnp.ones(shape, second)
    for made in (jnp.add(x, y), jnp.where(x > 0, x, y), jnp.concat([x.ravel(), y.ravel()])):
        assert made.dtype == jnp.result_type(first, second)
    assert jnp.equal(x, y).dtype == bool and bool(jnp.all(x == y))

"""What bad operands get: an error that names the function and what was found."""

import numpy as np
import pytest

import jacana
import jacana.numpy as jnp

X = np.ones((2, 3), np.float32)

CASES = {
    "list": (
        lambda: jnp.add([1], 2),
        TypeError,
        r"add requires ndarray or scalar .* at position 0",
    ),
    "none": (lambda: jnp.sin(None), TypeError, "sin requires ndarray or scalar arguments"),
    "mask": (lambda: jnp.sin(np.ma.masked_array([1.0], [True])), ValueError, "masked arrays"),
    "array of a mask": (lambda: jnp.array(np.ma.masked_array([1.0])), ValueError, "masked arrays"),
    "text": (lambda: jnp.add("a", 2), TypeError, "not a valid JAX type"),
    "broadcast": (
        lambda: jnp.add(X, np.ones(4)),
        TypeError,
        r"add got incompatible shapes for broadcasting: \(2, 3\), \(4,\)",
    ),
    "axis": (lambda: jnp.sum(X, 5), ValueError, "axis 5 is out of bounds for array of dimension 2"),
    "axes": (lambda: jnp.sum(X, (0, 0)), ValueError, "duplicate value in 'axis'"),
    "out": (lambda: jnp.sum(X, out=1), NotImplementedError, "'out' argument to jnp.sum"),
    "empty_max": (
        lambda: jnp.max(np.zeros((0, 3))),
        ValueError,
        "zero-size array to reduction operation max",
    ),
    "empty_argmax": (
        lambda: jnp.argmax(np.zeros(0)),
        ValueError,
        "attempt to get argmax of an empty",
    ),
    "max_where": (lambda: jnp.max(X, where=X > 0), ValueError, "does not have an identity"),
    "reshape": (
        lambda: jnp.reshape(X, (4, 2)),
        TypeError,
        r"cannot reshape array of shape \(2, 3\) \(size 6\) into shape \(4, 2\)",
    ),
    "reshape_unknown": (lambda: jnp.reshape(X, (-1, 4)), TypeError, "does not evenly divide 6"),
    "reshape_unknowns": (lambda: jnp.reshape(X, (-1, -1)), TypeError, "one unknown axis size"),
    "transpose": (lambda: jnp.transpose(X, (0, 0)), TypeError, "permutation"),
    "squeeze": (lambda: jnp.squeeze(X, 0), ValueError, "size not equal to one"),
    "expand_dims": (lambda: jnp.expand_dims(X, 5), ValueError, "axis 5 is out of bounds"),
    "broadcast_to": (
        lambda: jnp.broadcast_to(X, (2, 4)),
        ValueError,
        "Incompatible types for broadcasting",
    ),
    "concatenate_none": (lambda: jnp.concatenate([]), ValueError, "Need at least one array"),
    "concatenate_rank": (lambda: jnp.concatenate([X, X[0]]), TypeError, r"got \(2, 3\), \(3,\)"),
    "concatenate_shape": (
        lambda: jnp.concatenate([X, X.T]),
        TypeError,
        "differ in dimensions other than",
    ),
    "stack": (lambda: jnp.stack([X, X[0]]), ValueError, "must have the same shape"),
    "split": (lambda: jnp.split(X, 2, 1), ValueError, "equal division: rest is 1"),
    "negative_bool": (lambda: jnp.negative(True), TypeError, "neg does not accept dtype bool"),
    "negative_power": (lambda: jnp.power(2, -1), TypeError, "negative powers"),
    "invert_float": (lambda: jnp.invert(X), TypeError, "not does not accept dtype float32"),
    "clip_complex": (lambda: jnp.clip(1j, 0, 1), ValueError, "complex"),
    "where_two": (lambda: jnp.where(True, 1), ValueError, "Either both or neither"),
    "select": (lambda: jnp.select([], []), ValueError, "non-empty"),
    "pad_mode": (
        lambda: jnp.pad(X, 1, "none"),
        NotImplementedError,
        "Unimplemented padding mode 'none'",
    ),
    "pad_option": (lambda: jnp.pad(X, 1, end_values=1), ValueError, "unsupported keyword"),
    "quantile": (lambda: jnp.quantile(X, 0.5, method="no"), ValueError, "method can only be"),
    "sort_axis": (lambda: jnp.sort(2), ValueError, "axis -1 is out of bounds"),
    "absent": (lambda: jnp.no_such_function, AttributeError, "no attribute .no_such_function"),
    "fill_diagonal": (lambda: jnp.fill_diagonal(X, 1), NotImplementedError, "inplace=False"),
    "vectorize": (lambda: jnp.vectorize(lambda x: x, signature="(n"), ValueError, "signature"),
    "checkpoint": (lambda: jacana.checkpoint(3), TypeError, "callable"),
    "device": (lambda: jacana.devices("gpu"), RuntimeError, "Unknown backend"),
    "device_put": (lambda: jacana.device_put(X, "gpu"), ValueError, "needs a device"),
}


@pytest.mark.parametrize("name", CASES)
def test_message(name):
    call, error, match = CASES[name]
    with pytest.raises(error, match=match):
        call()


def test_rank_promotion():
    with jacana.numpy_rank_promotion("raise"), pytest.raises(ValueError, match="rank_promotion"):
        jnp.add(X, np.ones(3))
    with jacana.numpy_rank_promotion("warn"), pytest.warns(UserWarning, match="rank_promotion"):
        jnp.subtract(X, np.ones(3))


def test_strict_promotion():
    with jacana.numpy_dtype_promotion("strict"):
        assert (jnp.ones(2) + 1).tolist() == [2.0, 2.0]
        with pytest.raises(jacana.core.dtypes.TypePromotionError, match="strict"):
            jnp.ones(2) + jnp.arange(2)

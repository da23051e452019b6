"""lax functions of shapes, slices, reductions and products: results, errors and programs."""

import numpy as np
import pytest

from jacana import lax
from jacana.api.inspect import make_jaxpr

x = np.arange(12, dtype=np.float32).reshape(3, 4)


def same(made, want):
    made, want = np.asarray(made), np.asarray(want)
    assert made.shape == want.shape
    assert np.allclose(made, want)


def test_unchanged_operands_are_returned():
    same(lax.broadcast(x, ()), x)
    same(lax.reshape(x, (3, 4)), x)
    same(lax.transpose(x, (0, 1)), x)
    same(lax.squeeze(x, ()), x)
    same(lax.concatenate([x], 0), x)


def test_shapes():
    same(lax.expand_dims(x, (0, -1)), x[None, ..., None])
    same(lax.collapse(x, 0), x.ravel())
    same(lax.tile(x, (2, 3)), np.tile(x, (2, 3)))
    same(lax.stack([x, x], -1), np.stack([x, x], -1))
    same(lax.reshape(x, (12,), (1, 0)), x.T.ravel())
    same(lax.broadcast_to_rank(x, 3), x[None])
    same(lax.broadcast_like(np.float32(2), x), np.full_like(x, 2))
    assert lax.broadcast_shapes((3, 1), (1, 4), ()) == (3, 4)
    assert lax.full_like(1.0, 2).weak_type and not lax.full_like(x, 2).weak_type
    assert lax.full((2,), 1.0).weak_type and not lax.full((2,), 1.0, np.float32).weak_type


@pytest.mark.parametrize(
    ("start", "want"), [(0, 0), (2, 2), (3, 2), (99, 2), (-1, 2), (-2, 2), (-4, 0), (-99, 0)]
)
@pytest.mark.parametrize("dtype", [int, np.int8, np.int32])
def test_computed_starts_count_from_the_end_then_are_clamped(start, want, dtype):
    v = np.arange(4)
    same(lax.dynamic_slice(v, (dtype(start),), (2,)), v[want : want + 2])
    same(lax.dynamic_slice_in_dim(v, np.asarray(start, dtype), 2), v[want : want + 2])


def test_narrow_starts_reach_everything():
    v = np.arange(300)
    same(lax.dynamic_slice(v, [np.uint8(200)], [1]), [200])
    same(lax.dynamic_slice(v, np.array([200], np.uint8), [1]), [200])
    same(lax.dynamic_slice(v, np.array([-1], np.int8), [1]), [299])
    same(lax.dynamic_update_index_in_dim(v, 7, np.uint8(250), 0)[250], 7)


def test_gather_and_scatter_of_names():
    numbers = lax.GatherDimensionNumbers((), (0,), (0,))
    places = np.array([[1], [-1], [9]])
    v = np.arange(3.0, dtype=np.float32)
    same(lax.gather(v, places, numbers, (1,), mode="clip"), [1, 0, 2])
    made = np.asarray(lax.gather(v, places, numbers, (1,), mode="fill"))
    assert made[0] == 1 and np.isnan(made[1:]).all()
    into = lax.ScatterDimensionNumbers((), (0,), (0,))
    updates = np.float32([5, 6, 7])
    same(lax.scatter(v, places, updates, into), [0, 5, 2])
    same(lax.scatter(v, places, updates, into, mode="clip"), [6, 5, 7])
    same(lax.scatter_add(v, places, updates, into, mode="drop"), [0, 6, 2])
    same(lax.index_take(x, [np.array([0, -1])], (0,)), x[[0, -1]])


def test_general_folds():
    same(lax.reduce(x, np.float32(0), lax.add, (0,)), x.sum(0))
    same(lax.reduce(x, np.float32(3), lax.max, (1,)), np.maximum(x.max(1), 3))
    total, count = lax.reduce(
        (x, np.ones_like(x)), (np.float32(0), np.float32(0)),
        lambda a, b: (lax.add(a[0], b[0]), lax.add(a[1], b[1])), (1,),
    )  # fmt: skip
    same(total, x.sum(1))
    same(count, [4, 4, 4])
    same(lax.reduce_window(x, 0.0, lax.add, (1, 2)), x[:, 1:] + x[:, :-1])
    same(lax.reduce_window(x, -np.inf, lax.max, (3, 4)), [[11]])
    same(lax.reduce_window(x, 1.0, lax.mul, (3, 1)), x.prod(0)[None])


def test_padding_names():
    assert lax.padtype_to_pads((5, 6), (2, 3), (1, 2), "SAME") == [(0, 1), (0, 1)]
    assert lax.padtype_to_pads((5, 6), (2, 3), (1, 2), "SAME_LOWER") == [(1, 0), (1, 0)]
    assert lax.padtype_to_pads((5,), (2,), (1,), "VALID") == [(0, 0)]


def test_sorting():
    keys, values = lax.sort_key_val(np.array([2, 1, 2]), np.array([5, 6, 7]))
    assert (keys.tolist(), values.tolist()) == ([1, 2, 2], [6, 5, 7])
    zeros = np.float32([0.0, -0.0, -1.0])
    assert lax.sort((zeros, np.arange(3)), num_keys=1)[1].tolist() == [2, 0, 1]
    same(np.signbit(lax.sort(zeros)), [True, False, True])
    values, positions = lax.top_k(np.float32([1, np.nan, 3, 3, np.inf]), 4)
    assert positions.tolist() == [1, 4, 2, 3]


ERRORS = {
    "reshape": (TypeError, lambda: lax.reshape(x, (5,))),
    "reshape of a negative size": (TypeError, lambda: lax.reshape(x, (-1,))),
    "a list": (TypeError, lambda: lax.reshape([1, 2], (2,))),
    "transpose": (TypeError, lambda: lax.transpose(x, (0, 0))),
    "squeeze": (ValueError, lambda: lax.squeeze(x, (0,))),
    "squeeze of no axis": (ValueError, lambda: lax.squeeze(x, (7,))),
    "expand_dims twice": (ValueError, lambda: lax.expand_dims(x, (0, 0))),
    "slice": (TypeError, lambda: lax.slice(x, (0, 0), (9, 9))),
    "concatenate": (TypeError, lambda: lax.concatenate([x, x[0]], 0)),
    "concatenate nothing": (ValueError, lambda: lax.concatenate([], 0)),
    "pad": (TypeError, lambda: lax.pad(x, 0, ((0, 0, 0), (0, 0, 0)))),
    "sum over no axis": (ValueError, lambda: lax.reduce_sum(x, (7,))),
    "sum twice": (ValueError, lambda: lax.reduce_sum(x, (0, 0))),
    "sort": (ValueError, lambda: lax.sort(x, 7)),
    "dot_general": (TypeError, lambda: lax.dot_general(x, x, (((1,), (0,)), ((), ())))),
    "dot": (ValueError, lambda: lax.dot(x, x)),
    "starts": (ValueError, lambda: lax.dynamic_slice(x, (0,), (1, 1))),
    "float starts": (TypeError, lambda: lax.dynamic_slice(x, (0.0, 0.0), (1, 1))),
    "broadcast_in_dim": (TypeError, lambda: lax.broadcast_in_dim(x, (3,), (0,))),
    "cumsum": (ValueError, lambda: lax.cumsum(x, 5)),
    "cumsum of a negative axis": (ValueError, lambda: lax.cumsum(x, -1)),
    "top_k": (ValueError, lambda: lax.top_k(x, 9)),
    "rev": (TypeError, lambda: lax.rev(x, (4,))),
    "split": (ValueError, lambda: lax.split(x, (1, 1))),
    "argmax of an axis": (ValueError, lambda: lax.argmax(x, 5, np.int32)),
    "argmax as floats": (TypeError, lambda: lax.argmax(x, 0, np.float32)),
    "argmax of nothing": (ValueError, lambda: lax.argmax(x[:0], 0, np.int32)),
    "iota": (TypeError, lambda: lax.iota(np.int32, -3)),
    "full of an array": (TypeError, lambda: lax.full((2,), x)),
    "features": (ValueError, lambda: lax.conv(x[None], x[None, :2], (1,), "VALID")),
    "strides": (ValueError, lambda: lax.conv(x, x, (1,), "VALID")),
}  # fmt: skip


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name):
    kind, call = ERRORS[name]
    with pytest.raises(kind):
        call()


PROGRAMS = {
    "b:f32[2,3,4] = broadcast_in_dim[broadcast_dimensions=(1, 2)] a": lambda a: lax.broadcast(
        a, (2,)
    ),
    "b:f32[12] = reshape[dimensions=None new_sizes=(12,) sharding=None] a": lambda a: lax.reshape(
        a, (12,)
    ),
    "b:f32[4] = reduce_sum[axes=(0,) out_sharding=None] a": lambda a: lax.reduce_sum(a, (0,)),
    "b:f32[2,4] = slice[limit_indices=(2, 4) start_indices=(0, 0) strides=None] a": lambda a: (
        lax.slice(a, (0, 0), (2, 4))
    ),
    "b:f32[3,3] = dot_general[dimension_numbers=(([1], [1]), ([], []))] a a": lambda a: (
        lax.dot_general(a, a, (((1,), (1,)), ((), ())))
    ),
    "b:f32[3,4] = cumsum[axis=0 reverse=False] a": lambda a: lax.cumsum(a),
    "b:f32[3,4] = sort[dimension=1 is_stable=True num_keys=1] a": lambda a: lax.sort(a),
    "b:f32[6,4] = concatenate[dimension=0] a a": lambda a: lax.concatenate([a, a], 0),
    "b:f32[2] = broadcast_in_dim 1.0:f32[]": lambda a: lax.full((2,), 1.0),
    "b:i32[4] = argmax[axes=(0,) index_dtype=int32] a": lambda a: lax.argmax(a, 0, "int32"),
}


@pytest.mark.parametrize("text", PROGRAMS)
def test_programs_print_as_in_jax(text):
    assert text in str(make_jaxpr(PROGRAMS[text])(x))

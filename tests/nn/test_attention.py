"""Attention against its formula in NumPy, head by head."""

import numpy as np
import pytest
from scipy.special import logsumexp, softmax

import jacana
from jacana import nn

B, T, S, N, K, H = 2, 4, 5, 4, 2, 3


@pytest.fixture
def qkv(rng):
    return [rng.normal(size=s).astype(np.float32) for s in ((B, T, N, H), *[(B, S, K, H)] * 2)]


def plain(q, k, v, seen, bias=None, scale=H**-0.5):
    """The outputs and the logits."""
    k, v = (np.repeat(x.astype(np.float64), N // K, axis=2) for x in (k, v))
    logits = np.einsum("btnh,bsnh->bnts", q.astype(np.float64), k) * scale
    logits = logits if bias is None else logits + bias
    logits = np.where(seen, logits, -np.inf)
    return np.einsum("bnts,bsnh->btnh", softmax(logits, -1), v), logits


T_, S_ = np.arange(T)[:, None], np.arange(S)[None, :]
CASES = {
    "all": ({}, True),
    "causal": ({"is_causal": True}, T_ >= S_),
    "window": ({"local_window_size": (1, 0)}, (S_ >= T_ - 1) & (S_ <= T_)),
    "one window": ({"local_window_size": 2}, abs(S_ - T_) <= 2),
    "keys": (
        {"key_value_seq_lengths": np.int32([2, 5])},
        np.array([2, 5])[:, None, None, None] > S_,
    ),
    "scale": ({"scale": 0.2}, True),
}


@pytest.mark.parametrize("name", CASES)
def test_options(qkv, name):
    options, seen = CASES[name]
    want, _ = plain(*qkv, seen, scale=options.get("scale", H**-0.5))
    got = nn.dot_product_attention(*qkv, **options)
    np.testing.assert_allclose(got, want, atol=1e-6)


def test_mask_bias_and_residual(qkv, rng):
    mask = rng.random((B, 1, T, S)) > 0.4
    mask[..., 0] = True
    bias = rng.normal(size=(1, N, T, S)).astype(np.float32)
    want, logits = plain(*qkv, mask, bias)
    out, residual = nn.dot_product_attention(*qkv, bias, mask, return_residual=True)
    np.testing.assert_allclose(out, want, atol=1e-6)
    np.testing.assert_allclose(residual, logsumexp(logits, -1).transpose(0, 2, 1), rtol=1e-5)
    single = nn.dot_product_attention(*[x[0] for x in qkv], bias, mask[:1])
    np.testing.assert_allclose(single, want[0], atol=1e-6)


def test_padded_queries_are_zero(qkv):
    out = nn.dot_product_attention(*qkv, query_seq_lengths=np.int32([1, 4]))
    assert not np.asarray(out[0, 1:]).any()
    np.testing.assert_allclose(out[1], plain(*qkv, True)[0][1], atol=1e-6)


def test_query_that_sees_nothing(qkv):
    mask = np.ones((T, S), bool)
    mask[1] = False
    out = nn.dot_product_attention(*qkv, mask=mask)
    mean = np.repeat(qkv[2].mean(1), N // K, axis=1)
    np.testing.assert_allclose(out[:, 1], mean, atol=1e-6)
    total = lambda *args: (nn.dot_product_attention(*args, mask=mask) ** 2).sum()
    for g in jacana.grad(total, (0, 1, 2))(*qkv):
        assert np.isfinite(g).all()


def test_dtype(qkv):
    half = [jacana.numpy.asarray(x, "bfloat16") for x in qkv]
    out = nn.dot_product_attention(*half)
    assert out.dtype == half[0].dtype
    np.testing.assert_allclose(out.astype("float32"), plain(*qkv, True)[0], atol=0.03)


def test_what_does_not_fit(qkv):
    q, k, v = qkv
    attend = nn.dot_product_attention
    with pytest.raises(ValueError, match="multiple of key/value heads, but got 3 vs 2"):
        attend(q[:, :, :3], k, v)
    with pytest.raises(ValueError, match="needs key and value of one shape"):
        attend(q, k, v[:, :2])
    with pytest.raises(ValueError, match=r"mask must broadcast to .* = \(2, 4, 4, 5\)"):
        attend(q, k, v, mask=np.ones((T, S + 1), bool))
    with pytest.raises(ValueError, match="mask dtype should be bool"):
        attend(q, k, v, mask=np.ones((T, S)))
    with pytest.raises(ValueError, match="Unsupported implementation option: cudnn"):
        attend(q, k, v, implementation="cudnn")

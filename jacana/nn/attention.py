"""Scaled dot-product attention, with masks, bias, windows and shared key heads."""

import math
import operator
from typing import Any

import numpy as np

import jacana.numpy as jnp
from jacana import lax
from jacana.core import dtypes
from jacana.core.values import aval_of
from jacana.nn.log_sums import logsumexp, softmax
from jacana.nn.programs import Program
from jacana.numpy.promotion import as_arrays

Shape = tuple[int, ...]


def dot_product_attention(
    query: Any,
    key: Any,
    value: Any,
    bias: Any = None,
    mask: Any = None,
    *,
    scale: float | None = None,
    is_causal: bool = False,
    query_seq_lengths: Any = None,
    key_value_seq_lengths: Any = None,
    local_window_size: int | tuple[int, int] | None = None,
    implementation: str | None = None,
    return_residual: bool = False,
) -> Any:
    """softmax(query key^T scale + bias) value, in float32 between the two products.

    Shapes are named by B batch, T queries, S keys, N query heads, K key heads, H head size; B is
    left out of all of them or of none, and N is a multiple of K: query heads share a key head.

    Args:
      query: (B, T, N, H).
      key: (B, S, K, H).
      value: (B, S, K, H).
      bias: added to the logits, broadcast to (B, N, T, S).
      mask: bool, broadcast to (B, N, T, S); a key counts where it is true. A query for which none
        counts gets the mean of the values.
      scale: of the logits, 1 / sqrt(H) by default.
      is_causal: query t sees the keys up to t only.
      query_seq_lengths: int32 (B,); queries beyond are padding, which gives 0.
      key_value_seq_lengths: int32 (B,); keys beyond do not count.
      local_window_size: (left, right), or one number for both: query t sees t - left .. t + right.
      implementation: None or "xla"; there is one.
      return_residual: also give the logits' logsumexp over keys, (B, T, N) in float32.

    Returns (B, T, N, H) in the query's dtype. ValueError for shapes that do not fit.

    >>> q = k = v = np.ones((1, 3, 2, 4), 'float32')
    >>> dot_product_attention(q, k, v, is_causal=True).shape
    (1, 3, 2, 4)
    """
    if implementation not in (None, "xla"):
        raise ValueError(f"Unsupported implementation option: {implementation}")
    query, key, value = as_arrays("dot_product_attention", query, key, value)
    batched = query.ndim == 4
    arrays = with_batch_axis({"query": query, "key": key, "value": value})
    arrays |= optional_arrays(bias, mask, query_seq_lengths, key_value_seq_lengths)
    check(arrays)
    out, residual = _attention(
        arrays,
        1.0 / math.sqrt(query.shape[-1]) if scale is None else scale,
        is_causal=bool(is_causal),
        window=sides_of(local_window_size),
        with_residual=bool(return_residual),
    )
    if not batched:
        out = jnp.squeeze(out, 0)
        residual = None if residual is None else jnp.squeeze(residual, 0)
    return (out, residual) if return_residual else out


def with_batch_axis(arrays: dict[str, Any]) -> dict[str, Any]:
    """The arrays with a leading axis B, of length 1 if the query has none."""
    query = arrays["query"]
    if query.ndim == 4:
        return arrays
    if query.ndim != 3:
        raise ValueError(f"query must have 3 or 4 axes, (B,) T, N, H; got {query.aval}.")
    return {name: jnp.expand_dims(x, 0) for name, x in arrays.items()}


def sides_of(window: int | tuple[int, int] | None) -> tuple[int, int] | None:
    """How far a window reaches to the left and to the right."""
    if window is None:
        return None
    left, right = window if isinstance(window, tuple | list) else (window, window)
    return operator.index(left), operator.index(right)


def optional_arrays(bias: Any, mask: Any, query_lengths: Any, key_lengths: Any) -> dict[str, Any]:
    """The arrays that are given, bias and mask with four axes."""
    found = {}
    for name, x in (("bias", bias), ("mask", mask)):
        if x is not None:
            (x,) = as_arrays("dot_product_attention", x)
            found[name] = jnp.reshape(x, (1,) * (4 - x.ndim) + x.shape)
    for name, x in (("query_lengths", query_lengths), ("key_lengths", key_lengths)):
        if x is not None:
            (x,) = as_arrays("dot_product_attention", x)
            found[name] = jnp.reshape(x, (-1,))
    return found


def check(arrays: dict[str, Any]) -> None:
    """Raise ValueError where shapes or dtypes do not fit each other."""
    query, key, value = arrays["query"], arrays["key"], arrays["value"]
    b, t, n, h = query.shape
    if key.ndim != 4 or key.shape != value.shape or (key.shape[0], key.shape[3]) != (b, h):
        raise ValueError(
            f"dot_product_attention needs key and value of one shape (B, S, K, H) that fits the "
            f"query's (B, T, N, H), got query {query.aval}, key {key.aval}, value {value.aval}."
        )
    s, k = key.shape[1:3]
    if not k or n % k:
        raise ValueError(
            f"The number of query heads must be a multiple of key/value heads, but got {n} vs {k}"
        )
    for name in ("bias", "mask"):
        x = arrays.get(name)
        if x is not None and any(
            have not in (1, want) for have, want in zip(x.shape, (b, n, t, s), strict=True)
        ):
            raise ValueError(
                f"{name} must broadcast to (B, N, T, S) = {(b, n, t, s)}, but got {x.shape}."
            )
    mask = arrays.get("mask")
    if mask is not None and not dtypes.is_bool(mask.dtype):
        raise ValueError(f"mask dtype should be bool, but got {mask.dtype}")
    for name in ("query_lengths", "key_lengths"):
        x = arrays.get(name)
        if x is not None and (x.shape != (b,) or not dtypes.is_integer(x.dtype)):
            raise ValueError(f"{name} must be integers of shape ({b},), got {aval_of(x)}.")


@Program
def _attention(
    arrays: dict[str, Any],
    scale: Any,
    *,
    is_causal: bool,
    window: tuple[int, int] | None,
    with_residual: bool,
) -> Any:
    query, key, value = arrays["query"], arrays["key"], arrays["value"]
    b, t, n, h = query.shape
    s, k = key.shape[1:3]
    groups = n // k
    # (B, K, N/K, T, H) and (B, S, K, H): heads that share a key are rows of one product.
    rows = jnp.transpose(jnp.reshape(query, (b, t, k, groups, h)), (0, 2, 3, 1, 4))
    wide = jnp.promote_types(query.dtype, np.float32)
    logits = lax.dot_general(
        rows, key, (((4,), (3,)), ((0, 1), (0, 2))), preferred_element_type=wide
    )
    logits = jnp.reshape(logits, (b, n, t, s)) * scale
    if "bias" in arrays:
        logits = (logits + arrays["bias"]).astype(wide)
    seen = seen_keys((b, n, t, s), arrays, is_causal, window)
    if seen is not None:
        logits = jnp.where(seen, logits, wide.type(-0.7 * float(dtypes.finfo(wide).max)))
    weights = jnp.reshape(softmax(logits).astype(key.dtype), (b, k, groups, t, s))
    out = lax.dot_general(weights, value, (((4,), (1,)), ((0, 1), (0, 2))))
    out = jnp.reshape(jnp.transpose(out, (0, 3, 1, 2, 4)), (b, t, n, h))
    if "query_lengths" in arrays:
        real = jnp.arange(t)[None, :] < arrays["query_lengths"][:, None]
        out = jnp.where(real[:, :, None, None], out, 0)
    residual = jnp.transpose(logsumexp(logits, -1), (0, 2, 1)) if with_residual else None
    return out.astype(query.dtype), residual


def seen_keys(
    shape: Shape, arrays: dict[str, Any], is_causal: bool, window: tuple[int, int] | None
) -> Any:
    """Which keys count for which query, broadcast to (B, N, T, S); None if all do."""
    t, s = shape[2:]
    queries, keys = jnp.arange(t)[:, None], jnp.arange(s)[None, :]
    conditions = []
    if "mask" in arrays:
        conditions.append(arrays["mask"])
    if is_causal:
        conditions.append(queries >= keys)
    if window is not None:
        left, right = window
        conditions += [keys >= queries - left, keys <= queries + right]
    if "query_lengths" in arrays:
        conditions.append(queries < arrays["query_lengths"][:, None, None, None])
    if "key_lengths" in arrays:
        conditions.append(keys < arrays["key_lengths"][:, None, None, None])
    seen = None
    for condition in conditions:
        seen = condition if seen is None else jnp.logical_and(seen, condition)
    return seen

"""Attention: averages of values, weighted by how well their keys match a query."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from wengert.core.errors import user_error
from wengert.core.levels import numpy_of
from wengert.core.primitive import as_operand
from wengert.nn.functional.dropping import dropout
from wengert.nn.large_calls import compiled_if_large
from wengert.ops.contraction.products import matmul
from wengert.ops.elementwise.choices import where
from wengert.ops.shape.casting import astype
from wengert.ops.shape.rearranging import repeat
from wengert.ops.shape.reshaping import swapaxes
from wengert.ops.special.entropy import softmax_weights

__all__ = ["scaled_dot_product_attention"]


def scaled_dot_product_attention(
    query: Any,
    key: Any,
    value: Any,
    attn_mask: Any = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
    *,
    rng: Any = None,
) -> Any:
    """softmax(scale Q K^T + mask) V for queries (..., L, E), keys (..., S, E) and values (..., S, D).

    A boolean mask is true where a query may see a key; numbers are added to the scores. With `is_causal`, query i sees
    the keys up to i. A query that sees no key gets zeros. `scale` is 1 / sqrt(E) unless given. With `enable_gqa`,
    several heads (axis -3) of queries share one of keys and values. `rng` draws what `dropout_p` leaves out.

    >>> x = np.array([[1.0, 0.0], [0.0, 1.0]])
    >>> scaled_dot_product_attention(x, x, x, is_causal=True)[0]
    array([1., 0.])
    """
    query, key, value = as_operand(query), as_operand(key), as_operand(value)
    check_shapes(query, key, value)
    if enable_gqa:
        shared = query.shape[-3] // key.shape[-3]
        key, value = repeat(key, shared, -3), repeat(value, shared, -3)
    if not dropout_p:
        return attend(query, key, value, attn_mask, is_causal, scale)
    return matmul(dropout(attention_weights(query, key, attn_mask, is_causal, scale), dropout_p, rng=rng), value)


def check_shapes(query: Any, key: Any, value: Any) -> None:
    """Raise an error unless keys fit the queries and the values."""
    if min(query.ndim, key.ndim, value.ndim) < 2:
        advice = "Each has at least two axes, (..., length, size)."
    elif query.shape[-1] != key.shape[-1]:
        advice = "Queries and keys must have the same last axis."
    elif key.shape[-2] != value.shape[-2]:
        advice = "There must be one value for each key."
    else:
        return
    shapes = f"queries of shape {query.shape}, keys {key.shape} and values {value.shape}"
    raise user_error(ValueError, f"Attention with {shapes}", advice)


def count_pairs(query: Any, key: Any, *_: Any) -> int:
    """The number of scores."""
    return math.prod(query.shape[:-1]) * key.shape[-2]


@compiled_if_large("query", "key", "value", "mask", work=count_pairs)
def attend(query: Any, key: Any, value: Any, mask: Any = None, is_causal: bool = False, scale: Any = None) -> Any:
    """Averages of values; compiled, the weights of all pairs are not stored."""
    return matmul(attention_weights(query, key, mask, is_causal, scale), value)


def attention_weights(
    query: Any, key: Any, mask: Any = None, is_causal: bool = False, scale: float | None = None
) -> Any:
    """The weights (..., L, S) of keys for each query; they sum to one, or are zero if all keys are masked."""
    scale = 1.0 / math.sqrt(query.shape[-1]) if scale is None else scale
    scores = matmul(query * scale, swapaxes(key, -1, -2))
    if mask is not None:
        mask = as_operand(mask)
        scores = where(mask, scores, -np.inf) if mask.dtype.kind == "b" else scores + astype(mask, scores.dtype)
    if is_causal:
        scores = where(numpy_of(scores).asarray(causal_mask(*scores.shape[-2:])), scores, -np.inf)
    return softmax_weights(scores, axis=(scores.ndim - 1,))


def causal_mask(length: int, keys: int) -> np.ndarray:
    """True where query i may see key j: j <= i.

    >>> causal_mask(2, 2)
    array([[ True, False],
           [ True,  True]])
    """
    return np.tri(length, keys, dtype=bool)

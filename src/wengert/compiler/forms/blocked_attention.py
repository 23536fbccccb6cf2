"""Attention and its derivatives as operations of a compiled program, which never store the scores of all pairs.

`maximum` and `factor` have a number for each query: the weight of a key with score s is exp(s - maximum) * factor. From
them the derivative computes weights again, block by block.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from wengert.core.definition import Definition
from wengert.core.primitive import Primitive
from wengert.core.spec import Spec

REASON = "a compiled program has it where no derivative is asked for"


def mask_scores(query: Any, key: Any, masks: Sequence[Any], is_causal: bool) -> tuple[np.ndarray, np.ndarray]:
    """The scores after masks, and where they are seen: numbers are added, and other keys get -inf."""
    scores = query @ np.swapaxes(key, -1, -2)
    seen = np.tri(*scores.shape[-2:]) > 0 if is_causal else np.ones(scores.shape[-2:], np.bool_)
    for mask in masks:
        if mask.dtype == np.bool_:
            seen = seen & mask
        else:
            scores = scores + mask
    return np.where(seen, scores, scores.dtype.type(-np.inf)), seen


def attend(query: Any, key: Any, value: Any, *mask: Any, is_causal: bool) -> tuple[np.ndarray, ...]:
    """Averages of values, and what weights are computed from."""
    scores, _ = mask_scores(query, key, mask, is_causal)
    maximum = np.max(scores, -1, keepdims=True)
    is_infinite = maximum == np.inf
    maximum = np.where(np.isneginf(maximum), scores.dtype.type(0), maximum)
    total = np.sum(np.exp(scores - maximum), -1, keepdims=True)
    factor = 1 / np.where(is_infinite | (total == 0), total.dtype.type(1), total)
    return (np.exp(scores - maximum) * factor) @ value, maximum[..., 0], factor[..., 0]


def pull_attention(
    t: Any, query: Any, key: Any, value: Any, out: Any, maximum: Any, factor: Any, *mask: Any, is_causal: bool
) -> tuple[np.ndarray, ...]:
    """The cotangents of queries, keys and values."""
    scores, seen = mask_scores(query, key, mask, is_causal)
    weights = np.exp(scores - maximum[..., None]) * factor[..., None]
    pulled = weights * (t @ np.swapaxes(value, -1, -2) - np.sum(t * out, -1, keepdims=True))
    pulled = np.where(seen, pulled, pulled.dtype.type(0))
    return pulled @ key, np.swapaxes(pulled, -1, -2) @ query, np.swapaxes(weights, -1, -2) @ t


def attention_specs(query: Spec, key: Spec, value: Spec, *mask: Spec, is_causal: bool) -> tuple[Spec, ...]:  # noqa: ARG001  # specs depend on three operands
    """The specs of averages, maxima and factors."""
    row = Spec(query.shape[:-1], query.dtype)
    return Spec((*query.shape[:-1], value.shape[-1]), query.dtype), row, row


ATTENTION = Primitive(
    Definition(
        name="blocked_attention",
        impl=attend,
        kind="nondifferentiable",
        inputs=("query", "key", "value", "*mask"),
        takes_params=True,
        outputs=3,
        spec=attention_specs,
        reason=REASON,
    )
)
"""Attention of queries (..., L, E), keys (..., S, E) and values (..., S, D) with one stack of matrices.

There may be a mask, which broadcasts to (..., L, S): of booleans, or of numbers that are added to the scores.
"""

ATTENTION_PULL = Primitive(
    Definition(
        name="blocked_attention_pull",
        impl=pull_attention,
        kind="nondifferentiable",
        inputs=("t", "query", "key", "value", "out", "maximum", "factor", "*mask"),
        takes_params=True,
        outputs=3,
        spec=lambda t, query, key, value, *_, is_causal: (query, key, value),
        reason=REASON,
    )
)
"""The cotangents of queries, keys and values, from that of the averages."""

"""Attention in blocks."""

from __future__ import annotations

from wengert.compiler.forms.blocked_attention import ATTENTION, ATTENTION_PULL
from wengert.compiler.forms.lowering import lowering
from wengert.compiler.routines.attention.routine import ATTEND, PULL, count_scores
from wengert.graph.costs import flops
from wengert.graph.ir import Operation

lowering.enter(ATTEND, ATTENTION)
lowering.enter(PULL, ATTENTION_PULL)


@flops(ATTENTION)
def attention_flops(node: Operation) -> int:
    """Those of the products: one for scores, and one for averages of values."""
    query, key, value = node.args[:3]
    return 2 * count_scores(query, key, node.params["is_causal"]) * (query.shape[-1] + value.shape[-1])


@flops(ATTENTION_PULL)
def pull_flops(node: Operation) -> int:
    """Those of five products: scores again, the cotangents of weights, and those of the three operands."""
    _, query, key, value = node.args[:4]
    return 2 * count_scores(query, key, node.params["is_causal"]) * (3 * query.shape[-1] + 2 * value.shape[-1])

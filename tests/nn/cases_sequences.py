"""Recurrent layers, attention and transformers that PyTorch has by the same names."""

from __future__ import annotations

import numpy as np
from tests.nn.torch_cases import FunctionCase, LayerCase, by_name

RNG = np.random.default_rng(3)
TWO = {"num_layers": 2, "bidirectional": True}
FAR = np.triu(np.ones((5, 6), bool), 2)
PADDED = np.arange(6) >= np.array([[4], [6]])
SCORES = RNG.normal(size=(4, 5, 6))
PLAIN = {"dropout": 0.0}

RECURRENT = [
    LayerCase("RNN", "RNN", (3, 4), {}, ((6, 2, 3),)),
    LayerCase("RNN with relu", "RNN", (3, 4), {"nonlinearity": "relu", **TWO}, ((6, 2, 3), (4, 2, 4))),
    LayerCase("LSTM", "LSTM", (3, 4), {}, ((6, 2, 3),)),
    LayerCase("LSTM of two layers", "LSTM", (3, 4), {**TWO, "batch_first": True}, ((2, 6, 3),)),
    LayerCase("LSTM without bias", "LSTM", (3, 4), {"bias": False}, ((6, 2, 3),)),
    LayerCase("LSTM of one sequence", "LSTM", (3, 4), TWO, ((6, 3),)),
    LayerCase("GRU", "GRU", (3, 4), {}, ((6, 2, 3), (1, 2, 4))),
    LayerCase("GRU of two layers", "GRU", (3, 4), {**TWO, "batch_first": True}, ((2, 6, 3),)),
    LayerCase("GRU without bias", "GRU", (3, 4), {"bias": False}, ((1, 3), (1, 4))),
    LayerCase("RNNCell", "RNNCell", (3, 4), {}, ((2, 3), (2, 4))),
    LayerCase("RNNCell with relu", "RNNCell", (3, 4), {"nonlinearity": "relu", "bias": False}, ((3,), (4,))),
    LayerCase("LSTMCell", "LSTMCell", (3, 4), {}, ((2, 3),)),
    LayerCase("GRUCell", "GRUCell", (3, 4), {}, ((2, 3), (2, 4))),
]

SIZES = ((5, 2, 8), (6, 2, 8), (6, 2, 8))
ATTENTION = [
    LayerCase("MultiheadAttention", "MultiheadAttention", (8, 2), {}, SIZES),
    LayerCase(
        "MultiheadAttention with masks", "MultiheadAttention", (8, 2), {"bias": False}, SIZES,
        {"attn_mask": FAR, "key_padding_mask": PADDED},
    ),
    LayerCase(
        "MultiheadAttention with scores", "MultiheadAttention", (8, 2), {}, SIZES,
        {"attn_mask": SCORES, "average_attn_weights": False},
    ),
    LayerCase(
        "MultiheadAttention of other sizes", "MultiheadAttention", (8, 2), {"kdim": 3, "vdim": 5, "batch_first": True},
        ((2, 5, 8), (2, 6, 3), (2, 6, 5)), {"need_weights": False},
    ),
    LayerCase("MultiheadAttention of one sequence", "MultiheadAttention", (8, 4), {}, ((5, 8), (6, 8), (6, 8))),
    FunctionCase("attention", "scaled_dot_product_attention", ((2, 3, 5, 4), (2, 3, 6, 4), (2, 3, 6, 7))),
    FunctionCase("attention, causal", "scaled_dot_product_attention", ((5, 4), (5, 4), (5, 4)), {"is_causal": True}),
    FunctionCase(
        "attention with a mask", "scaled_dot_product_attention", ((2, 5, 4), (2, 6, 4), (2, 6, 7)),
        {"attn_mask": ~FAR, "scale": 0.3},
    ),
    FunctionCase(
        "attention with scores", "scaled_dot_product_attention", ((4, 5, 4), (4, 6, 4), (4, 6, 7)),
        {"attn_mask": SCORES},
    ),
    FunctionCase(
        "attention of groups", "scaled_dot_product_attention", ((2, 4, 5, 3), (2, 2, 5, 3), (2, 2, 5, 3)),
        {"enable_gqa": True},
    ),
]  # fmt: skip


def transformer(layer: str, *inputs: tuple[int, ...], call=None, **kwargs) -> LayerCase:
    name = " ".join([layer, *kwargs])
    return LayerCase(name, layer, (8, 2, 6), {**PLAIN, **kwargs}, inputs, call or {})


TRANSFORMERS = [
    transformer("TransformerEncoderLayer", (5, 2, 8)),
    transformer("TransformerEncoderLayer", (2, 6, 8), call={"src_key_padding_mask": PADDED}, batch_first=True),
    transformer("TransformerEncoderLayer", (5, 2, 8), norm_first=True, activation="gelu", bias=False),
    transformer("TransformerDecoderLayer", (5, 2, 8), (6, 2, 8), call={"memory_mask": FAR}),
    transformer(
        "TransformerDecoderLayer", (5, 2, 8), (6, 2, 8), call={"memory_key_padding_mask": PADDED}, norm_first=True
    ),
    LayerCase(
        "Transformer", "Transformer", (8, 2, 2, 1, 6), {**PLAIN, "batch_first": True}, ((2, 6, 8), (2, 5, 8)),
        {"src_key_padding_mask": PADDED},
    ),
]  # fmt: skip

CASES = by_name(*RECURRENT, *ATTENTION, *TRANSFORMERS)

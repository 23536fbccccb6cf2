"""Transformer layers: attention and a feed-forward part, each with a residual connection and a normalisation."""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from wengert.core.errors import user_error
from wengert.nn.attention import MultiheadAttention
from wengert.nn.containers import ModuleList
from wengert.nn.dropout import Dropout
from wengert.nn.functional.activations import gelu
from wengert.nn.init import xavier_uniform_
from wengert.nn.linear import Linear
from wengert.nn.module import Module
from wengert.nn.normalization import LayerNorm
from wengert.ops.elementwise.choices import relu
from wengert.random.generator import default_rng

ACTIVATIONS: dict[str, Callable[[Any], Any]] = {"relu": relu, "gelu": gelu}


def sinusoidal_positions(length: int, d_model: int, dtype: Any = np.float32) -> np.ndarray:
    """Sines and cosines of positions, (length, d_model), with wavelengths from 2 pi to 20000 pi.

    Even features are sines, odd ones cosines (Vaswani and others 2017). Add them to a sequence of embeddings.

    >>> sinusoidal_positions(2, 2)
    array([[0.        , 1.        ],
           [0.84147096, 0.5403023 ]], dtype=float32)
    """
    pairs = np.arange(0, d_model, 2)
    angles = np.arange(length)[:, None] * np.exp(pairs * (-np.log(10000.0) / d_model))
    found = np.empty((length, d_model))
    found[:, 0::2], found[:, 1::2] = np.sin(angles), np.cos(angles[:, : d_model // 2])
    return found.astype(dtype)


class TransformerLayer(Module):
    """What encoder and decoder layers share: self-attention, the feed-forward part, and how parts are joined."""

    attentions = 1
    norm1: LayerNorm
    norm2: LayerNorm
    norm3: LayerNorm
    dropout1: Dropout
    dropout2: Dropout
    dropout3: Dropout

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: str | Callable[[Any], Any] = "relu",
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        *,
        rng: Any = None,
        dtype: Any = np.float32,
    ):
        if isinstance(activation, str) and activation not in ACTIVATIONS:
            raise user_error(ValueError, f"activation must be 'relu', 'gelu' or a function, not {activation!r}")
        rng = default_rng(rng)
        self.d_model, self.nhead, self.norm_first, self.activation = d_model, nhead, norm_first, activation
        make_attention = partial(
            MultiheadAttention, d_model, nhead, dropout, bias, batch_first=batch_first, rng=rng, dtype=dtype
        )
        self.self_attn = make_attention()
        if self.attentions > 1:
            self.multihead_attn = make_attention()
        self.linear1 = Linear(d_model, dim_feedforward, bias, rng=rng, dtype=dtype)
        self.dropout = Dropout(dropout, rng=rng)
        self.linear2 = Linear(dim_feedforward, d_model, bias, rng=rng, dtype=dtype)
        for k in range(self.attentions + 1):
            setattr(self, f"norm{k + 1}", LayerNorm(d_model, layer_norm_eps, bias=bias, dtype=dtype))
        for k in range(self.attentions + 1):
            setattr(self, f"dropout{k + 1}", Dropout(dropout, rng=rng))

    def feed_forward(self, x: Any) -> Any:
        """Two affine maps with the activation between them."""
        activation = ACTIVATIONS[self.activation] if isinstance(self.activation, str) else self.activation
        return self.linear2(self.dropout(activation(self.linear1(x))))

    def add_part(self, x: Any, part: Callable[[Any], Any], norm: Module, dropout: Module) -> Any:
        """x and a part of the layer, normalised: before the part with `norm_first`, otherwise after the sum."""
        return x + dropout(part(norm(x))) if self.norm_first else norm(x + dropout(part(x)))


class TransformerEncoderLayer(TransformerLayer):
    """Self-attention and a feed-forward part.

    >>> TransformerEncoderLayer(8, 2, dim_feedforward=16, rng=0)(np.ones((5, 3, 8))).shape
    (5, 3, 8)
    """

    def forward(self, src: Any, src_mask: Any = None, src_key_padding_mask: Any = None, is_causal: bool = False) -> Any:
        def attend(x: Any) -> Any:
            return self.self_attn(x, x, x, src_key_padding_mask, False, src_mask, is_causal=is_causal)[0]

        x = self.add_part(src, attend, self.norm1, self.dropout1)
        return self.add_part(x, self.feed_forward, self.norm2, self.dropout2)


class TransformerDecoderLayer(TransformerLayer):
    """Self-attention, attention to the `memory` of an encoder, and a feed-forward part.

    >>> layer = TransformerDecoderLayer(8, 2, dim_feedforward=16, rng=0)
    >>> layer(np.ones((5, 3, 8)), np.ones((7, 3, 8))).shape
    (5, 3, 8)
    """

    attentions = 2

    def forward(
        self,
        tgt: Any,
        memory: Any,
        tgt_mask: Any = None,
        memory_mask: Any = None,
        tgt_key_padding_mask: Any = None,
        memory_key_padding_mask: Any = None,
        tgt_is_causal: bool = False,
        memory_is_causal: bool = False,
    ) -> Any:
        def attend(x: Any) -> Any:
            return self.self_attn(x, x, x, tgt_key_padding_mask, False, tgt_mask, is_causal=tgt_is_causal)[0]

        def attend_to_memory(x: Any) -> Any:
            masks = (memory_key_padding_mask, False, memory_mask)
            return self.multihead_attn(x, memory, memory, *masks, is_causal=memory_is_causal)[0]

        x = self.add_part(tgt, attend, self.norm1, self.dropout1)
        x = self.add_part(x, attend_to_memory, self.norm2, self.dropout2)
        return self.add_part(x, self.feed_forward, self.norm3, self.dropout3)


class LayerStack(Module):
    """A number of layers like a given one, one after the other, and a normalisation at the end if given."""

    def __init__(self, layer: TransformerLayer, num_layers: int, norm: Module | None):
        self.layers, self.num_layers, self.norm = copies(layer, num_layers), num_layers, norm

    def run_layers(self, x: Any, *others: Any) -> Any:
        """What the layers make of x, each with the same other arguments."""
        for layer in self.layers:
            x = layer(x, *others)
        return x if self.norm is None else self.norm(x)


class TransformerEncoder(LayerStack):
    """A number of encoder layers like a given one, and a normalisation at the end if given.

    >>> layer = TransformerEncoderLayer(8, 2, dim_feedforward=16, rng=0)
    >>> TransformerEncoder(layer, num_layers=2)(np.ones((5, 3, 8))).shape
    (5, 3, 8)
    """

    def __init__(self, encoder_layer: TransformerEncoderLayer, num_layers: int, norm: Module | None = None):
        super().__init__(encoder_layer, num_layers, norm)

    def forward(self, src: Any, mask: Any = None, src_key_padding_mask: Any = None, is_causal: bool = False) -> Any:
        return self.run_layers(src, mask, src_key_padding_mask, is_causal)


class TransformerDecoder(LayerStack):
    """A number of decoder layers like a given one, and a normalisation at the end if given.

    >>> layer = TransformerDecoderLayer(8, 2, dim_feedforward=16, rng=0)
    >>> TransformerDecoder(layer, num_layers=2)(np.ones((5, 3, 8)), np.ones((7, 3, 8))).shape
    (5, 3, 8)
    """

    def __init__(self, decoder_layer: TransformerDecoderLayer, num_layers: int, norm: Module | None = None):
        super().__init__(decoder_layer, num_layers, norm)

    def forward(
        self,
        tgt: Any,
        memory: Any,
        tgt_mask: Any = None,
        memory_mask: Any = None,
        tgt_key_padding_mask: Any = None,
        memory_key_padding_mask: Any = None,
        tgt_is_causal: bool = False,
        memory_is_causal: bool = False,
    ) -> Any:
        masks = (tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask)
        return self.run_layers(tgt, memory, *masks, tgt_is_causal, memory_is_causal)


class Transformer(Module):
    """An encoder of a source, and a decoder that attends to it (Vaswani and others 2017), each with a normalisation.

    >>> model = Transformer(8, 2, 1, 1, dim_feedforward=16, rng=0)
    >>> model(np.ones((7, 3, 8)), np.ones((5, 3, 8))).shape
    (5, 3, 8)
    """

    def __init__(
        self,
        d_model: int = 512,
        nhead: int = 8,
        num_encoder_layers: int = 6,
        num_decoder_layers: int = 6,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: str | Callable[[Any], Any] = "relu",
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        *,
        rng: Any = None,
        dtype: Any = np.float32,
    ):
        rng = default_rng(rng)
        sizes = (d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first, bias)
        layers = [cls(*sizes, rng=rng, dtype=dtype) for cls in (TransformerEncoderLayer, TransformerDecoderLayer)]
        norms = [LayerNorm(d_model, layer_norm_eps, bias=bias, dtype=dtype) for _ in range(2)]
        self.encoder = TransformerEncoder(layers[0], num_encoder_layers, norms[0])  # type: ignore[arg-type]  # of its class
        self.decoder = TransformerDecoder(layers[1], num_decoder_layers, norms[1])  # type: ignore[arg-type]  # of its class
        for p in self.parameters():
            if p.ndim > 1:
                xavier_uniform_(p, rng=rng)
        self.d_model, self.nhead, self.batch_first = d_model, nhead, batch_first

    def forward(
        self,
        src: Any,
        tgt: Any,
        src_mask: Any = None,
        tgt_mask: Any = None,
        memory_mask: Any = None,
        src_key_padding_mask: Any = None,
        tgt_key_padding_mask: Any = None,
        memory_key_padding_mask: Any = None,
    ) -> Any:
        memory = self.encoder(src, src_mask, src_key_padding_mask)
        masks = (tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask)
        return self.decoder(tgt, memory, *masks)

    @staticmethod
    def generate_square_subsequent_mask(size: int, dtype: Any = np.float32) -> np.ndarray:
        """Numbers to add to scores: each position sees itself and those before it."""
        return np.triu(np.full((size, size), -np.inf, dtype), 1)


def copies(layer: Module, count: int) -> ModuleList:
    """Layers with the same initial weights, and generators of their own."""
    found = ModuleList([copy.deepcopy(layer) for _ in range(count)])
    for k, part in enumerate(found):
        for module in part.modules():
            if isinstance(module, Dropout):
                module.rng = module.rng.fold_in(k)
    return found

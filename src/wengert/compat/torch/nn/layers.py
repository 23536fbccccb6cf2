"""The modules of `wg.nn` that PyTorch has, under its conventions; and those that are made of other modules."""

from __future__ import annotations

import copy
from typing import Any

import wengert.nn as engine
from wengert.compat.torch.nn.containers import ModuleList
from wengert.compat.torch.nn.engine_modules import LAYERS, EngineModule, layer
from wengert.compat.torch.nn.module import Module
from wengert.compat.torch.nn.parameter import Parameter
from wengert.core.errors import user_error

NOT_IN_TORCH = {
    "Callback", "Checkpoint", "EarlyStopping", "History", "NonFiniteLossError", "Residual", "Schedule", "Training",
}  # fmt: skip
OWN = {
    "Embedding", "Module", "ModuleDict", "ModuleList", "Parameter", "ParameterList", "Sequential",
    "TransformerDecoder", "TransformerEncoder",
}  # fmt: skip

NAMES = [name for name in engine.__all__ if name[0].isupper() and name not in NOT_IN_TORCH | OWN]

__all__ = [*NAMES, "Embedding", "TransformerDecoder", "TransformerEncoder"]

globals().update({name: layer(getattr(engine, name), __name__) for name in NAMES})


class Embedding(EngineModule):
    """The rows of a table for integer indices. The row `padding_idx` is zero at first and gets no gradient."""

    engine = engine.Embedding

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        *,
        _weight: Any = None,
        **options: Any,
    ):
        super().__init__(num_embeddings, embedding_dim, padding_idx, **options)
        if _weight is not None:
            self.weight = Parameter(_weight)

    @classmethod
    def from_pretrained(cls, embeddings: Any, freeze: bool = True, padding_idx: int | None = None) -> Embedding:
        """A table with these numbers, frozen unless `freeze` is False."""
        if embeddings.ndim != 2:
            raise user_error(ValueError, f"Embedding.from_pretrained was given a tensor of shape {embeddings.shape}")
        rows, features = embeddings.shape
        made = cls(rows, features, padding_idx, dtype=embeddings.dtype)
        made.weight = Parameter(embeddings, requires_grad=not freeze)
        return made


class TransformerStack(EngineModule):
    """A number of layers like a given one, one after the other, and a normalisation at the end if given."""

    def __init__(self, layer: Module, num_layers: int, norm: Module | None = None):
        self.layers = ModuleList([copy.deepcopy(layer) for _ in range(num_layers)])
        self.num_layers, self.norm = num_layers, norm


class TransformerEncoder(TransformerStack):
    """A number of encoder layers like a given one, one after the other, and a normalisation at the end if given."""

    engine = engine.TransformerEncoder

    def __init__(
        self,
        encoder_layer: Module,
        num_layers: int,
        norm: Module | None = None,
        enable_nested_tensor: bool = True,
        mask_check: bool = True,
    ):
        super().__init__(encoder_layer, num_layers, norm)
        self.enable_nested_tensor, self.mask_check = enable_nested_tensor, mask_check


class TransformerDecoder(TransformerStack):
    """A number of decoder layers like a given one, one after the other, and a normalisation at the end if given."""

    engine = engine.TransformerDecoder

    def __init__(self, decoder_layer: Module, num_layers: int, norm: Module | None = None):
        super().__init__(decoder_layer, num_layers, norm)


LAYERS |= {
    engine.ModuleList: ModuleList,
    engine.TransformerEncoder: TransformerEncoder,
    engine.TransformerDecoder: TransformerDecoder,
}

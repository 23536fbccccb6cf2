"""`MultiheadAttention`: several attentions at once, on parts of the features."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.core.errors import user_error
from wengert.core.levels import numpy_of
from wengert.core.primitive import as_operand
from wengert.modes.tensor import Tensor
from wengert.nn.dropout import Dropout
from wengert.nn.functional.affine import linear
from wengert.nn.functional.attention import attend, attention_weights, causal_mask
from wengert.nn.init import xavier_uniform_
from wengert.nn.inputs import refuse_length, to_precision
from wengert.nn.linear import Linear
from wengert.nn.module import Module, Parameter
from wengert.ops.contraction.products import matmul
from wengert.ops.elementwise.choices import where
from wengert.ops.elementwise.predicates import logical_and, logical_not
from wengert.ops.reductions.sums import mean
from wengert.ops.shape.casting import astype
from wengert.ops.shape.reshaping import expand_dims, reshape, swapaxes, transpose
from wengert.ops.shape.splitting import split
from wengert.random.generator import default_rng


class MultiheadAttention(Module):
    """Attention in `num_heads` parts of the features, between projections of queries, keys and values.

    Inputs are (L, N, E), with `batch_first` (N, L, E), or one sequence (L, E). Keys have `kdim` features and values
    `vdim`, as many as queries unless given.

    >>> x = np.ones((5, 2, 8))
    >>> out, weights = MultiheadAttention(8, num_heads=2, rng=0)(x, x, x)
    >>> out.shape, weights.shape
    ((5, 2, 8), (2, 5, 5))
    """

    in_proj_weight: Tensor | None
    in_proj_bias: Tensor | None

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        kdim: int | None = None,
        vdim: int | None = None,
        batch_first: bool = False,
        *,
        rng: Any = None,
        dtype: Any = np.float32,
    ):
        if num_heads < 1 or embed_dim < 1 or embed_dim % num_heads:
            raise user_error(
                ValueError,
                f"MultiheadAttention has embed_dim={embed_dim} and num_heads={num_heads}",
                "embed_dim must be a multiple of num_heads.",
            )
        self.embed_dim, self.num_heads, self.dropout, self.batch_first = embed_dim, num_heads, dropout, batch_first
        self.kdim, self.vdim = kdim, vdim
        keys, values = self.input_sizes()
        rng = default_rng(rng)

        def draw(rows: int, columns: int) -> Tensor:
            return xavier_uniform_(Parameter(np.zeros((rows, columns)), dtype=dtype), rng=rng)

        if keys == values == embed_dim:
            self.in_proj_weight = draw(3 * embed_dim, embed_dim)
        else:
            self.in_proj_weight = None
            self.q_proj_weight = draw(embed_dim, embed_dim)
            self.k_proj_weight = draw(embed_dim, keys)
            self.v_proj_weight = draw(embed_dim, values)
        self.in_proj_bias = Parameter(np.zeros(3 * embed_dim), dtype=dtype) if bias else None
        self.out_proj = Linear(embed_dim, embed_dim, bias, rng=rng, dtype=dtype)
        if self.out_proj.bias is not None:
            self.out_proj.bias.data = np.zeros(embed_dim, dtype)
        self.drop = Dropout(dropout, rng=rng)

    def forward(
        self,
        query: Any,
        key: Any,
        value: Any,
        key_padding_mask: Any = None,
        need_weights: bool = True,
        attn_mask: Any = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Any, Any]:
        """The attention (L, N, E), and its weights (N, L, S), or None without `need_weights`.

        Boolean masks are true where a key is *not* seen: `key_padding_mask` (N, S) for all queries, `attn_mask` (L, S)
        or (N heads, L, S). Numbers are added to the scores. Without `average_attn_weights`, weights are those of each
        head, (N, heads, L, S).
        """
        q, k, v = self.project(query, key, value)
        is_batch = q.ndim == 3
        if not is_batch:
            q, k, v = (expand_dims(x, 0) for x in (q, k, v))
        elif not self.batch_first:
            q, k, v = (swapaxes(x, 0, 1) for x in (q, k, v))
        n, length, keys = q.shape[0], q.shape[1], k.shape[1]
        if k.shape[0] != n or v.shape[:2] != k.shape[:2]:
            raise user_error(
                ValueError,
                f"MultiheadAttention was given queries of shape {np.shape(query)}, keys {np.shape(key)} and values "
                f"{np.shape(value)}",
                "They need the same batch, and one value for each key.",
            )
        q, k, v = (self.split_heads(x) for x in (q, k, v))
        is_only_causal = is_causal and attn_mask is None and key_padding_mask is None
        mask = join_masks(
            head_mask(attn_mask, (n, self.num_heads, length, keys)),
            padding_mask(key_padding_mask, (n, keys)),
            numpy_of(query).asarray(causal_mask(length, keys)) if is_causal and not is_only_causal else None,
            q.dtype,
        )
        if need_weights or (self.dropout and self.training):
            weights = self.drop(attention_weights(q, k, mask, is_only_causal))
            averages = matmul(weights, v)
        else:
            averages = attend(q, k, v, mask, is_only_causal)
        out = reshape(transpose(averages, (0, 2, 1, 3)), (n, length, self.embed_dim))
        out = self.out_proj(out)
        if not is_batch:
            out = out[0]
        elif not self.batch_first:
            out = swapaxes(out, 0, 1)
        if not need_weights:
            return out, None
        weights = mean(weights, axis=1) if average_attn_weights else weights
        return out, weights if is_batch else weights[0]

    def input_sizes(self) -> tuple[int, int]:
        """The numbers of features of keys and values."""
        return self.embed_dim if self.kdim is None else self.kdim, self.embed_dim if self.vdim is None else self.vdim

    def split_heads(self, x: Any) -> Any:
        """Features (N, L, E) as (N, heads, L, E / heads)."""
        n, length, _ = x.shape
        parts = reshape(x, (n, length, self.num_heads, self.embed_dim // self.num_heads))
        return transpose(parts, (0, 2, 1, 3))

    def project(self, query: Any, key: Any, value: Any) -> tuple[Any, Any, Any]:
        """Queries, keys and values after their projections; by one product if they are one array."""
        weight, bias = self.in_proj_weight, self.in_proj_bias
        like = self.out_proj.weight
        name = "MultiheadAttention"
        is_one = query is key and key is value and weight is not None
        query = to_precision(query, like, name)
        refuse_length(query, -1, self.embed_dim, name, "embed_dim")
        if query.ndim not in (2, 3):
            raise user_error(ValueError, f"{name} was given queries of shape {query.shape}", "It is (L, N, E).")
        if is_one:
            q, k, v = split(linear(query, weight, bias), 3, axis=-1)
            return q, k, v
        key, value = to_precision(key, like, name), to_precision(value, like, name)
        for x, size, what in zip((key, value), self.input_sizes(), ("kdim", "vdim"), strict=True):
            refuse_length(x, -1, size, name, what)
        parts = None if weight is None else split(weight, 3)
        weights = parts or [self.q_proj_weight, self.k_proj_weight, self.v_proj_weight]
        biases = [None] * 3 if bias is None else split(bias, 3)
        q, k, v = [linear(x, w, b) for x, w, b in zip((query, key, value), weights, biases, strict=True)]
        return q, k, v


def head_mask(mask: Any, shape: tuple[int, int, int, int]) -> Any:
    """A mask of queries and keys that broadcasts against (N, heads, L, S)."""
    if mask is None:
        return None
    mask = as_operand(mask)
    n, heads, length, keys = shape
    if mask.shape == (length, keys):
        return mask
    if mask.shape == (n * heads, length, keys):
        return reshape(mask, shape)
    raise user_error(
        ValueError,
        f"MultiheadAttention was given an attn_mask of shape {mask.shape}",
        f"It is {(length, keys)} or {(n * heads, length, keys)}.",
    )


def padding_mask(mask: Any, shape: tuple[int, int]) -> Any:
    """A mask of keys that broadcasts against (N, heads, L, S)."""
    if mask is None:
        return None
    mask = as_operand(mask)
    n, keys = shape
    if mask.shape != (n, keys) and not (n == 1 and mask.shape == (keys,)):
        raise user_error(
            ValueError, f"MultiheadAttention was given a key_padding_mask of shape {mask.shape}", f"It is {shape}."
        )
    return reshape(mask, (n, 1, 1, keys))


def join_masks(attention: Any, padding: Any, causal: Any, dtype: Any) -> Any:
    """One mask of what queries see, of booleans, or of numbers that are added if one of the masks has numbers.

    The first two are true where a key is not seen, the last one where it is.
    """
    seen = [logical_not(m) for m in (attention, padding) if m is not None and m.dtype.kind == "b"]
    seen += [] if causal is None else [causal]
    numbers = [astype(m, dtype) for m in (attention, padding) if m is not None and m.dtype.kind != "b"]
    joined = None
    for mask in seen:
        joined = mask if joined is None else logical_and(joined, mask)
    if not numbers:
        return joined
    total = numbers[0] if len(numbers) == 1 else numbers[0] + numbers[1]
    return total if joined is None else where(joined, total, -np.inf)

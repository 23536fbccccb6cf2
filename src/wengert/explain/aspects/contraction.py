"""Products of arrays: why they are not finite, their signs."""

from __future__ import annotations

from wengert.explain.pictures.signs import sign
from wengert.explain.why.remedies import BAD_FACTOR, INFINITE_TERMS, TOO_LARGE_TOGETHER, remedies
from wengert.ops.contraction.einsum import _einsum
from wengert.ops.contraction.products import matmul

remedies.enter((BAD_FACTOR, INFINITE_TERMS, TOO_LARGE_TOGETHER), _einsum, matmul)
sign.enter("@", matmul)

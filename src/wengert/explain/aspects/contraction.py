"""Products of arrays: what makes them infinite or zero, their signs."""

from __future__ import annotations

from wengert.explain.pictures.signs import sign
from wengert.explain.why.remedies import BAD_FACTOR, INFINITE_TERMS, TOO_LARGE_TOGETHER, remedies
from wengert.explain.why.zeros import times_zero, zero_slope
from wengert.ops.contraction.einsum import _einsum
from wengert.ops.contraction.products import _cross, matmul

remedies.enter((BAD_FACTOR, INFINITE_TERMS, TOO_LARGE_TOGETHER), _einsum, matmul)
zero_slope.enter(times_zero, matmul, _einsum, _cross)
sign.enter("@", matmul)

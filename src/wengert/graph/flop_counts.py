"""The number of flops of operations that do not take one for each element of their result.

They are apart from how operations are written (`aspects/`), because the compiler asks for them too.
"""

from __future__ import annotations

from math import log2, prod

from wengert.graph.costs import flops, per_element, product_flops
from wengert.graph.ir import Node, Operation
from wengert.ops.contraction import einsum, products
from wengert.ops.indexing import subscripts
from wengert.ops.linear_algebra import cholesky, norms, systems, triangular
from wengert.ops.reductions import cumulative, extremes, logical, sums
from wengert.ops.samples import sorting
from wengert.ops.signal import convolution, fourier
from wengert.ops.special import entropy

flops.enter(lambda node: product_flops(node) * node.size * node.args[0].shape[-1], products.matmul)
flops.enter(lambda node: node.args[0].size if node.params["key"].repeats else 0, subscripts._scatter)
flops.enter(lambda node: node.args[1].size, subscripts._add_at)
flops.enter(
    per_element(1),
    sums._sum,
    sums._mean,
    cumulative._prod,
    extremes._max,
    extremes._min,
    logical._all,
    logical._any,
    logical._count_nonzero,
    extremes._argmax,
    extremes._argmin,
    cumulative._cumsum,
    cumulative._cumprod,
)
flops.enter(per_element(2), norms._norm)
flops.enter(per_element(3), sums._logsumexp)
flops.enter(per_element(5), entropy._softmax, entropy.softmax_weights)


@flops(einsum._einsum)
def einsum_flops(node: Operation) -> int:
    """One multiplication and one addition for each combination of indices."""
    terms = node.params["subscripts"].split("->")[0].split(",")
    extents = {
        letter: n for term, a in zip(terms, node.args, strict=True) for letter, n in zip(term, a.shape, strict=True)
    }
    return product_flops(node) * prod(extents.values())


# Windows and spectra


def window_size(filters: tuple[int, ...], node: Operation) -> int:
    """The number of products for each result of a convolution, by the shape of its filters."""
    return prod(filters[-len(node.params["stride"]) - 1 :])


flops.enter(lambda node: 2 * node.size * window_size(node.args[1].shape, node), convolution._convolution)
flops.enter(
    lambda node: 2 * node.args[0].size * window_size(node.args[1].shape, node), convolution._convolution_signals
)
flops.enter(lambda node: 2 * node.args[1].size * window_size(node.shape, node), convolution._convolution_filters)


def transform_flops(signals: Node, length: int) -> int:
    """The flops of transforms of complex numbers along one axis, as they are usually counted."""
    return int(5 * signals.size * log2(max(length, 1)))


flops.enter(
    lambda node: sum([transform_flops(node, node.shape[axis]) for axis in node.params["axis"]]),
    fourier._fft,
    fourier._ifft,
)
flops.enter(lambda node: transform_flops(node.args[0], node.args[0].shape[node.params["axis"]]) // 2, fourier._rfft)
flops.enter(lambda node: transform_flops(node, node.params["n"]) // 2, fourier._irfft)


# Linear algebra, of the operand's matrices


def cubes(node: Operation) -> int:
    """The cube of the order of the matrices of the first operand, times their number."""
    x = node.args[0]
    return product_flops(x) // 2 * x.size * x.shape[-1]


flops.enter(lambda node: cubes(node) // 3, cholesky._cholesky)
flops.enter(lambda node: 2 * cubes(node) // 3, cholesky._cholesky_pull, systems.factored)
flops.enter(lambda node: product_flops(node) // 2 * node.size * node.args[0].shape[-1], triangular._solve_triangular)
flops.enter(lambda node: product_flops(node) * node.size * node.args[0].shape[-1], systems._solve)

# Comparisons

flops.enter(lambda node: node.size * (node.args[0].shape[-1] + 1).bit_length(), sorting._searchsorted)

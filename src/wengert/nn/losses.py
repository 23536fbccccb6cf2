"""Losses as modules: the functions of `nn.functional` with their settings."""

from __future__ import annotations

from typing import Any

from wengert.modes.tensor import Tensor, tensor
from wengert.nn.functional.classification import (
    binary_cross_entropy,
    binary_cross_entropy_with_logits,
    cross_entropy,
    hinge_embedding_loss,
    multi_margin_loss,
    nll_loss,
    soft_margin_loss,
)
from wengert.nn.functional.ctc import ctc_loss
from wengert.nn.functional.distances import (
    cosine_embedding_loss,
    cosine_similarity,
    huber_loss,
    kl_div,
    l1_loss,
    margin_ranking_loss,
    mse_loss,
    pairwise_distance,
    smooth_l1_loss,
    triplet_margin_loss,
)
from wengert.nn.functional.likelihoods import gaussian_nll_loss, poisson_nll_loss
from wengert.nn.functional.reductions import REDUCTIONS, check_reduction
from wengert.nn.module import Module

__all__ = [
    "BCELoss", "BCEWithLogitsLoss", "CTCLoss", "CosineEmbeddingLoss", "CosineSimilarity", "CrossEntropyLoss",
    "GaussianNLLLoss", "HingeEmbeddingLoss", "HuberLoss", "KLDivLoss", "L1Loss", "MSELoss", "MarginRankingLoss",
    "MultiMarginLoss", "NLLLoss", "PairwiseDistance", "PoissonNLLLoss", "SmoothL1Loss", "SoftMarginLoss",
    "TripletMarginLoss",
]  # fmt: skip


def buffer(weight: Any) -> Tensor | None:
    """Weights as a tensor that belongs to the state of a loss but is not trained."""
    return None if weight is None else tensor(weight).detach()


class MSELoss(Module):
    """The mean of squared differences (`functional.mse_loss`).

    >>> float(MSELoss()([1.0, 2.0], [1.0, 4.0]))
    2.0
    """

    def __init__(self, reduction: str = "mean"):
        check_reduction(reduction)
        self.reduction = reduction

    def forward(self, input: Any, target: Any) -> Any:
        return mse_loss(input, target, self.reduction)


class L1Loss(Module):
    """The mean of absolute differences (`functional.l1_loss`).

    >>> float(L1Loss()([1.0, 2.0], [1.0, 4.0]))
    1.0
    """

    def __init__(self, reduction: str = "mean"):
        check_reduction(reduction)
        self.reduction = reduction

    def forward(self, input: Any, target: Any) -> Any:
        return l1_loss(input, target, self.reduction)


class SmoothL1Loss(Module):
    """Absolute differences, smooth below beta (`functional.smooth_l1_loss`).

    >>> SmoothL1Loss("none")([0.5, 3.0], [0.0, 0.0])
    array([0.125, 2.5  ])
    """

    def __init__(self, reduction: str = "mean", beta: float = 1.0):
        check_reduction(reduction)
        self.reduction, self.beta = reduction, beta

    def forward(self, input: Any, target: Any) -> Any:
        return smooth_l1_loss(input, target, self.reduction, self.beta)


class HuberLoss(Module):
    """Squared differences, linear above delta (`functional.huber_loss`).

    >>> HuberLoss("none")([0.5, 3.0], [0.0, 0.0])
    array([0.125, 2.5  ])
    """

    def __init__(self, reduction: str = "mean", delta: float = 1.0):
        check_reduction(reduction)
        self.reduction, self.delta = reduction, delta

    def forward(self, input: Any, target: Any) -> Any:
        return huber_loss(input, target, self.reduction, self.delta)


class KLDivLoss(Module):
    """The Kullback-Leibler divergence from logarithms of probabilities (`functional.kl_div`).

    >>> float(KLDivLoss("sum")([[0.0]], [[1.0]]))
    0.0
    """

    def __init__(self, reduction: str = "mean", log_target: bool = False):
        check_reduction(reduction, (*REDUCTIONS, "batchmean"))
        self.reduction, self.log_target = reduction, log_target

    def forward(self, input: Any, target: Any) -> Any:
        return kl_div(input, target, self.reduction, self.log_target)


class CrossEntropyLoss(Module):
    """The cross entropy between targets and the softmax of the input (`functional.cross_entropy`).

    >>> float(CrossEntropyLoss()([[1000.0, 0.0]], [1]))
    1000.0
    """

    def __init__(
        self, weight: Any = None, ignore_index: int = -100, reduction: str = "mean", label_smoothing: float = 0.0
    ):
        check_reduction(reduction)
        self.weight, self.ignore_index = buffer(weight), ignore_index
        self.reduction, self.label_smoothing = reduction, label_smoothing

    def forward(self, input: Any, target: Any) -> Any:
        return cross_entropy(input, target, self.weight, self.ignore_index, self.reduction, self.label_smoothing)


class NLLLoss(Module):
    """The negative log likelihood (`functional.nll_loss`).

    >>> float(NLLLoss()([[-1.0, -2.0]], [1]))
    2.0
    """

    def __init__(self, weight: Any = None, ignore_index: int = -100, reduction: str = "mean"):
        check_reduction(reduction)
        self.weight, self.ignore_index, self.reduction = buffer(weight), ignore_index, reduction

    def forward(self, input: Any, target: Any) -> Any:
        return nll_loss(input, target, self.weight, self.ignore_index, self.reduction)


class BCELoss(Module):
    """The cross entropy between probabilities and targets (`functional.binary_cross_entropy`).

    >>> round(float(BCELoss()([0.5], [1.0])), 6)
    0.693147
    """

    def __init__(self, weight: Any = None, reduction: str = "mean"):
        check_reduction(reduction)
        self.weight, self.reduction = buffer(weight), reduction

    def forward(self, input: Any, target: Any) -> Any:
        return binary_cross_entropy(input, target, self.weight, self.reduction)


class BCEWithLogitsLoss(Module):
    """The cross entropy between the sigmoid of the input and targets, without overflow.

    >>> float(BCEWithLogitsLoss()([1000.0], [0.0]))
    1000.0
    """

    def __init__(self, weight: Any = None, reduction: str = "mean", pos_weight: Any = None):
        check_reduction(reduction)
        self.weight, self.reduction, self.pos_weight = buffer(weight), reduction, buffer(pos_weight)

    def forward(self, input: Any, target: Any) -> Any:
        return binary_cross_entropy_with_logits(input, target, self.weight, self.reduction, self.pos_weight)


class HingeEmbeddingLoss(Module):
    """Distances of similar pairs, and margins of others (`functional.hinge_embedding_loss`).

    >>> HingeEmbeddingLoss(reduction="none")([0.5, 0.25], [1, -1])
    array([0.5 , 0.75])
    """

    def __init__(self, margin: float = 1.0, reduction: str = "mean"):
        check_reduction(reduction)
        self.margin, self.reduction = margin, reduction

    def forward(self, input: Any, target: Any) -> Any:
        return hinge_embedding_loss(input, target, self.margin, self.reduction)


class MultiMarginLoss(Module):
    """Margins between the score of the target and the others (`functional.multi_margin_loss`).

    >>> float(MultiMarginLoss()([[0.5, 1.0]], [1]))
    0.25
    """

    def __init__(self, p: int = 1, margin: float = 1.0, weight: Any = None, reduction: str = "mean"):
        check_reduction(reduction)
        self.p, self.margin, self.weight, self.reduction = p, margin, buffer(weight), reduction

    def forward(self, input: Any, target: Any) -> Any:
        return multi_margin_loss(input, target, self.p, self.margin, self.weight, self.reduction)


class CosineSimilarity(Module):
    """The cosine of the angle between vectors (`functional.cosine_similarity`).

    >>> CosineSimilarity()([[1.0, 0.0]], [[2.0, 0.0]])
    array([1.])
    """

    def __init__(self, dim: int = 1, eps: float = 1e-8):
        self.dim, self.eps = dim, eps

    def forward(self, x1: Any, x2: Any) -> Any:
        return cosine_similarity(x1, x2, self.dim, self.eps)


class CosineEmbeddingLoss(Module):
    """Cosines of similar and other pairs (`functional.cosine_embedding_loss`).

    >>> float(CosineEmbeddingLoss()([1.0, 0.0], [2.0, 0.0], 1))
    0.0
    """

    def __init__(self, margin: float = 0.0, reduction: str = "mean"):
        check_reduction(reduction)
        self.margin, self.reduction = margin, reduction

    def forward(self, input1: Any, input2: Any, target: Any) -> Any:
        return cosine_embedding_loss(input1, input2, target, self.margin, self.reduction)


class PairwiseDistance(Module):
    """The norm of the difference along the last axis (`functional.pairwise_distance`).

    >>> PairwiseDistance(eps=0.0)([[3.0, 0.0]], [[0.0, 4.0]])
    array([5.])
    """

    def __init__(self, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False):
        self.p, self.eps, self.keepdim = p, eps, keepdim

    def forward(self, x1: Any, x2: Any) -> Any:
        return pairwise_distance(x1, x2, self.p, self.eps, self.keepdim)


class TripletMarginLoss(Module):
    """Distances to a positive and a negative (`functional.triplet_margin_loss`).

    >>> float(TripletMarginLoss(eps=0.0)([[0.0]], [[0.5]], [[1.0]]))
    0.5
    """

    def __init__(
        self, margin: float = 1.0, p: float = 2.0, eps: float = 1e-6, swap: bool = False, reduction: str = "mean"
    ):
        check_reduction(reduction)
        self.margin, self.p, self.eps, self.swap, self.reduction = margin, p, eps, swap, reduction

    def forward(self, anchor: Any, positive: Any, negative: Any) -> Any:
        return triplet_margin_loss(anchor, positive, negative, self.margin, self.p, self.eps, self.swap, self.reduction)


class CTCLoss(Module):
    """The likelihood of label sequences over all alignments (`functional.ctc_loss`).

    >>> import numpy as np
    >>> round(float(CTCLoss(reduction="sum")(np.log(np.full((2, 1, 2), 0.5)), [[1]], [2], [1])), 6)
    0.287682
    """

    def __init__(self, blank: int = 0, reduction: str = "mean", zero_infinity: bool = False):
        check_reduction(reduction)
        self.blank, self.reduction, self.zero_infinity = blank, reduction, zero_infinity

    def forward(self, log_probs: Any, targets: Any, input_lengths: Any, target_lengths: Any) -> Any:
        return ctc_loss(
            log_probs, targets, input_lengths, target_lengths, self.blank, self.reduction, self.zero_infinity
        )


class MarginRankingLoss(Module):
    """How far scores are not in the right order by a margin (`functional.margin_ranking_loss`).

    >>> float(MarginRankingLoss()([1.0], [3.0], [1.0]))
    2.0
    """

    def __init__(self, margin: float = 0.0, reduction: str = "mean"):
        check_reduction(reduction)
        self.margin, self.reduction = margin, reduction

    def forward(self, input1: Any, input2: Any, target: Any) -> Any:
        return margin_ranking_loss(input1, input2, target, self.margin, self.reduction)


class SoftMarginLoss(Module):
    """The logistic loss of two classes, 1 and -1 (`functional.soft_margin_loss`).

    >>> round(float(SoftMarginLoss()([0.0], [1.0])), 4)
    0.6931
    """

    def __init__(self, reduction: str = "mean"):
        check_reduction(reduction)
        self.reduction = reduction

    def forward(self, input: Any, target: Any) -> Any:
        return soft_margin_loss(input, target, self.reduction)


class PoissonNLLLoss(Module):
    """The negative log likelihood of counts (`functional.poisson_nll_loss`).

    >>> float(PoissonNLLLoss()([0.0], [2.0]))
    1.0
    """

    def __init__(self, log_input: bool = True, full: bool = False, eps: float = 1e-8, reduction: str = "mean"):
        check_reduction(reduction)
        self.log_input, self.full, self.eps, self.reduction = log_input, full, eps, reduction

    def forward(self, input: Any, target: Any) -> Any:
        return poisson_nll_loss(input, target, self.log_input, self.full, self.eps, self.reduction)


class GaussianNLLLoss(Module):
    """The negative log likelihood of normal numbers (`functional.gaussian_nll_loss`).

    >>> round(float(GaussianNLLLoss()([1.0], [3.0], [2.0])), 4)
    1.3466
    """

    def __init__(self, *, full: bool = False, eps: float = 1e-6, reduction: str = "mean"):
        check_reduction(reduction)
        self.full, self.eps, self.reduction = full, eps, reduction

    def forward(self, input: Any, target: Any, var: Any) -> Any:
        return gaussian_nll_loss(input, target, var, self.full, self.eps, self.reduction)

"""Losses on given numbers, by calls that mean the same in PyTorch and here."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
from tests.nn.torch_cases import Values

import wengert as wg

RNG = np.random.default_rng(20)
LOGITS, IMAGES = RNG.normal(size=(5, 4)), RNG.normal(size=(2, 4, 3, 2))
LABELS, PIXELS = np.array([3, 0, 1, 1, 2]), RNG.integers(0, 4, (2, 3, 2))
SOME_IGNORED = np.array([3, -100, 1, -100, 2])
WEIGHT = np.array([0.5, 1.0, 2.0, 0.25])
PROBABILITIES = RNG.dirichlet(np.ones(4), 5)
A, B, C = RNG.normal(size=(3, 5, 4)) * 1.5
SIGNS = np.array([1, -1, 1, -1, -1])
BITS = (A > 0).astype(float)
SPEECH = RNG.normal(size=(7, 3, 5))
WORDS, WORD_LENGTHS = np.array([[1, 2, 2], [4, 3, 0], [1, 0, 0]]), np.array([3, 2, 0])
SPEECH_LENGTHS = np.array([7, 5, 6])


class LossCase(NamedTuple):
    """A loss as a function of arrays that are differentiated, and the others."""

    call: Callable[..., Any]
    inputs: tuple[np.ndarray, ...]
    constants: tuple[np.ndarray, ...] = ()
    tolerance: float = 1e-10

    def torch_values(self, torch: Any = None) -> Values:
        torch = torch or import_module("torch")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # PyTorch wants "batchmean" rather than "mean"
            return self.values(torch.nn.functional, torch.tensor)

    def wengert_values(self) -> Values:
        return self.values(wg.nn.functional, wg.tensor)

    def values(self, functional: Any, make: Callable[..., Any]) -> Values:
        """The loss, and the gradients of its sum."""
        inputs = [make(x, requires_grad=True) for x in self.inputs]
        out = self.call(functional, *inputs, *map(make, self.constants))
        out.sum().backward()
        found = {"out": out.detach(), **{f"input{i}.grad": x.grad for i, x in enumerate(inputs)}}
        return {name: value.cpu().numpy() for name, value in found.items()}


def loss(name: str, *inputs: np.ndarray, constants: tuple[np.ndarray, ...] = (), **settings: Any) -> LossCase:
    """The loss of this name with these settings."""
    return LossCase(lambda f, *x: getattr(f, name)(*x, **settings), inputs, constants)


def weighted(name: str, *inputs: np.ndarray, weight: np.ndarray, constants: Any = (), **settings: Any) -> LossCase:
    """The loss with the last constant as weight."""
    return LossCase(lambda f, *x: getattr(f, name)(*x[:-1], weight=x[-1], **settings), inputs, (*constants, weight))


def ctc(targets: np.ndarray, inputs: np.ndarray, lengths: np.ndarray, **settings: Any) -> LossCase:
    """The CTC loss of the log-softmax of the input."""

    def call(f: Any, x: Any, *rest: Any) -> Any:
        return f.ctc_loss(f.log_softmax(x, -1), *rest, **settings)

    return LossCase(call, (SPEECH,), (targets, inputs, lengths))


CASES = {
    "cross_entropy": loss("cross_entropy", LOGITS, constants=(LABELS,)),
    "cross_entropy_none": loss("cross_entropy", LOGITS, constants=(LABELS,), reduction="none"),
    "cross_entropy_one": loss("cross_entropy", LOGITS[0], constants=(LABELS[0],)),
    "cross_entropy_pixels": loss("cross_entropy", IMAGES, constants=(PIXELS,)),
    "cross_entropy_weight": weighted("cross_entropy", LOGITS, constants=(LABELS,), weight=WEIGHT),
    "cross_entropy_ignored": weighted("cross_entropy", LOGITS, constants=(SOME_IGNORED,), weight=WEIGHT),
    "cross_entropy_ignored_sum": loss("cross_entropy", LOGITS, constants=(SOME_IGNORED,), reduction="sum"),
    "cross_entropy_smooth": weighted(
        "cross_entropy", IMAGES, constants=(PIXELS,), weight=WEIGHT, label_smoothing=0.2, ignore_index=2
    ),
    "cross_entropy_smooth_none": loss(
        "cross_entropy", LOGITS, constants=(SOME_IGNORED,), label_smoothing=0.2, reduction="none"
    ),
    "cross_entropy_probabilities": weighted(
        "cross_entropy", LOGITS, PROBABILITIES, weight=WEIGHT, label_smoothing=0.1
    ),
    "cross_entropy_probabilities_sum": loss("cross_entropy", LOGITS[0], PROBABILITIES[0], reduction="sum"),
    "nll_loss": weighted("nll_loss", LOGITS, constants=(SOME_IGNORED,), weight=WEIGHT),
    "nll_loss_pixels": loss("nll_loss", IMAGES, constants=(PIXELS,), reduction="none"),
    "binary_cross_entropy": loss("binary_cross_entropy", PROBABILITIES, BITS),
    "binary_cross_entropy_weight": weighted(
        "binary_cross_entropy", PROBABILITIES, constants=(BITS,), weight=WEIGHT, reduction="sum"
    ),
    "binary_cross_entropy_with_logits": loss("binary_cross_entropy_with_logits", A, PROBABILITIES),
    "binary_cross_entropy_with_logits_weights": LossCase(
        lambda f, x, y, w, p: f.binary_cross_entropy_with_logits(x, y, w, pos_weight=p),
        (A,), (BITS, WEIGHT, WEIGHT + 1),
    ),
    "hinge_embedding_loss": loss("hinge_embedding_loss", A[:, 0], constants=(SIGNS,), margin=0.7),
    "soft_margin_loss": loss("soft_margin_loss", A[:, 0], constants=(SIGNS,)),
    "poisson_nll_loss": loss("poisson_nll_loss", A, constants=(BITS * 3.0,), full=True),
    "poisson_nll_loss_rate": loss("poisson_nll_loss", PROBABILITIES, BITS, log_input=False, reduction="sum"),
    "gaussian_nll_loss": loss("gaussian_nll_loss", A, B, C * C, full=True),
    "gaussian_nll_loss_clamped": loss("gaussian_nll_loss", A, B, PROBABILITIES, eps=0.2, reduction="none"),
    "gaussian_nll_loss_rows": loss("gaussian_nll_loss", A, B, PROBABILITIES[:, :1]),
    "margin_ranking_loss": loss("margin_ranking_loss", A[:, 0], B[:, 0], constants=(SIGNS,), margin=0.3),
    "multi_margin_loss": loss("multi_margin_loss", A, constants=(LABELS,), margin=0.7),
    "multi_margin_loss_square": weighted(
        "multi_margin_loss", A, constants=(LABELS,), weight=WEIGHT, p=2, reduction="none"
    ),
    "mse_loss": loss("mse_loss", A, B),
    "l1_loss": loss("l1_loss", A, B, reduction="sum"),
    "smooth_l1_loss": loss("smooth_l1_loss", A, B, beta=0.6),
    "huber_loss": loss("huber_loss", A, B, delta=0.6, reduction="none"),
    "kl_div": loss("kl_div", A, PROBABILITIES, reduction="batchmean"),
    "kl_div_mean": loss("kl_div", A, B, log_target=True),
    "cosine_similarity": loss("cosine_similarity", A, B, dim=0),
    "cosine_embedding_loss": loss("cosine_embedding_loss", A, B, constants=(SIGNS,), margin=-0.3),
    "pairwise_distance": loss("pairwise_distance", A, B, p=3.0, keepdim=True),
    "triplet_margin_loss": loss("triplet_margin_loss", A, B, C, margin=0.8),
    "triplet_margin_loss_swap": loss("triplet_margin_loss", A, B, C, swap=True, p=1.0, reduction="sum"),
    "ctc_loss": ctc(WORDS, SPEECH_LENGTHS, WORD_LENGTHS),
    "ctc_loss_none": ctc(WORDS, SPEECH_LENGTHS, WORD_LENGTHS, reduction="none"),
    "ctc_loss_flat": ctc(np.array([1, 2, 2, 4, 3]), SPEECH_LENGTHS, WORD_LENGTHS, reduction="sum"),
    "ctc_loss_blank": ctc(WORDS, SPEECH_LENGTHS, np.array([3, 2, 1]), blank=4, reduction="none"),
    "ctc_loss_zero_infinity": ctc(WORDS, np.array([3, 5, 6]), WORD_LENGTHS, zero_infinity=True),
}  # fmt: skip

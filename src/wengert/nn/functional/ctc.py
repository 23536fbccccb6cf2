"""Connectionist temporal classification: the likelihood of a sequence of labels, over all ways to align it.

The labels of a sequence are extended by blanks between them and at both ends. A path through the extended labels moves
by at most one position per step, or by two if that passes over a blank between different labels. The likelihood is the
sum over all paths, computed from the first step to the last as logarithms (Graves and others, 2006).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.control.iteration import scan
from wengert.core.errors import user_error
from wengert.core.levels import numpy_of
from wengert.nn.functional.classification import class_indices
from wengert.nn.functional.reductions import as_floats, check_classes, check_reduction, known_numbers, reduce_loss
from wengert.ops.elementwise.choices import maximum, where
from wengert.ops.elementwise.exponential import logaddexp
from wengert.ops.elementwise.predicates import equal, isinf, less, less_equal, logical_and, not_equal
from wengert.ops.reductions.sums import logsumexp
from wengert.ops.shape.casting import astype
from wengert.ops.shape.joining import full_like, stack
from wengert.ops.shape.rearranging import concatenate
from wengert.ops.shape.reshaping import expand_dims, reshape

__all__ = ["ctc_loss"]


def ctc_loss(
    log_probs: Any,
    targets: Any,
    input_lengths: Any,
    target_lengths: Any,
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> Any:
    """Minus the logarithm of the likelihood of label sequences, for logarithms of probabilities (T, N, C) or (T, C).

    `targets` is an array (N, S), or the sequences one after the other. `input_lengths` and `target_lengths` say how
    much of each sequence counts. The mean is over the losses divided by the lengths of the targets. A target that no
    path fits has an infinite loss, or with `zero_infinity` none.

    >>> float(ctc_loss(np.log(np.full((2, 1, 2), 0.5)), [[1]], [2], [1], reduction="sum"))
    0.2876820724517809
    """
    check_reduction(reduction)
    log_probs = as_floats(log_probs)
    is_batch = log_probs.ndim == 3
    if not is_batch:
        log_probs, targets = expand_dims(log_probs, 1), expand_dims(class_indices("ctc_loss", targets), 0)
    steps, n, classes = log_probs.shape
    inputs = checked_lengths(input_lengths, n, steps, "input_lengths")
    targets, lengths = target_rows(class_indices("ctc_loss", targets), target_lengths, n, blank)
    check_classes("ctc_loss", targets, classes)
    loss = -log_likelihood(log_probs, extend_labels(targets, blank), inputs, lengths, blank)
    if zero_infinity:
        loss = where(isinf(loss), 0.0, loss)
    if reduction == "mean":
        loss = loss / astype(maximum(lengths, 1), loss.dtype)
    return reduce_loss(loss if is_batch else loss[0], reduction)


def checked_lengths(lengths: Any, n: int, longest: int, name: str) -> Any:
    """The lengths of n sequences, none of which may be longer than the axis that has them."""
    lengths = reshape(class_indices("ctc_loss", lengths), (-1,))
    numbers = known_numbers(lengths)
    if lengths.shape != (n,):
        raise user_error(
            ValueError, f"ctc_loss has {lengths.shape[0]} {name}, for a batch of {n}", "Pass one for each."
        )
    if numbers is not None and numbers.size and not (numbers.min() >= 0 and numbers.max() <= longest):
        wrong = numbers[(numbers < 0) | (numbers > longest)][0]
        raise user_error(ValueError, f"ctc_loss has {wrong} among {name}", f"They are from 0 to {longest}.")
    return lengths


def target_rows(targets: Any, lengths: Any, n: int, blank: int) -> tuple[Any, Any]:
    """The targets as rows (N, S) with blanks behind their ends, and their lengths."""
    if targets.ndim == 1:  # the sequences one after the other
        numbers = known_numbers(class_indices("ctc_loss", lengths))
        if numbers is None:
            raise user_error(
                ValueError,
                "ctc_loss has targets one after the other, of lengths that are not known",
                "Pass rows (N, S), or lengths on the CPU that are not traced.",
            )
        numbers = numbers.reshape(-1)
        if numbers.sum() != targets.shape[0]:
            raise user_error(
                ValueError,
                f"ctc_loss has {targets.shape[0]} targets, and target_lengths that sum to {numbers.sum()}",
                "They must be equal.",
            )
        position = np.arange(numbers.max(initial=0))
        starts = np.cumsum(numbers) - numbers
        last = max(targets.shape[0] - 1, 0)
        padded = targets if targets.shape[0] else np.zeros(1, np.int64)
        targets = padded[np.minimum(starts[:, None] + position, last)]
    if targets.ndim != 2 or targets.shape[0] != n:
        raise user_error(
            ValueError, f"ctc_loss has targets of shape {targets.shape}, for a batch of {n}", f"Pass rows: ({n}, S)."
        )
    lengths = checked_lengths(lengths, n, targets.shape[1], "target_lengths")
    return where(less(numpy_of(lengths).arange(targets.shape[1]), expand_dims(lengths, 1)), targets, blank), lengths


def extend_labels(targets: Any, blank: int) -> Any:
    """The labels of each row with blanks between them and at both ends: (N, 2 S + 1)."""
    n, length = targets.shape
    blanks = full_like(targets, blank)
    pairs = reshape(stack([blanks, targets], axis=2), (n, 2 * length))
    return concatenate([pairs, numpy_of(pairs).full((n, 1), blank, targets.dtype)], axis=1)


def shift_right(x: Any, by: int) -> Any:
    """The columns of x moved to the right; the first ones are impossible."""
    return concatenate([numpy_of(x).full((x.shape[0], by), -np.inf, x.dtype), x[:, : x.shape[1] - by]], axis=1)


def log_likelihood(log_probs: Any, labels: Any, inputs: Any, lengths: Any, blank: int) -> Any:
    """The logarithm of the likelihood of each row of extended labels."""
    steps, n, _ = log_probs.shape
    size = labels.shape[1]
    scores = log_probs[:, np.arange(n)[:, None], labels]
    xp = numpy_of(log_probs)
    position, last = xp.arange(size), expand_dims(2 * lengths, 1)
    differs = not_equal(labels[:, 2:], labels[:, : max(size - 2, 0)])
    skips = concatenate(
        [xp.zeros((n, min(2, size)), bool), logical_and(not_equal(labels[:, 2:], blank), differs)], axis=1
    )

    def step(state: Any, slices: Any) -> tuple[Any, None]:
        score, t = slices
        jumped = where(skips, shift_right(state, 2), -np.inf) if size > 2 else -np.inf
        new = logaddexp(logaddexp(state, shift_right(state, 1)), jumped) + score
        return where(less(t, expand_dims(inputs, 1)), new, state), None

    start = where(logical_and(position < 2, less_equal(position, last)), scores[0], -np.inf)
    state, _ = scan(step, start, (scores[1:], xp.arange(1, steps))) if steps > 1 else (start, None)
    ends = where(logical_and(less_equal(position, last), less_equal(last - 1, position)), state, -np.inf)
    empty = where(equal(lengths, 0), 0.0, astype(-np.inf, log_probs.dtype))
    return where(equal(inputs, 0), empty, logsumexp(ends, axis=1))

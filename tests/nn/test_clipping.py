"""Gradient clipping, in place and of trees."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg

GRADS = {"w": np.array([[3.0, -4.0], [0.0, 12.0]]), "b": np.array([84.0])}


def parameters() -> list[wg.Tensor]:
    """Parameters with these gradients, and one without; the norm of all is 85."""
    made = [wg.tensor(np.zeros_like(g), requires_grad=True) for g in GRADS.values()]
    for p, g in zip(made, GRADS.values(), strict=True):
        p.grad = g.copy()
    return [*made, wg.tensor([1.0], requires_grad=True)]


@pytest.mark.parametrize("norm_type", [1.0, 2.0, 3.0, np.inf])
def test_norm(norm_type):
    flat = np.concatenate([g.ravel() for g in GRADS.values()])
    norm = np.linalg.norm(flat, norm_type)
    made = parameters()
    np.testing.assert_allclose(wg.nn.clip_grad_norm_(made, 2.0, norm_type).item(), norm)
    clipped = wg.optim.clip_by_norm(GRADS, 2.0, norm_type)
    for p, (name, g) in zip(made, GRADS.items(), strict=False):
        np.testing.assert_allclose(p.grad.numpy(), g * 2.0 / (norm + 1e-6), rtol=1e-14)  # PyTorch's formula
        assert np.array_equal(p.grad.numpy(), clipped[name])
    assert made[-1].grad is None


def test_small_gradients_stay():
    made = parameters()
    wg.nn.clip_grad_norm_(made, 86.0)
    assert all(np.array_equal(p.grad.numpy(), g) for p, g in zip(made, GRADS.values(), strict=False))
    assert wg.nn.clip_grad_norm_(made[-1], 1.0).item() == 0.0


def test_value():
    made = parameters()
    wg.nn.clip_grad_value_(made, 3.5)
    clipped = wg.optim.clip_by_value(GRADS, 3.5)
    for p, (name, g) in zip(made, GRADS.items(), strict=False):
        assert np.array_equal(p.grad.numpy(), np.clip(g, -3.5, 3.5))
        assert np.array_equal(p.grad.numpy(), clipped[name])


def test_single_precision_stays():
    clipped = wg.optim.clip_by_norm({k: g.astype(np.float32) for k, g in GRADS.items()}, np.float64(2.0))
    assert all(g.dtype == np.float32 for g in clipped.values())


def test_norms_that_are_not_finite():
    made = parameters()
    made[0].grad = np.full((2, 2), np.nan)
    with pytest.raises(RuntimeError, match="The norm of the gradients is nan"):
        wg.nn.clip_grad_norm_(made, 1.0, error_if_nonfinite=True)


def test_in_a_compiled_function():
    norms = [wg.compile(lambda g: wg.optim.clip_by_norm(g, 2.0))(GRADS), wg.optim.clip_by_norm(GRADS, 2.0)]
    np.testing.assert_allclose(norms[0]["w"], norms[1]["w"], rtol=1e-14)

"""Initial numbers: their distributions, and those of layers as in PyTorch."""

from __future__ import annotations

import math

import numpy as np
import pytest

from wengert import nn
from wengert.nn import init


def numbers(tensor) -> np.ndarray:
    return tensor.detach().numpy()


def parameter(*shape):
    return nn.Parameter(np.zeros(shape))


@pytest.mark.parametrize(
    ("fill", "variance", "is_uniform"),
    [
        (lambda w: init.uniform_(w, -0.5, 0.5, rng=0), 1.0 / 12.0, True),
        (lambda w: init.normal_(w, 0.0, 0.3, rng=0), 0.09, False),
        (lambda w: init.xavier_uniform_(w, 2.0, rng=0), 4.0 * 2.0 / 500.0, True),
        (lambda w: init.xavier_normal_(w, rng=0), 2.0 / 500.0, False),
        (lambda w: init.kaiming_uniform_(w, math.sqrt(5.0), rng=0), 1.0 / (3.0 * 300.0), True),
        (lambda w: init.kaiming_normal_(w, mode="fan_out", nonlinearity="relu", rng=0), 2.0 / 200.0, False),
    ],
)
def test_variances(fill, variance, is_uniform):
    w = parameter(200, 300)
    assert fill(w) is w
    assert w.requires_grad
    found = numbers(w)
    assert abs(found.mean()) < 4.0 * math.sqrt(variance / found.size)
    np.testing.assert_allclose(found.var(), variance, rtol=0.03)
    assert (np.abs(found).max() <= math.sqrt(3.0 * variance) * (1.0 + 1e-12)) == is_uniform


def test_filters_count_their_size():
    w = parameter(20, 30, 5, 5)
    np.testing.assert_allclose(numbers(init.kaiming_normal_(w, rng=0)).var(), 2.0 / 750.0, rtol=0.05)


def test_truncated_normal_numbers():
    found = numbers(init.trunc_normal_(parameter(200, 200), 1.0, 2.0, -1.0, 2.0, rng=0))
    assert found.min() >= -1.0
    assert found.max() <= 2.0
    z = np.linspace(-1.0, 0.5, 10001)
    density = np.exp(-0.5 * z * z)
    expected = 1.0 + 2.0 * (z * density).sum() / density.sum()
    np.testing.assert_allclose(found.mean(), expected, atol=0.01)


@pytest.mark.parametrize("shape", [(3, 7), (7, 3), (4, 2, 3)])
def test_orthogonal_matrices(shape):
    w = numbers(init.orthogonal_(parameter(*shape), gain=2.0, rng=0)).reshape(shape[0], -1)
    product = w @ w.T if w.shape[0] <= w.shape[1] else w.T @ w
    np.testing.assert_allclose(product, 4.0 * np.eye(len(product)), atol=1e-12)


def test_numbers_that_are_given():
    np.testing.assert_array_equal(numbers(init.constant_(parameter(2, 2), 3.0)), 3.0)
    np.testing.assert_array_equal(numbers(init.ones_(parameter(2))), 1.0)
    np.testing.assert_array_equal(numbers(init.zeros_(init.ones_(parameter(2)))), 0.0)
    np.testing.assert_array_equal(numbers(init.eye_(parameter(2, 3))), np.eye(2, 3))
    x = np.random.default_rng(0).normal(size=(1, 4, 6))
    layer = nn.Conv1d(4, 4, 3, padding=1, groups=2, bias=False, dtype=float)
    init.dirac_(layer.weight, groups=2)
    np.testing.assert_array_equal(layer(x).detach(), x)
    assert (numbers(init.sparse_(parameter(10, 4), 0.3, rng=0)) == 0).sum(0).tolist() == [3] * 4


def test_gains():
    assert init.calculate_gain("relu") == math.sqrt(2.0)
    assert init.calculate_gain("leaky_relu", 1.0) == 1.0
    with pytest.raises(ValueError, match="nothing"):
        init.calculate_gain("nothing")


def test_a_seed_decides():
    first, second = (nn.Linear(3, 4, rng=7) for _ in range(2))
    np.testing.assert_array_equal(numbers(first.weight), numbers(second.weight))
    rng = np.random.default_rng(7)
    third, fourth = nn.Linear(3, 4, rng=rng), nn.Linear(3, 4, rng=rng)
    np.testing.assert_array_equal(numbers(first.weight), numbers(third.weight))
    assert (numbers(third.weight) != numbers(fourth.weight)).all()
    assert (numbers(nn.Linear(3, 4).weight) != numbers(nn.Linear(3, 4).weight)).all()
    np.testing.assert_allclose(numbers(nn.Linear(3, 4, rng=7, dtype=float).weight), numbers(first.weight), rtol=1e-6)


@pytest.mark.parametrize(
    ("layer", "bound"),
    [
        (nn.Linear(400, 300, rng=0), 1.0 / math.sqrt(400)),
        (nn.Conv2d(10, 60, 5, rng=0), 1.0 / math.sqrt(250)),
        (nn.Conv2d(10, 60, 5, groups=2, rng=0), 1.0 / math.sqrt(125)),
        (nn.ConvTranspose1d(40, 60, 5, rng=0), 1.0 / math.sqrt(300)),
        (nn.Bilinear(30, 20, 50, rng=0), 1.0 / math.sqrt(30)),
    ],
)
def test_layers_start_as_in_pytorch(layer, bound):
    for p in layer.parameters():
        assert 0.8 * bound < np.abs(numbers(p)).max() <= bound
    np.testing.assert_allclose(numbers(layer.weight).var(), bound**2 / 3.0, rtol=0.05)


def test_tables_start_normal_with_zeros_as_padding():
    table = numbers(nn.Embedding(300, 200, padding_idx=-1, rng=0).weight)
    np.testing.assert_allclose(table[:-1].var(), 1.0, rtol=0.03)
    assert not table[-1].any()


def test_mistakes():
    with pytest.raises(TypeError, match="ndarray"):
        init.zeros_(np.zeros(2))
    with pytest.raises(ValueError, match=r"shape \(3,\)"):
        init.xavier_uniform_(parameter(3))
    with pytest.raises(ValueError, match="mode='both'"):
        init.kaiming_normal_(parameter(3, 3), mode="both")
    with pytest.raises(ValueError, match="matrix"):
        init.eye_(parameter(3))

"""Parts of the data are disjoint, together the whole, and determined by the seed."""

from __future__ import annotations

import numpy as np
import pytest

from wengert.data import split

X, Y = np.arange(22.0).reshape(11, 2), np.arange(11)


@pytest.mark.parametrize("fractions", [(0.8, 0.2), (0.5, 0.3, 0.2), (1.0,), (0.1,) * 10])
def test_parts_are_the_whole(fractions):
    parts = split((X, Y), fractions, rng=0)
    assert len(parts) == len(fractions)
    assert sorted(np.concatenate([y for _, y in parts])) == Y.tolist()
    for (x, y), fraction in zip(parts, fractions, strict=True):
        assert np.array_equal(x, X[y])
        assert abs(len(y) - 11 * fraction) <= 1


def test_the_seed_decides():
    a, b, c = (split(Y, (0.5, 0.5), rng=seed)[0].tolist() for seed in (0, 0, 1))
    assert a == b != c


def test_without_shuffling_order_stays():
    first, rest = split({"y": Y}, (0.5, 0.5), shuffle=False)
    assert first["y"].tolist() + rest["y"].tolist() == Y.tolist()


@pytest.mark.parametrize(
    ("fractions", "message"), [((0.8, 0.3), "sum is 1.1"), ((1.2, -0.2), "not parts"), ((0.99, 0.01), "would be empty")]
)
def test_bad_fractions(fractions, message):
    with pytest.raises(ValueError, match=message):
        split(Y, fractions)


def test_different_lengths():
    with pytest.raises(ValueError, match="different lengths"):
        split((X, Y[:3]), (0.5, 0.5))

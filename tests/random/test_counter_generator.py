"""Draws that work in compiled functions: the same numbers eager and compiled, and stored ones."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from scipy import stats

import wengert as wg
from wengert.random import CounterGenerator, counter_rng

F4 = np.float32
X = np.linspace(-1.0, 1.0, 5)
P = [0.1, 0.1, 0.3, 0.2, 0.3]


def test_stored_numbers():
    """They are part of the interface: a seed gives the same numbers in every version."""
    rng = counter_rng(2026)
    rng.spawn(2)
    np.testing.assert_array_equal(rng.random(3), [0.00646066755796626, 0.8139401085137336, 0.693510469790061])
    np.testing.assert_array_equal(rng.random(3, F4), np.array([0.6073713, 0.1344487, 0.4458397], F4))
    np.testing.assert_allclose(rng.standard_normal(3), [0.9607954047907509, 1.3611935828250707, -1.4488142159638442])
    np.testing.assert_allclose(rng.standard_normal(3, F4), [0.4453705, 1.4552826, -1.4838295], rtol=1e-6)
    np.testing.assert_array_equal(rng.integers(-5, 100, 6), [-3, 43, 75, 55, 61, 20])
    np.testing.assert_array_equal(rng.bernoulli(0.5, 6), [True, False, False, False, False, True])
    np.testing.assert_array_equal(rng.permutation(6), [2, 3, 5, 1, 4, 0])
    assert rng.fold_in(3).random() == 0.8613404445380507
    assert rng.spawn(2)[1].random() == 0.6124682085893568


EXACT = {
    "random": lambda rng, x: rng.random(x.shape),
    "random of one number": lambda rng, x: x + rng.random(),
    "random in single precision": lambda rng, x: rng.random((3, 4), F4),
    "uniform": lambda rng, x: rng.uniform(x, 2.0),
    "bernoulli": lambda rng, x: rng.bernoulli(0.3, x.shape),
    "integers": lambda rng, x: rng.integers(-3, 10, (2, 4)),
    "integers of 32 bits": lambda rng, x: rng.integers(7, size=9, dtype=np.int32, endpoint=True),
    "permutation": lambda rng, x: rng.permutation(6),
    "permutation of an array": lambda rng, x: rng.permutation(x),
    "choice": lambda rng, x: rng.choice(x, (2, 3)),
    "choice with probabilities": lambda rng, x: rng.choice(x, 4, p=P),
    "choice without replacement": lambda rng, x: rng.choice(6, 4, replace=False),
    "fold_in": lambda rng, x: rng.fold_in(3).random(4),
    "spawn": lambda rng, x: np.stack([child.random(4) for child in rng.spawn(3)]),
    "two draws": lambda rng, x: rng.random(5) - rng.random(5),
    "a loop": lambda rng, x: sum((rng.random(5) for _ in range(20)), x),
    "vmap": lambda rng, x: wg.vmap(lambda y: y + rng.random(2))(x),
    "vmap of fold_in": lambda rng, x: wg.vmap(lambda y, i: y + rng.fold_in(i).random(2))(x, np.arange(5)),
    "scan of fold_in": lambda rng, x: wg.scan(lambda s, i: (s, rng.fold_in(i).random()), 0, np.arange(5))[1],
}
TO_ROUNDING = {
    "normal": lambda rng, x: rng.normal(x, 2.0),
    "standard_normal": lambda rng, x: rng.standard_normal((2, 3), F4),
    "exponential": lambda rng, x: rng.exponential(2.0, (3,)),
    "standard_exponential": lambda rng, x: rng.standard_exponential((3,), F4),
    "gumbel": lambda rng, x: rng.gumbel(x),
    "truncated_normal": lambda rng, x: rng.truncated_normal(x, 2.0),
    "weighted choice without replacement": lambda rng, x: rng.choice(5, 2, replace=False, p=P),
    "grad": lambda rng, x: wg.grad(lambda y: (rng.normal(y, 2.0) ** 2).sum())(x),
    "vmap of normal": lambda rng, x: wg.vmap(lambda y: rng.normal(y, 2.0, size=3))(x),
}


@pytest.mark.parametrize("name", [*EXACT, *TO_ROUNDING])
def test_compiled_draws_continue_the_same_sequence(name):
    draw, rtol = (EXACT[name], 0.0) if name in EXACT else (TO_ROUNDING[name], 1e-6)
    ours, theirs = counter_rng(7), counter_rng(7)
    compiled = wg.compile(lambda x: draw(ours, x))
    earlier = None
    for _ in range(3):
        expected, found = draw(theirs, X), compiled(X)
        np.testing.assert_allclose(found, expected, rtol=rtol, atol=rtol)
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(ours.state, theirs.state)
        assert "fold_in" in name or earlier is None or (earlier != found).any()
        earlier = found


@pytest.mark.parametrize("name", ["random", "uniform", "bernoulli", "integers", "fold_in", "spawn", "vmap"])
def test_compiled_draws_are_native(name):
    rng = counter_rng(7)
    assert not wg.compile(lambda x: EXACT[name](rng, x)).report(X).fallbacks


def test_a_compiled_dropout_is_one_loop():
    rng = counter_rng(1)
    drop = wg.compile(lambda x: wg.where(rng.bernoulli(0.5, x.shape), 0.0, x * 2.0))
    x = np.ones((20, 30), F4)
    assert [k.startswith("kernel") for k in map(str, drop.report(x).kernels)] == [True, True]  # and one for the state
    dropped = drop(x)
    assert dropped.dtype == F4
    assert set(np.unique(dropped)) == {0.0, 2.0}
    np.testing.assert_array_equal(dropped == 0.0, counter_rng(1).bernoulli(0.5, x.shape))


def test_a_generator_is_a_constant_argument_whose_state_is_read():
    draw = wg.compile(lambda rng: rng.random(2))
    one, other = counter_rng(1), counter_rng(2)
    eager = counter_rng(1)
    for _ in range(2):
        np.testing.assert_array_equal(draw(one), eager.random(2))
    np.testing.assert_array_equal(draw(other), counter_rng(2).random(2))


def test_generators_made_in_a_compiled_function():
    seeded = wg.compile(lambda x: x + counter_rng(3).random(2))
    for _ in range(2):
        np.testing.assert_array_equal(seeded(0.0), counter_rng(3).random(2))
    fresh = wg.compile(lambda x: x + counter_rng().random(2))
    assert len(np.unique([fresh(0.0) for _ in range(3)])) == 6
    with pytest.raises(wg.TrackedValueError, match="same in every call"):
        wg.compile(lambda x: x + counter_rng(np.random.default_rng(3)).random())(0.0)


def test_reparametrised_gradients():
    loc, scale = wg.tensor(0.5, requires_grad=True), wg.tensor(2.0, requires_grad=True)
    counter_rng(3).normal(loc, scale, size=4).sum().backward()
    z = counter_rng(3).standard_normal(4)
    assert loc.grad == 4.0
    np.testing.assert_allclose(scale.grad, z.sum())
    slope = wg.grad(lambda low: counter_rng(3).uniform(low, 3.0))(1.0)
    np.testing.assert_allclose(slope, 1.0 - counter_rng(3).random())
    by_difference = wg.grad(lambda m: counter_rng(3).truncated_normal(m, 1.0, -1.0, 2.0))
    step = 1e-6
    draws = [counter_rng(3).truncated_normal(0.3 + s, 1.0, -1.0, 2.0) for s in (-step, step)]
    np.testing.assert_allclose(by_difference(0.3), (draws[1] - draws[0]) / (2.0 * step), rtol=1e-6)


def test_gradients_are_not_lost_silently():
    p = wg.tensor(0.5, requires_grad=True)
    with pytest.raises(wg.GradientError, match="bernoulli"):
        counter_rng(1).bernoulli(p)
    with pytest.raises(wg.GradientError, match="choice"):
        counter_rng(1).choice(2, p=wg.stack([p, 1.0 - p]))
    assert counter_rng(1).bernoulli(wg.stop_gradient(p)) in (True, False)


def test_batches():
    rng = counter_rng(5)
    same = wg.vmap(lambda x: x * 0.0 + rng.random())(X)
    assert (same == same[0]).all()
    different = wg.vmap(lambda x: rng.normal(x * 0.0, 1.0))(X)
    assert len(np.unique(different)) == 5
    nested = wg.vmap(wg.vmap(lambda x: rng.normal(x, 1.0)))(np.zeros((3, 4)))
    assert len(np.unique(nested)) == 12
    for replace in (True, False):
        chosen = wg.vmap(lambda p, replace=replace: rng.choice(5, 3, replace, p))(np.tile(P, (8, 1)))
        assert len(np.unique(chosen, axis=0)) > 1


def test_distributions():
    rng, n = counter_rng(11), 20_000
    checks = {
        "uniform": (rng.uniform(1.0, 3.0, n), stats.uniform(1.0, 2.0)),
        "normal": (rng.normal(1.0, 2.0, n), stats.norm(1.0, 2.0)),
        "exponential": (rng.exponential(2.0, n), stats.expon(0.0, 2.0)),
        "gumbel": (rng.gumbel(1.0, 2.0, n), stats.gumbel_r(1.0, 2.0)),
        "truncated": (rng.truncated_normal(0.5, 1.0, 1.0, 2.0, n), stats.truncnorm(0.5, 1.5, 0.5, 1.0)),
        "far tail": (rng.truncated_normal(0.0, 1.0, 8.0, 9.0, n), stats.truncnorm(8.0, 9.0)),
    }
    for name, (drawn, distribution) in checks.items():
        assert stats.kstest(drawn, distribution.cdf).pvalue > 1e-3, name
    counts = np.bincount(rng.integers(0, 7, n), minlength=7)
    assert stats.chisquare(counts).pvalue > 1e-3
    counts = np.bincount(rng.choice(5, n, p=P), minlength=5)
    assert stats.chisquare(counts, n * np.array(P)).pvalue > 1e-3
    assert abs(rng.bernoulli(0.3, n).mean() - 0.3) < 4.0 * np.sqrt(0.21 / n)


def test_streams_are_uncorrelated():
    rng = counter_rng(13)
    streams = [child.random(2000) for child in rng.spawn(8)]
    streams += [rng.fold_in(i).random(2000) for i in range(8)]
    streams += [counter_rng(seed).random(2000) for seed in range(8)]
    correlations = np.corrcoef(streams) - np.eye(24)
    assert np.abs(correlations).max() * np.sqrt(2000) < 5.0


def test_choices_without_replacement():
    rng = counter_rng(17)
    chosen = np.array([rng.choice(4, 2, replace=False, p=[0.5, 0.5, 0.0, 0.0]) for _ in range(50)])
    assert (np.sort(chosen, 1) == [0, 1]).all()
    assert sorted(rng.choice(np.arange(9), 9, replace=False)) == list(range(9))
    x = np.arange(6)
    rng.shuffle(x)
    assert sorted(x) == list(range(6))
    rows = rng.permutation(np.arange(6).reshape(2, 3), axis=1)
    assert sorted(rows[0]) == [0, 1, 2]
    np.testing.assert_array_equal(rows[1], rows[0] + 3)


def test_state_copies_and_pickles():
    rng = counter_rng(19)
    rng.random(3)
    copies = [copy.copy(rng), copy.deepcopy(rng), pickle.loads(pickle.dumps(rng)), CounterGenerator(rng.state.numpy())]
    saved = rng.state.numpy()
    expected = rng.random(4)
    for other in copies:
        np.testing.assert_array_equal(other.random(4), expected)
    rng.state = saved
    np.testing.assert_array_equal(rng.random(4), expected)
    assert repr(rng).endswith("counter=7)")
    assert "key=(" in repr(rng)


def test_seeds():
    seeded = counter_rng(np.random.default_rng(3)).random()
    assert seeded == counter_rng(wg.random.default_rng(3)).random()
    assert seeded == counter_rng(np.random.PCG64(3)).random()
    assert counter_rng(np.random.SeedSequence(3)).random() == counter_rng(3).random()
    assert counter_rng().random() != counter_rng().random()
    rng = counter_rng(3)
    assert counter_rng(rng) is rng


@pytest.mark.parametrize(
    ("draw", "error", "message"),
    [
        (lambda rng: rng.bernoulli(1.5), ValueError, "between 0 and 1"),
        (lambda rng: rng.integers(3, 3), ValueError, "no integers"),
        (lambda rng: rng.integers(0.5), TypeError, "integers as bounds"),
        (lambda rng: rng.random(3, np.float16), TypeError, "float32 or float64"),
        (lambda rng: rng.normal(np.zeros(3), size=2), ValueError, "cannot make draws of size"),
        (lambda rng: rng.choice(3, 4, replace=False), ValueError, "without replacement"),
        (lambda rng: rng.choice(3, p=[0.5, 0.5]), ValueError, "3 elements"),
        (lambda rng: rng.fold_in(0.5), TypeError, "takes an integer"),
        (lambda rng: setattr(rng, "state", np.zeros(3)), ValueError, "three integers"),
        (
            lambda rng: wg.compile(lambda x: wg.scan(lambda s, _: (s, rng.random()), x, np.arange(3)))(1.0),
            wg.GradientError,
            "scan assigns",
        ),
    ],
)
def test_errors(draw, error, message):
    with pytest.raises(error, match=message):
        draw(counter_rng(1))


def test_other_generators_name_this_one_in_a_trace():
    rng = wg.random.default_rng(1)
    with pytest.raises(wg.TrackedValueError, match="counter_rng"):
        wg.compile(lambda x: x + rng.random())(1.0)

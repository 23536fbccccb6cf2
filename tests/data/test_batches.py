"""Batches: what they hold, in which order, from which position on; and what cannot be."""

from __future__ import annotations

import json
import threading
from dataclasses import dataclass

import numpy as np
import pytest

import wengert as wg
from wengert.data import Batches

X, Y = np.arange(20.0).reshape(10, 2), np.arange(10)


@dataclass
class Pair:
    image: np.ndarray
    label: np.ndarray


def labels(batches):
    return [y.tolist() for _, y in batches]


def same(a, b):
    return all(np.array_equal(p, q) for p, q in zip(a, b, strict=True))


def test_batches_are_rows_in_order():
    batches = list(Batches((X, Y), 4))
    assert [y.tolist() for _, y in batches] == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
    for x, y in batches:
        assert np.array_equal(x, X[y])


@pytest.mark.parametrize(("n", "drop", "count"), [(3, False, 4), (3, True, 3), (5, True, 2), (10, False, 1)])
def test_length(n, drop, count):
    batches = Batches((X, Y), n, drop_last=drop)
    assert len(batches) == count == len(list(batches))
    assert batches.samples == sum(len(y) for _, y in batches)


def test_trees_keep_their_structure():
    nested = next(iter(Batches({"x": X, "rest": [Y, (Y + 1, None)]}, 2)))
    assert nested["rest"][0].tolist() == [0, 1]
    assert nested["rest"][1][0].tolist() == [1, 2]
    assert nested["rest"][1][1] is None
    pair = next(iter(Batches(Pair(X, Y), 2)))
    assert isinstance(pair, Pair)
    assert pair.label.tolist() == [0, 1]
    assert next(iter(Batches(wg.tensor(X, requires_grad=True), 2))).tolist() == X[:2].tolist()


def test_batches_belong_to_the_caller():
    data = X.copy()
    for shuffle in (False, True):
        for batch in Batches(data, 3, shuffle=shuffle, rng=0):
            batch[:] = np.nan
    assert np.array_equal(data, X)


def test_each_epoch_has_another_order_and_every_sample():
    batches = Batches((X, Y), 3, shuffle=True, rng=5)
    epochs = [labels(batches) for _ in range(3)]
    for epoch in epochs:
        assert sorted(sum(epoch, [])) == Y.tolist()
    assert epochs[0] != epochs[1] != epochs[2]
    again = Batches((X, Y), 3, shuffle=True, rng=5)
    assert [labels(again) for _ in range(3)] == epochs
    assert labels(Batches((X, Y), 3, shuffle=True, rng=6)) != epochs[0]


@pytest.mark.parametrize(
    "rng", [3, np.random.default_rng(3), wg.random.default_rng(3)], ids=["seed", "numpy", "wengert"]
)
def test_seeds_and_generators(rng):
    assert labels(Batches((X, Y), 3, shuffle=True, rng=rng)) == labels(Batches((X, Y), 3, shuffle=True, rng=3))


def test_an_epoch_that_is_left_early_counts():
    batches, whole = (Batches((X, Y), 3, shuffle=True, rng=1) for _ in range(2))
    next(iter(batches))
    assert labels(whole) != labels(batches) == labels(whole)


@pytest.mark.parametrize("prefetch", [0, 2])
@pytest.mark.parametrize("steps", [0, 1, 4, 5, 10, 13])
def test_resuming_gives_the_same_bits(steps, prefetch):
    def make():
        return Batches(X, 2, shuffle=True, rng=2, prefetch=prefetch, transform=add_noise)

    def stream(batches):
        while True:
            yield from batches

    reference = stream(make())
    expected = [next(reference) for _ in range(steps + 7)][steps:]
    begun = make()
    source = stream(begun)
    for _ in range(steps):
        next(source)
    state = json.loads(json.dumps(begun.state_dict()))
    source.close()
    other = Batches(X, 2, shuffle=True, rng=99, prefetch=prefetch, transform=add_noise)
    other.load_state_dict(state)
    rest = stream(other)
    assert same([next(rest) for _ in range(7)], expected)


def add_noise(x, rng):
    return x + rng.standard_normal(x.shape)


def test_transforms():
    doubled = Batches((X, Y), 4, transform=lambda batch: (2 * batch[0], batch[1]))
    assert all(np.array_equal(x, 2 * X[y]) for x, y in doubled)
    noisy = [list(Batches(X, 4, transform=add_noise, rng=seed)) for seed in (0, 0, 1)]
    assert same(noisy[0], noisy[1])
    assert not same(noisy[0], noisy[2])
    assert not np.array_equal(noisy[0][0] - X[:4], noisy[0][1] - X[4:8])


def test_files_are_mapped_to_memory(tmp_path):
    np.save(tmp_path / "x.npy", X)
    np.save(tmp_path / "y.npy", Y)
    from_files = Batches((tmp_path / "x.npy", str(tmp_path / "y.npy")), 3, shuffle=True, rng=0)
    assert isinstance(from_files.source.arrays[0].base, np.memmap)
    batches = list(from_files)
    assert type(batches[0][0]) is np.ndarray
    assert labels(batches) == labels(Batches((X, Y), 3, shuffle=True, rng=0))
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    assert same(list(Batches(mapped, 3)), list(Batches(X, 3)))
    with pytest.raises(ValueError, match="no .npy file"):
        Batches(str(tmp_path / "x.npz"), 3)


def test_iterables_are_stacked():
    def samples():
        return ({"x": x, "y": int(y)} for x, y in zip(X, Y, strict=True))

    batches = Batches(samples, 4)
    for _ in range(2):
        found = list(batches)
        assert [b["y"].tolist() for b in found] == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
        assert np.array_equal(found[0]["x"], X[:4])
    assert [len(b["y"]) for b in Batches(samples, 4, drop_last=True)] == [4, 4]
    assert len(Batches(range(10), 4)) == 3
    with pytest.raises(TypeError, match="no number of samples"):
        len(batches)


def test_an_iterable_resumes():
    batches = Batches(lambda: iter(Y), 2)
    batches.load_state_dict({"seed": 0, "epoch": 0, "position": 3})
    assert [b.tolist() for b in batches] == [[6, 7], [8, 9]]
    assert batches.state_dict() == {"seed": 0, "epoch": 1, "position": 0}


def test_an_iterator_that_is_at_its_end():
    batches = Batches(iter(Y), 5)
    assert len(list(batches)) == 2
    with pytest.raises(ValueError, match="at its end"):
        list(batches)


@pytest.mark.parametrize("ahead", [1, 3, 50])
def test_prefetched_batches_are_the_same(ahead):
    plain, fetched = (Batches((X, Y), 3, shuffle=True, rng=0, prefetch=n) for n in (0, ahead))
    assert labels(plain) == labels(fetched)
    assert labels(plain) == labels(fetched)


def prefetching_threads():
    return [thread for thread in threading.enumerate() if thread.name.startswith("wengert-prefetch")]


def test_the_thread_makes_batches_ahead_and_ends():
    made = []
    ready = threading.Event()

    def transform(x):
        made.append(threading.current_thread().name)
        if len(made) == 3:
            ready.set()
        return x

    iterator = iter(Batches(X, 2, prefetch=2, transform=transform))
    next(iterator)
    assert ready.wait(10)
    assert all(name.startswith("wengert-prefetch") for name in made)
    iterator.close()
    assert not prefetching_threads()
    assert len(made) <= 4


def test_errors_of_the_thread_are_passed_on_when_due():
    def fail_on_the_third(batch):
        if batch[0] == 4:
            raise KeyError("the third")
        return batch

    iterator = iter(Batches(Y, 2, prefetch=4, transform=fail_on_the_third))
    assert [next(iterator).tolist() for _ in range(2)] == [[0, 1], [2, 3]]
    with pytest.raises(KeyError, match="the third"):
        next(iterator)
    assert not prefetching_threads()


@pytest.mark.parametrize(
    ("make", "kind", "message"),
    [
        (lambda: Batches((X, Y[:9]), 2), ValueError, r"different lengths: data\[0\] has 10, data\[1\] has 9 samples"),
        (lambda: Batches({"x": X, "y": Y[:3]}, 2), ValueError, r"data\['y'\] has 3 samples"),
        (lambda: Batches(X, 11), ValueError, "A batch of 11 is larger than the data, which has 10 samples"),
        (lambda: Batches(X[:0], 1), ValueError, "There is no data"),
        (lambda: Batches((), 1), ValueError, "There is no data"),
        (lambda: Batches([], 1), ValueError, "There is no data"),
        (lambda: Batches(range(0), 1), ValueError, "There is no data"),
        (lambda: Batches(X, 0), ValueError, "batch_size is 0"),
        (lambda: Batches(X, 2, prefetch=-1), ValueError, "prefetch is -1"),
        (lambda: Batches(X, np.float64(2.5)), TypeError, "float"),  # type: ignore[arg-type]  # the wrong type
        (lambda: Batches((X, 3.0), 2), TypeError, "a float where an array should be"),
        (lambda: Batches((X, np.array(3.0)), 2), ValueError, r"data\[1\] has no axes"),
        (lambda: Batches(np.ma.masked_array(X), 2), TypeError, "its mask would be ignored"),
        (lambda: Batches(lambda: iter(Y), 2, shuffle=True), TypeError, "cannot be shuffled"),
        (lambda: Batches(X, 2).load_state_dict({"epoch": 1}), ValueError, r"entries \['epoch'\]"),
    ],
)
def test_bad_input(make, kind, message):
    with pytest.raises(kind, match=message):
        make()


def test_repr():
    assert repr(Batches(X, 2, shuffle=True, rng=0)) == "Batches(10 samples, batch_size=2, shuffle=True, epoch=0)"

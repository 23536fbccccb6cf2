"""`x.at[key]` in every mode and compiled, against NumPy's `ufunc.at`, and values that do not change in place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.core.frozen import frozen
from wengert.ops.indexing.updates import At

X = np.array([[1.5, 2.0, 3.0], [4.0, 5.0, 6.5]])
UFUNCS = {
    "add": np.add, "subtract": np.subtract, "multiply": np.multiply, "divide": np.divide, "power": np.power,
    "max": np.maximum, "min": np.minimum,
}  # fmt: skip
KEYS: dict[str, Any] = {
    "slice": np.s_[:, ::2],
    "integer": np.s_[1, 2],
    "repeated": (np.array([0, 0, 1]), np.array([1, 1, 2])),
    "rows": np.array([1, 1, 0]),
    "mask": X > 2.5,
}


def expected(name: str, key: Any, v: Any) -> np.ndarray:
    out = X.copy()
    UFUNCS[name].at(out, key, v)
    return out


def update(name: str, key: Any) -> Callable[[Any, Any], Any]:
    return lambda x, v: getattr(At(x)[key], name)(v)


@pytest.mark.parametrize("name", UFUNCS)
@pytest.mark.parametrize("key", KEYS.values(), ids=KEYS)
def test_updates_are_those_of_numpy(name: str, key: Any) -> None:
    v = np.linspace(1.2, 2.4, X[key].size).reshape(X[key].shape)
    np.testing.assert_allclose(update(name, key)(wg.tensor(X), v).numpy(), expected(name, key, v), rtol=1e-15)
    wg.check.grads(update(name, key), (X, v), order=1)


@pytest.mark.parametrize("name", UFUNCS)
@pytest.mark.parametrize("key", ["repeated", "rows"])
def test_indices_may_be_traced_or_batched(name: str, key: str) -> None:
    """The numbers of such indices are not known when the program is made."""
    v = np.linspace(1.2, 2.4, X[KEYS[key]].size).reshape(X[KEYS[key]].shape)

    def run(x: Any, index: Any, v: Any) -> Any:
        return getattr(x.at[index], name)(v)

    def slope(x: Any, index: Any, v: Any) -> Any:
        return wg.grad(lambda x, v: (run(x, index, v) ** 2).sum(), (0, 1))(x, v)

    wanted = expected(name, KEYS[key], v)
    np.testing.assert_allclose(wg.compile(run)(X, KEYS[key], v), wanted, rtol=1e-14)
    stacked = wg.tree.map(lambda a: np.stack([a, a[::-1]]), (X, KEYS[key], v))
    np.testing.assert_allclose(wg.vmap(run)(*stacked)[0], wanted, rtol=1e-14)
    for traced, known in zip(wg.compile(slope)(X, KEYS[key], v), slope(X, KEYS[key], v), strict=True):
        np.testing.assert_allclose(traced, known, rtol=1e-13)


def test_integers_keep_their_dtype() -> None:
    x, index = np.array([3, 1, 2]), np.array([0, 0, 2])
    for name, wanted in (("max", [5, 1, 5]), ("min", [3, 1, 2]), ("multiply", [75, 1, 10])):
        found = wg.compile(lambda x, i, name=name: getattr(x.at[i], name)(5))(x, index)
        np.testing.assert_array_equal(found, wanted)
        assert found.dtype == x.dtype


def test_apply_and_get() -> None:
    x = wg.tensor(X)
    np.testing.assert_array_equal(x.at[1].get().numpy(), X[1])
    np.testing.assert_allclose(x.at[0, [0, 0]].apply(np.sqrt).numpy()[0], [1.5**0.25, 2.0, 3.0])
    np.testing.assert_allclose(wg.compile(lambda x, i: x.at[i].apply(np.exp))(X, 1), [X[0], np.exp(X[1])])
    with pytest.raises(TypeError, match=r"at\[...\].apply needs to know the numbers"):
        wg.compile(lambda x, i: x.at[i].apply(np.exp))(X, np.array([0, 0]))


def test_frozen_values_do_not_change() -> None:
    x = y = wg.tensor([1.0, 2.0])
    with frozen():
        x += 1.0
        with pytest.raises(TypeError, match=r"immutable.*at\[index\]\.set"):
            y[0] = 5.0
        for change in (y.sort, lambda: y.fill(0.0)):
            with pytest.raises(TypeError, match="immutable"):
                change()
    assert (x.tolist(), y.tolist()) == ([2.0, 3.0], [1.0, 2.0])
    y[0] = 5.0
    assert y.tolist() == [5.0, 2.0]

"""Masked arrays and matrices raise an error; other subclasses of NumPy's array are arrays."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg


class Own(np.ndarray):
    pass


X = np.arange(1.0, 10.0).reshape(3, 3)
REFUSED = {"masked": np.ma.masked_array(X, mask=X > 4.0), "matrix": X.view(np.matrix)}
MESSAGES = {
    "masked": r"mask would be ignored, at .*test_subclasses.py:\d+.*filled",
    "matrix": r"np.matrix .*test_subclasses.py:\d+.*asarray",
}


def f(x):
    return (x * x).sum()


compiled = wg.compile(f)
WAYS = {
    "compile": lambda a: wg.compile(f)(a),
    "compile, after an array": lambda a: compiled(a),
    "compile, in a tree": lambda a: wg.compile(lambda t: f(t["x"]))({"x": a}),
    "compile, captured": lambda a: wg.compile(lambda x: f(x * a))(2.0),
    "compile, returned": lambda a: wg.compile(lambda x: (x, a))(2.0),
    "trace": lambda a: wg.trace(f, a),
    "grad": lambda a: wg.grad(f)(a),
    "jvp": lambda a: wg.jvp(f, (a,), (X,)),
    "jacfwd": lambda a: wg.jacfwd(f)(a),
    "vmap": lambda a: wg.vmap(f)(a),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", REFUSED)
def test_refused(name, way):
    compiled(X)
    with pytest.raises(TypeError, match=MESSAGES[name]):
        WAYS[way](REFUSED[name])


def test_tensors_of_masked_arrays():
    with pytest.raises(TypeError, match=MESSAGES["masked"]):
        wg.tensor(REFUSED["masked"])
    np.testing.assert_array_equal(wg.tensor(REFUSED["matrix"]).numpy(), X)


def test_other_subclasses_are_arrays(tmp_path):
    mapped = np.memmap(tmp_path / "x", X.dtype, "w+", shape=X.shape)
    mapped[...] = X
    for x in (mapped, X.view(Own)):
        assert compiled(x) == f(X)
        np.testing.assert_array_equal(wg.compile(wg.grad(f))(x), 2 * X)
        np.testing.assert_array_equal(wg.grad(f)(x), 2 * X)

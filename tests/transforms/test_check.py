from __future__ import annotations

import numpy as np
import pytest

import wengert as wg
from wengert.control.custom import custom_jvp, custom_vjp
from wengert.transforms import check

X = np.array([0.3, 0.8, 1.5])


def test_right_derivatives_agree():
    report = check.grads(lambda x, y: np.sin(x * y) / y + x @ y, [X, X + 1.0], order=3)
    assert {(row.order, row.argument) for row in report} == {(k, f"argument {i}") for k in (1, 2, 3) for i in (0, 1)}
    assert {row.modes for row in report if row.order == 2} == {
        (a, b) for a in ("forward", "reverse") for b in ("forward", "reverse")
    }
    assert str(report) == f"{len(report)} derivatives agree"


@pytest.mark.parametrize("dtype", [np.float32, np.complex128])
def test_dtypes(dtype):
    check.grads(lambda x: np.exp(x) * x, [X.astype(dtype)])


def test_trees_constants_and_several_results():
    def f(p, i, scale):
        return {"y": p["w"][i] * scale, "n": np.argmax(p["w"]), "z": [p["b"] ** 2, 1.0]}

    report = check.grads(f, [{"w": X, "b": 2.0}, np.array([0, 2]), wg.tensor(3.0)])
    assert {row.argument for row in report} == {"argument 0, leaf 0", "argument 0, leaf 1", "argument 2"}


def wrong_first():
    f = custom_jvp(lambda x: x**3)
    f.defjvp(lambda primals, tangents: (f(*primals), 3.01 * primals[0] ** 2 * tangents[0]))
    return f


def wrong_second():
    """The first derivative is right; what it depends on is hidden from the second."""
    f = custom_vjp(lambda x: x**3)
    f.defvjp(lambda x: (x**3, x.detach() if isinstance(x, wg.Tensor) else x), lambda x, t: (3.0 * x**2 * t,))
    return f


class TestItCanFail:
    def test_first_order(self):
        with pytest.raises(check.CheckError, match=r"argument 1, order 1, forward: .*, but numerically .*") as found:
            check.grads(lambda y, x: y * wrong_first()(x), [2.0, 0.5])
        assert "argument 1, order 1, reverse" in str(found.value)

    def test_second_order(self):
        f = wrong_second()
        check.grads(f, [X], order=1)
        with pytest.raises(check.CheckError, match="order 2, reverse over reverse"):
            check.grads(f, [X], order=2, modes=["reverse"])

    def test_modes_that_differ(self):
        class Two:
            """Wrong by too little for differences of values to see."""

            def __call__(self, x):
                return x * (2.0 + 3e-8 if type(x).__name__ == "Dual" else 2.0)

        check.grads(Two(), [X], order=1, modes=["forward"])
        with pytest.raises(check.CheckError, match="order 1, reverse: .*, but forward"):
            check.grads(Two(), [X], order=1, atol=1e-9)

    def test_tolerances(self):
        check.grads(wrong_first(), [X], rtol=0.1, atol=0.1, order=1)


def test_bad_input():
    with pytest.raises(ValueError, match="knows the modes"):
        check.grads(np.sin, [X], modes=["sideways"])
    with pytest.raises(TypeError, match="floating-point"):
        check.grads(np.sin, [3])

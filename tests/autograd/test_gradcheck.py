"""The checkers pass what is right, and, above all, can fail."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg
from wengert.autograd import Function, GradcheckError, gradcheck, gradgradcheck


def leaf(data, dtype=float):
    return wg.tensor(data, requires_grad=True, dtype=dtype)


def scaled(factor, second=1.0):
    """x squared, with a first derivative off by one factor and a second by another."""

    class Inner(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2.0 * factor

        @staticmethod
        def backward(ctx, t):
            return t * 2.0 * factor * second

    class Square(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, t):
            (x,) = ctx.saved_tensors
            return t * Inner.apply(x)

    return Square.apply


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, np.complex128, np.complex64])
def test_right_derivatives_pass(dtype):
    x = leaf(np.array([[0.5, -1.25], [2.0, 0.75]]), dtype)
    y = leaf(np.array([1.5, -0.5]), dtype)
    for check in (gradcheck, gradgradcheck):
        assert check(lambda x, y: (x * y, (x * x).sum(axis=0)), (x, y))


def test_wrong_first_order_is_caught():
    x = leaf([1.0, 3.0])
    assert gradcheck(scaled(1.0), x)
    assert not gradcheck(scaled(1.01), x, raise_exception=False)
    with pytest.raises(GradcheckError) as error:
        gradcheck(scaled(2.0), x)
    lines = str(error.value).splitlines()
    assert "in 2 elements" in lines[0]
    assert lines[1].startswith("  d output 0 [1] / d input 0 [1]: numerical 6")
    assert "analytical 12" in lines[1]
    assert "kink" not in str(error.value)


def test_wrong_second_order_is_caught():
    x = leaf([1.0, 3.0])
    wrong = scaled(1.0, second=1.5)
    assert gradcheck(wrong, x)
    assert gradgradcheck(scaled(1.0), x)
    assert not gradgradcheck(wrong, x, raise_exception=False)
    with pytest.raises(GradcheckError, match="d input 0"):
        gradgradcheck(wrong, x)


def test_a_lost_gradient_is_caught():
    x = leaf([1.0, 3.0])
    with pytest.raises(GradcheckError, match="numerical 6, analytical 3"):
        gradcheck(lambda x: x.detach() * x, x)
    with pytest.raises(GradcheckError, match="analytical 0"):
        gradcheck(lambda x: x.detach() * 2.0, x)
    with pytest.raises(GradcheckError):
        gradgradcheck(lambda x: x.detach() * x * x, x)
    for check in (gradcheck, gradgradcheck):
        for lost in (
            lambda x: x.detach().numpy(),
            lambda x: x.detach().sum().item(),
            lambda x: {"a": [x.detach() * 2.0]},
        ):
            with pytest.raises(GradcheckError, match="analytical 0"):
                check(lost, x)


def test_outputs_in_containers():
    x = leaf([1.0, 3.0])
    for check in (gradcheck, gradgradcheck):
        assert check(lambda x: {"a": x * x, "b": [x.sum(), None, "name", 3]}, x)
        assert check(lambda x: (x * x, np.ones(2), 3.0), x)
        assert check(wg.floor, leaf([0.5, 1.5]))
    assert gradgradcheck(lambda x: {"a": x**3, "b": x}, x, grad_outputs={"a": np.ones(2), "b": np.ones(2)})
    with pytest.raises(GradcheckError, match="d output 1"):
        gradcheck(lambda x: {"a": x * x, "b": scaled(2.0)(x)}, x)


def test_the_right_input_and_output_are_named():
    class Wrong(Function):
        @staticmethod
        def forward(ctx, x, y):
            return x + y, x * 2.0

        @staticmethod
        def backward(ctx, t, u):
            return t + 2.0 * u, 3.0 * t

    with pytest.raises(GradcheckError) as error:
        gradcheck(Wrong.apply, (leaf([[1.0, 2.0]]), leaf([[3.0, 4.0]])))
    assert "d output 0 [0, 0] / d input 1 [0, 0]: numerical 1" in str(error.value)
    assert "d input 0" not in str(error.value)
    assert "d output 1" not in str(error.value)


def test_kinks_are_named():
    with pytest.raises(GradcheckError, match=r"one-sided differences are -?0 and 1: the point looks like a kink"):
        gradcheck(wg.relu, leaf([0.0, 1.0]))
    assert gradcheck(wg.relu, leaf([-1.0, 1.0]))


def test_imaginary_directions():
    class Conjugated(Function):
        @staticmethod
        def forward(ctx, z):
            return z * (1.0 + 2.0j)

        @staticmethod
        def backward(ctx, t):
            return t * (1.0 + 2.0j)

    with pytest.raises(GradcheckError, match="imaginary part"):
        gradcheck(Conjugated.apply, leaf([1.0 + 1.0j], complex))
    assert gradcheck(lambda z: wg.real(z * wg.conj(z)), leaf([1.0 + 2.0j, -1.0j], complex))


def test_notes_on_precision_and_memory():
    x = leaf([1.0, 2.0], np.float32)
    with pytest.raises(GradcheckError, match=r"Inputs \[0\] are less precise than float64"):
        gradcheck(scaled(2.0), x)
    y = leaf([1.0, 2.0])
    with pytest.raises(GradcheckError, match="Inputs 0 and 1 share memory"):
        gradcheck(lambda a, b: scaled(2.0)(a) * b, (y, y))
    assert gradcheck(lambda a, b: a * b, (y, y))


def test_nondeterminism_is_caught():
    random = np.random.default_rng(0)

    class Noisy(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1.0

        @staticmethod
        def backward(ctx, t):
            return t * (1.0 + 1e-7 * random.standard_normal())

    x = leaf([1.0, 2.0])
    with pytest.raises(GradcheckError, match="Backward is not deterministic: two runs differ by .* for input 0"):
        gradcheck(Noisy.apply, x)
    assert gradcheck(Noisy.apply, x, nondet_tol=1e-5)
    with pytest.raises(GradcheckError, match="function is not deterministic: output 0"):
        gradcheck(lambda x: x * random.standard_normal(), x)


def test_scales():
    """The step follows the size of the entry."""
    x = leaf([1e8, 1e-3, 3.0])
    assert gradcheck(lambda x: wg.log(x), x, atol=1e-2)
    assert not gradcheck(lambda x: scaled(1.1)(x) / 1e8, leaf([1e9]), raise_exception=False)


def test_shapes():
    for check in (gradcheck, gradgradcheck):
        assert check(lambda x: x * x, leaf(2.0))
        assert check(lambda x: x * x, leaf(np.zeros((0, 3))))
        assert check(lambda x: x.sum(), leaf(np.zeros((0, 3))))
        assert check(lambda x: (x.argmax(), x * x), leaf([1.0, 2.0]))
    assert gradcheck(lambda x, n, a: x**n + a, (leaf([1.0, 2.0]), 3, np.ones(2)))


def test_inputs_are_left_alone():
    x = leaf([1.0, 2.0])
    y = x * 1.0
    assert gradcheck(lambda a: a * a, y)
    assert gradgradcheck(lambda a: a * a, y)
    assert x.grad is None
    np.testing.assert_array_equal(x.detach(), [1.0, 2.0])
    with wg.no_grad():
        assert gradcheck(lambda a: a * a, x)


def test_given_vectors():
    assert gradgradcheck(lambda x: x**3, leaf([1.0, 2.0]), grad_outputs=np.array([0.5, 2.0]))


def test_nothing_to_check():
    for check in (gradcheck, gradgradcheck):
        with pytest.raises(ValueError, match="at least one input"):
            check(lambda x: x, wg.tensor(1.0))
        for nothing in (lambda x: None, lambda x: x.argmax(), lambda x: {"a": "name", "b": 3}, lambda x: ()):
            with pytest.raises(ValueError, match="at least one output"):
                check(nothing, leaf([1.0, 2.0]))

"""Function: derivatives written by hand, at first and second order, and every way to get them wrong."""

from __future__ import annotations

import numpy as np
import pytest
from tests.autograd.functions import Between, Cube, Exp, Linear, Pair, leaf, make, normal

import wengert as wg
from wengert.autograd import Function, grad, gradcheck, gradgradcheck, no_grad, once_differentiable


@pytest.mark.parametrize("with_bias", [True, False])
def test_linear(with_bias):
    args = (normal(4, 3), normal(2, 3, seed=1), normal(2, seed=2))[: 2 + with_bias]
    assert gradcheck(Linear.apply, args)
    assert gradgradcheck(Linear.apply, args)
    y = Linear.apply(*args)
    assert y.grad_fn.name == "Linear"
    y.sum().backward()
    np.testing.assert_allclose(args[0].grad, np.ones((4, 2)) @ args[1].detach().numpy())


def test_keywords_take_their_position():
    x, w, b = normal(4, 3), normal(2, 3, seed=1), normal(2, seed=2)
    Linear.apply(x, weight=w, bias=b).sum().backward()
    np.testing.assert_allclose(b.grad, [4.0, 4.0])


def test_needs_input_grad_follows_the_arguments():
    seen = []

    def forward(ctx, x, y, n):
        seen.append(ctx.needs_input_grad)
        return x * y * n

    F = make(forward, lambda ctx, t: (t, t))
    F.apply(leaf(1.0), wg.tensor(2.0), 3)
    with no_grad():
        F.apply(leaf(1.0), wg.tensor(2.0), 3)
    assert seen == [(True, False, False), (False, False, False)]


@pytest.mark.parametrize("F", [Cube, Exp])
def test_every_order(F):
    x = leaf([0.5, -1.5])
    assert gradcheck(F.apply, x)
    assert gradgradcheck(F.apply, x)
    y = F.apply(x)
    for _ in range(3):
        (y,) = grad(y.sum(), x, create_graph=True)
    np.testing.assert_allclose(y.detach(), 6.0 if F is Cube else np.exp([0.5, -1.5]))


def test_forward_and_plain_backward_are_not_recorded():
    recorded = []

    def forward(ctx, x):
        recorded.append(x.requires_grad)
        y = x * 2.0
        recorded.append(y.requires_grad)
        ctx.save_for_backward(x)
        return y

    def backward(ctx, t):
        (x,) = ctx.saved_tensors
        recorded.append((x * t).requires_grad)
        return 2.0 * t

    F = make(forward, backward)
    x = leaf(1.0)
    F.apply(x).backward()
    assert recorded == [False, False, False]
    F.apply(x).backward(create_graph=True)
    assert recorded[3:] == [False, False, True]


def test_arrays_and_numbers_pass_unchanged():
    array, seen = np.array([1.0, 2.0]), []

    def forward(ctx, *args):
        seen.extend(args)
        return args[0] * args[1]

    y = make(forward, lambda ctx, t: (t * ctx.array,)).apply(leaf([3.0, 4.0]), array, 2, "name", None)
    assert seen[1] is array
    assert seen[2:] == [2, "name", None]
    assert isinstance(seen[0], wg.Tensor)
    assert y.requires_grad
    result = make(lambda ctx, a: a + 1, None).apply(array)
    assert type(result) is np.ndarray


def test_outputs_may_be_arrays_numbers_and_objects():
    buffer = np.zeros(2)

    def forward(ctx, x):
        buffer[:] = 2.0 * x.numpy()
        return buffer, float(x.numpy().sum()), np.float32(1.0), "note", 7

    def backward(ctx, t_array, t_number, t_single, t_note, t_integer):
        assert t_note is None
        assert t_integer.dtype.kind == "i"
        return 2.0 * t_array + t_number

    x = leaf([1.0, 2.0])
    array, number, single, note, integer = make(forward, backward).apply(x)
    assert note == "note"
    assert single.dtype == np.float32
    assert not integer.requires_grad
    buffer[:] = -1.0
    np.testing.assert_array_equal(array.detach(), [2.0, 4.0])
    (array.sum() + 3.0 * number).backward()
    np.testing.assert_array_equal(x.grad, [5.0, 5.0])


def test_several_outputs():
    x, y = leaf([1.0, 2.0]), leaf([3.0, 4.0])
    product, total, top = Pair.apply(x, y)
    assert not top.requires_grad
    assert product.grad_fn is total.grad_fn
    (product.sum() + 2.0 * total.sum()).backward()
    np.testing.assert_array_equal(x.grad, [5.0, 6.0])
    assert gradcheck(Pair.apply, (x, y))
    assert gradgradcheck(Pair.apply, (x, y))


def test_an_unused_output_is_zeros_or_none():
    seen = []

    def forward(ctx, x, materialize):
        ctx.set_materialize_grads(materialize)
        return x * 1.0, x * 2.0

    def backward(ctx, t, u):
        seen.append(u)
        return t

    F = make(forward, backward)
    for materialize in (True, False):
        F.apply(leaf([1.0, 2.0]), materialize)[0].sum().backward()
    np.testing.assert_array_equal(seen[0], [0.0, 0.0])
    assert seen[1] is None


def test_an_output_that_is_an_input_is_a_new_value():
    F = make(lambda ctx, x: x, lambda ctx, t: 10.0 * t)
    x = leaf(2.0)
    y = F.apply(x)
    assert y is not x
    (y * x).backward()
    assert x.grad.item() == 2.0 + 20.0


def test_none_means_no_gradient():
    F = make(lambda ctx, x, y: x * y, lambda ctx, t: (None, t))
    x, y = leaf(2.0), leaf(3.0)
    F.apply(x, y).backward()
    assert x.grad is None
    assert y.grad.item() == 1.0


@pytest.mark.parametrize(
    "returned", [lambda t: t, lambda t: (t,), lambda t: (t, None, None), lambda t: [t, None, None, None]]
)
def test_trailing_nones_are_optional(returned):
    x = leaf(2.0)
    make(lambda ctx, x, n, m: x * n, lambda ctx, t: returned(t)).apply(x, 2.0, 3.0).backward()
    assert x.grad.item() == 1.0


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        (lambda t: t, r"Made.backward returned 1 gradients for the 2 arguments"),
        (lambda t: (t, t, t), r"Made.backward returned 3 gradients for the 2 arguments"),
        (
            lambda t: (t.sum(), t),
            r"Made.backward returned a gradient of shape \(\) for argument 0, which has shape \(2,\)",
        ),
        (lambda t: (t, t.reshape(2, 1)), r"shape \(2, 1\) for argument 1"),
    ],
)
def test_wrong_gradients(returned, message):
    y = make(lambda ctx, x, y: x * y, lambda ctx, t: returned(t)).apply(leaf([1.0, 2.0]), leaf([1.0, 2.0]))
    with pytest.raises(wg.GradientError, match=message) as error:
        y.sum().backward()
    assert "test_function.py" in str(error.value)


def test_gradients_are_cast_to_the_dtype_of_the_argument():
    x = leaf([1.0, 2.0], np.float32)
    make(lambda ctx, x: x * 2.0, lambda ctx, t: np.array([1.0, 2.0])).apply(x).sum().backward()
    assert x.grad.dtype == np.float32


@pytest.mark.parametrize("wrap", [lambda y: {"a": y}, lambda y: (1.0, [y]), lambda y: {"a": (y.numpy(),)}])
def test_outputs_that_would_lose_their_gradient(wrap):
    F = make(lambda ctx, x: wrap(x * 2.0), lambda ctx, *t: 2.0 * t[0])
    with pytest.raises(
        wg.GradientError, match=r"Made.forward returned a tensor or array inside a container.*test_function.py"
    ):
        F.apply(leaf(1.0))
    with no_grad():
        F.apply(leaf(1.0))
    F.apply(wg.tensor(1.0))


def test_constants_in_containers_may_be_returned():
    def forward(ctx, x):
        steps = np.arange(2.0)
        ctx.mark_non_differentiable(steps)
        return x * 2.0, {"steps": steps, "order": np.arange(2), "note": "text"}

    x = leaf(1.0)
    y, details = make(forward, lambda ctx, t, _: 2.0 * t).apply(x)
    y.backward()
    assert x.grad.item() == 2.0
    assert details["steps"].tolist() == [0.0, 1.0]


class Once(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return wg.sin(x)

    @staticmethod
    @once_differentiable
    def backward(ctx, t):
        (x,) = ctx.saved_tensors
        return t.numpy() * np.cos(x.numpy())


def test_once_differentiable():
    x = leaf([1.0, 2.0])
    assert gradcheck(Once.apply, x)
    (dx,) = grad(Once.apply(x).sum(), x, create_graph=True)
    np.testing.assert_allclose(dx.detach(), np.cos([1.0, 2.0]))
    with pytest.raises(wg.GradientError, match="second derivative of Once.*once_differentiable"):
        dx.sum().backward()
    with pytest.raises(wg.GradientError, match="once_differentiable"):
        gradgradcheck(Once.apply, x)


def test_complex_gradients_follow_the_public_convention():
    class Multiply(Function):
        @staticmethod
        def forward(ctx, x, y):
            ctx.save_for_backward(x, y)
            return x * y

        @staticmethod
        def backward(ctx, t):
            x, y = ctx.saved_tensors
            return t * y.conj(), t * x.conj()

    x, y = leaf([1 + 2j, 0.5j], complex), leaf([2 - 1j, 1 + 1j], complex)
    assert gradcheck(Multiply.apply, (x, y))
    assert gradgradcheck(Multiply.apply, (x, y))


def test_tensors_that_would_lose_their_gradient():
    F = make(lambda ctx, x, many, *, scale=1.0: x * scale, lambda ctx, t: t)
    with pytest.raises(wg.GradientError, match="inside a container"):
        F.apply(leaf(1.0), [leaf(2.0)])
    with pytest.raises(wg.GradientError, match="keyword-only"):
        F.apply(leaf(1.0), None, scale=leaf(2.0))
    assert F.apply(leaf(1.0), [1, 2], scale=3.0).item() == 3.0
    with no_grad():
        assert F.apply(leaf(1.0), [leaf(2.0)], scale=leaf(3.0)).item() == 3.0


def test_not_instantiated_and_not_complete():
    with pytest.raises(TypeError, match=r"call Cube.apply"):
        Cube()
    with pytest.raises(NotImplementedError, match="static method forward"):
        type("Empty", (Function,), {}).apply(1.0)
    y = type("Half", (Function,), {"forward": staticmethod(lambda ctx, x: x * 1.0)}).apply(leaf(1.0))
    with pytest.raises(NotImplementedError, match="backward"):
        y.backward()


def test_inside_levels():
    """Tensors of nested transforms: each level has a history of its own, and backward is recorded by the ones around
    it.
    """
    from wengert.core.levels import new_level
    from wengert.modes.backward import backward_pass
    from wengert.modes.tape import Leaf

    def derivative(f):
        def df(x):
            level, found = new_level(), {}
            start = Leaf(x)
            y = f(wg.Tensor(x, level, start))
            backward_pass([(y.node, np.float64(1.0))], found.__setitem__)
            return found[start]

        return df

    assert derivative(Cube.apply)(np.float64(2.0)) == 12.0
    assert derivative(derivative(Cube.apply))(np.float64(2.0)) == 12.0
    assert derivative(derivative(derivative(Cube.apply)))(np.float64(2.0)) == 6.0
    np.testing.assert_allclose(derivative(derivative(Exp.apply))(np.float64(2.0)), np.exp(2.0))
    assert derivative(lambda x: x * derivative(lambda y: Cube.apply(y) * x)(x))(np.float64(1.0)) == 12.0
    x = leaf(2.0)
    derivative(Cube.apply)(x).backward()
    assert x.grad.item() == 12.0
    for F in (Between, Once):
        with pytest.raises(wg.GradientError):
            derivative(derivative(F.apply))(np.float64(2.0))


def test_used_many_times_and_in_diamonds():
    x = leaf(1.1)
    a = Cube.apply(x)
    y = a * x
    for _ in range(5):
        y = Pair.apply(y, a)[0] + a
    assert gradcheck(lambda x: Pair.apply(Cube.apply(x), x)[1] * Cube.apply(x), x)
    y.backward()
    h = 1e-6

    def f(x):
        a = x**3
        y = a * x
        for _ in range(5):
            y = y * a + a
        return y

    np.testing.assert_allclose(x.grad.item(), (f(1.1 + h) - f(1.1 - h)) / (2 * h), rtol=1e-6)

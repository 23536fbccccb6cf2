"""Function: what forward keeps for backward, and what second order may say of it."""

from __future__ import annotations

import numpy as np
import pytest
from tests.autograd.functions import Between, Cube, Exp, leaf, make

import wengert as wg
from wengert.autograd import grad, gradcheck, gradgradcheck


def test_saved_values_do_not_change():
    x, array = leaf([1.0, 2.0]).clone(), np.array([3.0, 4.0])
    F = make(
        lambda ctx, x, a: ctx.save_for_backward(x, a) or x * x * a,
        lambda ctx, t: (2.0 * t * ctx.saved_tensors[0] * ctx.saved_tensors[1],),
    )
    y = F.apply(x, array)
    before, kept = x[:], array.copy()
    (expected,) = grad(y.sum(), before, retain_graph=True, allow_unused=True)
    assert expected is None
    h = leaf([1.0, 2.0])
    x = h * 1.0
    y = F.apply(x, array)
    x[0] = 100.0
    x *= 5.0
    array[:] = -1.0
    y.sum().backward()
    np.testing.assert_array_equal(h.grad, 2.0 * np.array([1.0, 2.0]) * kept)


def test_saved_arrays_come_back_as_arrays():
    seen = []

    def forward(ctx, x):
        ctx.save_for_backward(np.cos(x.numpy()), None)
        return np.sin(x.numpy())

    def backward(ctx, t):
        array, nothing = ctx.saved_tensors
        seen.append((type(array), nothing, array.flags.writeable))
        return t * array

    make(forward, backward).apply(leaf([1.0])).sum().backward()
    assert seen == [(np.ndarray, None, False)]


def test_saved_tensors_after_release():
    kept = []

    def forward(ctx, x):
        kept.append(ctx)
        with pytest.raises(wg.GradientError, match="once forward has returned"):
            _ = ctx.saved_tensors
        ctx.save_for_backward(x)
        return x * 2.0

    y = make(forward, lambda ctx, t: 2.0 * t).apply(leaf(3.0))
    assert kept[0].saved_tensors[0].item() == 3.0
    y.backward()
    with pytest.raises(wg.GradientError, match="Made saved were released"):
        _ = kept[0].saved_tensors
    with pytest.raises(wg.GradientError, match="released by an earlier backward"):
        y.backward()


def test_retained_graph_runs_backward_again():
    x = leaf(2.0)
    y = Cube.apply(x)
    y.backward(retain_graph=True)
    y.backward()
    assert x.grad.item() == 24.0


def test_save_for_backward_takes_arrays_only():
    with pytest.raises(TypeError, match=r"Made: save_for_backward takes tensors.* ctx.name = value"):
        make(lambda ctx, x: ctx.save_for_backward(3), None).apply(leaf(1.0))


def test_second_order_through_a_value_in_between_raises():
    x = leaf(2.0)
    assert gradcheck(Between.apply, x)
    (dx,) = grad(Between.apply(x), x, create_graph=True)
    assert dx.item() == 12.0
    with pytest.raises(wg.GradientError, match="second derivative of Between"):
        grad(dx, x)


def test_an_input_changed_in_forward_is_no_longer_the_input():
    def forward(ctx, x):
        x *= 2.0
        ctx.save_for_backward(x)
        return x * x

    def backward(ctx, t):
        (doubled,) = ctx.saved_tensors
        return 4.0 * doubled * t

    x = leaf(3.0)
    y = make(forward, backward).apply(x)
    assert x.item() == 3.0
    (dx,) = grad(y, x, create_graph=True)
    assert dx.item() == 24.0
    with pytest.raises(wg.GradientError, match="second derivative"):
        dx.backward()


def test_tensors_in_attributes_keep_their_history():
    def forward(ctx, x, power):
        ctx.x, ctx.power, ctx.mask = x, power, np.array([1.0, 0.0])
        return x**power

    def backward(ctx, t):
        return t * ctx.power * ctx.x ** (ctx.power - 1) * (ctx.mask + (1.0 - ctx.mask))

    F = make(forward, backward)
    x = leaf([1.5, 2.0])
    assert gradcheck(lambda x: F.apply(x, 3), x)
    assert gradgradcheck(lambda x: F.apply(x, 3), x)
    with pytest.raises(AttributeError, match="'missing'"):
        make(lambda ctx, x: x * 1.0, lambda ctx, t: ctx.missing).apply(x).sum().backward()


def test_arrays_in_attributes_are_as_forward_left_them():
    weight = np.array([3.0, 4.0])

    def forward(ctx, x, a):
        ctx.a, ctx.part = a, a[1:]
        return x * a

    def backward(ctx, t):
        assert ctx.part.tolist() == [4.0]
        return t * ctx.a * (ctx.part / ctx.part)

    x = leaf([1.0, 2.0])
    y = make(forward, backward).apply(x, weight)
    weight[:] = 9.0
    (dx,) = grad((y * y).sum(), x, create_graph=True)
    np.testing.assert_array_equal(dx.detach(), [18.0, 64.0])
    np.testing.assert_array_equal(grad(dx.sum(), x)[0], [18.0, 32.0])


@pytest.mark.parametrize("start", [[0.5, -1.5], 0.5])
@pytest.mark.parametrize("saving", ["attribute", "save_for_backward"])
def test_arrays_on_the_memory_of_an_input_or_output_keep_its_history(start, saving):
    def cube(ctx, x):
        a = x.numpy()
        x *= 7.0  # `a` is still what the input was
        ctx.a = a
        ctx.save_for_backward(a)
        return a * a * a

    def exp(ctx, x):
        y = np.exp(x.numpy())
        ctx.a = y
        ctx.save_for_backward(y)
        return y

    def kept(ctx):
        return ctx.a if saving == "attribute" else ctx.saved_tensors[0]

    Cubed = make(cube, lambda ctx, t: 3.0 * t * kept(ctx) * kept(ctx))
    Exponential = make(exp, lambda ctx, t: t * kept(ctx))
    x = leaf(start)
    for F in (Cubed, Exponential):
        assert gradcheck(F.apply, x)
        assert gradgradcheck(F.apply, x)
        assert gradgradcheck(lambda x, F=F: F.apply(x * 1.0), x)


def test_arrays_on_memory_of_which_the_history_is_not_clear_raise_at_second_order():
    def part(ctx, x, y):
        ctx.a = x.numpy()[::-1]
        return x * y

    def whole(ctx, x, y):
        ctx.a = x.numpy()
        return x * y

    x = leaf([2.0, 3.0])
    constant = make(part, lambda ctx, t: (None, t * ctx.a))
    (dx,) = grad((constant.apply(wg.tensor([1.0, 1.0]), x) ** 2).sum(), x, create_graph=True)
    np.testing.assert_array_equal(grad(dx.sum(), x)[0], [2.0, 2.0])
    for forward, y in ((part, wg.tensor([1.0, 1.0])), (whole, x.detach())):
        F = make(forward, lambda ctx, t: (t * ctx.a, None))
        (dx,) = grad(F.apply(x, y).sum(), x, create_graph=True)
        with pytest.raises(wg.GradientError, match="second derivative of Made"):
            dx.sum().backward()


def test_an_output_saved_and_used_twice_at_second_order():
    """The history of a saved output joins that of the returned one."""
    x = leaf([0.3, 0.7])
    assert gradgradcheck(lambda x: Exp.apply(x) * Exp.apply(x * x), x)
    y = Exp.apply(x)
    (dx,) = grad((y * y).sum(), x, create_graph=True)
    (ddx,) = grad((dx * y).sum(), x)
    np.testing.assert_allclose(ddx, 6.0 * np.exp(3.0 * np.array([0.3, 0.7])))

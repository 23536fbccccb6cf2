"""`backward` and `grad`: accumulation, release, partial graphs, and bad input."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg
from wengert.autograd import backward, grad, no_grad


def leaf(data):
    return wg.tensor(data, requires_grad=True, dtype=float)


def test_backward_from_several_values():
    x = leaf([1.0, 2.0])
    backward([x * x, (3.0 * x).sum()], [np.array([1.0, 10.0]), None])
    np.testing.assert_array_equal(x.grad, [2.0 + 3.0, 40.0 + 3.0])


def test_backward_accumulates():
    x = leaf(3.0)
    backward(x * x)
    backward(x * x)
    assert x.grad.item() == 12.0
    x.grad = None
    backward(2.0 * x)
    assert x.grad.item() == 2.0


def test_one_vector_for_one_output():
    x = leaf([1.0, 2.0])
    for vector in ([1.0, 5.0], np.array([1.0, 5.0]), wg.tensor([1.0, 5.0]), [np.array([1.0, 5.0])]):
        np.testing.assert_array_equal(grad(x * x, x, vector)[0], [2.0, 20.0])


def test_backward_into_chosen_inputs():
    x, y = leaf(2.0), leaf(3.0)
    h = x * y
    backward(h * h, inputs=[x, h])
    assert (x.grad.item(), h.grad.item(), y.grad) == (36.0, 12.0, None)
    h = x * y
    h.retain_grad()
    (2.0 * h).backward(inputs=[h])
    assert h.retains_grad
    assert h.grad.item() == 2.0
    (x * y).backward(inputs=y)
    assert (x.grad.item(), y.grad.item()) == (36.0, 2.0)
    backward(x * y, inputs=(p for p in [y]))
    assert y.grad.item() == 4.0


def test_grad_does_not_accumulate():
    x, y = leaf(2.0), leaf(3.0)
    dx, dy = grad(x * y, (x, y))
    assert (dx.item(), dy.item()) == (3.0, 2.0)
    assert x.grad is None
    assert y.grad is None


def test_grad_of_several_outputs_is_their_sum():
    x = leaf([1.0, 2.0])
    (dx,) = grad([x * x, x], x, [np.ones(2), np.full(2, 10.0)])
    np.testing.assert_array_equal(dx, [12.0, 14.0])
    (dx,) = grad([x.sum(), x.sum()], [x])
    np.testing.assert_array_equal(dx, [2.0, 2.0])


def test_an_output_that_is_an_input():
    x = leaf(2.0)
    assert grad(x, x)[0].item() == 1.0
    h = x * x
    dh, dx = grad(h, [h, x])
    assert (dh.item(), dx.item()) == (1.0, 4.0)


def test_the_graph_can_be_cut_at_an_intermediate_value():
    x = leaf([1.0, 2.0])
    h = wg.sin(x)
    (dh,) = grad((h * h).sum(), h)
    h.backward(dh)
    np.testing.assert_allclose(x.grad, np.sin([2.0, 4.0]))


def test_release():
    x = leaf(2.0)
    y = x * x
    grad(y, x, retain_graph=True)
    grad(y, x)
    with pytest.raises(wg.GradientError, match=r"released by an earlier backward.*test_backward.py.*retain_graph=True"):
        grad(y, x)


def test_a_part_that_was_not_walked_is_kept():
    x, y = leaf(2.0), leaf(3.0)
    a, b = x * x, y * y
    total = a + b
    grad(total, x)
    b.backward()
    assert y.grad.item() == 6.0
    with pytest.raises(wg.GradientError, match="released"):
        a.backward()


def test_create_graph():
    x = leaf(2.0)
    (d1,) = grad(x**4, x, create_graph=True)
    (d2,) = grad(d1, x, create_graph=True)
    (d3,) = grad(d2, x)
    assert (d1.item(), d2.item(), d3.item()) == (32.0, 48.0, 48.0)
    with no_grad():
        pass
    y = x**3
    with no_grad():
        (d1,) = grad(y, x, create_graph=True)
    assert d1.requires_grad
    assert not grad(x**3, x)[0].requires_grad


def test_second_order_by_backward():
    x = leaf(3.0)
    (x**3).backward(create_graph=True)
    d1 = x.grad
    x.grad = None
    d1.backward()
    assert x.grad.item() == 18.0


def test_unused_inputs():
    x, y, z = leaf(1.0), leaf([1.0, 2.0]), leaf(1.0)
    with pytest.raises(wg.GradientError, match=r"inputs\[1\], of shape \(2,\), was not used.*allow_unused=True"):
        grad(x * z, [x, y, z])
    assert grad(x * z, [x, y], allow_unused=True)[1] is None
    np.testing.assert_array_equal(grad(x * z, [x, y], materialize_grads=True)[1], [0.0, 0.0])
    with pytest.raises(ValueError, match="materialize_grads"):
        grad(x * z, [x, y], materialize_grads=True, allow_unused=False)


def test_bad_input():
    x = leaf([1.0, 2.0])
    with pytest.raises(wg.GradientError, match=r"inputs\[1\] does not require a gradient"):
        grad(x.sum(), [x, wg.tensor(1.0)])
    with pytest.raises(wg.GradientError, match="this one has none"):
        grad(wg.tensor(1.0), x)
    with pytest.raises(wg.GradientError, match="this one has none"):
        backward(np.ones(2))
    with pytest.raises(wg.GradientError, match="this one has none"):
        backward([x.sum(), 1.0])
    with pytest.raises(wg.GradientError, match=r"shape \(2,\) needs `gradient`"):
        grad(x * x, x)
    with pytest.raises(wg.GradientError, match=r"`gradient` has shape \(3,\)"):
        grad(x * x, x, np.ones(3))
    with pytest.raises(wg.GradientError, match="complex128 cannot be cast"):
        grad(x * x, x, np.ones(2, complex))
    with pytest.raises(wg.GradientError, match="1 gradients were given for 2 outputs"):
        grad([x * x, x], x, [np.ones(2)])
    with pytest.raises(ValueError, match="`inputs` is empty"):
        backward(x.sum(), inputs=[])


def test_assigned_gradients_have_the_dtype_of_the_tensor():
    x = wg.tensor([1.0, 2.0], dtype=np.float32, requires_grad=True)
    for value in (np.ones(2), [1, 1], wg.tensor([1.0, 1.0])):
        x.grad = value
        assert x.grad.dtype == np.float32
    with pytest.raises(TypeError, match=r"complex128 cannot be cast to the tensor's float32, at .*test_backward.py"):
        x.grad = np.ones(2, complex)
    with pytest.raises(ValueError, match="shape"):
        x.grad = np.ones(3)


def test_backward_inside_a_transform():
    """A value of a higher level has a history that leads to no leaf."""
    from wengert.core.levels import new_level
    from wengert.modes.tape import Leaf

    x = leaf(2.0)
    inner = wg.Tensor(x, new_level(), Leaf(x))
    for differentiate in (lambda y: y.backward(), lambda y: grad(y, x), backward):
        with pytest.raises(wg.GradientError, match=r"backward inside a transform.*test_backward.py.*own result"):
            differentiate(inner * x)


def test_gradients_do_not_alias_what_the_user_holds():
    x, y, vector = leaf([1.0, 2.0]), leaf([1.0, 2.0]), np.ones(2)
    backward(x + y, vector)
    vector[:] = 5.0
    x.grad[0] = 7.0
    np.testing.assert_array_equal(y.grad, [1.0, 1.0])
    dx, dy = grad(x + y, [x, y], np.ones(2))
    dx += 1.0
    np.testing.assert_array_equal(dy, [1.0, 1.0])


def test_a_read_only_view_whose_base_changes():
    x, base = leaf([1.0, 2.0]), np.array([3.0])
    y = x * np.broadcast_to(base, (2,))
    base[0] = -1.0
    y.sum().backward()
    np.testing.assert_array_equal(x.grad, [3.0, 3.0])

"""Hooks on values, on leaves after accumulation, and on nodes."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg
from wengert.autograd import Function, grad


def leaf(data, dtype=float):
    return wg.tensor(data, requires_grad=True, dtype=dtype)


def test_tensor_hook_sees_and_replaces():
    x, seen = leaf([1.0, 2.0]), []
    y = x * x
    y.register_hook(seen.append)
    handle = y.register_hook(lambda g: 10.0 * g)
    y.sum().backward(retain_graph=True)
    np.testing.assert_array_equal(seen[0], [1.0, 1.0])
    np.testing.assert_array_equal(x.grad, [20.0, 40.0])
    handle.remove()
    x.grad = None
    y.sum().backward()
    np.testing.assert_array_equal(x.grad, [2.0, 4.0])


def test_retain_grad_is_last():
    x = leaf(3.0)
    y = x * x
    y.retain_grad()
    y.register_hook(lambda g: 2.0 * g)
    y.backward()
    assert (y.grad.item(), x.grad.item()) == (2.0, 12.0)


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("returned", [np.ones((3, 2)), np.ones(1), 1.0, np.ones((1, 2))])
def test_a_tensor_hook_that_returns_another_shape(returned, create_graph):
    x = leaf([1.0, 2.0])
    y = x * x
    for value in (x, y):
        with (
            value.register_hook(lambda g: returned),
            pytest.raises(
                wg.GradientError, match=r"hook on a tensor returned a gradient of shape .* in place of \(2,\)"
            ),
        ):
            y.sum().backward(retain_graph=True, create_graph=create_graph)


def test_a_tensor_hook_that_returns_another_dtype():
    x = leaf([1.0, 2.0], np.float32)
    x.register_hook(lambda g: [3, 4])
    (x * x).sum().backward()
    assert (x.grad.dtype, x.grad.tolist()) == (np.float32, [3.0, 4.0])


def test_retain_grad_follows_changes_in_place():
    x, seen = leaf([1.0, 2.0]), []
    y = x * 2.0
    y.register_hook(seen.append)  # sees the value that y was
    y.retain_grad()
    y *= 3.0
    y[0] = 5.0
    assert y.retains_grad
    y.register_hook(lambda g: 10.0 * g)
    y.sum().backward()
    assert y.grad.tolist() == [10.0, 10.0]
    assert seen[0].tolist() == [0.0, 30.0]
    assert x.grad.tolist() == [0.0, 60.0]


def test_hook_after_accumulation():
    x, seen = leaf(3.0), []
    handle = x.register_post_accumulate_grad_hook(lambda p: seen.append(p.grad.item()))
    (x * x).backward()
    (x * x).backward()
    handle.remove()
    (x * x).backward()
    assert seen == [6.0, 12.0]


def test_node_hooks_see_tensors():
    x, y = leaf([1.0, 2.0]), wg.tensor([3.0, 4.0])
    product, seen = x * y, []
    product.grad_fn.register_hook(lambda grad_inputs, grad_outputs: seen.append((grad_inputs, grad_outputs)))
    product.grad_fn.register_prehook(lambda grad_outputs: seen.append(grad_outputs))
    product.sum().backward()
    (before,), ((dx, dy), (t,)) = seen
    np.testing.assert_array_equal(before, [1.0, 1.0])
    np.testing.assert_array_equal(t, [1.0, 1.0])
    np.testing.assert_array_equal(dx, [3.0, 4.0])
    assert dy is None


def test_node_hooks_replace():
    x = leaf([1.0, 2.0])
    y = x * x
    after = y.grad_fn.register_hook(lambda grad_inputs, _: (grad_inputs[0], 10.0 * grad_inputs[1]))
    before = y.grad_fn.register_prehook(lambda grad_outputs: (100.0 * grad_outputs[0],))
    (dy, dx) = grad(y.sum(), [y, x], retain_graph=True)
    np.testing.assert_array_equal(dy, [1.0, 1.0])
    np.testing.assert_array_equal(dx, [1100.0, 2200.0])
    after.remove()
    with before:
        pass
    np.testing.assert_array_equal(grad(y.sum(), x)[0], [2.0, 4.0])


def test_node_hooks_of_several_outputs():
    class Two(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2.0, x * 3.0

        @staticmethod
        def backward(ctx, t, u):
            return 2.0 * t + 3.0 * u

    x, seen = leaf(1.0), []
    a, b = Two.apply(x)
    a.grad_fn.register_prehook(lambda grads: seen.append(grads) or (grads[0] * 5.0, None))
    a.grad_fn.register_hook(lambda grad_inputs, grad_outputs: seen.append(grad_outputs))
    (a * 1.0).backward()
    assert seen[0][1] is None
    assert seen[1][0].item() == 5.0
    assert x.grad.item() == 10.0
    assert b.grad_fn is a.grad_fn


def test_node_hooks_are_recorded_with_the_graph():
    x = leaf(2.0)
    y = x * x
    y.grad_fn.register_hook(lambda grad_inputs, _: tuple(g * x for g in grad_inputs))
    (dx,) = grad(y, x, create_graph=True)
    (ddx,) = grad(dx, x)
    assert (dx.item(), ddx.item()) == (8.0, 8.0)


def test_complex_gradients_are_shown_in_public_convention():
    z, seen = leaf([1.0 + 2.0j], complex), []
    y = z * (2.0 + 1.0j)
    y.grad_fn.register_hook(lambda grad_inputs, grad_outputs: seen.append((grad_inputs[0], grad_outputs[0])))
    y.backward(np.array([1.0 + 1.0j]))
    np.testing.assert_array_equal(seen[0][1], [1.0 + 1.0j])
    np.testing.assert_array_equal(seen[0][0], z.grad)


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        (lambda gs: (gs[0],), "returned 1 gradients in place of 2"),
        (lambda gs: (gs[0], gs[1].sum()), r"gradient 1 of shape \(\) in place of \(2,\)"),
    ],
)
def test_bad_replacements(returned, message):
    x = leaf([1.0, 2.0])
    y = x * x
    y.grad_fn.register_hook(lambda grad_inputs, _: returned(grad_inputs))
    with pytest.raises(wg.GradientError, match=message):
        y.sum().backward()


def test_leaves_have_no_node_hooks():
    x = leaf(1.0)
    accumulator = (x * 2.0).grad_fn.next_functions[0][0]
    with pytest.raises(wg.GradientError, match="leaf has no backward"):
        accumulator.register_hook(lambda *grads: None)


@pytest.mark.parametrize("where", ["tensor", "node", "pre", "accumulated"])
def test_hooks_that_raise(where):
    def fail(*_):
        raise KeyError("from a hook")

    x = leaf(2.0)
    y = x * x
    if where == "tensor":
        handle = y.register_hook(fail)
    elif where == "accumulated":
        handle = x.register_post_accumulate_grad_hook(fail)
    else:
        handle = (y.grad_fn.register_hook if where == "node" else y.grad_fn.register_prehook)(fail)
    with pytest.raises(KeyError):
        y.backward(retain_graph=True)
    assert wg.is_grad_enabled()
    handle.remove()
    x.grad = None
    y.backward()
    assert x.grad.item() == 4.0

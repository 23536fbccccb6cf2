"""The mistakes every system of this kind makes, one test each."""

from __future__ import annotations

import gc
import threading
import tracemalloc

import numpy as np
import pytest
from tests.oracle import check_derivatives

import wengert as wg
from wengert.core.levels import new_level
from wengert.modes.backward import backward_pass
from wengert.modes.tape import Leaf
from wengert.modes.tensor import Tensor


def gradient(f, *args):
    """The gradients of a scalar function on the tape."""
    tensors = [wg.tensor(a, requires_grad=True) for a in args]
    f(*tensors).backward()
    found = [x.grad.numpy() for x in tensors]
    return found[0] if len(found) == 1 else found


def nested_gradient(f, x):
    """The derivative of f at x by a tape of its own level, whatever level x is of."""
    leaf = Leaf(x if hasattr(x, "shape") else np.float64(x))
    level = new_level()
    y = f(Tensor(x if hasattr(x, "shape") else np.float64(x), level, leaf))
    found = {}
    if isinstance(y, Tensor) and y.level == level:
        backward_pass([(y.node, np.float64(1.0))], found.__setitem__)
    return found.get(leaf, 0.0)


class TestNesting:
    def test_perturbation_confusion(self):
        D = nested_gradient
        assert D(lambda x: x * D(lambda y: x + y, 1.0), 1.0) == 1.0
        assert D(lambda x: D(lambda y: x * y * y, 2.0), 3.0) == 4.0

    def test_closures_that_rebind(self):
        def f(x):
            inner = nested_gradient(lambda y: x * y, 1.0)
            x = x * x
            return inner * x

        assert nested_gradient(f, 2.0) == 12.0

    def test_from_two_threads(self):
        results = {}

        def work(k):
            results[k] = [
                nested_gradient(lambda x: x * nested_gradient(lambda y: x + y, 1.0), float(k)) for _ in range(200)
            ]

        threads = [threading.Thread(target=work, args=(k,)) for k in (1, 2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert set(results[1]) == {1.0}
        assert set(results[2]) == {1.0}

    def test_plain_and_tracked_cotangents_meet(self):
        c = np.arange(3.0) + 1

        def inner(x):
            return nested_gradient(lambda y: (y * c + x * y + y * c + y * c).sum(), np.ones(3)).sum()

        np.testing.assert_array_equal(nested_gradient(inner, np.ones(3)), np.ones(3))

    def test_high_orders_by_nesting(self):
        f = np.sin
        for _ in range(4):
            f = lambda x, f=f: nested_gradient(f, x)
        np.testing.assert_allclose(float(f(0.7)), np.sin(0.7))

    def test_second_order_twice_gives_the_same(self):
        def second():
            x = wg.tensor([0.3, 0.5], requires_grad=True)
            (g,) = wg.autograd.grad((np.sin(x) * x**3).sum(), [x], create_graph=True)
            return wg.autograd.grad(g.sum(), [x])[0].numpy()

        np.testing.assert_array_equal(second(), second())


class TestWhereFormulasBreak:
    def test_untaken_branch(self):
        with np.errstate(invalid="ignore"):
            assert gradient(lambda x: wg.where(x >= 0, x, wg.sqrt(-x)), 1.0) == 1.0
            assert gradient(lambda x: np.where(x >= 0, x, np.sqrt(-x) * np.log(-x)), 1.0) == 1.0

    def test_untaken_branch_at_second_order(self):
        x = wg.tensor([4.0, 0.0], requires_grad=True)
        y = wg.where(x > 0, wg.sqrt(wg.where(x > 0, x, 0.0)), 0.0).sum()
        (g,) = wg.autograd.grad(y, [x], create_graph=True)
        np.testing.assert_array_equal(g.numpy() if not g.requires_grad else g.detach().numpy(), [0.25, 0.0])
        (h,) = wg.autograd.grad(g.sum(), [x])
        np.testing.assert_allclose(h.numpy(), [-1 / 32, 0.0])

    def test_untaken_branch_through_structure(self):
        def f(x):
            with np.errstate(all="ignore"):
                inverse = (1 / x).reshape(2, 2).T.sum(axis=0)
                return wg.where(np.isfinite(inverse), np.sqrt(inverse), 0.0).sum()

        found = gradient(f, np.array([1.0, 2.0, 0.0, 4.0]))
        assert np.isfinite(found).all()
        np.testing.assert_array_equal(found[2:], 0.0)
        np.testing.assert_allclose(found[:2], [-0.5 / np.sqrt(1.5), -0.125 / np.sqrt(1.5)])

    def test_a_lane_is_live_if_any_path_is(self):
        def f(x):
            root = np.sqrt(x)
            return (wg.where(x > 1, root, 0.0) + root).sum()

        np.testing.assert_allclose(gradient(f, np.array([4.0, 0.25])), [0.5, 1.0])

    def test_masked_pair_distances(self):
        points = np.array([[0.0, 0.0], [3.0, 4.0], [0.0, 1.0]])

        def energy(p):
            apart = p[:, None, :] - p[None, :, :]
            off_diagonal = ~np.eye(3, dtype=bool)
            return wg.where(off_diagonal, np.sqrt((apart**2).sum(-1)), 0.0).sum()

        found = gradient(energy, points)
        assert np.isfinite(found).all()
        unit = lambda v: v / np.linalg.norm(v)
        np.testing.assert_allclose(found[0], 2 * (unit(points[0] - points[1]) + unit(points[0] - points[2])))

    def test_masked_assignment(self):
        def f(x):
            y = np.sqrt(x)
            y[x == 0] = 0.0
            return y.sum()

        np.testing.assert_array_equal(gradient(f, np.array([4.0, 0.0])), [0.25, 0.0])

    def test_sqrt_and_norm_at_zero(self):
        assert gradient(np.sqrt, 0.0) == np.inf
        assert gradient(lambda x: np.sqrt(x) * 0.0, 0.0) == 0.0
        np.testing.assert_array_equal(gradient(lambda x: np.linalg.norm(x), np.zeros(3)), np.zeros(3))
        np.testing.assert_array_equal(gradient(lambda x: np.linalg.norm(x) ** 2, np.zeros(3)), np.zeros(3))
        np.testing.assert_array_equal(gradient(lambda x: np.sqrt((x * x).sum()) ** 2, np.zeros(3)), np.zeros(3))

    def test_powers(self):
        assert gradient(lambda x: x**0.0, 0.0) == 0.0
        assert gradient(lambda x: x**0, 0.0) == 0.0
        assert gradient(lambda y: 0.0**y, 2.0) == 0.0
        assert gradient(lambda x: x**3, -2.0) == 12.0
        assert gradient(lambda x: x ** np.array(3), -2.0) == 12.0
        np.testing.assert_array_equal(
            gradient(lambda x: (x ** np.array([0.0, 1.0, 2.0])).sum(), np.zeros(3)), [0, 1, 0]
        )
        for y in (wg.tensor(3.0), 3, 3.0):
            assert gradient(lambda x, y=y: x**y, -2.0) == 12.0

    @pytest.mark.parametrize(
        ("f", "point", "third"),
        [
            (lambda x: (x + 1) ** (x + 1), 0.0, 3.0),
            (lambda x: np.logaddexp(x, 0.0), 0.0, 0.0),
            (lambda x: (1.0 + x) ** 3, -1.0, 6.0),
            (lambda x: np.sinc(x), 0.0, 0.0),
        ],
    )
    def test_third_derivatives(self, f, point, third):
        x = wg.tensor(point, requires_grad=True)
        y = f(x)
        for _ in range(3):
            (y,) = wg.autograd.grad(y, [x], create_graph=True)
        np.testing.assert_allclose(y.item(), third, atol=1e-12)

    def test_mixed_derivatives_of_a_power(self):
        x, y = wg.tensor(2.0, requires_grad=True), wg.tensor(0.0, requires_grad=True)
        dx, dy = wg.autograd.grad(x**y, [x, y], create_graph=True)
        assert wg.autograd.grad(dx, [y], retain_graph=True)[0].item() == wg.autograd.grad(dy, [x])[0].item() == 0.5
        x = wg.tensor(0.0, requires_grad=True)
        (first,) = wg.autograd.grad(np.logaddexp(x, 0.0), [x], create_graph=True)
        assert wg.autograd.grad(first, [x])[0].item() == 0.25

    @pytest.mark.parametrize("point", [0.0, 0.7])
    def test_derivatives_of_a_gaussian(self, point):
        def derivative(f):
            return lambda x: wg.autograd.grad(f(x), [x], create_graph=True)[0]

        f = lambda x: np.exp(-(x**2))
        x = wg.tensor(point, requires_grad=True)
        second, third = derivative(derivative(f))(x), derivative(derivative(derivative(f)))(x)
        np.testing.assert_allclose(second.item(), (4 * point**2 - 2) * np.exp(-(point**2)), atol=1e-14)
        np.testing.assert_allclose(third.item(), (12 * point - 8 * point**3) * np.exp(-(point**2)), atol=1e-14)

    def test_ties(self):
        np.testing.assert_array_equal(gradient(lambda x: np.max(x), np.array([1.0, 3.0, 3.0])), [0, 0.5, 0.5])
        np.testing.assert_array_equal(
            gradient(lambda x: np.clip(x, 0.0, 1.0).sum(), np.array([-1.0, 0.0, 0.5, 1.0])), [0, 0.5, 1, 0.5]
        )
        np.testing.assert_array_equal(gradient(lambda x, y: np.maximum(x, y), 2.0, 2.0), [0.5, 0.5])
        assert gradient(abs, 0.0) == 0.0
        assert gradient(wg.relu, 0.0) == 0.0

    def test_large_and_infinite_arguments(self):
        np.testing.assert_array_equal(gradient(lambda x: wg.logsumexp(x), np.full(3, -np.inf)), np.zeros(3))
        np.testing.assert_allclose(gradient(lambda x: wg.logsumexp(x), np.array([1000.0, 1000.0])), [0.5, 0.5])
        np.testing.assert_array_equal(gradient(lambda x: wg.softplus(x).sum(), np.array([-1e4, 1e4])), [0, 1])
        assert gradient(lambda x: np.logaddexp(x, 0.0), 1e4) == 1.0

    def test_products_with_zeros(self):
        np.testing.assert_array_equal(gradient(lambda x: np.prod(x), np.array([2.0, 0.0, 3.0])), [0, 6, 0])
        np.testing.assert_array_equal(gradient(lambda x: np.prod(x), np.array([0.0, 0.0, 3.0])), [0, 0, 0])
        np.testing.assert_array_equal(gradient(lambda x: np.cumprod(x).sum(), np.array([2.0, 0.0, 3.0])), [1, 2 + 6, 0])


class TestShapesAndTypes:
    def test_broadcasting_sums_back(self):
        column, row = np.ones((3, 1)), np.ones(4)
        a, b, c = gradient(lambda x, y, z: (x * y * z).sum(), column, row, 2.0)
        np.testing.assert_array_equal(a, np.full((3, 1), 8.0))
        np.testing.assert_array_equal(b, np.full(4, 6.0))
        assert c == 12.0
        assert gradient(lambda x: (x + np.ones((0, 3))).sum(), np.ones((1, 3))).tolist() == [[0, 0, 0]]

    @pytest.mark.parametrize("scalar", [2, 2.0, np.float64(2), np.float32(2), np.int32(2), np.array(2.0)])
    @pytest.mark.parametrize("operator", "+-*/", ids=["add", "sub", "mul", "div"])
    def test_scalars_on_either_side(self, scalar, operator):
        run = {"+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b, "/": lambda a, b: a / b}[
            operator
        ]
        for order in (lambda x: run(x, scalar), lambda x: run(scalar, x)):
            x = np.array([0.5, 3.0])
            y = order(wg.tensor(x, requires_grad=True))
            assert isinstance(y, wg.Tensor)
            np.testing.assert_array_equal(y.detach().numpy(), order(x))
            check_derivatives(order, [x], [0], orders=1)

    def test_integers_have_no_gradient(self):
        with pytest.raises(wg.GradientError, match="int64 cannot require a gradient"):
            wg.tensor([1, 2], requires_grad=True)
        with pytest.raises(wg.GradientError, match="int64"):
            wg.tensor([1, 2]).requires_grad = True

    def test_dtypes_are_kept(self):
        x = wg.tensor(np.ones(2, np.float32), requires_grad=True)
        w = wg.tensor(np.ones(2), requires_grad=True)
        y = (np.sin(x) * 2.0 + x / 3).sum()
        assert y.dtype == np.float32
        (y * w).sum().backward()
        assert x.grad.dtype == np.float32
        assert w.grad.dtype == np.float64

    def test_complex(self):
        z = 0.3 + 0.4j
        np.testing.assert_allclose(gradient(lambda z: (z * z.conj()).real, z), 2 * z)
        np.testing.assert_allclose(gradient(abs, z), z / abs(z))
        assert gradient(abs, 0j) == 0
        assert gradient(np.angle, 0j) == 0
        np.testing.assert_allclose(gradient(lambda z: np.sin(z).real, z), np.conj(np.cos(z)))
        x = wg.tensor(2.0, requires_grad=True)
        (x * 1j * (1 - 1j)).real.backward()
        assert x.grad.dtype == np.float64
        assert x.grad.item() == 1.0


class TestIndexingAndMutation:
    def test_duplicates_accumulate(self):
        np.testing.assert_array_equal(gradient(lambda x: x[[0, 0, 2]].sum(), np.ones(3)), [2, 0, 1])

    def test_overwriting_duplicates_gives_to_the_winner(self):
        def f(v):
            y = wg.tensor(np.zeros(3))
            y[[0, 0, 1]] = v
            return (y * np.array([1.0, 10.0, 100.0])).sum()

        np.testing.assert_array_equal(gradient(f, np.ones(3)), [0, 1, 10])

    def test_assignment_after_use(self):
        x = wg.tensor([1.0, 2.0], requires_grad=True)
        y = x * 3
        z = y * y
        y[0] = 100.0
        (z.sum() + y.sum()).backward()
        np.testing.assert_array_equal(x.grad.numpy(), [18.0, 36.0 + 3.0])

    def test_a_refused_assignment_changes_nothing(self):
        x = wg.tensor([1.0, 2.0], requires_grad=True)
        with pytest.raises(wg.GradientError):
            x[0] = 5.0
        assert x.tolist() == [1.0, 2.0]

    def test_captured_array_changed_before_backward(self):
        a = np.array([2.0, 3.0])
        x = wg.tensor([1.0, 1.0], requires_grad=True)
        y = (x * a).sum()
        a[:] = 100.0
        y.backward()
        np.testing.assert_array_equal(x.grad.numpy(), [2.0, 3.0])

    def test_captured_tensor_changed_before_backward(self):
        a = wg.tensor([2.0, 3.0])
        x = wg.tensor([1.0, 1.0], requires_grad=True)
        y = (x * a).sum()
        a[0] = 100.0
        a *= 7.0
        y.backward()
        np.testing.assert_array_equal(x.grad.numpy(), [2.0, 3.0])

    def test_parameter_updated_before_backward(self):
        x = wg.tensor([2.0], requires_grad=True)
        y = (x * x).sum()
        with wg.no_grad():
            x -= 1.0
        y.backward()
        assert x.item() == 1.0
        assert x.grad.item() == 4.0  # of the value that y was computed from

    def test_numbers_cannot_be_changed_behind_the_tape(self):
        x = wg.tensor([2.0])
        with pytest.raises(ValueError, match="read-only"):
            x.numpy()[0] = 3.0

    def test_augmented_view(self):
        x = wg.tensor(np.arange(4.0), requires_grad=True)
        y = x * 1.0
        y[1:3] += x[:2] * 10
        y.sum().backward()
        np.testing.assert_array_equal(x.grad.numpy(), [11, 11, 1, 1])


class TestEngine:
    def test_paths_of_different_length(self):
        def f(x):
            long = np.sin(np.exp(x) * x)
            return x * long + long * long + x

        check_derivatives(f, [np.array(0.4)], [0])

    def test_a_value_used_a_thousand_times(self):
        def f(x):
            total = 0.0
            for _ in range(1000):
                total = total + x
            return total.sum()

        np.testing.assert_array_equal(gradient(f, np.ones(2)), [1000.0, 1000.0])

    def test_elements_one_by_one(self):
        weights = np.random.default_rng(0).normal(size=(3, 4))

        def f(x):
            total = 0.0
            for i in range(3):
                for j in range(4):
                    total = total + x[i, j] * x[i][j] * weights[i, j]
            return total + (x[1:] ** 3).sum() + x[::-1].sum()

        check_derivatives(f, [np.random.default_rng(1).normal(size=(3, 4))], [0])

    def test_output_that_does_not_depend_on_the_input(self):
        x, y = wg.tensor(1.0, requires_grad=True), wg.tensor(2.0, requires_grad=True)
        with pytest.raises(wg.GradientError, match="allow_unused"):
            wg.autograd.grad(y * 2, [x])
        (none,) = wg.autograd.grad(y * 2, [x], allow_unused=True)
        assert none is None
        (zero,) = wg.autograd.grad(y * 2, [x], materialize_grads=True)
        assert zero.item() == 0.0

    def test_output_that_is_an_input(self):
        x = wg.tensor(1.5, requires_grad=True)
        x.backward()
        assert x.grad.item() == 1.0
        assert wg.autograd.grad(x, [x])[0].item() == 1.0

    def test_a_million_operations(self):
        x = wg.tensor(1.0, requires_grad=True)
        y = x
        for _ in range(1_000_000):
            y = y + 1e-6
        y.backward()
        assert x.grad.item() == 1.0
        z = x
        for _ in range(1_000_000):
            z = -z
        del z  # freed without recursion

    def test_no_reference_cycles(self):
        w = wg.tensor(np.ones((50, 50)), requires_grad=True)

        def step():
            w.grad = None
            loss = (np.tanh(w @ w) ** 2).sum()
            loss.backward()
            with wg.no_grad():
                w[...] = w - 1e-3 * w.grad

        gc.collect()
        gc.disable()
        tracemalloc.start()
        try:
            for _ in range(3000):  # until the interpreter's free lists are full
                step()
            start = tracemalloc.get_traced_memory()[0]
            for _ in range(1000):
                step()
            assert tracemalloc.get_traced_memory()[0] - start < 20_000  # one step is 80 kB
            assert gc.collect() == 0
        finally:
            tracemalloc.stop()
            gc.enable()

    def test_gradients_with_history_make_no_cycle(self):
        gc.collect()
        gc.disable()
        tracemalloc.start()
        try:
            start = tracemalloc.get_traced_memory()[0]
            for _ in range(20):
                x = wg.tensor(np.ones(10_000), requires_grad=True)
                (x**3).sum().backward(create_graph=True)
                assert x.grad.requires_grad
            del x
            assert tracemalloc.get_traced_memory()[0] - start < 50_000
        finally:
            tracemalloc.stop()
            gc.enable()

    def test_backward_twice(self):
        x = wg.tensor(3.0, requires_grad=True)
        y = x * x
        y.backward(retain_graph=True)
        y.backward()
        assert x.grad.item() == 12.0
        with pytest.raises(wg.GradientError, match="retain_graph=True"):
            y.backward()

    def test_partial_graphs(self):
        x = wg.tensor(3.0, requires_grad=True)
        shared = x * x
        first, second = shared + 1, shared * 2
        first.backward(retain_graph=True)
        second.backward()
        assert x.grad.item() == 6.0 + 12.0

    def test_hook_that_raises_leaves_nothing_behind(self):
        x = wg.tensor(3.0, requires_grad=True)
        y = x * x

        def hook(grad):
            raise KeyError("mine")

        handle = x.register_hook(hook)
        with pytest.raises(KeyError, match="mine"):
            y.backward(retain_graph=True)
        handle.remove()
        y.backward()
        assert x.grad.item() == 6.0

    def test_threads_that_share_a_leaf(self):
        x = wg.tensor(np.zeros(100_000), requires_grad=True)

        def work():
            for _ in range(50):
                (x * 1.0).sum().backward()

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert x.grad[0].item() == 200

    def test_threads_differentiate_independently(self):
        results = {}

        def work(k):
            with wg.no_grad() if k % 2 else wg.enable_grad():
                x = wg.tensor(float(k), requires_grad=True)
                y = x
                for _ in range(300):
                    y = y * 1.0
                results[k] = y.requires_grad

        threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert results == {k: k % 2 == 0 for k in range(8)}
        assert wg.is_grad_enabled()

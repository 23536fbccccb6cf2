"""Tensor, the value that users hold."""

from __future__ import annotations

import copy
import math
import pickle

import numpy as np
import pytest

import wengert as wg


def leaf(data):
    return wg.tensor(data, requires_grad=True)


class TestMaking:
    def test_copies_the_data(self):
        a = np.ones(2)
        x = wg.tensor(a)
        a[0] = 5
        assert x.tolist() == [1, 1]

    @pytest.mark.parametrize(
        ("data", "dtype"),
        [(1.0, np.float64), ([1, 2], np.int64), (True, np.bool_), (1j, np.complex128), (np.float32(1), np.float32)],
    )
    def test_dtype_follows_numpy(self, data, dtype):
        assert wg.tensor(data).dtype == dtype

    def test_dtype_can_be_given(self):
        assert leaf([1.0, 2.0]).dtype == np.float64
        assert wg.tensor([1, 2], dtype=np.float32, requires_grad=True).dtype == np.float32

    @pytest.mark.parametrize("data", [["a", "b"], [object()], None])
    def test_what_is_no_number_is_refused(self, data):
        with pytest.raises(TypeError, match=r"cannot be a tensor|An object of type (str|object) is not a number"):
            wg.tensor(data)

    MAKERS = {
        "tensor": (lambda x: wg.tensor([[x[0], 1.0], [2, x[1]]]), [1.0, 1.0]),
        "tensor of a value": (wg.tensor, [1.0, 1.0]),
        "another dtype": (lambda x: wg.tensor([x[0], 1], dtype=np.float32), [1.0, 0.0]),
        "array": (lambda x: wg.array([x[0], [1.0, x[1]][1]]), [1.0, 1.0]),
        "asarray": (lambda x: wg.asarray([x[1], 1.0]), [0.0, 1.0]),
        "stack": (lambda x: wg.stack([x[1], 1.0]), [0.0, 1.0]),
        "full": (lambda x: wg.full((2, 3), x[0]), [6.0, 0.0]),
        "full of a row": (lambda x: wg.full((3, 2), x), [3.0, 3.0]),
        "full of a list": (lambda x: wg.full(2, [x[0], 1.0], dtype=np.float32), [1.0, 0.0]),
        "full_like": (lambda x: wg.full_like(np.zeros(3), x[1]), [0.0, 3.0]),
    }

    @pytest.mark.parametrize(("make", "expected"), MAKERS.values(), ids=MAKERS)
    @pytest.mark.parametrize(
        "derivative",
        [
            lambda f: lambda x: wg.autograd.grad(f(t := wg.tensor(x, requires_grad=True)), t)[0],
            wg.grad,
            wg.jacfwd,
            lambda f: lambda x: [wg.jet(f, [x], [[e, e]])[1][0] for e in np.eye(2)],
            lambda f: lambda x: wg.vmap(wg.grad(f))(x[None])[0],
            lambda f: wg.compile(wg.grad(f)),
            lambda f: wg.grad(lambda x: wg.grad(lambda y: f(x * y))(np.ones(2)).sum()),
        ],
        ids=["tape", "grad", "jacfwd", "Taylor", "vmap", "compile", "nested"],
    )
    def test_of_values_that_are_differentiated(self, make, expected, derivative):
        np.testing.assert_allclose(derivative(lambda x: make(x).sum())(np.array([0.5, 1.5])), expected, rtol=1e-6)

    def test_of_values_without_history_it_is_a_leaf(self):
        x = wg.tensor([wg.tensor(1.0), 2], requires_grad=True)
        assert x.is_leaf
        assert x.requires_grad
        assert wg.tensor(np.floor(leaf(1.5)), requires_grad=True).is_leaf
        with wg.no_grad():
            assert wg.tensor([leaf(1.0), 2.0], requires_grad=True).is_leaf

    def test_creation_functions(self):
        assert wg.zeros((2, 3)).shape == (2, 3)
        assert wg.ones(2, dtype=np.float32).dtype == np.float32
        assert wg.full(2, 7.0).tolist() == [7, 7]
        assert wg.eye(2).tolist() == [[1, 0], [0, 1]]
        assert wg.arange(3).tolist() == [0, 1, 2]
        assert wg.linspace(0, 1, 3, requires_grad=True).requires_grad


class TestAttributes:
    def test_of_a_leaf_and_of_a_result(self):
        x = leaf([1.0, 2.0])
        y = x * 2
        assert (x.is_leaf, x.requires_grad, x.grad_fn, x.grad) == (True, True, None, None)
        assert (y.is_leaf, y.requires_grad, y.grad_fn.name) == (False, True, "multiply")
        assert y.grad_fn.next_functions[0][0].name == "leaf"
        assert y.grad_fn.next_functions[1] == (None, 0)
        assert "axis" in x.sum().grad_fn.metadata
        assert (x.shape, x.ndim, x.size, x.nbytes, x.itemsize, len(x)) == ((2,), 1, 2, 16, 8, 2)

    def test_freezing_between_iterations(self):
        w = leaf([1.0])
        w.requires_grad = False
        assert not (w * 2).requires_grad
        w.requires_grad = True
        (w * 2).sum().backward()
        assert w.grad.item() == 2
        w.requires_grad = False
        assert w.grad.item() == 2

    def test_requires_grad_of_a_result_cannot_be_switched_off(self):
        y = leaf(1.0) * 2
        with pytest.raises(wg.GradientError, match="detach"):
            y.requires_grad = False

    def test_detach_and_clone(self):
        x = leaf([1.0, 2.0])
        d, c = x.detach(), x.clone()
        assert not d.requires_grad
        assert c.requires_grad
        assert not c.is_leaf
        d[0] = 9.0
        assert x.tolist() == [1, 2]
        c.sum().backward()
        assert x.grad.tolist() == [1, 1]

    def test_grad_can_be_set(self):
        x = leaf([1.0, 2.0])
        x.grad = [3.0, 4.0]
        (x * 1).sum().backward()
        assert x.grad.tolist() == [4, 5]
        with pytest.raises(ValueError, match="grad has shape"):
            x.grad = [1.0]

    def test_data(self):
        x = leaf([1.0, 2.0])
        assert not x.data.requires_grad
        x.data = np.array([5.0, 6.0])
        assert x.requires_grad
        assert x.tolist() == [5, 6]
        with pytest.raises(ValueError, match="shape"):
            x.data = np.array([1.0])


class TestPlainNumbers:
    @pytest.mark.parametrize(
        "convert",
        [
            float,
            int,
            complex,
            np.asarray,
            np.array,
            math.sin,
            lambda x: x.numpy(),
            lambda x: np.float64(x),
            lambda x: [0, 1][x],
        ],
    )
    def test_a_gradient_is_not_lost_silently(self, convert):
        with pytest.raises(wg.TrackedValueError, match=r"test_tensor\.py:\d+"):
            convert(leaf(1.0))

    def test_assignment_into_a_plain_array(self):
        a = np.zeros(2)
        with pytest.raises(wg.TrackedValueError):
            a[:] = leaf([1.0, 2.0])

    def test_without_history_all_is_free(self):
        x = wg.tensor(2.5)
        assert (float(x), int(x), complex(x), math.floor(x.item())) == (2.5, 2, 2.5, 2)
        assert [10, 20, 30][wg.tensor(1)] == 20
        assert np.asarray(wg.tensor([1.0, 2.0])).tolist() == [1, 2]
        assert np.asarray(wg.tensor([1.0, 2.0]), dtype=np.float32).dtype == np.float32

    def test_item_and_tolist_are_explicit(self):
        x = leaf([[1.0, 2.0]])
        assert x.item(1) == 2
        assert x.tolist() == [[1, 2]]
        with pytest.raises(ValueError, match="size 1"):
            x.item()

    def test_format(self):
        assert f"{leaf(1.23456):.2f}" == "1.23"
        assert f"{leaf(1.5)}" == "tensor(1.5, requires_grad=True)"

    def test_truth(self):
        assert leaf(1.0)
        assert not leaf(1.0) > 2
        with pytest.raises(ValueError, match="ambiguous"):
            bool(leaf([1.0, 2.0]))


class TestShowing:
    def test_repr(self):
        x = leaf([1.0, 2.0])
        assert repr(x) == "tensor([1., 2.], requires_grad=True)"
        assert repr(x * 2) == "tensor([2., 4.], grad_fn=<multiply node>)"
        assert repr(wg.tensor(np.float32(1))) == "tensor(1., dtype=float32)"
        assert repr(x > 1) == "tensor([False,  True])"

    def test_large_arrays_are_summarised(self):
        assert len(repr(wg.zeros(100_000))) < 200


class TestCopying:
    @pytest.mark.parametrize("duplicate", [copy.deepcopy, copy.copy, lambda x: pickle.loads(pickle.dumps(x))])
    def test_of_leaves(self, duplicate):
        x = leaf([1.0, 2.0])
        (x * x).sum().backward()
        y = duplicate(x)
        assert y.requires_grad
        assert y.is_leaf
        assert y.tolist() == [1, 2]
        assert y.grad.tolist() == [2, 4]
        y.grad = None
        (y * 3).sum().backward()
        assert x.grad.tolist() == [2, 4]
        assert y.grad.tolist() == [3, 3]

    def test_of_results_is_refused(self):
        with pytest.raises(wg.GradientError, match="detach"):
            copy.deepcopy(leaf(1.0) * 2)


class TestAsPythonObjects:
    def test_iteration(self):
        x = leaf([[1.0, 2.0], [3.0, 4.0]])
        first, second = x
        (first * second).sum().backward()
        assert x.grad.tolist() == [[3, 4], [1, 2]]
        with pytest.raises(TypeError, match="0-d"):
            iter(leaf(1.0))
        with pytest.raises(TypeError, match="0-d"):
            len(leaf(1.0))

    def test_hash_by_identity(self):
        x, y = leaf([1.0]), leaf([1.0])
        assert {x: 1, y: 2}[y] == 2

    def test_comparison_is_elementwise(self):
        x = leaf([1.0, 2.0])
        for result in (x == 1, x != 2, x < 2, x <= 1, x <= 1, x < 2):
            assert result.tolist() == [True, False]
            assert not result.requires_grad
        assert 2.0 in x
        assert 3.0 not in x

    def test_in_place_is_seen_by_every_name(self):
        x = wg.tensor([1.0, 2.0])
        alias = x
        x += 1
        x[0] = 10.0
        assert alias is x
        assert alias.tolist() == [10, 3]

    def test_in_place_keeps_shape_and_dtype(self):
        x = wg.tensor(np.ones(2, np.float32))
        x += np.ones(2)
        assert x.dtype == np.float32
        with pytest.raises(ValueError, match="cannot change the shape"):
            x += np.ones((3, 2))
        n = wg.tensor([1, 2])
        with pytest.raises(TypeError, match="cannot change the dtype"):
            n += 0.5

    def test_leaf_cannot_be_changed_in_place_while_recording(self):
        x = leaf([1.0, 2.0])
        for change in (lambda: x.__setitem__(0, 1.0), lambda: x.__iadd__(1.0)):
            with pytest.raises(wg.GradientError, match="no_grad"):
                change()
        with wg.no_grad():
            x[0] = 7.0
            x *= 2.0
        assert x.tolist() == [14, 4]
        assert x.is_leaf
        assert x.requires_grad


class TestBackward:
    def test_accumulates(self):
        x = leaf(3.0)
        for _ in range(2):
            (x * x).backward()
        assert x.grad.item() == 12

    def test_intermediate_values_keep_none_unless_asked(self):
        x = leaf(3.0)
        y = x * 2
        z = y * y
        z.retain_grad()
        z.backward(retain_graph=True)
        assert y.grad is None
        assert z.grad.item() == 1
        y.retain_grad()
        z.backward()
        assert y.grad.item() == 12

    def test_non_scalar_with_gradient(self):
        x = leaf([1.0, 2.0])
        (x * x).backward(gradient=np.array([1.0, 10.0]))
        assert x.grad.tolist() == [2, 40]

    def test_inputs(self):
        x, y = leaf(2.0), leaf(3.0)
        (x * y).backward(inputs=[x])
        assert x.grad.item() == 3
        assert y.grad is None

    def test_same_value_twice(self):
        x = leaf(3.0)
        (x * x * x).backward()
        assert x.grad.item() == 27

    def test_classic_backpropagation_is_a_special_case(self):
        rng = np.random.default_rng(0)
        sizes = [4, 5, 3]
        W = [leaf(rng.normal(size=(m, n))) for n, m in zip(sizes, sizes[1:], strict=False)]
        b = [leaf(rng.normal(size=n)) for n in sizes[1:]]
        x, target = rng.normal(size=4), rng.normal(size=3)
        a = x
        for w, c in zip(W, b, strict=True):
            a = wg.sigmoid(w @ a + c)
        (0.5 * ((a - target) ** 2).sum()).backward()

        sigma = lambda z: 1 / (1 + np.exp(-z))
        W0, W1, b0, b1 = (p.detach().numpy() for p in (*W, *b))
        a1 = sigma(W0 @ x + b0)
        a2 = sigma(W1 @ a1 + b1)
        delta2 = (a2 - target) * a2 * (1 - a2)
        delta1 = (W1.T @ delta2) * a1 * (1 - a1)
        for parameter, expected in (
            (W[1], np.outer(delta2, a1)),
            (b[1], delta2),
            (W[0], np.outer(delta1, x)),
            (b[0], delta1),
        ):
            np.testing.assert_allclose(parameter.grad.numpy(), expected, rtol=1e-13)


class TestBadInput:
    def test_without_history(self):
        with pytest.raises(wg.GradientError, match=r"requires_grad=True; this one has none, at .*test_tensor\.py"):
            wg.tensor(1.0).backward()

    def test_non_scalar_without_gradient(self):
        with pytest.raises(wg.GradientError, match=r"shape \(2,\) needs `gradient`"):
            (leaf([1.0, 2.0]) * 2).backward()

    def test_wrong_shape_or_dtype_of_gradient(self):
        y = leaf([1.0, 2.0]) * 2
        with pytest.raises(wg.GradientError, match=r"shape \(3,\), the value \(2,\)"):
            y.backward(np.ones(3))
        with pytest.raises(wg.GradientError, match="complex128 cannot be cast"):
            y.backward(np.ones(2) * 1j)

    def test_integer_asked_to_require_a_gradient(self):
        with pytest.raises(wg.GradientError, match="dtype=float"):
            wg.tensor([1, 2], requires_grad=True)

    def test_released_history(self):
        y = leaf(1.0) * 2
        y.backward()
        with pytest.raises(wg.GradientError, match=r"released by an earlier backward .*retain_graph=True"):
            y.backward()

    def test_shapes_that_do_not_broadcast(self):
        with pytest.raises(ValueError, match=r"could not be broadcast together with shapes \(2,\) \(3,\)") as error:
            leaf([1.0, 2.0]) + leaf([1.0, 2.0, 3.0])
        (note,) = error.value.__notes__
        assert "add of shapes (2,) and (3,)" in note
        assert "test_tensor.py:" in note
        assert "Reshape an operand" in note

    @pytest.mark.parametrize(
        "call",
        [
            lambda x: x @ np.ones(3),
            lambda x: np.concatenate([x, np.ones((2, 2))]),
            lambda x: x.reshape(5),
            lambda x: wg.grad(lambda y: y @ np.ones(3))(x),
        ],
    )
    def test_other_shapes_that_do_not_fit(self, call):
        with pytest.raises(ValueError, match=".") as error:
            call(leaf([1.0, 2.0]))
        text = str(error.value) + " ".join(getattr(error.value, "__notes__", []))
        assert "test_tensor.py:" in text

    def test_hooks_without_history(self):
        for call in (
            lambda x: x.retain_grad(),
            lambda x: x.register_hook(print),
            lambda x: x.register_post_accumulate_grad_hook(print),
        ):
            with pytest.raises(wg.GradientError):
                call(wg.tensor(1.0))

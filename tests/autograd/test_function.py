"""Function: derivatives written by hand, at first and second order, and every way to get them wrong."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg
from wengert.autograd import Function, grad, gradcheck, gradgradcheck, no_grad, once_differentiable


class Linear(Function):
    """The textbook example."""

    @staticmethod
    def forward(ctx, input, weight, bias=None):
        ctx.save_for_backward(input, weight, bias)
        output = input @ weight.T
        return output if bias is None else output + bias

    @staticmethod
    def backward(ctx, grad_output):
        input, weight, bias = ctx.saved_tensors
        grad_input = grad_weight = grad_bias = None
        if ctx.needs_input_grad[0]:
            grad_input = grad_output @ weight
        if ctx.needs_input_grad[1]:
            grad_weight = grad_output.T @ input
        if bias is not None and ctx.needs_input_grad[2]:
            grad_bias = grad_output.sum(axis=0)
        return grad_input, grad_weight, grad_bias


class Cube(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x * x

    @staticmethod
    def backward(ctx, t):
        (x,) = ctx.saved_tensors
        return 3.0 * x * x * t


class Exp(Function):
    """Saves its output."""

    @staticmethod
    def forward(ctx, x):
        y = wg.exp(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, t):
        (y,) = ctx.saved_tensors
        return t * y


class Pair(Function):
    """Several outputs, of which the last is an index."""

    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward(x, y)
        product, top = x * y, x.argmax()
        ctx.mark_non_differentiable(top)
        return product, x + y, top

    @staticmethod
    def backward(ctx, t_product, t_sum, t_top):
        x, y = ctx.saved_tensors
        return t_product * y + t_sum, t_product * x + t_sum


def make(forward, backward):
    """A Function in one line."""
    return type("Made", (Function,), {"forward": staticmethod(forward), "backward": staticmethod(backward)})


def leaf(data, dtype=float):
    return wg.tensor(data, requires_grad=True, dtype=dtype)


def normal(*shape, seed=0):
    return leaf(np.random.default_rng(seed).standard_normal(shape))


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


class Between(Function):
    """Saves what it computed in between: right at first order, unknown at second."""

    @staticmethod
    def forward(ctx, x):
        squared = x * x
        ctx.save_for_backward(squared)
        return squared * x

    @staticmethod
    def backward(ctx, t):
        (squared,) = ctx.saved_tensors
        return 3.0 * squared * t


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


def test_an_output_saved_and_used_twice_at_second_order():
    """The history of a saved output joins that of the returned one."""
    x = leaf([0.3, 0.7])
    assert gradgradcheck(lambda x: Exp.apply(x) * Exp.apply(x * x), x)
    y = Exp.apply(x)
    (dx,) = grad((y * y).sum(), x, create_graph=True)
    (ddx,) = grad((dx * y).sum(), x)
    np.testing.assert_allclose(ddx, 6.0 * np.exp(3.0 * np.array([0.3, 0.7])))

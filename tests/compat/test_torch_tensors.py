"""What tensors of the layer for PyTorch promise beyond the results of single lines: memory, modes, errors, names."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import wengert as wg
import wengert.compat.torch as torch
from wengert.compat.torch.differences import ABSENT
from wengert.compat.torch.values import LAYERED, TorchValue


def is_layered(x) -> bool:
    """Whether a value is of the layer, and its payloads are the engine's."""
    inner = x.value
    return type(x) in LAYERED.values() and not isinstance(inner, TorchValue)


# Memory.


@pytest.mark.parametrize(
    "write",
    [
        lambda x: x.view(-1).add_(1),
        lambda x: x.t().mul_(2),
        lambda x: x.view(-1).__setitem__(1, 5.0),
        lambda x: x.view(-1)[0].zero_(),
        lambda x: x.t()[0].zero_(),
        lambda x: x.t()[0, 1:].data.zero_(),
        lambda x: x.unsqueeze(0).fill_(1),
        lambda x: x.chunk(2)[0].copy_(torch.zeros(3)),
        lambda x: torch.broadcast_tensors(x, x)[0].zero_(),
        lambda x: torch.vmap(lambda row: row.mul_(2))(x),
        lambda x: torch.vmap(lambda row: row.view(3, 1).mul_(2).sum() + row)(x),
        lambda x: torch.func.jvp(lambda y: y.mul_(2), (x,), (x,)),
        lambda x: torch.func.jvp(lambda y: (y * 1).t_() + y.t().mul_(2), (x,), (x,)),
        lambda x: wg.compile(lambda k: x.view(-1).mul_(k))(2.0),
        lambda x: wg.compile(lambda k: x.view(-1)[0].mul_(k))(2.0),
        lambda x: wg.compile(lambda k: x[0].unsqueeze(0).mul_(k))(2.0),
        lambda x: x.expand(2, 2, 3).zero_(),
        lambda x: x.unfold(1, 2, 1).mul_(3),
        lambda x: x.T.diagonal().fill_(0),
    ],
)
def test_writing_into_a_view_is_an_error(write):
    x = torch.ones(2, 3)
    with pytest.raises(RuntimeError, match="view of another"):
        write(x)
    assert x.tolist() == [[1.0] * 3] * 2


def write_items(x):
    for row in x:
        for item in row:
            item.mul_(3)


def write_unbound(x):
    first, second = x.unbind()
    first[0] = 5.0
    second -= 1


def write_after_others(x):
    rows, numbers = x[1:], x.detach()
    x.add_(1)
    rows.mul_(2)
    numbers[0, 0] = 7.0


@pytest.mark.parametrize("kind", ["plain", "no_grad", "jvp", "vmap", "traced"])
@pytest.mark.parametrize(
    ("write", "expected"),
    [
        (write_items, [[3.0, 3.0], [3.0, 3.0]]),
        (write_unbound, [[5.0, 1.0], [0.0, 0.0]]),
        (lambda x: [part.zero_() for part in torch.unbind(x, 1)[1:]], [[1.0, 0.0], [1.0, 0.0]]),
        (lambda x: x[1].detach().mul_(2), [[1.0, 1.0], [2.0, 2.0]]),
        (lambda x: x.detach()[:, 1].zero_(), [[1.0, 0.0], [1.0, 0.0]]),
        (lambda x: x.data.mul_(4), [[4.0, 4.0], [4.0, 4.0]]),
        (lambda x: setattr(x, "data", x.data + 1), [[2.0, 2.0], [2.0, 2.0]]),
        (write_after_others, [[7.0, 2.0], [4.0, 4.0]]),
        (lambda x: x[torch.tensor(0)].zero_(), [[0.0, 0.0], [1.0, 1.0]]),
        (lambda x: x[np.int64(0), 1].zero_(), [[1.0, 0.0], [1.0, 1.0]]),
        (lambda x: (+x).conj().real.zero_(), [[0.0, 0.0], [0.0, 0.0]]),
        (lambda x: torch.nn.Threshold(2.0, 5.0, inplace=True)(x), [[5.0, 5.0], [5.0, 5.0]]),
        (lambda x: torch.nn.Identity()(x).zero_(), [[0.0, 0.0], [0.0, 0.0]]),
    ],
)
def test_what_shares_memory_is_written_through(kind, write, expected):
    def changed(x):
        y = x * 1
        write(y)
        return y

    x = torch.ones(2, 2, dtype=torch.float64)
    if kind == "plain":
        out = changed(x)
    elif kind == "no_grad":
        with torch.no_grad():
            out = changed(x)
    elif kind == "jvp":
        out, _ = torch.func.jvp(changed, (x,), (x,))
    elif kind == "vmap":
        out = torch.vmap(changed)(x.expand(3, 2, 2))[1]
    else:
        out = torch.tensor(wg.compile(lambda a: changed(torch.asarray(a)))(np.ones((2, 2))))
    assert out.tolist() == expected
    assert x.tolist() == [[1.0, 1.0], [1.0, 1.0]]


def test_what_is_written_into_detached_values_leaves_derivatives():
    def f(x):
        y = x * x
        y.detach().mul_(3)  # the numbers of y are 3 x^2, its derivative is 2 x
        return (y * x).sum()

    x = torch.full((2,), 2.0)
    value, derivative = torch.func.jvp(f, (x,), (torch.ones(2),))
    assert (value.item(), derivative.item()) == (48.0, 2 * (12.0 + 4.0 * 2.0))
    assert torch.func.grad(f)(x).tolist() == [20.0, 20.0]
    assert torch.vmap(torch.func.grad(f))(x.expand(3, 2)).tolist() == [[20.0, 20.0]] * 3
    assert torch.vmap(torch.func.jacfwd(f))(x.expand(3, 2)).tolist() == [[20.0, 20.0]] * 3


def test_detached_values_are_constant_at_all_levels():
    x = torch.ones(2)
    inner = torch.func.grad(lambda y: (y.detach() * y).sum())
    assert torch.func.jacrev(inner)(x).tolist() == [[0.0, 0.0], [0.0, 0.0]]
    assert torch.func.jacfwd(inner)(x).tolist() == [[0.0, 0.0], [0.0, 0.0]]


def test_changes_of_items_are_recorded():
    x = torch.ones(3, requires_grad=True)
    y = x * 1
    for item in y:
        item.mul_(3)
    y.sum().backward()
    assert x.grad.tolist() == [3.0, 3.0, 3.0]
    with pytest.raises(wg.GradientError, match="leaf"):
        next(iter(x)).zero_()


@pytest.mark.parametrize(
    "view",
    [
        lambda x: x.view(1), lambda x: x.unsqueeze(0), lambda x: x.t(), lambda x: x.squeeze(), lambda x: x.flatten(),
        torch.atleast_2d, lambda x: x.transpose(0, 0), lambda x: x.reshape(()), lambda x: x.T,
    ],
)  # fmt: skip
def test_views_of_numbers_are_written_through(view):
    x = torch.tensor(2.0) * 1
    view(x).zero_()
    assert x.item() == 0.0
    value, derivative = torch.func.jvp(lambda y: view(y * y).mul_(2).sum(), (x + 3,), (x + 1,))
    assert (value.item(), derivative.item()) == (18.0, 12.0)


def test_parts_that_were_taken_before_a_trace_cannot_change_in_it():
    x = torch.ones(2)
    part = x[0]
    with pytest.raises(RuntimeError, match="before a function was traced"):
        wg.compile(lambda k: part.mul_(k))(2.0)
    assert x.tolist() == [1.0, 1.0]


def test_a_compiled_step_writes_into_data():
    w = torch.ones(2, dtype=torch.float64, requires_grad=True)

    @wg.compile
    def step(x):
        (w * x).sum().backward()
        w.data.sub_(w.grad)
        w.grad.zero_()

    step(np.array([1.0, 2.0]))
    step(np.array([1.0, 2.0]))
    assert w.tolist() == [-1.0, -3.0]


def test_hooks_may_write_into_gradients():
    x = torch.ones(2, requires_grad=True)

    def drop_first(gradient):
        gradient[0] = 0.0

    x.register_hook(drop_first)
    (x * x).sum().backward()
    assert x.grad.tolist() == [0.0, 2.0]


def test_matmul_is_not_in_place():
    x = y = torch.ones(2, 2)
    x @= torch.ones(2, 2)
    assert y.tolist() == [[1.0, 1.0], [1.0, 1.0]]
    assert x.tolist() == [[2.0, 2.0], [2.0, 2.0]]


def test_contiguous_copies_what_lies_in_another_order():
    x = torch.ones(2, 3)
    y = x.t().contiguous()
    y.zero_()
    x.expand(2, 2, 3).contiguous().zero_()
    assert x.sum().item() == 6.0
    assert x.contiguous() is x


def test_a_view_of_nothing_else_can_be_written():
    y = torch.arange(6.0).view(2, 3)
    y[0] = 7.0
    y += 1
    assert y.tolist() == [[8.0] * 3, [4.0, 5.0, 6.0]]


def test_data_writes_through_and_outlives_its_tensor():
    x = torch.ones(2, requires_grad=True)
    x.data.mul_(3)
    assert x.tolist() == [3.0, 3.0]
    assert x.requires_grad
    alone = (x * 2).detach()
    alone += 1
    assert alone.tolist() == [7.0, 7.0]


def test_a_chain_of_detach_keeps_nothing_alive():
    import weakref

    h = torch.ones(2)
    first = weakref.ref(h)
    for _ in range(3):
        h = h.detach()
    assert first() is None


def test_detached_leaves_refuse_recorded_changes():
    x = torch.ones(2).detach().requires_grad_()
    with pytest.raises(wg.GradientError, match="leaf"):
        x.add_(1)


@pytest.mark.parametrize("again", [copy.deepcopy, copy.copy, lambda x: pickle.loads(pickle.dumps(x))])
def test_copies_are_tensors_of_their_own(again):
    x = torch.ones(2, requires_grad=True)
    for original in (x, x.detach()):
        twin = again(original)
        with torch.no_grad():
            twin.add_(1)
        assert x.tolist() == [1.0, 1.0]
        assert twin.requires_grad == original.requires_grad


def test_numpy_is_read_only():
    with pytest.raises(ValueError, match="read-only"):
        torch.ones(2).numpy()[0] = 1.0


# Modes.


def test_values_of_all_modes_have_the_methods_and_plain_payloads():
    seen = []

    def f(x):
        y = x.unsqueeze(0).sum(dim=1).squeeze() * torch.tensor(2.0)
        seen.extend([x, y])
        return y

    x = torch.arange(3.0, requires_grad=True)
    torch.func.grad(f)(x)
    torch.func.jvp(f, (x,), (torch.ones(3),))
    torch.vmap(f)(x.expand(2, 3))
    torch.func.hessian(f)(x)
    assert {type(y) for y in seen} >= {torch.ones(1).__class__, *LAYERED.values()} - {LAYERED[wg.Symbol]}
    assert all(is_layered(y) for y in seen)
    assert all(isinstance(y, torch.Tensor) for y in seen)


def test_captured_tensors_do_not_enter_payloads():
    data = torch.ones(3, requires_grad=True)
    inside = []

    def loss(w):
        residual = (w * data).view(-1) - data
        inside.append(residual)
        return (residual**2).mean()

    gradient = torch.func.grad(loss)(torch.full((3,), 2.0))
    np.testing.assert_allclose(gradient.detach().numpy(), 2 / 3 * np.ones(3), rtol=1e-6)
    assert is_layered(inside[0])
    gradient.sum().backward()  # d/d data of 2/3 (w data - data) data = 4/3 (w - 1) data
    np.testing.assert_allclose(data.grad.numpy(), 4 / 3 * np.ones(3), rtol=1e-6)


def test_a_traced_function_reads_captured_tensors_at_each_call():
    w = torch.ones(2, dtype=torch.float64)

    @wg.compile
    def f(x):
        return (x * w).sum()

    x = np.arange(2.0)
    assert float(f(x)) == 1.0
    w.mul_(3)
    assert float(f(x)) == 3.0


def test_operations_on_captured_tensors_alone_are_traced():
    w = torch.ones(2, 2, dtype=torch.float64)

    @wg.compile
    def f(x):
        return x * (torch.exp(w).unsqueeze(0) * w.view(-1).sum(dim=0, keepdim=True)).mean()

    np.testing.assert_allclose(f(np.float64(2.0)), 8 * np.e)
    w.mul_(2)
    np.testing.assert_allclose(f(np.float64(2.0)), 16 * np.e**2)


def test_numpy_functions_take_tensors():
    x = torch.arange(4.0).view(2, 2)
    assert np.mean(x).item() == 1.5
    assert np.exp(x).shape == torch.Size([2, 2])
    assert np.size(np.asarray(x)) == 4


def test_hooks_and_functions_get_tensors_of_the_layer():
    got = []

    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(x, k):
            got.append(x)
            return x * k

        @staticmethod
        def setup_context(ctx, inputs, output):
            x, ctx.k = inputs
            ctx.save_for_backward(x)

        @staticmethod
        def backward(ctx, grad):
            got.extend([grad, ctx.saved_tensors[0]])
            return grad.view(-1) * ctx.k, None

    x = torch.ones(3, requires_grad=True)
    y = Twice.apply(x, 2)
    y.register_hook(got.append)
    (gradient,) = torch.autograd.grad((y**2).sum(), x, create_graph=True)
    assert gradient.tolist() == [8.0, 8.0, 8.0]
    assert torch.autograd.grad(gradient.sum(), x)[0].tolist() == [8.0, 8.0, 8.0]
    assert all(isinstance(value, torch.Tensor) for value in got)
    assert len(got) >= 4


@pytest.mark.parametrize("block", [torch.autograd.detect_anomaly, lambda: torch.autograd.set_detect_anomaly(True)])
def test_anomalies_name_the_operation(block):
    x = torch.zeros(1, requires_grad=True)
    with block(), pytest.raises(wg.GradientError, match="multiply made a NaN"):
        (torch.sqrt(x) * float("nan")).sum().backward()
    (torch.sqrt(x) * float("nan")).sum().backward()


# Types.


def test_default_dtype():
    torch.set_default_dtype(torch.float64)
    try:
        assert torch.ones(1).dtype == torch.float64
        assert (torch.arange(2) / 2).dtype == torch.float64
    finally:
        torch.set_default_dtype(torch.float32)
    with pytest.raises(TypeError, match="floating-point"):
        torch.set_default_dtype(torch.int64)


@pytest.mark.parametrize(
    ("function", "of_integers"),
    [
        (torch.cov, torch.float32),
        (torch.corrcoef, torch.float32),
        (torch.vander, torch.int64),
        (torch.linalg.vander, torch.int64),
    ],
)
def test_functions_that_numpy_computes_in_double_precision_keep_the_dtype(function, of_integers):
    x = torch.tensor([1.0, 2.0, 4.0])
    assert function(x).dtype == torch.float32
    assert function(x.double()).dtype == torch.float64
    assert function(x.long()).dtype == of_integers


def test_random_numbers_repeat_with_the_seed():
    torch.manual_seed(3)
    first = torch.randn(4), torch.rand(2), torch.randint(0, 9, (5,)), torch.randperm(5)
    torch.manual_seed(3)
    again = torch.randn(4), torch.rand(2), torch.randint(0, 9, (5,)), torch.randperm(5)
    assert all(torch.equal(a, b) for a, b in zip(first, again, strict=True))
    state = torch.get_rng_state()
    before = torch.rand(3)
    torch.set_rng_state(state)
    assert torch.equal(before, torch.rand(3))


def test_repr():
    assert repr(torch.tensor([1.0, 2.0])) == "tensor([1., 2.])"
    assert repr(torch.tensor([0.5, 2.0], requires_grad=True) * 1.1) == "tensor([0.5500, 2.2000], grad_fn=<multiply>)"
    assert repr(torch.ones(2, dtype=torch.float64)) == "tensor([1., 1.], dtype=torch.float64)"
    assert f"{torch.tensor(2.0):.2f}" == "2.00"
    torch.set_printoptions(precision=2)
    assert repr(torch.tensor([0.12345])) == "tensor([0.12])"
    torch.set_printoptions(profile="default")
    assert repr(torch.tensor([0.12345])) == "tensor([0.1235])"
    assert str(torch.Size([2, 3])) == "torch.Size([2, 3])"


# Errors and names.


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        (lambda: torch.zeros(2, device="cuda"), RuntimeError, "no device 'cuda'"),
        (lambda: torch.ones(2).cuda(), RuntimeError, "no GPU"),
        (lambda: torch.ones(2).to("cuda:0"), RuntimeError, "no device"),
        (lambda: torch.zeros(2, color=1), TypeError, "color"),
        (lambda: torch.ones(2).sum(color=1), TypeError, "color"),
        (lambda: torch.arange(3).mean(), RuntimeError, "float"),
        (lambda: torch.ones(2, requires_grad=True).numpy(), RuntimeError, "detach"),
        (lambda: torch.ones(3).item(), RuntimeError, "3 elements"),
        (lambda: torch.mm(torch.ones(2), torch.ones(2)), RuntimeError, "matmul"),
        (lambda: torch.ones(2).view(torch.int32), TypeError, "to"),
        (lambda: torch.ones(2, 3).repeat(2), RuntimeError, "each axis"),
        (lambda: torch.ones(4).split([1, 2]), RuntimeError, "add up"),
        (lambda: torch.ones(2).div(2, rounding_mode="up"), ValueError, "trunc"),
        (lambda: torch.ones(2, 3, 4).t(), RuntimeError, "transpose"),
        (lambda: torch.autograd.forward_ad.make_dual(torch.ones(1), torch.ones(1)), RuntimeError, "dual_level"),
        (lambda: torch.ones(2).detach().unsqueeze_(0), RuntimeError, "unsqueeze"),
        (lambda: torch.ones(2, 2).fill_diagonal_(1, wrap=True), NotImplementedError, "wrap"),
        (lambda: torch.autograd.functional.vjp(torch.sum, torch.ones(2), strict=True), NotImplementedError, "strict"),
        (lambda: torch.multinomial(torch.ones(2), 3), RuntimeError, "replacement"),
    ],
)
def test_errors_say_what_to_do(call, error, says):
    with pytest.raises(error, match=says):
        call()


@pytest.mark.parametrize("name", ABSENT)
def test_absent_names_name_the_alternative(name):
    owner, _, last = name.rpartition(".")
    holder = torch.ones(1) if owner == "torch.Tensor" else torch
    for part in owner.split(".")[1:] if holder is torch else ():
        holder = getattr(holder, part)
    with pytest.raises(AttributeError, match="Use"):
        getattr(holder, last)


def test_unknown_names_say_so():
    with pytest.raises(AttributeError, match=r"torch.nothing is not in wengert.compat.torch"):
        torch.nothing  # noqa: B018  # it raises


def test_every_public_name_is_there():
    for module in (torch, torch.linalg, torch.fft, torch.special, torch.autograd, torch.func):
        assert [name for name in module.__all__ if not hasattr(module, name)] == []

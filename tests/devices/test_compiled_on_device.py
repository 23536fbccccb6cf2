"""Compiled functions of values on a GPU, or of the stand-in on the emulator: recorded, captured, in training."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg
from wengert.core.devices import device_of, move

X = np.linspace(0.1, 1.0, 6)


@pytest.fixture
def x(cuda):
    return wg.tensor(X, requires_grad=True, device=cuda)


def on_cpu(y):
    return move(y.value if isinstance(y, wg.Tensor) else y, "cpu")


def test_a_recorded_call(x, cuda, host_copies):
    f = wg.compile(lambda x: (np.sin(x) * x).sum())
    for _ in range(2):
        x.grad = None
        f(x).backward()
    assert host_copies == []
    assert x.grad.device == cuda
    np.testing.assert_allclose(on_cpu(x.grad), np.cos(X) * X + np.sin(X), rtol=1e-14)


def test_captured_tensors_receive_gradients(x):
    w = wg.tensor(2 * X, requires_grad=True, device=x.device)
    wg.compile(lambda x: (x * x * w).sum())(x.detach()).backward()
    np.testing.assert_allclose(on_cpu(w.grad), X * X, rtol=1e-14)


def test_tensors_without_history(x, cuda):
    assert device_of(wg.compile(lambda x: 2 * x)(x.detach()).value) == cuda


def test_captured_arrays_are_constants(x):
    c = move(X.copy(), x.device)
    f = wg.compile(lambda x: x * c)
    first = on_cpu(f(x.detach()))
    c[...] = 0.0
    np.testing.assert_array_equal(on_cpu(f(x.detach())), first)
    np.testing.assert_array_equal(first, X * X)


@pytest.mark.parametrize("transform", [wg.grad, wg.hessian, wg.vmap])
def test_transforms_of_compiled_functions(transform, x):
    f = (lambda x: np.exp(-x * x)) if transform is wg.vmap else (lambda x: np.exp(-x * x).sum())
    found = transform(wg.compile(f))(x.detach().value)
    assert device_of(found) == x.device
    np.testing.assert_allclose(on_cpu(found), transform(f)(X), rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize(
    "f",
    [
        lambda a: np.linalg.solve(a, a[0]),
        lambda a: np.linalg.slogdet(a)[1],
        wg.grad(lambda a: np.linalg.slogdet(a)[1] + np.linalg.inv(a).sum() + np.linalg.det(a)),
        wg.grad(lambda a: np.linalg.solve(a, np.arange(9.0).reshape(3, 3)).sum()),
        wg.grad(lambda a: np.linalg.cholesky(a @ a.T).sum() + np.sort(a, axis=0)[0].sum()),
        lambda a: (np.argsort(a, axis=-1), np.argpartition(a[0], 1)[1], np.fft.fft(a).real),
        lambda a: np.linalg.svd(a)[1] + np.linalg.eigvalsh(a + a.T),
    ],
)
def test_operations_of_the_library_between_kernels(f, x):
    a = np.array([[4.0, 1.0, 0.5], [0.3, 3.0, 0.2], [0.1, 0.7, 5.0]])
    found, expected = wg.compile(f)(move(a, x.device)), f(a)
    for y, z in zip(wg.tree.leaves(found), wg.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(on_cpu(y), z, rtol=1e-10, atol=1e-12)


def test_an_operation_without_a_form_there_says_why(x):
    with pytest.raises(NotImplementedError, match=r"sqrtm does not run on the device 'cuda:0'.*Schur"):
        wg.compile(wg.linalg.sqrtm)(move(np.eye(3), x.device))


def make_model(device):
    model = wg.nn.Sequential(wg.nn.Linear(4, 8, rng=0), wg.nn.Tanh(), wg.nn.Linear(8, 1, rng=1)).to(device)
    rng = np.random.default_rng(0)
    inputs, targets = rng.standard_normal((16, 4)).astype("f4"), rng.standard_normal((16, 1)).astype("f4")
    return model, wg.asarray(inputs, device=device), wg.asarray(targets, device=device)


def train(device):
    model, x, y = make_model(device)
    optimizer = wg.optim.Adam(model.parameters(), lr=0.01)

    @wg.compile
    def step(x, y):
        loss = wg.nn.functional.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    return [step(x, y) for _ in range(4)]


def fit(device):
    model, x, y = make_model(device)
    batches = [(x[i : i + 4], y[i : i + 4]) for i in range(0, 16, 4)]
    return wg.nn.fit(
        model, wg.nn.MSELoss(), batches, wg.optim.SGD(model.parameters(), lr=0.1, momentum=0.5), 3, progress=False
    )["loss"]


def change_rate(device):
    """The rate is read at each step, also by the compiled update."""
    w = wg.tensor(X, requires_grad=True, device=device)
    optimizer = wg.optim.SGD([w], lr=0.1)
    for lr in (0.1, 0.2, 0.0):
        optimizer.param_groups[0]["lr"] = lr
        optimizer.zero_grad()
        (w * w).sum().backward()
        optimizer.step()
    return [w.detach()]


@pytest.mark.parametrize("run", [train, fit, change_rate])
def test_training(run, cuda):
    for y, z in zip(run(cuda), run("cpu"), strict=True):
        np.testing.assert_allclose(on_cpu(y) if isinstance(y, wg.Tensor) else y, np.asarray(z), rtol=1e-5)

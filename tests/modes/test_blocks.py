"""The backward pass over large arrays runs in blocks on all cores and gives the same numbers."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg
from wengert.compiler.call import eager_pulls
from wengert.core import machine, native
from wengert.modes import blocks

N = machine.current.min_elements_shared + 77


@pytest.fixture(autouse=True)
def by_numpy(monkeypatch):
    """NumPy's functions and the vector functions differ in the last digit."""
    monkeypatch.setattr(native, "IS_ON", False)


def expression(x, y):
    a = np.sin(x) * y + x
    b = a * a - y / (2 + np.cos(a))
    return (np.tanh(b) * a + b * 3.0 + np.exp(-(x**2))).sum() + (x * y).sum()


def gradients(f, arrays, threads, monkeypatch):
    monkeypatch.setenv("WENGERT_NUM_THREADS", str(threads))
    tensors = [wg.tensor(a, requires_grad=True) for a in arrays]
    for _ in range(2):  # the first run finds out that there is something large
        for x in tensors:
            x.grad = None
        value = f(*tensors)
        value.backward()
    return [value.item(), *[x.grad.numpy() for x in tensors]]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("shape", [(N,), (2, N // 2)])
def test_the_same_to_the_last_bit(dtype, shape, monkeypatch):
    rng = np.random.default_rng(0)
    arrays = [rng.normal(size=shape).astype(dtype) for _ in range(2)]
    runs = []
    original = blocks.pull_in_blocks

    def pull(given):
        found = original(given)
        runs.extend([] if found is None else [len(given.run.steps)])
        return found

    monkeypatch.setattr(blocks, "pull_in_blocks", pull)
    shared = gradients(expression, arrays, 2, monkeypatch)
    assert max(runs) > 5
    runs.clear()
    alone = gradients(expression, arrays, 1, monkeypatch)
    assert not runs
    for one, other in zip(shared, alone, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(
    "f",
    [
        lambda x, y: (x * y[:1] * np.sin(x)).sum(),  # broadcasting
        lambda x, y: (np.sin(x)[::-1] * y * np.cos(y)).sum(),  # layouts that need a copy
        lambda x, y: wg.where(x > 0, np.sqrt(abs(x)) * y, np.sin(x)).sum(),
        lambda x, y: (np.sin(x * 2).astype(np.float32) * 2 * np.cos(y)).sum(),
        lambda x, y: (np.sin(x) * 2 + np.cos(x)).reshape(7, -1).max(axis=1).sum() + y.sum(),
        lambda x, y: (np.maximum(x, y) * np.where(x > y, 1.0, x)).mean(),
    ],
)
def test_what_does_not_fit_a_run_goes_the_plain_way(f, monkeypatch):
    rng = np.random.default_rng(1)
    n = N // 7 * 7
    arrays = [rng.normal(size=n), rng.normal(size=n)]
    for one, other in zip(gradients(f, arrays, 2, monkeypatch), gradients(f, arrays, 1, monkeypatch), strict=True):
        np.testing.assert_array_equal(one, other)


def test_history_is_released_or_kept():
    x = wg.tensor(np.ones(N), requires_grad=True)
    (np.sin(x) * x).sum().backward()
    x.grad = None
    y = (np.sin(x) * x + np.cos(x)).sum()
    y.backward(retain_graph=True)
    first = x.grad.numpy().copy()
    x.grad = None
    y.backward()
    np.testing.assert_array_equal(x.grad.numpy(), first)
    with pytest.raises(wg.GradientError, match="released"):
        y.backward()


class TestKernels:
    """Runs that come again and again are native kernels."""

    @pytest.fixture(autouse=True)
    def is_on(self, by_numpy, at_once, monkeypatch):
        monkeypatch.setattr(native, "IS_ON", True)

    @pytest.fixture
    def kernels(self, monkeypatch):
        """The lengths of the runs that were kernels."""
        lengths = []
        run_all = eager_pulls.pull_rows

        def run_one(run, inputs, size):
            found = run_all(run, inputs, size)
            lengths.extend([] if found is None else [len(run.steps)])
            return found

        found = {"pull_rows": run_one, "is_exact_run": eager_pulls.is_exact_run}  # and no program of a whole pass
        monkeypatch.setattr(native, "find_native", lambda _, name: found.get(name))
        return lengths

    @pytest.mark.parametrize("dtype", [np.float64, np.float32])
    @pytest.mark.parametrize("size", [machine.current.min_elements_of_native_function + 3, N])
    def test_gradients_are_those_of_numpy(self, dtype, size, kernels, monkeypatch):
        rng = np.random.default_rng(0)
        arrays = [rng.normal(size=(size,)).astype(dtype) for _ in range(2)]
        found = gradients(expression, arrays, 2, monkeypatch)
        assert max(kernels) > 5
        monkeypatch.setattr(native, "IS_ON", False)
        for a, b in zip(found, gradients(expression, arrays, 1, monkeypatch), strict=True):
            np.testing.assert_allclose(a, b, rtol=0, atol=(1e-5 if dtype == np.float32 else 1e-14) * np.abs(b).max())

    def test_special_values(self, kernels, monkeypatch):
        """NaN, infinities and signed zeros flow through a kernel as through NumPy."""
        x = np.resize([0.0, -0.0, np.nan, np.inf, -np.inf, 1.0, -2.0, 1e200], N)
        f = lambda x, y: (np.sqrt(x * x) * y - x / y + np.maximum(x, y) * 2.0).sum()
        with np.errstate(all="ignore"):
            found = gradients(f, [x, x[::-1].copy()], 2, monkeypatch)
            monkeypatch.setattr(native, "IS_ON", False)
            expected = gradients(f, [x, x[::-1].copy()], 2, monkeypatch)
        assert kernels
        for a, b in zip(found[1:], expected[1:], strict=True):
            np.testing.assert_array_equal(a, b)
            np.testing.assert_array_equal(np.signbit(a)[~np.isnan(a)], np.signbit(b)[~np.isnan(b)])

    def test_numbers_belong_to_the_kernel(self, kernels, monkeypatch):
        """-0.0 and 0.0, and 2 and 2.0, are equal, but not the same."""
        x = np.linspace(0.5, 2.0, N)
        for number in (2, 2.0, 0.0, -0.0, True):
            f = lambda x: (np.sin(x) * number * x).sum()  # noqa: B023  # it is called in this step
            found = gradients(f, [x], 2, monkeypatch)[1]
            expected = number * np.cos(x) * x + number * np.sin(x)
            np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-15)
            np.testing.assert_array_equal(np.signbit(found), np.signbit(expected))
        assert kernels

    def test_runs_that_come_rarely_are_not_compiled(self, kernels, monkeypatch):
        spent = N * machine.current.nanoseconds_of_pulled_element * 4  # of one run of four nodes
        f = lambda x: (np.sin(x) * np.exp(x) * 1.375).sum()
        with machine.using(nanoseconds_before_kernel=3 * spent):
            gradients(f, [np.linspace(0.0, 1.0, N)], 2, monkeypatch)
            assert not kernels
            gradients(f, [np.linspace(0.0, 1.0, N)], 2, monkeypatch)
            assert len(kernels) == 2

    def test_a_hook_or_a_second_output_in_the_middle(self, kernels, monkeypatch):
        seen = []

        def f(x, y):
            a = np.sin(x) * y
            a.register_hook(lambda g: seen.append(g.shape))
            return (np.cos(a) * a * x).sum() + (a * 2).sum()

        rng = np.random.default_rng(1)
        arrays = [rng.normal(size=N), rng.normal(size=N)]
        found = gradients(f, arrays, 2, monkeypatch)
        assert seen == [(N,)] * 2
        monkeypatch.setattr(native, "IS_ON", False)
        for a, b in zip(found, gradients(f, arrays, 1, monkeypatch), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-13)

    def test_histories_are_released_or_kept(self, kernels):
        test_history_is_released_or_kept()
        assert kernels

    def test_gradients_accumulate(self, kernels):
        x = wg.tensor(np.linspace(0.0, 1.0, N), requires_grad=True)
        for _ in range(3):
            (np.sin(x) * x * 2.0).sum().backward()
        assert kernels
        once = 2.0 * (np.cos(x.detach().numpy()) * x.detach().numpy() + np.sin(x.detach().numpy()))
        np.testing.assert_allclose(x.grad.numpy(), 3 * once, rtol=1e-13)

    def test_a_run_that_is_pulled_one_by_one_is_asked_for_once(self, kernels, monkeypatch):
        """So that the questions do not grow with the square of its length."""
        asked = []
        find_run = blocks.find_run
        monkeypatch.setattr(blocks, "find_run", lambda *given: asked.append(1) or find_run(*given))
        size = machine.current.min_elements_of_native_function
        f = lambda x: np.sum(np.sin(np.tanh(np.cos(np.exp(x) * x + x) * 2.0)) / np.sqrt(x)) + np.sum(x.reshape(2, -1))
        with machine.using(nanoseconds_before_kernel=1 << 60):
            gradients(f, [np.linspace(1.0, 2.0, size)], 2, monkeypatch)
        assert not kernels
        assert len(asked) <= 4

    def test_a_cotangent_behind_a_run_may_have_any_layout(self, kernels, monkeypatch):
        rng = np.random.default_rng(3)
        x, w = rng.uniform(1.0, 2.0, (512, 256)), rng.normal(size=(256, 512))

        def f(x):
            y = x * 1.5
            a = np.sin(y) * y  # a run, behind which is y; its other cotangent is the transpose of w
            return np.sum(y.T * w) + np.sum(np.cos(a) * a)

        found = gradients(f, [x], 2, monkeypatch)[1]
        assert kernels
        monkeypatch.setattr(native, "IS_ON", False)
        np.testing.assert_allclose(found, gradients(f, [x], 1, monkeypatch)[1], rtol=1e-12, atol=1e-12)

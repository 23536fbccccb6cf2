"""What switches recording: nesting, exceptions, threads, decorators; anomaly detection and saved-tensor hooks."""

from __future__ import annotations

import threading
from pathlib import Path

import numpy as np
import pytest

import wengert as wg
from wengert.autograd import (
    Function,
    detect_anomaly,
    enable_grad,
    grad,
    inference_mode,
    is_grad_enabled,
    no_grad,
    saved_tensors_hooks,
    set_grad_enabled,
)
from wengert.modes import recording


@pytest.fixture(autouse=True)
def _state_is_restored():
    assert recording.active == 0
    yield
    assert recording.is_recording()
    assert recording.active == 0


def leaf(data):
    return wg.tensor(data, requires_grad=True, dtype=float)


def recorded() -> bool:
    assert (leaf(1.0) * 2.0).requires_grad == is_grad_enabled()
    return is_grad_enabled()


def test_nesting():
    with no_grad():
        assert not recorded()
        with enable_grad():
            assert recorded()
            with no_grad():
                assert not recorded()
        assert not recorded()
    assert recorded()


def test_one_object_entered_twice():
    off = no_grad()
    with off:
        with off:
            assert not recorded()
        assert not recorded()
    assert recorded()


def test_inference_mode_overrules():
    with inference_mode():
        with enable_grad():
            assert not recorded()
        with inference_mode(False):
            assert recorded()
    with inference_mode(mode=False):
        assert recorded()


def test_no_graph_of_the_backward_pass_in_inference_mode():
    x = leaf(2.0)
    y = x**3
    with inference_mode():
        with pytest.raises(wg.GradientError, match=r"create_graph=True inside inference_mode.*test_grad_mode.py"):
            grad(y, x, create_graph=True)
        with inference_mode(False):
            assert grad(y, x, create_graph=True)[0].requires_grad
        assert grad(y, x)[0].item() == 12.0


def test_set_grad_enabled():
    with set_grad_enabled(False):
        assert not recorded()
        with set_grad_enabled(True):
            assert recorded()
        assert not recorded()
    set_grad_enabled(False)
    assert not recorded()
    set_grad_enabled(True)
    assert recorded()

    @set_grad_enabled(False)
    def off():
        return recorded()

    assert recorded()
    assert not off()


@pytest.mark.parametrize("context", [no_grad, inference_mode, lambda: set_grad_enabled(False), detect_anomaly])
def test_exceptions_restore(context):
    with pytest.raises(ZeroDivisionError), context():
        _ = 1 / 0
    assert recorded()


def test_decorators():
    @no_grad()
    def off(x, *, scale):
        """Doc."""
        return recorded(), x * scale

    @no_grad
    def bare():
        return recorded()

    @inference_mode
    def bare_inference():
        return recorded()

    @no_grad()
    def recursive(n):
        return recorded() if n == 0 else recursive(n - 1)

    assert off.__name__ == "off"
    assert off.__doc__ == "Doc."
    assert off(2, scale=3) == (False, 6)
    assert not bare()
    assert not bare_inference()
    assert not recursive(3)

    @enable_grad()
    def on():
        return recorded()

    with no_grad():
        assert on()
    with pytest.raises(TypeError, match="asynchronous"):

        @no_grad()
        async def later():
            pass


def test_generators():
    log = []

    @no_grad()
    def generate():
        try:
            got = yield recorded()
            log.append(got)
            try:
                yield recorded()
            except KeyError:
                log.append(recorded())
            yield recorded()
        finally:
            log.append(recorded())
        return "end"

    g = generate()
    assert next(g) is False
    assert recorded()
    assert g.send("sent") is False
    assert g.throw(KeyError()) is False
    with pytest.raises(StopIteration, match="end"):
        next(g)
    assert log == ["sent", False, False]
    g = generate()
    next(g)
    g.close()
    assert log[-1] is False
    assert recorded()


def test_threads_do_not_share_state():
    inside, leave = threading.Event(), threading.Event()
    results = {}

    def other():
        with no_grad(), detect_anomaly():
            results["in"] = recorded()
            inside.set()
            leave.wait()
        results["out"] = recorded()

    thread = threading.Thread(target=other)
    thread.start()
    inside.wait()
    x = leaf(2.0)
    (x * x).backward()
    assert x.grad.item() == 4.0
    assert recorded()
    leave.set()
    thread.join()
    assert results == {"in": False, "out": True}


@pytest.mark.parametrize("make", [no_grad, inference_mode, lambda: set_grad_enabled(False)])
def test_threads_may_share_a_context(make):
    shared, inside, leave, results = make(), threading.Event(), threading.Event(), {}

    def other():
        with shared:
            results["in"] = recorded()
            inside.set()
            leave.wait()
        results["out"] = recorded()

    thread = threading.Thread(target=other)
    thread.start()
    inside.wait()
    with make(), shared:
        leave.set()
        thread.join()
        assert not recorded()
    set_grad_enabled(True)
    assert results == {"in": False, "out": True}


def test_a_thread_that_ends_inside_a_context_is_no_longer_counted():
    thread = threading.Thread(target=lambda: set_grad_enabled(False))
    thread.start()
    thread.join()
    assert recording.active == 0


def test_threads_differentiate_independently():
    def work(k):
        for _ in range(50):
            x = leaf([float(k)])
            with no_grad():
                assert not (x * x).requires_grad
            (x * x * x).sum().backward()
            results[k].append(x.grad.item())

    results = {k: [] for k in range(4)}
    threads = [threading.Thread(target=work, args=(k,)) for k in results]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(results[k] == [3.0 * k * k] * 50 for k in results)


def test_anomaly_names_the_line_that_made_the_node():
    x = leaf([0.0, 1.0])
    with np.errstate(all="ignore"), detect_anomaly():
        y = x * 0.0
        logarithm = wg.log(y)  # the line
        z = (logarithm * 0.0).sum()
        with pytest.raises(wg.GradientError, match=r"The backward of log made a NaN.*test_grad_mode.py:(\d+)") as error:
            z.backward()
    line = int(str(error.value).split("test_grad_mode.py:")[1].split(".")[0])
    assert "# the line" in Path(__file__).read_text().splitlines()[line - 1]


def test_anomaly_in_many_shapes():
    x = leaf([0.0, 1.0])
    with np.errstate(all="ignore"):
        outside = (wg.log(x * 0.0) * 0.0).sum()
        with detect_anomaly(), pytest.raises(wg.GradientError, match="outside detect_anomaly"):
            outside.backward()
        with detect_anomaly():
            (x * x).sum().backward()
            with pytest.raises(wg.GradientError, match="has a NaN in it already"):
                (x * x).backward(np.array([np.nan, 1.0]))
            with pytest.raises(wg.GradientError, match="backward of log"):
                grad((wg.log(x * 0.0) * 0.0).sum(), x, create_graph=True)
        with detect_anomaly(check_nan=False):
            (wg.log(x * 0.0) * 0.0).sum().backward()


class Faulty(Function):
    @staticmethod
    def forward(ctx, x):
        return x * 1.0

    @staticmethod
    def backward(ctx, t):
        raise KeyError("lost")


def test_anomaly_says_where_a_failing_backward_was_recorded():
    for check_nan in (True, False):
        with detect_anomaly(check_nan):
            y = Faulty.apply(leaf(1.0))
            with pytest.raises(KeyError) as error:
                y.backward()
        assert "backward of Faulty, which was recorded at" in error.value.__notes__[0]
        assert "test_grad_mode.py" in error.value.__notes__[0]


def test_anomaly_in_a_function():
    class Bad(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1.0

        @staticmethod
        def backward(ctx, t):
            return t * np.nan

    with detect_anomaly(), pytest.raises(wg.GradientError, match=r"backward of Bad made a NaN.*test_grad_mode.py"):
        (Bad.apply(leaf(1.0)) * 2.0).backward()


def test_saved_tensors_to_disk(tmp_path):
    names = []

    def pack(t):
        assert isinstance(t, wg.Tensor)
        names.append(tmp_path / f"{len(names)}.npy")
        np.save(names[-1], t.numpy())
        return names[-1]

    def unpack(name):
        value = wg.tensor(np.load(name))
        name.unlink()
        return value

    x = leaf(np.arange(6.0).reshape(2, 3))
    with saved_tensors_hooks(pack, unpack):
        y = wg.concatenate([wg.sin(x) * x, wg.exp(x @ x.T)], axis=1)
    assert names
    y.sum().backward()
    assert not list(tmp_path.iterdir())
    expected = leaf(np.arange(6.0).reshape(2, 3))
    wg.concatenate([wg.sin(expected) * expected, wg.exp(expected @ expected.T)], axis=1).sum().backward()
    np.testing.assert_array_equal(x.grad, expected.grad)


def test_saved_tensors_in_half_precision():
    x = leaf([0.1, 0.2])
    with saved_tensors_hooks(lambda t: t.astype(np.float16), lambda half: half):
        y = (x * x).sum()
    y.backward()
    assert x.grad.dtype == np.float64
    np.testing.assert_array_equal(x.grad, 2.0 * np.float16([0.1, 0.2]).astype(float))


def test_saved_tensors_hooks_at_second_order_and_nested():
    calls = []

    def hooks(name):
        return saved_tensors_hooks(lambda t: calls.append(name) or t, lambda t: calls.append("un" + name) or t)

    x = leaf(2.0)
    with hooks("outer"):
        y = x**3
        with hooks("inner"):
            z = y * x
        (dx,) = grad(z, x, create_graph=True)
        (ddx,) = grad(dx, x)
    assert ddx.item() == 48.0
    assert {"outer", "inner", "unouter", "uninner"} == set(calls)


def test_saved_tensors_hooks_of_a_function():
    packed = []

    class Square(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x, x * x)
            ctx.same = x
            return x * x

        @staticmethod
        def backward(ctx, t):
            x, _ = ctx.saved_tensors
            return t * (x + ctx.same)

    x = leaf([1.0, 2.0])
    with saved_tensors_hooks(lambda t: packed.append(t) or len(packed) - 1, lambda i: packed[i]):
        y = Square.apply(x)
    assert len(packed) == 3
    (dx,) = grad(y.sum(), x, create_graph=True)
    np.testing.assert_array_equal(dx.detach(), [2.0, 4.0])
    np.testing.assert_array_equal(grad(dx.sum(), x)[0], [2.0, 2.0])


def test_bad_unpack():
    x = leaf([1.0, 2.0])
    with saved_tensors_hooks(lambda t: t, lambda t: t[:1]):
        y = (x * x).sum()
    with pytest.raises(wg.GradientError, match=r"`unpack` returned shape \(1,\) for a saved value of shape \(2,\)"):
        y.backward()

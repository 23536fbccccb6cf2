"""The backward pass over a tape that comes again is one program, with the gradients of the pass node by node."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest
from tests.compiler.call.taped_programs import PROGRAMS, M, N, X, eager_gradient

import wengert as wg
from wengert.compiler.call import backward_programs, eager_call
from wengert.core import machine, native
from wengert.modes import backward, known_tapes, outlines


@pytest.fixture(autouse=True)
def no_known_tapes():
    known_tapes.KNOWN.clear()


@pytest.fixture
def programs(at_once, monkeypatch):
    """Backward passes are compiled at once; the list has what their programs returned, on known tapes too."""
    found = []
    run, run_known = backward_programs.run_program, known_tapes.run_known
    monkeypatch.setattr(native, "met_large", True)
    monkeypatch.setattr(native, "find_native", lambda module, name: None if module != "backward_programs" else counted)

    def counted(tape):
        found.append(run(tape))
        return found[-1]

    def counted_if_known(*given):
        results = run_known(*given)
        found.extend([] if results is None else [results])
        return results

    monkeypatch.setattr(backward, "run_known", counted_if_known)
    return found


@pytest.fixture
def node_by_node(monkeypatch):
    """A function that computes a gradient without native code."""

    def compute(function, x):
        with monkeypatch.context() as patch:
            patch.setattr(native, "IS_ON", False)
            return eager_gradient(function, x)

    return compute


@pytest.mark.parametrize("name", PROGRAMS)
def test_gradients_are_those_of_the_pass(name, programs, node_by_node):
    function, x = PROGRAMS[name]
    expected = node_by_node(function, x)
    found = eager_gradient(function, x)
    assert len(programs) == 1
    assert (programs[0] is None) == (name == "views")  # whose gradient with symbols lies in memory in another way
    assert found.dtype == expected.dtype
    eps = np.finfo(found.dtype).eps
    np.testing.assert_allclose(found, expected, rtol=64 * eps, atol=64 * eps * np.abs(expected).max())


def test_compiled_functions_are_part_of_the_program(programs, node_by_node):
    normalize = wg.compile(lambda x: (x - np.mean(x, 1, keepdims=True)) / np.std(x, 1, keepdims=True))
    function = lambda x, scale: np.sum(np.sin(normalize(np.exp(x) * scale)) ** 2 * np.float64(scale))
    for scale in (1.0, 3.0):
        found = eager_gradient(lambda x, scale=scale: function(x, scale), M)
        np.testing.assert_allclose(found, node_by_node(lambda x, scale=scale: function(x, scale), M), atol=1e-11)
    assert len(programs) == 2
    assert None not in programs


def test_residuals_of_a_compiled_function_are_those_of_each_tape(programs, node_by_node):
    slope = wg.compile(lambda x: np.exp(np.sin(x)) * x)
    for x in (X, 2.0 * X):
        function = lambda w: np.sum(slope(w) * slope(2.0 * w))
        np.testing.assert_allclose(eager_gradient(function, x), node_by_node(function, x), rtol=1e-12)
    assert len(programs) == 2
    assert None not in programs


def test_the_program_reads_the_numbers_of_each_tape(programs, node_by_node):
    scales = [1.0, 2.0, -3.0]
    for scale in scales:
        x = X * abs(scale)
        function = lambda w, scale=scale: np.sum(np.sin(w) * wg.tensor(scale) + w * np.float64(scale))
        np.testing.assert_allclose(eager_gradient(function, x), node_by_node(function, x), rtol=1e-13)
    assert len(programs) == 3


def test_constants_are_part_of_the_outline(programs):
    for k in (2, 3, 2.5):
        np.testing.assert_allclose(eager_gradient(lambda w, k=k: np.sum(w**k), X), k * X ** (k - 1), rtol=1e-13)
    for axis, shape in ((0, (128,)), (1, (256,))):
        scale = np.arange(1.0, shape[0] + 1)
        found = eager_gradient(lambda w, a=axis, s=scale: np.sum(np.sum(w, axis=a) ** 2 * s), M)
        expected = 2 * np.expand_dims(M.sum(axis) * scale, axis) * np.ones_like(M)
        np.testing.assert_allclose(found, expected, rtol=1e-10)


def test_gradients_pile_up_and_leaves_have_hooks(programs):
    w = wg.tensor(X, requires_grad=True)
    seen = []
    w.register_post_accumulate_grad_hook(lambda tensor: seen.append(tensor.grad.shape))
    for _ in range(2):
        np.sum(np.sin(w)).backward()
    assert programs
    assert seen == [X.shape] * 2
    np.testing.assert_allclose(w.grad.numpy(), 2 * np.cos(X), rtol=1e-14)


def test_hooks_between_operations_run(programs):
    w = wg.tensor(X, requires_grad=True)
    y = np.sin(w)
    y.register_hook(lambda t: 2 * t)
    np.sum(y).backward()
    assert not programs
    np.testing.assert_allclose(w.grad.numpy(), 2 * np.cos(X), rtol=1e-14)


def test_a_released_history_is_released(programs):
    w = wg.tensor(X, requires_grad=True)
    y = np.sum(np.sin(w))
    y.backward(retain_graph=True)
    y.backward()
    assert len(programs) == 2
    with pytest.raises(wg.GradientError, match="released"):
        y.backward()


def test_arrays_are_not_kept(programs):
    w = wg.tensor(X, requires_grad=True)
    y = np.sin(w)
    kept = weakref.ref(y.value)
    np.sum(y * y).backward()
    gc.disable()
    try:
        del y
        assert kept() is None
    finally:
        gc.enable()


def test_functions_of_users_and_recorded_passes_run_node_by_node(programs):
    class Twice(wg.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return 2.0 * x

        @staticmethod
        def backward(ctx, t):
            return 2.0 * t

    np.testing.assert_array_equal(eager_gradient(lambda w: np.sum(Twice.apply(w * w)), X), 4 * X)
    w = wg.tensor(X, requires_grad=True)
    (first,) = wg.autograd.grad(np.sum(w**3), w, create_graph=True)
    np.sum(first).backward()
    np.testing.assert_allclose(w.grad.numpy(), 6 * X, rtol=1e-14)


def test_transforms_use_programs_too(programs):
    value, slope = wg.value_and_grad(lambda x: np.sum(np.sin(x) * x))(X)
    assert programs[0] is not None
    np.testing.assert_allclose(slope, np.cos(X) * X + np.sin(X), rtol=1e-13)


def test_small_arrays_and_first_passes_are_not_compiled(monkeypatch):
    asked = []
    monkeypatch.setattr(native, "find_native", lambda *names: asked.append(names))
    eager_gradient(lambda w: np.sum(np.sin(w) * w), X[:100])
    outlines.LEFT.clear()
    eager_gradient(lambda w: np.sum(np.sin(w) * w), X)
    assert not asked
    assert len(outlines.LEFT) == 1


def test_an_error_of_a_rule_is_raised_as_by_the_pass(programs, node_by_node):
    """Where a routine fails, NumPy runs the rule, once, and raises the error."""
    singular = np.eye(128)
    singular[3, 3] = 0.0
    seed = lambda w: np.sum(wg.linalg.qr(w).R * M[:128])
    for compute in (eager_gradient, node_by_node):
        with pytest.raises(np.linalg.LinAlgError, match="linearly dependent"):
            compute(seed, singular)
    np.testing.assert_allclose(eager_gradient(seed, M[:128]), node_by_node(seed, M[:128]), rtol=1e-8, atol=1e-8)
    assert programs[-1] is not None


def test_a_rule_that_looks_at_numbers_is_no_program(programs):
    @wg.custom_vjp
    def clipped(x):
        return x * 1.0

    clipped.defvjp(lambda x: (x * 1.0, x), lambda x, t: ((t if float(np.sum(np.asarray(x))) > 0 else -t),))
    np.testing.assert_array_equal(eager_gradient(lambda w: np.sum(clipped(w)), X), np.ones(N))


def smooth(x, steps):
    for _ in range(steps):
        x = x + 0.1 * (np.roll(x, 1) - 2.0 * x + np.roll(x, -1))
    return np.sum(x * x)


def test_long_tapes_of_small_arrays_are_programs(programs, node_by_node):
    x = X[:1000]
    function = lambda x: smooth(x, 20)
    expected = node_by_node(function, x)
    np.testing.assert_allclose(eager_gradient(function, x), expected, rtol=1e-13)
    assert len(programs) == 1
    assert programs[0] is not None
    eager_gradient(function, x[:8])
    assert len(programs) == 1  # its arrays are tiny
    eager_gradient(lambda x: smooth(x, 2), x)
    assert len(programs) == 1  # it is short


def test_long_tapes_that_never_come_again_are_rarely_outlined(monkeypatch):
    outlined = []
    make = outlines.OutlinedTape
    monkeypatch.setattr(outlines, "OutlinedTape", lambda *given: outlined.append(1) or make(*given))
    monkeypatch.setattr(outlines, "new_tapes", 0)
    for steps in range(20, 20 + 3 * machine.current.new_tapes_before_sampling):
        eager_gradient(lambda x, n=steps: smooth(x, n), X[:300])
    assert machine.current.new_tapes_before_sampling <= len(outlined) <= machine.current.new_tapes_before_sampling + 2
    eager_gradient(lambda x: smooth(x, 20), X[:300])
    outlines.new_tapes = 0
    for _ in range(3 * machine.current.new_tapes_before_sampling):
        eager_gradient(lambda x: smooth(x, 20), X[:300])
    assert len(outlined) >= 4 * machine.current.new_tapes_before_sampling


def test_keys_are_part_of_the_outline(programs):
    for key in (slice(0, 64), slice(64, 128), (0, slice(None)), (1, slice(None))):
        expected = np.zeros_like(M)
        expected[key] = np.cos(M[key])
        np.testing.assert_allclose(eager_gradient(lambda w, k=key: np.sum(np.sin(w)[k]), M), expected, rtol=1e-13)
    assert len(programs) == 4


BASE = np.arange(120.0).reshape(2, 3, 4, 5)


@pytest.mark.parametrize(
    ("x", "is_shared"),
    [
        (BASE, True),
        (BASE.T, True),
        (BASE.transpose(2, 0, 3, 1), True),
        (BASE[:, :1].transpose(3, 1, 0, 2)[:, :, :1], True),
        (np.broadcast_to(BASE[0, 0, 0], (3, 2, 5)), True),
        (np.broadcast_to(BASE[0, 0].T[:, None], (5, 7, 4)), True),
        (BASE[..., ::2], False),
        (BASE[::-1], False),
        (np.broadcast_to(BASE[0, ::2, 0], (4, 2, 5)), False),
        (np.float64(3.0), False),
        (BASE[:0].T, True),
    ],
)
def test_layouts_of_inputs(x, is_shared):
    array, layout = outlines.find_layout(x)
    assert array.flags.c_contiguous
    assert layout.spec == (array.shape, array.dtype)
    laid_out = eager_call.as_laid_out(array, layout)
    np.testing.assert_array_equal(laid_out, x)
    if array.size:
        assert np.shares_memory(array, x) == is_shared

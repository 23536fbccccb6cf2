"""Composed functions on large arrays become one compiled operation from the first call on."""

from __future__ import annotations

import weakref

import numpy as np
import pytest

import wengert as wg
from wengert.core import machine, native
from wengert.nn import functional, large_calls

RNG = np.random.default_rng(0)
ROWS, WIDTH = 130, 128
FUNCTIONS = {
    "layer_norm": lambda x, w, b: functional.layer_norm(x, WIDTH, w, b),
    "rms_norm": lambda x, w, b: functional.rms_norm(x, (WIDTH,), weight=w),
    "group_norm": lambda x, w, b: functional.group_norm(x.reshape(ROWS, WIDTH, 1), 8, w, b),
    "instance_norm": lambda x, w, b: functional.instance_norm(x.reshape(10, 13, WIDTH)),
    "log_softmax": lambda x, w, b: functional.log_softmax(x, dim=0),
    "softmin": lambda x, w, b: functional.softmin(x, 1),
    "linear": lambda x, w, b: functional.linear(x, wg.stack([w, b * b, w - b]), b[:3]),
    "plain_cross_entropy": lambda x, w, b: functional.cross_entropy(x, np.arange(ROWS) % 7),
}


def on_elements(f):
    """An activation function as a function of rows, scales and shifts."""
    return lambda x, w, b: f(x)


ACTIVATIONS = ["elu", "celu", "selu", "gelu", "silu", "mish", "softsign", "tanhshrink", "logsigmoid", "hardswish"]
FUNCTIONS |= {name: on_elements(getattr(functional, name)) for name in ACTIVATIONS}


@pytest.fixture
def compiled(monkeypatch):
    """The functions that were compiled, at the first large call."""
    names = []
    make = large_calls.compile_function

    def compile_function(function, *rest):
        names.append(function.__name__)
        return make(function, *rest)

    monkeypatch.setattr(large_calls, "compile_function", compile_function)
    with machine.using(min_elements_of_native_rows=machine.current.min_elements_of_native_function):
        yield names


def value_and_gradients(f, dtype="f8"):
    rng = np.random.default_rng(1)
    arrays = [rng.normal(size=s).astype(dtype) for s in ((ROWS, WIDTH), (WIDTH,), (WIDTH,))]
    tensors = [wg.tensor(a, requires_grad=True) for a in arrays]
    y = f(*tensors)
    (y * np.cos(np.arange(y.size, dtype=dtype)).reshape(y.shape)).sum().backward()
    return [y.detach().numpy(), *[t.grad.numpy() for t in tensors if t.grad is not None]]


@pytest.mark.parametrize("dtype", ["f8", "f4"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_values_and_gradients(name, dtype, compiled, monkeypatch):
    found = value_and_gradients(FUNCTIONS[name], dtype)
    assert name in compiled
    monkeypatch.setattr(native, "IS_ON", False)
    expected = value_and_gradients(FUNCTIONS[name], dtype)
    assert len(found) == len(expected)
    for a, b in zip(found, expected, strict=True):
        assert a.dtype == b.dtype == dtype
        np.testing.assert_allclose(a, b, rtol=0, atol=100 * np.finfo(dtype).eps * np.abs(b).max())


def test_it_is_one_node_of_the_tape(compiled):
    x = wg.tensor(np.ones((ROWS, WIDTH)), requires_grad=True)
    assert functional.layer_norm(x, WIDTH).grad_fn.name == "layer_norm"


@pytest.mark.parametrize("reduction", ["none", "sum", "mean"])
def test_cross_entropies_of_all_shapes_and_kinds(reduction, compiled, monkeypatch):
    x, labels = RNG.normal(size=(8, 5, 420)), RNG.integers(0, 5, (8, 420))
    ignored, scales = np.where(labels == 3, -100, labels), np.arange(1.0, 6.0)

    def losses(x):
        plain = functional.cross_entropy(x, labels, reduction=reduction)
        others = [functional.cross_entropy(x, ignored, reduction=reduction)]
        others.append(functional.cross_entropy(x, labels, scales, reduction=reduction))
        return wg.sum(plain) + sum(map(wg.sum, others))

    found = wg.value_and_grad(losses)(x)
    assert compiled == ["plain_cross_entropy"]
    monkeypatch.setattr(native, "IS_ON", False)
    for a, b in zip(found, wg.value_and_grad(losses)(x), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)
    with pytest.raises(ValueError, match="has a target 5, for 5 classes"):
        functional.cross_entropy(x, labels + 1)


def test_second_derivatives(compiled):
    x = RNG.normal(size=(ROWS, WIDTH))
    f = lambda x: (functional.softmin(x, -1) ** 2).sum()
    v = RNG.normal(size=x.shape)
    step = 1e-5
    expected = (wg.grad(f)(x + step * v) - wg.grad(f)(x - step * v)) / (2 * step)
    np.testing.assert_allclose(wg.hvp(f, x, v), expected, atol=1e-8)
    t = wg.tensor(x, requires_grad=True)
    (g,) = wg.autograd.grad(f(t), [t], create_graph=True)
    (g * v).sum().backward()
    np.testing.assert_allclose(t.grad.numpy(), expected, atol=1e-8)
    assert compiled


def test_small_arrays_lists_and_other_dtypes_are_not_compiled(compiled):
    functional.log_softmax(np.ones((2, 3)), -1)
    functional.log_softmax([[1.0, 2.0]], -1)
    functional.log_softmax(np.ones((ROWS, WIDTH), int), -1)
    functional.log_softmax(wg.tensor(np.ones(machine.current.min_elements_of_native_function - 1)), 0)
    assert not compiled


def test_traces_are_not_compiled_twice(compiled):
    x = RNG.normal(size=(ROWS, WIDTH))
    found = wg.compile(lambda x: functional.log_softmax(x, -1))(x)
    assert not compiled
    np.testing.assert_allclose(found, functional.log_softmax(x, -1), atol=1e-14)


def test_constants_without_a_hash(compiled):
    x = RNG.normal(size=(ROWS, WIDTH))
    np.testing.assert_allclose(functional.layer_norm(x, [WIDTH]), functional.layer_norm(x, WIDTH), atol=1e-14)
    assert compiled == ["layer_norm"]


def test_warnings_are_those_of_numpy(compiled):
    x = np.ones((ROWS, WIDTH))
    x[3, 5] = np.inf
    with pytest.warns(RuntimeWarning, match="invalid value"):
        functional.layer_norm(x, WIDTH)
    with np.errstate(invalid="raise"), pytest.raises(FloatingPointError):
        functional.layer_norm(x, WIDTH)
    with np.errstate(all="ignore"):
        assert np.isnan(functional.layer_norm(x, WIDTH)[3]).any()


def test_errors_name_the_function(compiled):
    with pytest.raises(ValueError, match="layer_norm with normalized_shape"):
        functional.layer_norm(np.ones((ROWS, WIDTH)), 7)


@pytest.mark.parametrize(
    ("args", "kwargs"), [((), {}), ((WIDTH,), {"normalized_shape": WIDTH}), ((1, 2, 3, 4, 5), {}), ((), {"shape": 2})]
)
def test_wrong_arguments(args, kwargs, compiled):
    with pytest.raises(TypeError, match="layer_norm"):
        functional.layer_norm(np.ones((ROWS, WIDTH)), *args, **kwargs)


def test_some_arguments_are_constants(compiled):
    x, w = RNG.normal(size=(ROWS, WIDTH)), wg.tensor(RNG.normal(size=WIDTH), requires_grad=True)
    functional.layer_norm(x, WIDTH, w).sum().backward()
    centred = x - x.mean(1, keepdims=True)
    np.testing.assert_allclose(w.grad.numpy(), (centred / np.sqrt(x.var(1, keepdims=True) + 1e-5)).sum(0), rtol=1e-10)
    assert functional.layer_norm(x, WIDTH, w.detach()).grad_fn is None
    with wg.no_grad():
        assert functional.layer_norm(x, WIDTH, w).grad_fn is None


def test_tensors_of_two_levels(compiled):
    x, w, u = RNG.normal(size=(ROWS, WIDTH)), RNG.normal(size=WIDTH), RNG.normal(size=(ROWS, WIDTH))
    inner = lambda w, x: wg.grad(lambda x: (functional.layer_norm(x, WIDTH, w) ** 3).sum())(x)
    found = wg.grad(lambda w: (inner(w, x) * u).sum())(w)
    step, v = 1e-6, RNG.normal(size=WIDTH)
    slope = ((inner(w + step * v, x) - inner(w - step * v, x)) * u).sum() / (2 * step)
    np.testing.assert_allclose(found @ v, slope, rtol=1e-6)
    assert compiled


def test_memory_is_released(compiled):
    x = wg.tensor(RNG.normal(size=(ROWS, WIDTH)), requires_grad=True)
    y = functional.gelu(x * 2.0)
    kept = weakref.ref(y.value)
    del y
    assert kept() is None


def attention_problem(length=48, keys=56):
    rng = np.random.default_rng(2)
    shapes = [(3, 4, length, 24), (3, 4, keys, 24), (3, 4, keys, 16)]
    masks = rng.uniform(size=(length, keys)) > 0.3, rng.normal(size=(4, length, keys))
    return [rng.normal(size=shape) for shape in shapes], masks


@pytest.mark.parametrize("mask", [None, 0, 1])
@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize("is_compiled_pass", [False, True])
def test_attention_stores_no_weights(mask, is_causal, is_compiled_pass, compiled, monkeypatch):
    arrays, masks = attention_problem()

    def differentiate():
        tensors = [wg.tensor(a, requires_grad=True) for a in arrays]
        given = None if mask is None else masks[mask]
        out = functional.scaled_dot_product_attention(*tensors, given, is_causal=is_causal)
        kept = out.node.params["gradient"].arrays if out.grad_fn.name == "attend" else ()
        (out * np.cos(np.arange(out.size)).reshape(out.shape)).sum().backward()
        return kept, [out.detach().numpy(), *[t.grad.numpy() for t in tensors]]

    with machine.using(nanoseconds_before_kernel=0 if is_compiled_pass else 1 << 40):
        kept, found = differentiate()
    assert compiled == ["attend"]
    assert max(a.size for a in kept) < 3 * 4 * 48 * 56
    monkeypatch.setattr(native, "IS_ON", False)
    for a, b in zip(found, differentiate()[1], strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-12 * np.abs(b).max())


def test_attention_with_a_mask_that_is_learned(compiled, monkeypatch):
    arrays, (_, mask) = attention_problem()
    f = lambda mask: (functional.scaled_dot_product_attention(*arrays, mask) ** 2).sum()
    w = wg.tensor(mask, requires_grad=True)
    f(w).backward()
    v, step = np.random.default_rng(3).normal(size=mask.shape), 1e-5
    slope = (f(mask + step * v) - f(mask - step * v)) / (2 * step)
    np.testing.assert_allclose(np.sum(w.grad.numpy() * v), slope, rtol=1e-7)


def test_attention_of_views(compiled):
    x = RNG.normal(size=(2, 64, 3, 4, 16))

    def attended(x):
        q, k, v = (np.swapaxes(x[:, :, i], 1, 2) for i in range(3))
        return (functional.scaled_dot_product_attention(q, k, v) ** 2).sum()

    w = wg.tensor(x, requires_grad=True)
    attended(w).backward()
    v, step = RNG.normal(size=x.shape), 1e-5
    slope = (attended(x + step * v) - attended(x - step * v)) / (2 * step)
    np.testing.assert_allclose(np.sum(w.grad.numpy() * v), slope, rtol=1e-7)
    assert "attend" in compiled


def test_a_query_that_sees_no_key(compiled):
    (q, k, v), (mask, _) = attention_problem()
    mask[3] = False
    tensors = [wg.tensor(a, requires_grad=True) for a in (q, k, v)]
    out = functional.scaled_dot_product_attention(*tensors, mask)
    assert (out[:, :, 3].detach().numpy() == 0).all()
    out.sum().backward()
    assert (tensors[0].grad.numpy()[:, :, 3] == 0).all()
    assert all(np.isfinite(t.grad.numpy()).all() for t in tensors)


def test_keywords_and_positions_are_one_program(compiled):
    x, w = np.random.default_rng(0).normal(size=(ROWS, WIDTH)), np.linspace(0.5, 1.5, WIDTH)
    by_position = functional.layer_norm(x, WIDTH, w, None, 1e-3)
    by_keyword = functional.layer_norm(x, WIDTH, eps=1e-3, weight=w)
    np.testing.assert_array_equal(by_keyword, by_position)
    assert compiled == ["layer_norm"]


def test_constants_that_are_equal_are_not_the_same(compiled):
    x = np.full((ROWS, WIDTH), -1.0, np.float32)
    assert functional.elu(x, 0.5).dtype == np.float32
    assert functional.elu(x, np.float64(0.5)).dtype == np.float64
    assert np.signbit(functional.elu(x, 0.0)).all()
    assert not np.signbit(functional.elu(x, -0.0)).any()

"""Attention in blocks: beside NumPy in extended precision, and eager code where numbers are masked or not finite."""

from __future__ import annotations

import re

import numpy as np
import pytest

import wengert as wg
from wengert.compiler.forms.attention import block_attention
from wengert.compiler.threads import pool as threads
from wengert.graph.passes import REWRITES, run_until_stable
from wengert.nn import MultiheadAttention
from wengert.nn.functional import scaled_dot_product_attention as attention
from wengert.nn.functional import softmax

RNG = np.random.default_rng(0)
TOLERANCE = {"f4": 1e-5, "f8": 1e-13}


def draw(stack, length, keys, size, width, dtype="f8"):
    """Queries, keys, values, and a weight for each result."""
    shapes = (length, size), (keys, size), (keys, width), (length, width)
    return [RNG.standard_normal((*stack, *shape)).astype(dtype) for shape in shapes]


def exact(query, key, value, t, seen=True, added=0.0):
    """The result and all cotangents by the formulas of whole matrices, in extended precision."""
    query, key, value, t = [np.asarray(x, np.longdouble) for x in (query, key, value, t)]
    scale = 1 / np.sqrt(np.longdouble(query.shape[-1]))
    scores = np.where(seen, query @ np.swapaxes(key, -1, -2) * scale + added, -np.inf)
    largest = np.max(scores, -1, keepdims=True)
    weights = np.exp(scores - np.where(np.isneginf(largest), 0, largest))
    total = weights.sum(-1, keepdims=True)
    weights = weights / np.where(total == 0, 1, total)
    slope = t @ np.swapaxes(value, -1, -2)
    slope = weights * (slope - np.sum(slope * weights, -1, keepdims=True)) * scale
    transposed = np.swapaxes(slope, -1, -2)
    return weights @ value, slope @ key, transposed @ query, np.swapaxes(weights, -1, -2) @ t


def loss_of(**options):
    return lambda operands, t, *mask: (attention(*operands, *mask, **options) * t).sum()


def check(operands, t, seen=True, added=0.0, mask=(), tolerance=None, **options):
    """Compare compiled results and gradients with exact ones; both are computed in blocks."""
    gradient = wg.compile(wg.grad(loss_of(**options)))
    forward = wg.compile(lambda operands, *mask: attention(*operands, *mask, **options))
    out, *cotangents = exact(*operands, t, seen, added)
    tolerance = tolerance or TOLERANCE[t.dtype.str[1:]]
    for found, expected in zip(
        [forward(operands, *mask), *gradient(operands, t, *mask)], [out, *cotangents], strict=True
    ):
        np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance * np.abs(expected).max())
    names = [step.split(":")[0] for step in gradient.report(operands, t, *mask).routines]
    assert names == ["attention", "derivative of attention"]
    assert forward.report(operands, *mask).routines[0].startswith("attention")


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize(
    ("stack", "length", "keys", "size", "width"),
    [
        ((2, 3), 96, 96, 32, 32),
        ((2,), 130, 300, 20, 24),
        ((), 700, 70, 16, 8),
        ((1, 2), 33, 533, 7, 10),
        ((9,), 64, 132, 12, 1),
    ],
)
@pytest.mark.parametrize("is_causal", [False, True])
def test_results_and_gradients(stack, length, keys, size, width, is_causal, dtype):
    *operands, t = draw(stack, length, keys, size, width, dtype)
    seen = np.tri(length, keys, dtype=bool) if is_causal else True
    check(operands, t, seen, is_causal=is_causal)


@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize("shape", [(90, 140), (2, 1, 1, 140), (2, 3, 90, 140), (3, 90, 1)])
def test_boolean_masks(shape, is_causal):
    *operands, t = draw((2, 3), 90, 140, 16, 8)
    mask = RNG.random(shape) < 0.5
    seen = mask & np.tri(90, 140, dtype=bool) if is_causal else mask
    check(operands, t, seen, mask=(mask,), is_causal=is_causal)


@pytest.mark.parametrize("shape", [(90, 140), (3, 1, 140)])
def test_numbers_that_are_added(shape):
    *operands, t = draw((2, 3), 90, 140, 16, 8, "f4")
    mask = RNG.standard_normal(shape).astype("f4")
    check(operands, t, True, mask, mask=(mask,))


def test_large_scores():
    """The largest score grows from block to block, by more than exponentials can express."""
    RNG.bit_generator.state = np.random.default_rng(0).bit_generator.state  # whichever tests ran before
    *operands, t = draw((2,), 70, 400, 8, 8)
    operands[1] = operands[1] * np.linspace(1, 3000, 400)[:, None]
    check(operands, t, tolerance=1e-11)


def not_finite(x):
    """Where numbers are not finite, and what they are; zero elsewhere."""
    return np.where(np.isfinite(x), 0.0, x)


@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("which", range(4))
def test_numbers_that_are_not_finite(which, number, is_causal):
    *operands, t = draw((2,), 150, 140, 16, 8)
    [*operands, t][which][0, 100, 3] = number  # of queries, keys, values or weights
    f = loss_of(is_causal=is_causal)
    with np.errstate(all="ignore"):
        expected = [attention(*operands, is_causal=is_causal), *wg.grad(f)(operands, t)]
        found = [
            wg.compile(lambda *a: attention(*a, is_causal=is_causal))(*operands),
            *wg.compile(wg.grad(f))(operands, t),
        ]
    for x, y in zip(found, expected, strict=True):
        np.testing.assert_array_equal(not_finite(x), not_finite(y))
        np.testing.assert_allclose(x, y, rtol=1e-10, atol=1e-12)


def test_queries_without_keys():
    """Their results and gradients are zero, as in eager code; also if numbers that are added hide the keys."""
    *operands, t = draw((2,), 70, 90, 8, 8)
    mask = RNG.random((70, 90)) < 0.5
    mask[[3, 69]] = False
    for operand in (mask, np.where(mask, 0.0, -np.inf)):
        check(operands, t, mask, mask=(operand,))
        out = wg.compile(attention)(*operands, operand)
        assert not out[:, [3, 69]].any()


@pytest.mark.parametrize("which", [0, 1])
def test_one_argument_is_differentiated(which):
    *operands, t = draw((2,), 40, 80, 8, 8)
    found = wg.compile(wg.grad(lambda *a: loss_of()(a[:3], a[3]), argnums=which))
    np.testing.assert_allclose(found(*operands, t), exact(*operands, t)[1 + which], rtol=1e-11, atol=1e-12)
    assert "derivative of attention" in str(found.report(*operands, t))


def test_self_attention_and_strided_operands():
    """One array is queries, keys and values: they are read where they are."""
    x = RNG.standard_normal((2, 70, 3, 4, 8))
    t = RNG.standard_normal((2, 4, 70, 8))
    f = lambda x: (attention(*[np.swapaxes(x[:, :, i], 1, 2) for i in range(3)]) * t).sum()
    compiled = wg.compile(wg.grad(f))
    np.testing.assert_allclose(compiled(x), wg.grad(f)(x), rtol=1e-11, atol=1e-12)
    assert "derivative of attention" in str(compiled.report(x))
    one = lambda x: (attention(x, x, x) ** 2).sum()
    y = RNG.standard_normal((3, 50, 8))
    np.testing.assert_allclose(wg.compile(wg.grad(one))(y), wg.grad(one)(y), rtol=1e-11, atol=1e-12)


def test_memory_does_not_hold_the_scores():
    *operands, t = draw((2,), 2048, 2048, 8, 8, "f4")
    report = wg.compile(wg.value_and_grad(loss_of(is_causal=True))).report(operands, t)
    scores = 2 * 2048 * 2048 * 4
    assert report.arena_bytes < scores / 4


def test_weights_that_something_else_reads_are_stored():
    x = RNG.standard_normal((2, 64, 8))

    def f(x):
        weights = softmax(x @ np.swapaxes(x, -1, -2), -1)
        return weights @ x, weights.sum(1)

    layer = MultiheadAttention(8, 2, batch_first=True, rng=0).requires_grad_(False)
    for function, argument in ((f, x), (lambda x: layer(x, x, x), x.astype("f4"))):
        compiled = wg.compile(function)
        for found, expected in zip(compiled(argument), function(argument), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-6)
        assert not any(step.startswith("attention") for step in compiled.report(argument).routines)


def test_a_layer_without_its_weights():
    layer = MultiheadAttention(8, 2, batch_first=True, rng=0).requires_grad_(False)
    x = RNG.standard_normal((2, 64, 8)).astype("f4")
    padding = RNG.random((2, 64)) < 0.3
    f = lambda x, padding: (layer(x, x, x, key_padding_mask=padding, need_weights=False, is_causal=True)[0] ** 2).sum()
    compiled = wg.compile(wg.grad(f))
    np.testing.assert_allclose(compiled(x, padding), wg.grad(f)(x, padding), rtol=1e-3, atol=1e-5)
    assert "derivative of attention" in str(compiled.report(x, padding))


def test_other_modes():
    """Tangents, second derivatives and batches run the operations that attention consists of."""
    query, key, value, t = draw((), 40, 60, 4, 4)
    tangents = draw((), 40, 60, 4, 4)[:3]
    push = lambda *a: wg.jvp(lambda *x: attention(*x, is_causal=True), a, tuple(tangents))
    for found, expected in zip(wg.compile(push)(query, key, value), push(query, key, value), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-12)
    second = lambda q: wg.grad(lambda q: (wg.grad(lambda q: loss_of()([q, key, value], t))(q) * tangents[0]).sum())(q)
    np.testing.assert_allclose(wg.compile(second)(query), second(query), rtol=1e-10, atol=1e-12)
    stacks = draw((3,), 40, 60, 4, 4)[:3]
    batched = wg.vmap(wg.grad(lambda q, k, v: (attention(q, k, v) * t).sum()))
    np.testing.assert_allclose(wg.compile(batched)(*stacks), batched(*stacks), rtol=1e-11, atol=1e-12)


def test_the_pass_keeps_the_results():
    """The operations in blocks are defined by NumPy, too."""
    *operands, t = draw((2,), 40, 60, 4, 6)
    mask = RNG.random((40, 60)) < 0.7
    for options in ({}, {"is_causal": True}):
        traced = wg.trace(wg.value_and_grad(loss_of(**options)), operands, t, mask)
        graph = run_until_stable(traced, REWRITES)
        blocked = block_attention(graph)
        names = {node.primitive.name for node in blocked.operations}
        assert {"blocked_attention", "blocked_attention_pull"} <= names
        assert not {"softmax_weights", "matmul"} & names
        values = [*operands, t, mask]
        for found, expected in zip(blocked.validate().run(values), graph.run(values), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("stack", [(), (5,)])
def test_threads_change_no_bit(stack, monkeypatch):
    *operands, t = draw(stack, 400, 300, 16, 16, "f4")
    found = []
    for count in ("1", "3"):
        monkeypatch.setenv("WENGERT_NUM_THREADS", count)
        f = wg.compile(wg.value_and_grad(loss_of(is_causal=True)))
        value, gradients = f(operands, t)
        found.append([value, *gradients])
    threads.LIMITS.threads = 1
    for x, y in zip(*found, strict=True):
        assert np.array_equal(x, y)


def test_few_queries_have_products_and_row_kernels():
    *operands, t = draw((2,), 4, 600, 8, 8)
    report = wg.compile(wg.grad(loss_of())).report(operands, t)
    assert not re.search("attention", str(report.routines))

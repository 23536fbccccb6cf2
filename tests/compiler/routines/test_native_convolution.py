"""Native convolutions against the NumPy implementation in double precision, SciPy, and finite differences."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.signal import correlate
from tests.oracle import numerical_gradient

import wengert as wg
from wengert.compiler.routines.convolution import blocks, filters, sums
from wengert.compiler.routines.convolution.buffer import Buffer
from wengert.compiler.routines.convolution.correlation import Geometry, result_sums, signal_sums
from wengert.compiler.threads import pool as threads
from wengert.core import machine
from wengert.ops.signal.convolution import _convolution, _convolution_filters, _convolution_signals

RNG = np.random.default_rng(0)
TOLERANCE = {"f4": 1e-5, "f8": 1e-13}


def three_operations(x, w, **options):
    """The results of a convolution and the cotangents of both operands, as functions with their operands."""
    t = RNG.normal(size=_convolution(x, w, **options).shape).astype(x.dtype)
    ndim = len(options["stride"])
    return [
        (lambda x, w: _convolution(x, w, **options), (x, w)),
        (lambda t, w: _convolution_signals(t, w, lengths=x.shape[-ndim:], **options), (t, w)),
        (lambda x, t: _convolution_filters(x, t, size=w.shape[-ndim:], **options), (x, t)),
    ]


def check_natively(f, operands):
    """Compare compiled code with NumPy in double precision."""
    compiled = wg.compile(f)
    assert not compiled.report(*operands).fallbacks
    expected = f(*[a.astype(np.float64) for a in operands])
    found = compiled(*operands)
    assert found.dtype == operands[0].dtype
    scale = max(1.0, np.abs(expected).max(initial=0.0))
    np.testing.assert_allclose(found, expected, rtol=0, atol=TOLERANCE[found.dtype.str[1:]] * scale)


def draw(seed):
    """A drawn convolution: signals, filters and options."""
    rng = np.random.default_rng(seed)
    ndim, groups, dtype = int(rng.integers(1, 4)), int(rng.choice([1, 1, 2, 3])), rng.choice(["f4", "f8"])
    numbers = lambda low, high, *shape: rng.integers(low, high, (*shape, ndim)).tolist()
    size, stride, dilation = numbers(1, 6), numbers(1, 3), numbers(1, 3)
    padding = tuple([tuple(pair) for pair in zip(numbers(0, 4), numbers(0, 4), strict=True)])
    extents = [(k - 1) * d + 1 for k, d in zip(size, dilation, strict=True)]
    drawn = numbers(1, {1: 70, 2: 24, 3: 9}[ndim])
    lengths = [max(n, e - sum(p), 1) for n, e, p in zip(drawn, extents, padding, strict=True)]
    channels, filters, batch = rng.integers(1, 7, 3).tolist()
    x = rng.normal(size=(batch, channels * groups, *lengths)).astype(dtype)
    w = rng.normal(size=(filters * groups, channels, *size)).astype(dtype)
    return x, w, {"stride": tuple(stride), "padding": padding, "dilation": tuple(dilation), "groups": groups}


@pytest.mark.parametrize("seed", range(12))
def test_drawn_convolutions(seed):
    x, w, options = draw(seed)
    for f, operands in three_operations(x, w, **options):
        check_natively(f, operands)


ONE = {"stride": (1, 1), "padding": ((0, 0), (0, 0)), "dilation": (1, 1), "groups": 1}
SHAPES = {
    "whole vectors": ((2, 3, 8, 32), (8, 3, 3, 3), ONE | {"padding": ((1, 1), (1, 1))}),
    "narrow rows": ((2, 4, 7, 3), (5, 4, 3, 3), ONE | {"padding": ((1, 1), (1, 1))}),
    "one by one": ((2, 6, 5, 9), (7, 6, 1, 1), ONE),
    "whole signals": ((2, 3, 5, 6), (4, 3, 5, 6), ONE),
    "long rows of filters": ((1, 2, 4, 40), (3, 2, 2, 15), ONE),
    "large steps": ((2, 2, 9, 50), (3, 2, 2, 3), ONE | {"stride": (3, 5)}),
    "gaps between windows": ((1, 2, 9, 20), (2, 2, 1, 1), ONE | {"stride": (2, 3)}),
    "more padding than filter": ((1, 2, 6, 9), (2, 2, 2, 2), ONE | {"padding": ((3, 2), (4, 1))}),
    "depthwise": ((2, 5, 9, 17), (5, 1, 3, 3), ONE | {"padding": ((1, 1), (1, 1)), "groups": 5}),
    "several strips": ((1, 24, 40, 60), (5, 24, 3, 3), ONE | {"padding": ((1, 1), (1, 1))}),
    "strips and steps": ((1, 24, 45, 60), (5, 24, 3, 3), ONE | {"padding": ((1, 1), (1, 1)), "stride": (2, 2)}),
    "windows side by side": ((2, 3, 13, 18), (5, 3, 4, 3), ONE | {"stride": (4, 3)}),
    "wide windows": ((2, 2, 31, 33), (5, 2, 7, 7), ONE | {"padding": ((3, 3), (3, 3)), "stride": (2, 2)}),
    "many phases": ((2, 6, 23, 19), (4, 3, 7, 6), ONE | {"padding": ((2, 3), (0, 1)), "stride": (5, 4), "groups": 2}),
    "many phases and gaps": ((1, 2, 30, 31), (3, 2, 3, 4), ONE | {"stride": (5, 6), "dilation": (4, 3)}),
    "signals that few windows reach": (
        (1, 2, 40, 9),
        (3, 2, 2, 1),
        ONE | {"stride": (17, 4), "padding": ((9, 0), (5, 3))},
    ),
    "filters that leave the cache": ((1, 40, 6, 9), (30, 40, 3, 3), ONE | {"padding": ((1, 1), (1, 1))}),
}


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("name", SHAPES)
def test_kinds_of_shapes(name, dtype):
    x, w, options = SHAPES[name]
    x, w = RNG.normal(size=x).astype(dtype), RNG.normal(size=w).astype(dtype)
    for f, operands in three_operations(x, w, **options):
        check_natively(f, operands)


@pytest.mark.parametrize("shape", [(40,), (12, 19), (5, 7, 9)])
def test_one_channel_against_scipy(shape):
    x, w = RNG.normal(size=shape), RNG.normal(size=(3,) * len(shape))
    f = wg.compile(lambda x, w: wg.signal.convolution(x, w))
    np.testing.assert_allclose(f(x[None, None], w[None, None])[0, 0], correlate(x, w, "valid"), atol=1e-13)


def test_compiled_gradients_against_differences():
    x, w = RNG.normal(size=(2, 4, 6, 9)), RNG.normal(size=(6, 2, 3, 2))
    f = lambda x, w: (wg.signal.convolution(x, w, (2, 1), (1, 0), (1, 2), 2) ** 2).sum()
    compiled = wg.compile(wg.grad(f, (0, 1)))
    assert not compiled.report(x, w).fallbacks
    for i, found in enumerate(compiled(x, w)):
        np.testing.assert_allclose(found, numerical_gradient(f, [x, w], i), rtol=1e-6, atol=1e-6)


def test_a_transposed_convolution_is_native():
    x, w = RNG.normal(size=(2, 3, 5, 7)), RNG.normal(size=(3, 2, 3, 3))
    f = lambda x, w: wg.signal.convolution_transpose(x, w, stride=2, padding=1, output_padding=1)
    check_natively(f, (x, w))


def test_signals_with_more_axes_join_the_batch():
    x, w = RNG.normal(size=(3, 2, 2, 8)), RNG.normal(size=(4, 2, 3))
    f = wg.vmap(lambda x: wg.signal.convolution(x, w, padding=1))
    compiled = wg.compile(f)
    assert not compiled.report(x).fallbacks
    np.testing.assert_allclose(compiled(x), f(x), atol=1e-13)


STACKS = [((3,), (3,)), ((), (3,)), ((3,), ()), ((2, 1), (3,)), ((2, 3), (1, 1))]


@pytest.mark.parametrize("size", [(3, 2), (1, 2), (1, 1)])
@pytest.mark.parametrize(("first", "second"), STACKS)
def test_stacks_of_signals_and_filters(first, second, size):
    """Against one convolution after the other."""
    padding = ((0, 0), (0, 0)) if size[0] == 1 else ((1, 0), (1, 1))
    options = ONE | {"stride": (1, 2), "padding": padding}
    x, w = RNG.normal(size=(*first, 2, 3, 5, 8)), RNG.normal(size=(*second, 4, 3, *size))
    for f, (a, b) in three_operations(x, w, **options):
        for first_operand in (a, a[(0,) * (a.ndim - 4)]):
            operands = first_operand, b
            compiled = wg.compile(f)
            assert not compiled.report(*operands).fallbacks
            stack = np.broadcast_shapes(*[o.shape[:-4] for o in operands])
            whole = [np.broadcast_to(o, stack + o.shape[-4:]) for o in operands]
            found = compiled(*operands)
            assert found.shape[:-4] == stack
            for item in np.ndindex(stack):
                np.testing.assert_allclose(found[item], f(*[o[item] for o in whole]), atol=1e-13)


def test_gradients_of_each_element_of_a_batch_are_native():
    x, w = RNG.normal(size=(4, 2, 6, 9)), RNG.normal(size=(3, 2, 3, 3))
    gradient = wg.grad(lambda w, x: (wg.signal.convolution(x[None], w, padding=1) ** 2).sum())
    compiled = wg.compile(wg.vmap(gradient, (None, 0)))
    assert not compiled.report(w, x).fallbacks
    np.testing.assert_allclose(compiled(w, x), [gradient(w, one) for one in x], rtol=1e-12)


@pytest.mark.parametrize(("types", "stride"), [((int, int), 1), ((np.float32, np.float64), 1), ((int, int), 5)])
def test_what_numpy_runs(types, stride):
    """Integers, and two dtypes."""
    operands = [np.ones(shape, dtype) for shape, dtype in zip([(1, 1, 2, 3), (1, 1, 5, 5)], types, strict=True)]
    f = lambda x, w: wg.signal.convolution_transpose(x, w, stride)
    compiled = wg.compile(f)
    assert compiled.report(*operands).fallbacks
    np.testing.assert_array_equal(compiled(*operands), f(*operands))


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_special_values_stay_in_their_windows(value):
    """A NaN or an infinity reaches the sums that it belongs to, and none of their neighbours."""
    x, w = np.ones((1, 2, 6, 13), "f4"), np.ones((3, 2, 3, 3), "f4")
    for f, (a, b) in three_operations(x, w, **ONE | {"padding": ((1, 1), (1, 1))}):
        a, mark = np.ones_like(a), np.zeros_like(a)
        a[0, 0, 2, 12], mark[0, 0, 2, 12] = value, 1.0
        found = wg.compile(f)(a, np.ones_like(b))
        np.testing.assert_array_equal(np.isfinite(found), f(mark, np.ones_like(b)) == 0)


OF_THREADS = [
    *("whole vectors", "narrow rows", "depthwise", "several strips", "strips and steps", "wide windows", "many phases"),
]


@pytest.mark.parametrize("name", OF_THREADS)
def test_the_number_of_threads_changes_no_bit(name, monkeypatch):
    x, w, options = SHAPES[name]
    x, w = RNG.normal(size=(9, *x[1:])).astype("f4"), RNG.normal(size=w).astype("f4")
    operations = three_operations(x, w, **options)
    results = []
    for count in ("1", "2", "5"):
        monkeypatch.setenv("WENGERT_NUM_THREADS", count)
        compiled = [wg.compile(f) for f, _ in operations]
        pairs = zip(compiled, operations, strict=True)
        results.append([[f(*operands) for _ in range(3)][-1] for f, (_, operands) in pairs])
    threads.LIMITS.threads = 1
    for others in results[1:]:
        for x, y in zip(results[0], others, strict=True):
            assert x.tobytes() == y.tobytes()


# Plans


def geometry(lengths, size, stride=(1, 1, 1), before=(0, 0, 0)):
    positions = tuple((n + 2 * b - k) // s + 1 for n, k, s, b in zip(lengths, size, stride, before, strict=True))
    return Geometry("f32", 1, (False, False), 2, 1, 4, 8, lengths, size, positions, stride, before, (1, 1, 1))


@pytest.mark.parametrize("stride", [1, 2, 3])
def test_both_directions_have_the_same_products(stride):
    """Without padding, each product of the results is one of the cotangents of signals."""
    g = geometry((1, 9, 17), (1, 3, 2), (1, stride, stride))
    assert result_sums(g).products == g.products
    inside = [
        sum(0 <= j + tap.shift < n for p in phases for tap in p.taps for j in range(p.extent))
        for phases, n in zip(signal_sums(g).axis_phases, g.positions, strict=True)
    ]
    assert 2 * 4 * 8 * np.prod(inside) == g.products


def test_sums_of_a_block_fit_into_registers():
    for lengths in [(1, 1, 300), (1, 32, 32), (6, 9, 5)]:
        for block in blocks.cut_of(result_sums(geometry(lengths, (1, 1, 3)))).blocks:
            assert block.channels * block.rows * block.vectors < blocks.vector_registers()


@pytest.mark.parametrize("size", [(1, 1, 1), (1, 3, 3), (1, 7, 7), (1, 1, 160), (3, 3, 3), (5, 2, 11)])
def test_cuts_have_every_tap_once(size):
    parts = filters.FilterWriter(geometry((9, 40, 200), size))
    period = parts.cuts[-1].stop
    heads = range(0, len(parts.taps), period)
    assert sorted(head + i for cut in parts.cuts for head in heads for i in cut) == list(range(len(parts.taps)))
    assert parts.filters * (max(map(len, parts.cuts)) + 1) < blocks.vector_registers()


def test_strips_of_large_signals_fit_into_the_first_cache():
    g = geometry((1, 200, 200), (1, 7, 7))
    parts = filters.FilterWriter(g)
    assert parts.strip < g.positions[1]
    assert parts.bytes_of(parts.strip) <= machine.current.bytes_of_filter_sums
    assert filters.FilterWriter(geometry((1, 9, 9), (1, 3, 3))).strip == 7


def test_signals_without_padding_are_read_where_they_are():
    assert sums.CorrelationWriter(result_sums(geometry((1, 20, 64), (1, 5, 5)))).parts.nbytes == 0
    assert sums.CorrelationWriter(result_sums(geometry((1, 20, 64), (1, 5, 5), before=(0, 2, 2)))).parts.nbytes > 0


def test_a_buffer_separates_remainders():
    buffer = Buffer("f32", (1, 4, 10), (0, -1, -1), (1, 6, 12), 3, False)
    assert [buffer.offset((0, 0, i)) for i in range(6)] == [0, 4, 8, 1, 5, 9]
    assert buffer.offset((0, 2, 0)) == 24

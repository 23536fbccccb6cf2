"""Row kernels: loops along rows that run one after the other for each row."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg
from wengert.compiler.nests.row_fusion import fuse_rows
from wengert.compiler.program.prepare import prepare
from wengert.compiler.schedule.row_kernels import RowKernel
from wengert.compiler.schedule.schedule import Schedule
from wengert.compiler.threads.pool import LIMITS
from wengert.nn import functional

RNG = np.random.default_rng(0)


def variance(x):
    return wg.var(x, axis=-1)


def log_sum_exp(x):
    return wg.logsumexp(x, axis=-1)


def centre(x):
    return x - wg.mean(x, axis=-1, keepdims=True)


FUNCTIONS = {
    "softmax": lambda x: functional.softmax(x, -1),
    "log_softmax": lambda x: functional.log_softmax(x, -1),
    "layer_norm": lambda x: functional.layer_norm(x, x.shape[-1:]),
    "rms_norm": lambda x: functional.rms_norm(x, x.shape[-1:], eps=1e-6),
    "logsumexp": log_sum_exp,
    "variance": variance,
    "centre": centre,
}


def weighted(f):
    """Value and gradient of a weighted sum of the results."""

    def loss(x):
        out = f(x)
        return wg.sum(out * np.cos(np.arange(out.size).reshape(out.shape)).astype(x.dtype))

    return wg.value_and_grad(loss)


def kernels(f, *args):
    return [step for step in fuse_rows(Schedule(prepare(wg.trace(f, *args)))) if not hasattr(step, "primitive")]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_one_row_kernel_does_everything(name):
    x = RNG.standard_normal((200, 77))
    for f in (FUNCTIONS[name], weighted(FUNCTIONS[name])):
        (kernel,) = kernels(f, x)
        assert isinstance(kernel, RowKernel)
        assert kernel.count == 200
        assert wg.compile(f).report(x).fallbacks == []


@pytest.mark.parametrize("name", ["softmax", "log_softmax", "logsumexp"])
def test_each_exponential_is_computed_once(name):
    x = RNG.standard_normal((200, 77))
    graph = prepare(wg.trace(weighted(FUNCTIONS[name]), x))
    assert [node.primitive.name for node in graph.operations].count("exp") == 1
    (kernel,) = kernels(weighted(FUNCTIONS[name]), x)
    exponentials = [node for part in kernel.parts for node in part.maps if node.primitive.name == "exp"]
    assert len(exponentials) == 1
    assert exponentials[0] in kernel.local


@pytest.mark.parametrize(("name", "loops"), [("softmax", 4), ("layer_norm", 4)])
def test_parts_share_loops_and_keep_one_row(name, loops):
    """The sum of all results moves to the loop that reads the same row; what is cheap to compute again is not kept."""
    (kernel,) = kernels(weighted(FUNCTIONS[name]), RNG.standard_normal((200, 64)))
    assert len([part for part in kernel.parts if part.domain == (200, 64)]) == loops
    rows = [node for node in (*kernel.buffers, *kernel.hosts) if node.size > kernel.count]
    assert len(rows) == 1


def test_a_value_of_a_row_that_is_read_elsewhere_in_the_row_is_kept():
    def f(x):
        y = x * 2.0
        z = y / wg.sum(y, axis=-1, keepdims=True)
        return wg.sum(z * z[:, ::-1], axis=-1), wg.max(z, axis=-1)

    x = RNG.uniform(1.0, 2.0, (100, 37))
    for out, known in zip(wg.compile(f)(x), f(x), strict=True):
        np.testing.assert_allclose(out, known, rtol=1e-13)


def centre_rows_over_sums(x, y):
    w = np.where(y > x, y, 0.9 * x)
    rows = w / (1.0 + np.sum(w * w, axis=-1, keepdims=True))
    return rows - np.mean(rows, axis=0)


def find_least_distances(x, y):
    w = np.exp(-x * x)
    return np.min(w - np.max(w, axis=-1, keepdims=True), axis=0, keepdims=True) * 1.3 + y


@pytest.mark.parametrize("shape", [(200, 24), (50, 61)])
@pytest.mark.parametrize("f", [centre_rows_over_sums, find_least_distances])
def test_what_is_computed_again_finds_what_it_is_computed_from(f, shape):
    """In the gradient, a part computes again what another one computed from an array that it did not read itself."""
    x, y = RNG.standard_normal((2, *shape))

    def loss(x):
        found = f(x, y)
        return np.sum(found * found)

    gradient = wg.grad(loss)
    np.testing.assert_allclose(wg.compile(gradient)(x), gradient(x), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("columns", [61, 64, 96, 256])
@pytest.mark.parametrize("border", [3, 16])
def test_no_value_is_in_the_memory_of_a_result_whose_vectors_overlap(columns, border):
    """The second of two vectors that overlap at a border would read what the first one has written there."""

    def f(x, y):
        weights = np.exp(x - np.max(x, axis=1, keepdims=True))
        total = np.sum(weights * weights, axis=1, keepdims=True)
        return weights / total + np.pad(y[:, border:-border], ((0, 0), (border, border)))

    x, y = RNG.standard_normal((2, 60, columns))
    np.testing.assert_allclose(wg.compile(f)(x, y), f(x, y), rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("dtype", ["f8", "f4"])
@pytest.mark.parametrize("shape", [(64, 64), (100, 37), (9, 1000), (300, 10), (40, 1), (3, 5, 7, 21)])
def test_agreement_with_eager_code(name, dtype, shape):
    x = RNG.standard_normal(shape).astype(dtype)
    tolerance = 64 * np.finfo(dtype).eps
    f = FUNCTIONS[name]
    np.testing.assert_allclose(wg.compile(f)(x), f(x), rtol=tolerance, atol=tolerance)
    value, gradient = wg.compile(weighted(f))(x)
    expected, slope = weighted(f)(x)
    scale = np.sqrt(x.size)
    np.testing.assert_allclose(value, expected, rtol=scale * tolerance, atol=scale * tolerance)
    np.testing.assert_allclose(gradient, slope, rtol=scale * tolerance, atol=scale * tolerance)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_arrays_without_elements(name):
    for shape in ((0, 40), (40, 0)):
        x = np.zeros(shape)
        with np.errstate(all="ignore"):
            try:
                expected = FUNCTIONS[name](x)
            except ValueError:
                continue
            np.testing.assert_array_equal(wg.compile(FUNCTIONS[name])(x), expected)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_terms_that_are_not_finite(name):
    x = RNG.standard_normal((12, 40))
    x[0] = -np.inf
    x[1, 3] = -np.inf
    x[2, 39], x[3, 0] = np.inf, np.nan
    x[4, 1], x[4, 2] = np.inf, 800.0
    x[5, 1], x[5, 2] = np.inf, np.nan
    for f in (FUNCTIONS[name], wg.grad(lambda x: FUNCTIONS[name](x).sum())):
        with np.errstate(all="ignore"):
            np.testing.assert_allclose(wg.compile(f)(x), f(x), rtol=1e-12, atol=1e-12)


def test_the_logarithm_of_a_sum_of_nothing():
    x = np.full((30, 20), -np.inf)
    np.testing.assert_array_equal(wg.compile(log_sum_exp)(x), np.full(30, -np.inf))
    np.testing.assert_array_equal(wg.compile(wg.grad(lambda x: log_sum_exp(x).sum()))(x), np.zeros_like(x))


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("dtype", ["f8", "f4"])
def test_threads_change_no_bits(name, dtype):
    x = RNG.standard_normal((500, 301)).astype(dtype)
    f = wg.compile(lambda x, w: wg.value_and_grad(lambda x, w: wg.sum(FUNCTIONS[name](x * w) ** 2), (0, 1))(x, w))
    w = RNG.standard_normal(301).astype(dtype)
    results = []
    for threads in (1, 2):
        f(x, w)  # loading a program sets the number of threads
        before, LIMITS.threads = LIMITS.threads, threads
        results.append(f(x, w))
        LIMITS.threads = before
    (value, slopes), (other, others) = results
    assert value == other
    for a, b in zip(slopes, others, strict=True):
        np.testing.assert_array_equal(a, b)


def test_sums_of_rows_are_parts():
    """The gradients with respect to the weights of a normalisation are sums over all rows."""
    x, w, b, t = [RNG.standard_normal(shape) for shape in ((500, 50), 50, 50, (500, 50))]
    f = wg.grad(lambda x, w, b, t: wg.sum(functional.layer_norm(x, 50, w, b) * t), (0, 1, 2))
    (kernel,) = kernels(f, x, w, b, t)
    assert [node.shape for node in kernel.sums] == [(50,), (50,)]
    for a, e in zip(wg.compile(f)(x, w, b, t), f(x, w, b, t), strict=True):
        np.testing.assert_allclose(a, e, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("dtype", ["f8", "f4"])
@pytest.mark.parametrize("columns", [3, 16, 77])
def test_sums_of_all_pieces_are_added_up_in_vectors(columns, dtype):
    """The gradient of a scale is a sum along all rows, which are cut into pieces; the last vector is moved back."""
    x, scale = RNG.standard_normal((2000, columns)).astype(dtype), RNG.standard_normal(columns).astype(dtype)
    f = wg.value_and_grad(lambda scale, x: wg.sum(np.sin(functional.layer_norm(x, x.shape[-1:]) * scale)))
    (value, gradient), (known, expected) = wg.compile(f)(scale, x), f(scale, x)
    rtol = 1e-11 if dtype == "f8" else 1e-3
    np.testing.assert_allclose(value, known, rtol=rtol)
    np.testing.assert_allclose(gradient, expected, rtol=rtol, atol=100 * rtol)


def test_a_value_that_is_a_result_is_stored():
    def f(x):
        largest = wg.max(x, axis=1, keepdims=True)
        weights = wg.exp(x - largest)
        return largest, weights, weights / wg.sum(weights, axis=1, keepdims=True)

    x = RNG.standard_normal((60, 50))
    (kernel,) = kernels(f, x)
    assert len(kernel.maps) + len(kernel.reductions) >= 3
    for a, e in zip(wg.compile(f)(x), f(x), strict=True):
        np.testing.assert_allclose(a, e, rtol=1e-14)


def test_another_row_is_not_read():
    """A transposed result, or a sum of all rows, is complete before another kernel reads it."""
    x = RNG.standard_normal((40, 40))
    transposed = lambda x: functional.softmax(x, 1) + functional.softmax(x, 1).T
    shared = lambda x: functional.softmax(x, 1) / wg.sum(functional.softmax(x, 1))
    reverse = lambda x: (x - wg.mean(x, axis=1, keepdims=True)) * wg.sum(x * x, axis=1, keepdims=True)[::-1]
    for f in (transposed, shared, reverse):
        assert len(kernels(f, x)) > 1
        expected = f(x)  # differences from a mean are right to a part of the largest
        np.testing.assert_allclose(wg.compile(f)(x), expected, rtol=1e-13, atol=1e-15 * np.abs(expected).max())


def test_rows_of_several_axes():
    x = RNG.standard_normal((6, 5, 4, 33))
    f = lambda x: functional.softmax(wg.reshape(x, (30, 4, 33)), -1).reshape(6, 20, 33) * 2.0
    np.testing.assert_allclose(wg.compile(f)(x), f(x), rtol=1e-14)
    along = lambda x: functional.softmax(x, 2)
    np.testing.assert_allclose(wg.compile(along)(x), along(x), rtol=1e-14)


def test_cross_entropy():
    x, classes = RNG.standard_normal((300, 40)), RNG.integers(0, 40, 300)
    f = wg.value_and_grad(lambda x: functional.cross_entropy(x, classes))
    value, gradient = wg.compile(f)(x)
    expected, slope = f(x)
    np.testing.assert_allclose(value, expected, rtol=1e-14)
    np.testing.assert_allclose(gradient, slope, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_a_cross_entropy_and_its_gradient_are_one_row_kernel(dtype):
    """The number of labels that count is found first, and the exponentials are computed once."""
    x, classes = RNG.standard_normal((300, 40)).astype(dtype), RNG.integers(0, 40, 300)
    classes[[3, 77]] = -100
    f = wg.value_and_grad(lambda x, classes: functional.cross_entropy(x, classes))
    (fused,) = [step for step in kernels(f, x, classes) if isinstance(step, RowKernel)]
    assert [node.shape for node in fused.maps] == [x.shape]
    assert not any(step.domain == x.shape for step in kernels(f, x, classes))
    value, gradient = wg.compile(f)(x, classes)
    seen = classes != -100
    wide = np.asarray(x, np.longdouble)
    weights = np.exp(wide) / np.exp(wide).sum(1, keepdims=True)
    expected = -np.log(weights[seen, classes[seen]]).mean()
    slope = np.where(seen[:, None], weights - (classes[:, None] == np.arange(40)), 0) / seen.sum()
    tolerance = 50 * np.finfo(dtype).eps
    np.testing.assert_allclose(value, expected, rtol=tolerance)
    np.testing.assert_allclose(gradient, slope, rtol=0, atol=tolerance * np.abs(slope).max())


def test_short_rows_beside_long_ones():
    """Short rows are unrolled, and long ones are row kernels, also in one program."""
    x, a = RNG.standard_normal((200, 300)), RNG.standard_normal((500, 3, 3)) + 4 * np.eye(3)

    def loss(x, a):
        probabilities = functional.softmax(x, -1)
        return (probabilities * x).sum() + np.sin(np.linalg.inv(a)).sum()

    f = wg.value_and_grad(loss, (0, 1))
    assert Schedule(prepare(wg.trace(f, x, a))).rows == (500,)
    fused = [step for step in kernels(f, x, a) if isinstance(step, RowKernel)]
    assert [step.count for step in fused] == [200]
    found, expected = wg.compile(f)(x, a), f(x, a)
    np.testing.assert_allclose(found[0], expected[0], rtol=1e-12)
    for y, z in zip(found[1], expected[1], strict=True):
        np.testing.assert_allclose(y, z, rtol=1e-10, atol=1e-13)


def test_attention_is_not_unrolled():
    q, k, v = RNG.standard_normal((3, 2, 4, 32, 16))
    f = wg.grad(
        lambda q, k, v: wg.sum(functional.scaled_dot_product_attention(q, k, v, is_causal=True) ** 2), (0, 1, 2)
    )
    assert any(isinstance(step, RowKernel) for step in kernels(f, q, k, v))
    assert Schedule(prepare(wg.trace(f, q, k, v))).rows == ()
    for a, e in zip(wg.compile(f)(q, k, v), f(q, k, v), strict=True):
        np.testing.assert_allclose(a, e, rtol=1e-11, atol=1e-12)


def test_a_column_is_no_reason_to_unroll_a_matrix():
    """The right-hand side of a system, of one column, has rows of one element."""
    strength = np.linspace(0.5, 1.5, 100)

    def loss(strength):
        def residual(u):
            padded = wg.concatenate([0.0 * u[:1], u, 0.0 * u[:1]])
            return padded[2:] - 3.0 * u + padded[:-2] + strength * wg.exp(-u)

        u = 0.0 * strength
        for _ in range(2):
            u = u - wg.linalg.solve(wg.jacobian(residual)(u), residual(u))
        return wg.sum(u**2)

    f = wg.value_and_grad(loss)
    assert Schedule(prepare(wg.trace(f, strength))).rows == ()
    found, expected = wg.compile(f)(strength), f(strength)
    np.testing.assert_allclose(found[0], expected[0], rtol=1e-12)
    np.testing.assert_allclose(found[1], expected[1], rtol=1e-10)


def test_short_rows_before_a_loop_with_several_results():
    def loss(x):
        rows = np.linalg.norm(np.sin(x) * np.exp(x), axis=1)
        _, (products, states) = wg.scan(lambda s, y: (s + y, (s * y, s)), 0.0, rows)
        return products.sum() + states.sum()

    x = np.linspace(0.1, 1.0, 192).reshape(64, 3)
    np.testing.assert_allclose(wg.compile(wg.grad(loss))(x), wg.grad(loss)(x), rtol=1e-12)


def test_an_expensive_function_of_short_rows_has_lanes_of_its_own():
    """One number for each of many short rows is computed for several rows at once."""
    x, w = np.random.default_rng(0).standard_normal((50, 10)), np.ones(10)
    step = lambda w: np.sum(np.exp(np.sum(np.maximum(np.tanh(x), w), axis=1))) + w
    report = wg.compile(step).report(w)
    assert any(line.endswith("loop over [50] -> sum f64[]") for line in report.steps)
    assert any("loop over [50, 10] -> sum f64[50]" in line for line in report.steps)
    np.testing.assert_allclose(wg.compile(step)(w), step(w), rtol=1e-13)


def test_a_stack_that_several_parts_compute():
    """It has pieces, whose loop is another one than that of the rows."""

    def loss(x):
        joined = np.stack([x, x + x], axis=3)
        terms = np.sin(np.concatenate([joined[:0], joined]))
        return np.sum(np.sin(np.prod(terms, axis=2)))

    f, x = wg.vmap(wg.grad(loss)), RNG.standard_normal((3, 31, 1, 31))
    np.testing.assert_allclose(wg.compile(f)(x), f(x), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8"])
@pytest.mark.parametrize("shape", [(150, 21), (2000, 77)], ids=str)
def test_extremes_along_all_rows_are_parts(shape, dtype):
    """In memory, in pieces if there is much work, they have the other sign until they are finished."""

    def f(x):
        return x - wg.max(x, -1, keepdims=True), wg.max(x, 0), wg.min(x, 0), wg.max(x), wg.min(x)

    x = RNG.integers(-1000, 1000, shape).astype(dtype)
    (kernel,) = kernels(f, x)
    assert len(kernel.sums) == 4
    for out, known in zip(wg.compile(f)(x), f(x), strict=True):
        np.testing.assert_array_equal(out, known)

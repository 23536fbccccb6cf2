"""Large eager calls of elementwise operations run kernels on blocks, which agree with NumPy."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings

import numpy as np
import pytest

import wengert as wg
from wengert.compiler.call import eager_elements
from wengert.compiler.threads.pool import LIMITS
from wengert.core import machine, native
from wengert.core.native import native_call
from wengert.core.primitive import TABLE

RNG = np.random.default_rng(0)
N = 2 * machine.current.elements_of_block + 77
OPERATIONS = [p for p in native_call if p.kind == "elementwise"]
SPECIAL = np.array([0.0, -0.0, 1.0, -1.0, 0.5, -2.0, np.inf, -np.inf, np.nan, 1e-310, 1e300, -1e300, 3.0, -3.0])
DTYPES = ["f8", "f4"]
SAME_BITS = [
    wg.add, wg.subtract, wg.multiply, wg.divide, wg.negative, wg.square, wg.sqrt, wg.maximum, wg.minimum, wg.reciprocal,
    wg.absolute, wg.relu, wg.where,
]  # fmt: skip


def plain(primitive):
    """NumPy's implementation."""
    return primitive.impl.__wrapped__


def operands_of(primitive, dtype, size=N):
    """Random operands in the domain of an operation."""
    domain = primitive.trial.domain
    bounds = domain if isinstance(domain[0], tuple) else [domain] * len(primitive.inputs)
    arrays = [RNG.uniform(*b, size).astype(dtype) for b in bounds]
    return [arrays[0] > 0, *arrays[1:]] if primitive.name == "where" else arrays


def assert_close(found, expected, dtype, ulps=8.0):
    assert found.dtype == expected.dtype
    assert found.shape == expected.shape
    np.testing.assert_allclose(found, expected, rtol=ulps * np.finfo(dtype).eps, atol=np.finfo(dtype).eps)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("primitive", OPERATIONS, ids=lambda p: p.name)
def test_values_are_those_of_numpy(primitive, dtype):
    arrays = operands_of(primitive, dtype)
    found = native_call.of(primitive)(arrays, {})
    assert found is not None
    assert_close(found, plain(primitive)(*arrays), dtype, 64.0 if primitive.name in ("gammaln", "digamma") else 8.0)


@pytest.mark.parametrize("primitive", OPERATIONS, ids=lambda p: p.name)
def test_special_values_are_those_of_numpy(primitive):
    columns = np.meshgrid(*[SPECIAL] * len(primitive.inputs))
    arrays = [np.resize(c.reshape(-1), max(N, c.size)) for c in columns]
    if primitive.name == "where":
        arrays[0] = arrays[0] > 0
    with np.errstate(all="ignore"):
        found, expected = native_call.of(primitive)(arrays, {}), plain(primitive)(*arrays)
    np.testing.assert_array_equal(np.isnan(found), np.isnan(expected))
    np.testing.assert_array_equal(np.isinf(found), np.isinf(expected))
    zero = expected == 0
    np.testing.assert_array_equal(np.signbit(found)[zero], np.signbit(expected)[zero])
    usual = np.isfinite(expected)
    np.testing.assert_allclose(found[usual], expected[usual], rtol=1e-13, atol=1e-320)


@pytest.mark.parametrize("operation", SAME_BITS, ids=lambda f: f.__name__)
def test_arithmetic_has_the_same_bits(operation):
    primitive = TABLE["where"] if operation is wg.where else operation.primitive
    arrays = operands_of(primitive, "f8")
    assert native_call.of(primitive)(arrays, {}).tobytes() == plain(primitive)(*arrays).tobytes()


@pytest.mark.parametrize("primitive", OPERATIONS, ids=lambda p: p.name)
def test_gradients_are_those_of_numpy(primitive, at_once, monkeypatch):
    """With an operation behind it, so that there is a run of two nodes."""
    arrays = operands_of(primitive, "f8", machine.current.min_elements_of_native_arithmetic + 5)
    live = [i for i in range(len(arrays)) if primitive.definition.has_derivative(i)]
    scale = 1.0 if primitive.name == "where" else 0.875

    def f(*given):
        values = [given[live.index(i)] * scale if i in live else arrays[i] for i in range(len(arrays))]
        return wg.sum(primitive.op(*values))

    gradient = wg.grad(f, tuple(range(len(live))))
    given = [arrays[i] for i in live]
    wg.sin(arrays[live[0]])  # large arrays have been met
    found = gradient(*given)
    monkeypatch.setattr(native, "IS_ON", False)
    for a, b in zip(found, gradient(*given), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-13, atol=1e-13 * abs(b[np.isfinite(b)]).max(initial=0.0))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    "layout",
    [
        lambda x: x.reshape(3, -1),
        lambda x: np.asfortranarray(x.reshape(3, -1)),
        lambda x: x.reshape(3, -1).T,
        lambda x: x[::2],
        lambda x: x[::-1],
        lambda x: x.reshape(3, -1)[:, 5:],
        lambda x: np.frombuffer(b"\0" + x.tobytes(), np.uint8)[1:].view(x.dtype),
        lambda x: x.astype(x.dtype.newbyteorder()),
        lambda x: np.broadcast_to(x[:1], x.shape),
    ],
)
def test_layouts(layout, dtype, at_once):
    x = layout(RNG.normal(size=3 * machine.current.min_elements_of_native_function).astype(dtype))
    assert_close(wg.sin(x), np.sin(x), dtype)
    assert_close(wg.arctan2(x, x * 2), np.arctan2(x, x * 2), dtype)


@pytest.mark.parametrize("dtype", DTYPES)
def test_numbers_and_broadcasting(dtype, at_once, native_calls):
    x = RNG.uniform(0.5, 2.0, machine.current.min_elements_of_native_function + 1).astype(dtype)
    others = [2.5, 3, np.float32(2.5), np.float64(2.5), np.array(2.5, dtype), x[:1], x.astype("f4"), np.int64(3)]
    others += [np.broadcast_to(x[:1], x.shape), np.ones((2, 1), dtype), True, 10**400]
    for other in others:
        for pair in ((x, other), (other, x)):
            try:
                expected = np.power(*pair)
            except OverflowError as error:
                with pytest.raises(OverflowError, match=str(error)):
                    wg.power(*pair)
                continue
            assert_close(
                wg.core.primitive.TABLE["power"].op(*pair), expected, dtype if expected.dtype == x.dtype else "f4"
            )
    assert native_calls


SHAPES = [
    [(300, 70), (70,)],
    [(300, 70), (300, 1)],
    [(1, 70), (300, 70)],
    [(300, 1), (1, 70)],
    [(40, 1, 33), (1, 20, 33)],
    [(6, 50, 70), (50, 1)],
    [(6, 5, 20, 40), (5, 1, 1)],
    [(6, 5, 20, 40), (20, 40)],
    [(3, 2600), (3, 1)],
    [(1, 5000), (1,)],
    [(5000,), (1, 1, 1)],
    [(2100, 3), (3,)],
    [(9, 1, 30, 40), (1, 8, 30, 40)],
    [(4, 1, 5, 1, 40), (4, 5, 1, 6, 40)],
]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shapes", SHAPES, ids=str)
def test_broadcasting_has_the_values_and_layout_of_numpy(shapes, dtype):
    x, y = [RNG.uniform(0.5, 2.0, shape).astype(dtype) for shape in shapes]
    for a, b in ((x, y), (y, x), (np.asfortranarray(x), y), (x, np.broadcast_to(y[..., :1], y.shape))):
        for operation, reference in ((wg.subtract, np.subtract), (wg.divide, np.divide), (wg.arctan2, np.arctan2)):
            expected = reference(a, b)
            for found in (native_call.of(operation.primitive)([a, b], {}), operation(a, b)):
                if found is not None:
                    assert found.strides == expected.strides
                    assert_close(found, expected, dtype, 8.0 if operation is wg.arctan2 else 0.0)


def test_which_shapes_have_kernels():
    """Rows of at least 32 elements, along at most two axes."""
    run = native_call.of(wg.add.primitive)
    found = [run([np.ones(shape) for shape in shapes], {}) is not None for shapes in SHAPES]
    assert found == [True] * 11 + [False, True, False]


def test_choices_broadcast(at_once):
    x, y, mask = RNG.normal(size=(200, 300)), RNG.normal(size=300), RNG.uniform(size=(200, 1)) > 0.5
    for operands in ((mask, x, y), (x > 0, x, y), (x > 0, y, 0.0), (mask, 1.0, y), (y > 0, x, np.zeros((200, 1)))):
        found, expected = wg.where(*operands), np.where(*operands)
        assert (found.dtype, found.strides) == (expected.dtype, expected.strides)
        assert found.tobytes() == expected.tobytes()


def test_choices_of_infinities_are_not_made_again_by_numpy(at_once, monkeypatch):
    monkeypatch.setattr(eager_elements, "report_errors", pytest.fail)
    x = RNG.normal(size=(300, 300))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = wg.where(x > 0, x, -np.inf)
        assert wg.maximum(found, np.nan * found).shape == x.shape
    assert found.tobytes() == np.where(x > 0, x, -np.inf).tobytes()


def test_warnings_of_broadcast_operands(at_once):
    x, y = np.ones((900, 300)), np.ones((900, 1))
    y[[3, 850]] = 0.0
    with pytest.warns(RuntimeWarning, match="divide by zero encountered in divide"):
        assert np.isinf(wg.divide(x, y)).sum() == 600
    y[:] = 0.0
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError, match="divide by zero"):
        wg.divide(x, y)
    x[:] = np.inf
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        wg.add(x, y)


def test_results_that_are_larger_than_all_operands(at_once, native_calls):
    n = machine.current.min_elements_of_growing_operand
    x, y = RNG.normal(size=(n, 1)), RNG.normal(size=(n, 1, 32))
    wg.multiply(x, y[:, 0])  # as large as an operand, and not large
    wg.multiply(x[:128], x[:, 0])  # larger, but with less than GROWN elements
    assert native_calls == []
    for a, b in (
        (y, RNG.normal(size=(n, 16, 1))),
        (x[:, 0], np.ones((machine.current.min_elements_of_native_growth // n, n))),
    ):
        np.testing.assert_array_equal(wg.multiply(a, b), a * b)
    assert native_calls == [("multiply", True)] * 2


@pytest.mark.parametrize(
    "shapes", [[(4, 1, 3), (5, 1)], [(4, 3), (5, 1)], [(0, 3), (1, 3)], [(), (2, 3)], [(2, 3)] * 3]
)
def test_sizes_of_broadcast_operands(shapes):
    try:
        expected = np.broadcast(*[np.empty(shape) for shape in shapes]).size
    except ValueError:
        expected = 0
    assert native.broadcast_size([2.0, *[np.empty(shape) for shape in shapes]]) == expected


def test_shapes_that_do_not_broadcast(at_once):
    with pytest.raises(ValueError, match="could not be broadcast together"):
        wg.add(np.ones((600, 500)), np.ones((600, 3)))


COMPARISONS = [wg.less, wg.less_equal, wg.greater, wg.greater_equal, wg.equal, wg.not_equal]


@pytest.mark.parametrize("operation", COMPARISONS, ids=lambda f: f.__name__)
def test_comparisons_are_those_of_numpy(operation, at_once, native_calls):
    floats = np.resize(np.repeat(SPECIAL, len(SPECIAL)), machine.current.min_elements_of_native_arithmetic)
    others, integers = np.resize(SPECIAL, floats.size), RNG.integers(-2, 2, floats.size)
    pairs = [
        (floats, others),
        (np.sign(floats).astype("f4"), np.sign(others).astype("f4")),
        (floats, 0.5),
        (integers, integers[::-1].copy()),
    ]
    pairs += [(integers, floats), (floats > 0, others > 0), (floats.reshape(64, -1), others[: floats.size // 64])]
    for x, y in pairs:
        found = operation(wg.tensor(x), y).numpy()
        assert found.dtype == bool
        np.testing.assert_array_equal(found, getattr(np, operation.__name__)(x, y))
    assert native_calls == [(operation.__name__, True)] * len(pairs)


@pytest.mark.parametrize("to", DTYPES)
@pytest.mark.parametrize("of", ["f8", "f4", "i8", "i4", "?"])
def test_casts_are_those_of_numpy(of, to, at_once, native_calls):
    x = RNG.uniform(-3.0, 3.0, (2, machine.current.min_elements_of_native_arithmetic // 2)).astype(of)
    for layout in (x, x.T):
        found, expected = wg.tensor(layout).astype(to).numpy(), layout.astype(to)
        assert found.dtype == expected.dtype
        assert found.strides == expected.strides
        np.testing.assert_array_equal(found, expected)
    assert native_calls == ([("astype", True)] * 2 if of != to else [])


def test_casts_warn_as_numpy_does_and_have_gradients(at_once):
    x = np.full(machine.current.min_elements_of_native_arithmetic, 1.5)
    t = wg.tensor(x, requires_grad=True)
    (wg.astype(t, "f4") * np.float32(2.0)).sum().backward()
    assert t.grad.dtype == np.float64
    assert (t.grad.numpy() == 2.0).all()
    x[-3] = 1e300
    with pytest.warns(RuntimeWarning, match="overflow encountered in cast"):
        assert wg.astype(x, "f4")[-3] == np.inf
    x[-3] = np.inf
    assert wg.astype(x, "f4")[-3] == np.inf


def test_plans_do_not_hold_numbers(at_once, native_calls):
    x = RNG.normal(size=machine.current.min_elements_of_native_arithmetic)
    for number in (2.0, -3.0, 2, 5, np.float64(7.0), np.broadcast_to(11.0, x.shape), np.broadcast_to(13.0, x.shape)):
        np.testing.assert_array_equal(wg.multiply(x, number), x * number)
    assert native_calls == [("multiply", True)] * 7
    with pytest.raises(OverflowError):
        wg.multiply(x, 10**400)


def test_arrays_that_are_not_aligned_are_left_to_numpy(at_once, native_calls):
    n = machine.current.min_elements_of_native_function
    x = RNG.normal(size=n)
    odd = np.empty(8 * n + 1, np.uint8)[1:].view("f8")
    odd[:] = x
    wg.tanh(odd), wg.tanh(x), wg.tanh(odd)
    assert [found for _, found in native_calls] == [False, True, False]


def test_other_dtypes_are_left_to_numpy(at_once):
    n = machine.current.min_elements_of_native_function
    for x in (np.arange(n), np.ones(n, complex) * 1j, np.ones(n, "f2"), np.ones(n, bool), np.ones(n, object)):
        if x.dtype == object:
            assert (wg.multiply(x, 2) == 2).all()
        else:
            found, expected = wg.sin(x), np.sin(x)
            assert found.dtype == expected.dtype
            np.testing.assert_allclose(found, expected, rtol=1e-3 if x.dtype in (np.float16, bool) else 1e-14)


def test_warnings_and_errors_are_those_of_numpy(at_once):
    x = np.ones(machine.current.min_elements_of_native_function)
    wg.log(x)
    x[-3] = -1.0
    with pytest.warns(RuntimeWarning, match="invalid value encountered in log"):
        wg.log(x)
    x[-3] = 0.0
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError, match="divide by zero encountered in log"):
        wg.log(x)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("error")
        assert wg.log(x)[-3] == -np.inf
    x[-3] = np.nan
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.isnan(wg.log(x)[-3])  # NumPy does not warn: the argument is none
    with np.errstate(under="raise"), pytest.raises(FloatingPointError, match="underflow"):
        wg.exp(np.full(machine.current.min_elements_of_native_function, -800.0))


@pytest.mark.parametrize("dtype", DTYPES)
def test_threads_do_not_change_bits(dtype, at_once, monkeypatch):
    x = RNG.normal(size=300_001).astype(dtype)
    results = []
    for threads in (1, 2, 3):
        monkeypatch.setattr(LIMITS, "threads", threads)
        t = wg.tensor(x, requires_grad=True)
        y = wg.tanh(wg.sin(t) * t)
        y.sum().backward()
        results.append((y.detach().numpy().tobytes(), t.grad.numpy().tobytes()))
    assert results[0] == results[1] == results[2]


@pytest.mark.parametrize("operation", [wg.sin, wg.add, wg.sigmoid, wg.maximum], ids=lambda f: f.__name__)
def test_small_arrays_do_not_ask(operation, at_once, native_calls):
    least = (
        machine.current.min_elements_of_native_arithmetic
        if operation in (wg.add, wg.maximum)
        else machine.current.min_elements_of_native_function
    )
    count = len(operation.primitive.inputs)
    operation(*[np.ones(least - 1)] * count)
    assert not native_calls
    operation(*[np.ones(least)] * count)
    assert native_calls == [(operation.__name__, True)]


@pytest.mark.parametrize("is_wide", [False, True])
def test_functions_that_numpy_has_for_wide_vectors_are_native_if_they_are_very_large(
    is_wide, monkeypatch, native_calls
):
    monkeypatch.setattr(native, "has_wide_functions", lambda: is_wide)
    for n in (machine.current.min_elements_of_native_function, machine.current.min_elements_of_native_wide_function):
        for function in (wg.sin, wg.exp):
            function(np.ones(n))
    left = [("exp", True)] if not is_wide else []
    assert native_calls == [("sin", True), *left, ("sin", True), ("exp", True)]


def test_exact_operations_are_counted_and_all_others_native_from_the_first_call_on(native_calls):
    x = np.linspace(0.0, 1.0, 1 << 14)
    with machine.using(nanoseconds_before_kernel=3 * 8 * x.size):
        for _ in range(3):
            wg.where(x > 0.5, x, 2.0)
        assert native_calls == [("where", True)]  # the third call
        wg.where(x > 0.5, x.astype("f4"), 2.0)  # another kernel
        assert len(native_calls) == 1
    native_calls.clear()
    wg.sin(x[: 1 << 13])
    wg.sigmoid(x)
    assert native_calls == [("sin", True), ("sigmoid", True)]


def test_one_kernel_for_all_sizes(at_once):
    wg.cosh(np.ones(machine.current.min_elements_of_native_function))
    before = eager_elements.kernel_of.cache_info().misses
    for n in (machine.current.min_elements_of_native_function + 1, 50_000, 123_457):
        x = RNG.normal(size=n)
        assert_close(wg.cosh(x), np.cosh(x), "f8")
    assert eager_elements.kernel_of.cache_info().misses == before


def test_a_variable_switches_kernels_off():
    code = """
import sys, numpy as np, wengert as wg
x = wg.tensor(np.ones(10_000_000), requires_grad=True)
wg.sin(x * 2).sum().backward()
print("llvmlite" in sys.modules)
"""
    for value, loaded in (("0", "False"), ("1", "True")):
        environment = os.environ | {"WENGERT_EAGER_KERNELS": value}
        done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
        assert done.stdout.strip() == loaded

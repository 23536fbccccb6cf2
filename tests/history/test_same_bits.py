"""How often a program has run never changes a bit of its results, nor does the cache on disk.

The records here have counters and sizes of a few calls and elements, so that native code takes over within them.
"""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
from tests.history.eager_programs import PROGRAMS, gradients
from tests.sampling import each

import wengert as wg
from wengert.compiler.call import backward_programs
from wengert.compiler.call.exact_parts import EXACT_KINDS
from wengert.core import machine
from wengert.core.native import LargeCalls, native_call
from wengert.core.primitive import TABLE, plain_impl
from wengert.ops.signal.windows import sliding_windows, window_pick, window_place, window_spread, window_sum

SIZES = (50, 3_000, 20_000)
CALLS = 12
WARM_SOON = {
    "nanoseconds_before_kernel": 1 << 17,
    "min_elements_of_native_arithmetic": 500,
    "min_elements_of_native_choice": 500,
    "min_elements_of_native_growth": 500,
    "min_elements_of_native_extreme": 500,
    "min_elements_of_native_sort": 500,
    "min_elements_of_native_key": 100,
    "min_elements_shared": 5_000,
    "min_expensive_elements_shared": 4_000,
    "min_nodes_of_long_tape": 2,
    "min_elements_of_long_tape": 1,
}
"""Fields that decide when native code takes over; none of them is of the order of additions."""
RNG = np.random.default_rng(3)


@pytest.mark.parametrize("name", PROGRAMS)
def test_all_calls_of_a_program_have_the_same_bits(name):
    for size in SIZES:
        run = gradients(PROGRAMS[name], size)
        once = run()
        with machine.using(**WARM_SOON):
            found = [run() for _ in range(CALLS)]
        assert set(found) == {once}, [found[k] == once for k in range(CALLS)]


def test_programs_take_over_in_these_tests():
    made = []
    for name in ("arithmetic", "multilayer_perceptron", "recurrent", "heat"):
        run = gradients(PROGRAMS[name], 3_000)
        with machine.using(**WARM_SOON):
            for _ in range(CALLS):
                run()
            made += [program for _, program in backward_programs.PROGRAMS.values()]
    assert len(made) == 4
    assert None not in made


SCRIPT = """
import hashlib
import os
from tests.history.eager_programs import PROGRAMS, gradients
from wengert.core import machine

with machine.using(**{fields}):
    for name in {names}:
        run = gradients(PROGRAMS[name], 20_000)
        print(name, *[hashlib.md5(run()).hexdigest() for _ in range({calls})])
"""
NAMES = ("functions", "softmax_rows", "layer_norm", "gelu_network", "convolution", "graph_network", "transposed")


def test_processes_with_a_cold_and_a_warm_cache_have_the_same_bits(tmp_path):
    script = SCRIPT.format(fields=WARM_SOON, names=NAMES, calls=8)
    environment = os.environ | {"WENGERT_CACHE_DIR": str(tmp_path)}
    runs = [
        subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=environment, check=True)
        for _ in range(2)
    ]
    cold, warm = [dict(line.split(maxsplit=1) for line in run.stdout.splitlines()) for run in runs]
    assert cold == warm
    assert list(cold) == list(NAMES)
    assert all(len(set(bits.split())) == 1 for bits in cold.values())


SPECIAL = np.array([0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 1e-310, -1e-310, 1e308, 3.5, -2.5, 0.5])
ELEMENTWISE = [p for p in TABLE.values() if isinstance(getattr(p.impl, "large_calls", None), LargeCalls)]
KERNELS = [p for p in ELEMENTWISE if native_call.of(p) is not None]
N = 2 * machine.current.elements_of_block + 77


def operands_of(primitive, dtype, size=N):
    """Random operands, and all pairs of special numbers."""
    domain = primitive.trial.domain or (-2.0, 2.0)
    bounds = domain if isinstance(domain[0], tuple) else [domain] * len(primitive.inputs)
    arrays = [RNG.uniform(*b, size).astype(dtype) for b in bounds]
    for array, column in zip(arrays, np.meshgrid(*[SPECIAL] * len(arrays)), strict=True):
        part = column.reshape(-1)[: size // 2]
        with np.errstate(over="ignore"):  # of 1e308 in single precision
            array[: part.size] = part
    return [arrays[0] > 0, *arrays[1:]] if primitive.name == "where" else arrays


def params_of(primitive):
    """The parameters of a cast."""
    return {"dtype": np.dtype("f4")} if primitive.name == "astype" else {}


def assert_same_bits(found, expected):
    """The same numbers and signs of zeros; a NaN is a NaN."""
    assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
    is_nan = expected != expected
    np.testing.assert_array_equal(found != found, is_nan)
    assert found[~is_nan].tobytes() == expected[~is_nan].tobytes()


@each("primitive", [p for p in KERNELS if p.facts.exact])
@pytest.mark.parametrize("dtype", ["f8", "f4"])
def test_exact_operations_have_the_same_bits_in_native_code(primitive, dtype):
    call, params = native_call.of(primitive), params_of(primitive)
    arrays = operands_of(primitive, dtype)
    with np.errstate(all="ignore"):
        assert_same_bits(call(arrays, params), plain_impl(primitive)(*arrays, **params))


@each("primitive", [p for p in KERNELS if not p.facts.exact])
def test_functions_have_the_same_bits_in_every_kernel(primitive):
    call = native_call.of(primitive)
    arrays = operands_of(primitive, "f8")
    fused = wg.compile(lambda *x: (primitive.op(*x) * x[0] - 1.0, primitive.op(*x)))
    with np.errstate(all="ignore"):
        found = call(arrays, {})
        assert_same_bits(found * arrays[0] - 1.0, fused(*arrays)[0])
        assert_same_bits(found, fused(*arrays)[1])


@each("primitive", ELEMENTWISE)
def test_calls_of_an_operation_have_the_same_bits(primitive):
    params = params_of(primitive)
    for size in (400, 10_000):
        arrays = operands_of(primitive, "f8", size)
        with np.errstate(all="ignore"):
            once = primitive.impl(*arrays, **params)
            with machine.using(**WARM_SOON):
                for _ in range(20):
                    assert_same_bits(primitive.impl(*arrays, **params), once)


@pytest.mark.parametrize("kind", ["f8", "f4"])
def test_extremes_orders_and_reads_have_the_same_bits_in_native_code(kind):
    x = np.resize(SPECIAL[np.abs(SPECIAL) != 1e308], (300, 40)).astype(kind)
    i = RNG.integers(0, 300, 500)
    calls = [
        lambda: wg.max(x, 0),
        lambda: wg.min(x, 1),
        lambda: wg.argsort(x, 1, kind="stable"),
        lambda: wg.array(x)[i],
    ]
    for call in calls:
        once = np.asarray(call())
        with machine.using(**WARM_SOON):
            for _ in range(CALLS):
                assert_same_bits(np.asarray(call()), once)


@pytest.mark.parametrize("size", [(2, 2), (3, 3), (2, 3)])
@pytest.mark.parametrize("stride", [(1, 1), (2, 2), (3, 2)])
def test_windows_have_the_same_bits_in_native_code(size, stride):
    x = RNG.normal(size=(2, 3, 12, 11)).round(1)
    given = sliding_windows((12, 11), size, stride, (1, 1))
    t = RNG.normal(size=window_sum(x, windows=given).shape)
    calls = [
        lambda x, t: window_pick(x, 1.5 * x, windows=given),
        lambda x, t: window_place(1.1 * t, x, windows=given),
        lambda x, t: window_sum(1.1 * x, windows=given),
        lambda x, t: window_spread(1.1 * t, windows=given, lengths=(12, 11)),
    ]
    for call in calls:
        assert_same_bits(wg.compile(call)(x, t), call(x, t))


def test_only_numbers_that_are_rounded_once_are_exact():
    assert "c" not in EXACT_KINDS
    assert all(p.facts.exact for p in TABLE.values() if p.facts.moves)
    rounded = {"sum", "mean", "matmul", "exp", "sin", "power", "cumsum", "softmax", "logsumexp", "solve", "convolution"}
    assert not [name for name in rounded if TABLE[name].facts.exact]

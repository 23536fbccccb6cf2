"""Pairs of vector functions: two functions of one argument are one call, with the bits of both."""

from __future__ import annotations

import llvmlite.binding as llvm
import numpy as np
import pytest
from benchmarks.reports.accuracy import DTYPES

import wengert as wg
from wengert.compiler.functions.vector_functions import call
from wengert.compiler.program.module_text import write_module
from wengert.compiler.simd.lanes import Code, Lanes
from wengert.compiler.simd.types import Type

F64 = Type("f64")


def angles(dtype: type) -> np.ndarray:
    """Angles of all sizes, multiples of quarter turns, and special values, of both signs."""
    rng, info = np.random.default_rng(3), np.finfo(dtype)
    some = [0.0, info.tiny, info.tiny / 8, 0.785, 0.7853981633974483, 1e4, 2.0**40, info.max, np.inf, np.nan]
    positive = np.concatenate(
        [some, np.pi / 4 * np.arange(1, 40), rng.exponential(3.0, 500), 10 ** rng.uniform(-8, 30, 300)]
    )
    return np.concatenate([positive, -positive]).astype(dtype)


def bits(x) -> bytes:
    return np.asarray(x).tobytes()


@pytest.mark.parametrize("kind", DTYPES)
@pytest.mark.parametrize("effort", [None, "fast", "best"])
def test_sine_and_cosine_of_one_argument_have_the_bits_of_each(kind, effort):
    x = angles(DTYPES[kind])
    both = wg.compile(lambda x: (np.sin(x), np.cos(x)), effort=effort)
    assert "@wengert.sincos." in both.report(x).llvm
    alone = [wg.compile(f, effort=effort) for f in (lambda x: np.sin(x), lambda x: np.cos(x))]
    assert not any("@wengert.sincos." in f.report(x).llvm for f in alone)
    for found, f in zip(both(x), alone, strict=True):
        assert bits(found) == bits(f(x))
    for number in x[::17]:
        assert [bits(y) for y in both(number)] == [bits(f(number)) for f in alone]


def test_many_pairs_are_not_inlined():
    x = np.linspace(-30.0, 30.0, 40).reshape(20, 2)
    f = lambda x: sum(np.sin(k * x[k]) * np.cos(k * x[k]) for k in range(20))
    text = wg.compile(f).report(x).llvm
    assert "declare { double, double } @wengert.sincos.f64(double)" in text
    np.testing.assert_allclose(wg.compile(f)(x), f(x), rtol=1e-13, atol=1e-15)


def test_a_gradient_has_one_call_for_both():
    x = np.linspace(-3.0, 3.0, 50)
    f = wg.value_and_grad(lambda x: (np.sin(x) * x).sum())
    assert "@wengert.sin." not in wg.compile(f).report(x).llvm.replace("@wengert.sincos.", "")
    for found, expected in zip(wg.compile(f)(x), f(x), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-13)


@pytest.mark.parametrize(
    "names", [["cos", "sin", "cos", "sin"], ["sin", "sin", "cos", "cos"], ["sin", "cos", "sin"], ["cos"]], ids="-".join
)
def test_any_order_of_calls_is_valid_text(names):
    code = Code()
    x = Lanes(code, "%x", F64)
    for k, name in enumerate(names):
        code.store(call(name, x), code.offset(Lanes(code, "%out", Type("ptr")), k, F64))
    function = "\n".join(["define void @f(double %x, ptr %out) {", *code.lines, "  ret void", "}"])
    llvm.parse_assembly(write_module([code], [], True, {}, [function])).verify()
    assert code.calls == {("sincos" if len(names) > 1 else "cos", F64): 1}


def test_calls_of_other_blocks_and_arguments_stay_as_they_are():
    code = Code()
    x, y = Lanes(code, "%x", F64), Lanes(code, "%y", F64)
    call("sin", x)
    call("cos", y)
    code.begin("next")
    call("cos", x)
    assert code.calls == {("sin", F64): 1, ("cos", F64): 2}

"""The target: it can be chosen, is right at each level, and is part of the keys of the disk cache."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys

import llvmlite.binding as llvm
import pytest

from wengert.compiler.machine import target
from wengert.compiler.machine.translation import object_code

PROGRAM = """
import numpy as np
import wengert as wg
from wengert.compiler.machine import target

x = np.linspace(-0.9, 3.0, 1003)
for dtype, tolerance in ((np.float64, 4e-16), (np.float32, 3e-7)):
    y = x.astype(dtype)
    for f in (np.exp, np.log1p, np.sin, np.tanh, np.arctan, np.cbrt, np.rint, np.abs):
        np.testing.assert_allclose(wg.compile(f)(y), f(y), rtol=4 * tolerance, atol=0)
    f = lambda y: (np.exp(y) * y * y).sum()
    np.testing.assert_allclose(wg.compile(wg.grad(f))(y), wg.grad(f)(y), rtol=10 * tolerance, atol=tolerance)
    np.testing.assert_allclose(wg.compile(lambda y: (y * y).sum())(y), (y * y).sum(), rtol=10 * tolerance)
half = x.astype(np.float16)
np.testing.assert_array_equal(wg.compile(lambda x: x.astype(np.float16) * 2)(x), half * 2)
np.testing.assert_array_equal(wg.compile(lambda h: h.astype(np.float32) * 2)(half), half.astype(np.float32) * 2)
whole = (x * 1000).astype(np.int32)
np.testing.assert_array_equal(wg.compile(lambda i: i * i // 3)(whole), whole * whole // 3)
print(target.machine_target().cpu, target.vector_bytes(), wg.compile(f).report(y).is_warm)
"""


def run(level: str, folder) -> list[str]:
    environment = os.environ | {"WENGERT_TARGET": level, "WENGERT_CACHE_DIR": str(folder)}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", PROGRAM], env=environment, capture_output=True, text=True, timeout=300
    )
    assert not done.stderr
    return done.stdout.split()


def test_each_level_is_right_and_cached_on_its_own(tmp_path):
    widths = {"x86-64-v2": "16", "x86-64-v3": "32", "x86-64-v4": "64"}
    for level in target.runnable_levels():
        assert run(level, tmp_path) == [level, widths[level], "False"]
        assert run(level, tmp_path) == [level, widths[level], "True"]


@pytest.fixture
def chosen(monkeypatch):
    """Set the variable and read it again."""

    def choose(level: str) -> target.Target:
        monkeypatch.setenv("WENGERT_TARGET", level)
        target.host_target.cache_clear()
        return target.machine_target()

    yield choose
    monkeypatch.undo()
    target.host_target.cache_clear()


def test_native_is_the_default(chosen):
    assert chosen("") == chosen("native") == chosen(" native ")
    assert chosen("native").cpu == llvm.get_host_cpu_name()


@pytest.mark.parametrize("wrong", ["v3", "x86-64", "x86-64-v5", "X86-64-V3", "avx2"])
def test_unknown_targets_are_an_error(chosen, wrong):
    with pytest.raises(ValueError, match=rf"WENGERT_TARGET is '{wrong}', .* x86-64-v2, x86-64-v3, x86-64-v4, native"):
        chosen(wrong)


def test_a_level_that_the_machine_cannot_run_is_an_error(chosen, monkeypatch):
    host = llvm.get_host_cpu_features()
    known = type(host)(host | dict.fromkeys(("avx512f", "avx512vl"), False))
    monkeypatch.setattr(llvm, "get_host_cpu_features", lambda: known)
    with pytest.raises(
        ValueError, match=r"WENGERT_TARGET is x86-64-v4, and this processor .* lacks .*avx512f.*avx512vl"
    ):
        chosen("x86-64-v4")
    assert "x86-64-v4" not in target.runnable_levels()


def test_code_is_loaded_without_a_compiler(monkeypatch):
    """To set one up takes longer than to load a program, which was translated before."""
    code = object_code("define i64 @twice(i64 %x) {\n  %y = add i64 %x, %x\n  ret i64 %y\n}")
    monkeypatch.setattr(target, "target_machine", lambda *_: pytest.fail("a compiler was made"))
    loaded = target.Loaded(code, {})
    assert ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(loaded.address("twice"))(21) == 42

"""PTX: for every compute capability, one entry for each kernel, and operations that round by themselves."""

from __future__ import annotations

import llvmlite.binding as llvm
import numpy as np
import pytest
from tests.compiler.targets.emulator import check_ptx, ptx_of

import wengert as wg
from wengert.compiler.program.prepare import prepare_for_device
from wengert.compiler.targets.device_module import table_kernel, translate


def gradient_of_mixture(x):
    return wg.grad(lambda x: (np.exp(-x * x) * np.sin(x)).sum() / x.sum())(x)


@pytest.mark.parametrize("capability", ["sm_70", "sm_80", "sm_90"])
def test_every_capability(capability):
    ptx = ptx_of(prepare_for_device(wg.trace(gradient_of_mixture, np.ones(1000))), capability)
    assert f".target {capability}" in ptx
    assert ptx.count(".entry") >= 2
    check_ptx(ptx)


def test_no_fast_mathematics():
    f = lambda x, y: (x * y + x, x / y, np.sqrt(x), np.exp(x))
    ptx = ptx_of(prepare_for_device(wg.trace(f, np.ones(100, "f4"), np.ones(100, "f4"))))
    assert "div.rn.f32" in ptx
    assert "sqrt.rn.f32" in ptx
    assert "mul.rn.f32" in ptx
    check_ptx(ptx)


def count_usual_instructions(f, *args) -> int:
    """The instructions of a kernel that a thread runs where no rare part is needed: branches over such parts are taken.

    A rare part comes after a conditional branch, or is a block to which nothing but such a branch leads.
    """
    ptx = ptx_of(prepare_for_device(wg.trace(f, *args)))
    text = ptx[ptx.index(".entry") :]
    lines = [line.strip() for line in text.splitlines()]
    count, k, end = 0, 0, 0
    while "ret;" not in lines[k]:
        line = lines[k]
        is_instruction = line.endswith(";") and not line.startswith((".", "//"))
        count += is_instruction
        target = line.rstrip(";").split()[-1] + ":" if "bra" in line.split()[:2] else None
        is_first = end == 0 and target is not None  # that of threads without an element
        end += target is not None
        k = lines.index(target) if target is not None and not is_first else k + 1
    return count


def test_sine_and_cosine_of_one_number_share_their_polynomials():
    x = np.ones(1024, "f4")
    one, both = (count_usual_instructions(f, x) for f in (np.sin, lambda x: np.sin(x) + np.cos(x)))
    assert both < 1.3 * one


def test_huge_angles_are_not_in_the_usual_code():
    x = np.ones(1024, "f4")
    assert "reduce_huge" in ptx_of(prepare_for_device(wg.trace(np.sin, x)))
    assert count_usual_instructions(np.sin, x) < 4 * (50 if llvm.llvm_version_info >= (21,) else 52)
    assert count_usual_instructions(np.exp, x) < 4 * 32


@pytest.mark.parametrize(
    "f", [np.log, np.sqrt, lambda x: x / np.abs(x), lambda x: np.sin(x) * np.cos(x)], ids=["log", "sqrt", "/", "sincos"]
)
def test_lanes_have_one_branch_for_rare_numbers(f):
    ptx = ptx_of(prepare_for_device(wg.trace(f, np.ones(1024, "f4"))))
    usual = ptx[ptx.index(".entry") :].split("st.global")[0]
    assert usual.count("@%p") == 2  # that of threads without an element is another


def test_logarithms_are_straight_code():
    assert count_usual_instructions(np.log, np.ones(1024, "f4")) < 4 * 40


@pytest.mark.parametrize("calls", [1, 70], ids=["inlined", "called"])
def test_conditions_of_lanes_are_predicates(calls):
    f = lambda x: tuple([np.exp(x * float(k)) for k in range(1, calls + 1)])
    ptx = ptx_of(prepare_for_device(wg.trace(f, np.ones(1024, "f4"))))
    assert ("wengert_$_exp" in ptx) == (calls > 64)
    assert "wengert_$_any" not in ptx
    assert "and.pred" in ptx or "or.pred" in ptx
    check_ptx(ptx)


def test_neighbours_are_read_at_once():
    ptx = ptx_of(prepare_for_device(wg.trace(lambda x: x * 2, np.ones(1024, "f4"))))
    assert "ld.global.nc.v4" in ptx
    assert "st.global.v4" in ptx


def test_the_table_of_pointers_is_written_by_a_kernel():
    ptx = translate("!0 = !{}" + chr(10) + table_kernel(5), "sm_90")
    assert ptx.count("st.global") == 5
    check_ptx(ptx)


@pytest.mark.parametrize(
    "line",
    [
        "mul.f64 %a, %b, %c;",
        "add.f32 %a, %b, %c;",
        "div.approx.f32 %a, %b, %c;",
        ".extern .func sin",
        ".entry kernel.0(",
    ],
)
def test_the_check_can_fail(line):
    with pytest.raises(AssertionError):
        check_ptx(line)


def test_long_constants_are_read_from_a_table():
    ptx = ptx_of(prepare_for_device(wg.trace(lambda x: np.exp(x) * 0.5 + 0.1, np.ones(1024))))
    assert ptx.count(".const") == 1 + ptx.count("ld.const.f64")
    assert f"0d{np.float64(0.1).view(np.uint64):016X}" in ptx.split(".entry")[0]
    arithmetic = [line for line in ptx.splitlines() if ".rn.f64" in line]
    assert any("0d3FE0000000000000" in line for line in arithmetic)  # 32 bits have room in an instruction
    assert not any("0d3FB999999999999A" in line for line in arithmetic)
    check_ptx(ptx)

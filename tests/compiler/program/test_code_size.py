"""The size of code has bounds: what is written out does not grow faster than the program."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg
from wengert.compiler.aspects.shape import concatenate_reads, stack_reads
from wengert.compiler.forms.affine import Affine, Counter
from wengert.compiler.kernels import kernel
from wengert.compiler.machine.translation import FEW_PASSES
from wengert.core import machine
from wengert.core.spec import Spec


@pytest.fixture
def lengths(monkeypatch):
    """The number of lines of each kernel that is written."""
    found = []
    write = kernel.KernelWriter.function

    def function(self, *args):
        found.append(len(self.code.lines))
        return write(self, *args)

    monkeypatch.setattr(kernel.KernelWriter, "function", function)
    return found


def nested_sums(x):
    """A sum along each axis, with another function in between."""
    for _ in range(x.ndim):
        x = np.sin(x).sum(-1)
    return x


@pytest.mark.parametrize("axes", [4, 5, 6])
def test_sums_of_sums_are_not_one_expression(axes, lengths):
    """The text has as many elements as one reduction may have, not five for each axis to the power of their number."""
    x = np.linspace(0.1, 1.0, 5**axes).reshape((5,) * axes)
    value = wg.compile(nested_sums)(x)
    assert max(lengths) < 10 * machine.current.max_elements_of_unrolled_reduction
    np.testing.assert_allclose(value, nested_sums(x), rtol=1e-12)


def test_short_sums_of_sums_are_one_loop():
    """Below the limit, nothing is stored between them."""
    x = np.linspace(0.1, 1.0, 40 * 9).reshape(40, 3, 3)
    f = lambda x: np.sin(np.sin(x).sum(-1)).sum(-1)
    assert len([step for step in wg.compile(f).report(x).steps if "loop over" in step]) == 1


@pytest.mark.parametrize("most", [1, 7, 30, 200, 10**6])
def test_the_limit_changes_no_value(most):
    x = np.linspace(0.1, 1.0, 5**4).reshape((5,) * 4)
    with machine.using(max_elements_of_unrolled_reduction=most):
        value, slope = wg.compile(wg.value_and_grad(nested_sums))(x)
    expected, expected_slope = wg.value_and_grad(nested_sums)(x)
    np.testing.assert_allclose(value, expected, rtol=1e-12)
    np.testing.assert_allclose(slope, expected_slope, rtol=1e-11, atol=1e-14)


def test_elements_that_are_used_twice_count_once():
    """A value that each step uses twice is written once: many steps are one loop, though the cost doubles in each."""

    def f(x):
        for _ in range(20):
            x = np.sin(x) * x
        return x.sum(-1)

    report = wg.compile(f, unroll=True).report(np.ones((500, 4)))
    assert len([step for step in report.steps if "loop over" in step]) == 1


def test_an_element_at_a_fixed_index_of_a_join_has_one_read():
    """Otherwise, the time to write all elements of a join would grow with the square of their number."""
    specs = [Spec((2, 3), np.dtype(float))] * 50
    (read,) = stack_reads((Affine(17), Affine(0), Affine(2)), *specs, axis=0)
    assert (read.operand, read.position) == (17, (Affine(0), Affine(2)))
    (read,) = concatenate_reads((Affine(1), Affine(31)), *specs, axis=1)
    assert (read.operand, read.position) == (10, (Affine(1), Affine(1)))


def test_a_loop_over_a_part_of_a_join_reads_that_part():
    specs = [Spec((n,), np.dtype(float)) for n in (4, 0, 3, 5, 2)]
    counter = Counter(0, 14, within=range(4, 9))
    assert [r.operand for r in concatenate_reads((Affine(0, ((counter, 1),)),), *specs, axis=0)] == [2, 3]
    whole = Affine(0, ((Counter(0, 14), 1),))
    assert [r.operand for r in concatenate_reads((whole,), *specs, axis=0)] == [0, 2, 3, 4]
    outside = Affine(-20, ((Counter(0, 14), 1),))  # ignored by a guard around it
    assert [r.operand for r in concatenate_reads((outside,), *specs, axis=0)] == [0]


def test_long_functions_have_few_passes():
    """Also those that add the pieces of many sums."""
    code = kernel.Code()
    code.lines = ["  ; text"] * machine.current.max_lines_of_optimized_kernel
    assert FEW_PASSES not in kernel.kernel_function("f", code)
    code.lines.append("  ; text")
    assert FEW_PASSES in kernel.kernel_function("f", code)

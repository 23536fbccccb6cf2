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

RNG = np.random.default_rng(4)


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


def many_values(x):
    """Values and sums of one loop that do not depend on each other."""
    parts = [np.sqrt(x + k) * x[::-1] for k in range(48)]
    return [*parts, *[p.sum(axis=0) for p in parts]]


def test_a_loop_has_a_limited_number_of_values(lengths):
    x = RNG.uniform(0.5, 1.5, (40, 9))
    expected, longest, found = many_values(x), [], set()
    for most in (4, 16, 10**6):
        lengths.clear()
        with machine.using(max_values_of_loop=most):
            results = wg.compile(many_values)(x)
        longest.append(max(lengths))
        found.add(b"".join(result.tobytes() for result in results))
        for result, values in zip(results, expected, strict=True):
            np.testing.assert_allclose(result, values, rtol=1e-13)
    assert 3 * longest[0] < 1.5 * longest[1] < longest[2]
    assert len(found) == 1


def test_a_stack_of_rows_is_not_written_for_each_row(lengths):
    """Rows of 36 elements are unrolled, but not where each element would choose between the operands of a stack."""

    def chain(a):
        state = a[0]
        for i in range(1, 191, 3):
            state = np.einsum("ab,bc,cd,da->ad", state, a[i], a[i + 1], a[i + 2]) * 0.3
        return state.sum()

    a = RNG.normal(size=(193, 6, 6))
    value, slope = wg.compile(wg.value_and_grad(chain), unroll=True)(a)
    expected = wg.value_and_grad(chain)(a)
    np.testing.assert_allclose(value, expected[0], rtol=1e-9)
    np.testing.assert_allclose(slope, expected[1], rtol=1e-9, atol=1e-12 * np.abs(expected[1]).max())
    assert max(lengths) < 2000

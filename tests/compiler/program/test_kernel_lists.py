"""Kernels that are equal up to numbers: one function, and the numbers of each call in a list."""

import numpy as np
import pytest

import wengert as wg
from wengert.compiler.program.kernel_lists import split_numbers
from wengert.compiler.program.prepare import prepare
from wengert.compiler.program.program_writer import write_program

RNG = np.random.default_rng(0)


def update_slices(x, steps):
    """Parts of an array, computed from other parts with another factor each."""
    for i in range(steps):
        j = 10 * (i % 37)
        y = x.copy()
        y[j : j + 10] = x[j + 21 : j + 31] * (0.5 + i / 7) - (1.0 + i) / x[j + 40 : j + 50]
        x = y
    return x


def functions_of(steps: int) -> int:
    graph = prepare(wg.compile(lambda x: update_slices(x, steps)).trace(np.zeros(500)), rolls=False)
    return sum(module.text.count("\ndefine ") for module in write_program(graph).modules)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("steps", [7, 8, 90])
def test_slices_that_are_updated_have_the_bits_of_numpy(dtype, steps):
    x = RNG.standard_normal(500).astype(dtype)
    np.testing.assert_array_equal(
        wg.compile(lambda x: update_slices(x, steps), unroll=True)(x), update_slices(x, steps)
    )


def test_the_number_of_functions_does_not_grow_with_the_steps():
    assert max(functions_of(40), functions_of(120)) < 12


def test_lists_end_where_another_step_runs():
    def f(x, a):
        for i in range(30):
            x = update_slices(x, 9)
            if i % 10 == 5:
                x = x + np.linalg.solve(a, x[:30])[i % 7] * 1e-3
        return x

    x, a = RNG.standard_normal(500), RNG.standard_normal((30, 30)) + 9 * np.eye(30)
    np.testing.assert_allclose(wg.compile(f, unroll=True)(x, a), f(x, a), rtol=1e-9)
    with pytest.raises(np.linalg.LinAlgError):
        wg.compile(f, unroll=True)(x, np.zeros((30, 30)))


def test_operands_that_are_numbers_are_split_off():
    lines = [
        "  %v1 = add i64 %v0, 30",
        "  %v2 = add i64 %v0, %v1",
        "  %v3 = getelementptr double, ptr %p, i64 7",
        "  %v4 = fmul <4 x double> %a, splat (double 0x3FE0000000000000)",
        "  %v5 = icmp slt i64 %v1, 10",
        "  %v6 = fadd float %b, 0x3FF0000000000000",
        "  %v7 = fdiv float 0x4000000000000000, %v6",
    ]
    between, numbers = split_numbers("\n".join(lines))
    assert [(n.type, n.value, n.size) for n in numbers] == [
        ("i64", "30", 8),
        ("<4 x double>", "splat (double 0x3FE0000000000000)", 32),
        ("float", "0x3FF0000000000000", 4),
        ("float", "0x4000000000000000", 4),
    ]
    assert "".join(a + b for a, b in zip(between, [n.value for n in numbers] + [""], strict=True)) == "\n".join(lines)

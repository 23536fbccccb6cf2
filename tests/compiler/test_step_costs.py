"""What the steps of compiled programs cost at the least, against counts by hand."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg
from wengert.compiler.machine.target import vector_bytes
from wengert.compiler.program.instruction_counts import ADD, MULTIPLY
from wengert.compiler.program.step_costs import program_costs

LANES = vector_bytes() // 8


def costs(f, *args):
    return wg.compile(f).report(*args).costs


def total(found, name):
    """The instructions of a class, in elements."""
    return sum(cost.runs * cost.instructions.get(name, 0.0) for cost in found) * LANES


def test_a_map_reads_one_array_and_writes_another():
    (cost,) = costs(lambda x: 2.0 * x, np.ones(1000))
    assert (cost.read, cost.written, cost.runs) == (8000, 8000, 1)
    assert cost.instructions == {MULTIPLY: 1000 / LANES}
    assert not cost.is_shared


def test_only_large_kernels_are_shared():
    (cost,) = costs(lambda x: 2.0 * x, np.ones(1_000_000))
    assert cost.is_shared


def test_a_part_of_an_array_is_read_in_part():
    (cost,) = costs(lambda x: x[100:200] + x[300:400], np.ones(1000))
    assert (cost.read, cost.written) == (2 * 800, 800)
    assert cost.instructions == {ADD: 100 / LANES}


def test_a_stencil_computes_each_element_once_at_the_least():
    found = costs(lambda x: np.roll(x * x, 1) + np.roll(x * x, -1), np.ones(1000))
    assert sum(cost.read for cost in found) < 3 * 8000
    assert total(found, MULTIPLY) == 1000
    assert total(found, ADD) == 1000


def test_sums_of_products_are_fused():
    found = costs(lambda x, y: np.sum(x * y), np.ones(1000), np.ones(1000))
    assert total(found, MULTIPLY) == 1000
    assert total(found, ADD) == 0
    assert sum(cost.read for cost in found) == 16000


@pytest.mark.parametrize(("dtype", "products"), [(np.float64, 1), (np.complex128, 4)])
def test_a_product_of_matrices_has_2mnk_flops(dtype, products):
    m, k, n = 30, 40, 50
    (cost,) = costs(lambda x, y: x @ y, np.ones((m, k), dtype), np.ones((k, n), dtype))
    assert cost.name == "matmul"
    assert total([cost], MULTIPLY) == products * m * k * n
    assert cost.read == (m * k + k * n) * np.dtype(dtype).itemsize
    assert cost.written == m * n * np.dtype(dtype).itemsize


def test_a_loop_multiplies_its_steps():
    step = lambda x, _: (np.tanh(x * 1.5), None)
    once = costs(lambda x: np.tanh(x * 1.5), np.ones((20, 50)))
    looped = costs(lambda x: wg.scan(step, x, length=7)[0], np.ones((20, 50)))
    assert {cost.runs for cost in looped if cost.instructions} <= {1, 7}
    assert total(looped, MULTIPLY) == pytest.approx(7 * total(once, MULTIPLY))


def test_steps_of_a_loop_with_a_condition_are_not_known():
    found = costs(lambda x: wg.while_loop(lambda x: np.sum(x) < 100.0, lambda x: x * 2.0, x), np.ones((20, 50)))
    assert None in {cost.runs for cost in found}


def test_numbers_say_how_long_a_loop_is():
    f = lambda x: wg.while_loop(lambda x: np.sum(x) < 5000.0, lambda x: x * 2.0, x)
    x = np.ones((20, 50))
    found = program_costs(wg.compile(f).trace(x), inputs=[x])
    assert {cost.runs for cost in found} <= {1, 3}
    assert total(found, MULTIPLY) == 3 * 1000


def test_a_function_counts_as_its_instructions():
    (plain,), (function,) = [costs(f, np.ones(1000)) for f in (lambda x: x * x, np.exp)]
    assert sum(function.instructions.values()) > 10 * sum(plain.instructions.values())
    assert sum(function.instructions.values()) * LANES < 100 * 1000


@pytest.mark.parametrize(("dtype", "name"), [(np.float64, "double"), (np.float32, "float")])
def test_divisions_and_roots_have_classes_of_their_own(dtype, name):
    (cost,) = costs(lambda x, y: np.sqrt(x) / y, np.ones(1024, dtype), np.ones(1024, dtype))
    vectors = 1024 * np.dtype(dtype).itemsize / vector_bytes()
    assert cost.instructions[f"divide {name}"] == cost.instructions[f"sqrt {name}"] == vectors


def test_a_gather_reads_at_most_what_it_takes():
    table, indices = np.ones(100_000), np.arange(0, 1000, 5)
    found = costs(lambda x, i: 2.0 * x[i], table, indices)
    assert sum(cost.read for cost in found) == 2 * indices.nbytes
    assert sum(cost.written for cost in found) == indices.nbytes


def test_a_row_kernel_reads_rows_once():
    (cost,) = costs(lambda x: x - np.max(x, -1, keepdims=True) * np.sum(x, -1, keepdims=True), np.ones((64, 256)))
    assert (cost.read, cost.written) == (64 * 256 * 8, 64 * 256 * 8)


def test_small_matrices_and_factorisations_have_their_flops():
    many = costs(np.linalg.inv, np.eye(3) + np.zeros((1000, 3, 3)))
    assert 1000 * 3**3 / 2 <= total(many, MULTIPLY) <= 1000 * 10 * 3**3
    (large,) = [cost for cost in costs(np.linalg.cholesky, np.eye(60)) if cost.name == "cholesky"]
    assert total([large], MULTIPLY) == pytest.approx(60**3 / 6)

"""What the steps of compiled programs cost at the least, against counts by hand."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg
from wengert.compiler.forms.lowering import Indexed
from wengert.compiler.kernels.iteration import fewest_steps
from wengert.compiler.machine.target import vector_bytes
from wengert.compiler.program.chains import MEMORY
from wengert.compiler.program.instruction_counts import ADD, MULTIPLY
from wengert.compiler.program.loop_lengths import loop_lengths
from wengert.compiler.program.prepare import prepare
from wengert.compiler.program.step_costs import program_costs
from wengert.compiler.small_matrices.tridiagonal import fewest_rotations
from wengert.core import machine
from wengert.nn.functional import scaled_dot_product_attention

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
    assert 1000 * 3**3 / 2 <= total(many, MULTIPLY) + total(many, ADD) <= 1000 * 10 * 3**3
    assert total(many, "divide double") >= 1000  # one for each matrix at the least
    (large,) = [cost for cost in costs(np.linalg.cholesky, np.eye(60)) if cost.name == "cholesky"]
    assert total([large], MULTIPLY) == pytest.approx(60**3 / 6)


def test_elements_at_computed_indices_are_counted():
    table, indices = np.ones((100, 16)), np.arange(0, 100, 5)
    (cost,) = costs(lambda x, i: 2.0 * x[i], table, indices)
    assert cost.indexed == (Indexed("read", table.nbytes, indices.size, 16 * 8),)  # rows of neighbours
    found = costs(wg.grad(lambda x, i: np.sum(x[i] ** 2)), table, indices)
    assert Indexed("added", table.nbytes, indices.size, 16 * 8) in [i for cost in found for i in cost.indexed]
    found = costs(lambda x, i: (2.0 * x[i, ::2], 3.0 * x[i, i % 7]), table, indices)
    assert {i.width for cost in found for i in cost.indexed} == {8}  # of which none is next to another


def test_searches_and_sorts_read_and_move_elements():
    x = np.random.default_rng(0).standard_normal(1000)
    (cost,) = [c for c in costs(lambda a, x: np.searchsorted(a, x), np.sort(x), x) if c.indexed]
    assert [i.elements for i in cost.indexed] == [1000] * 10
    assert cost.indexed[0].nbytes < cost.indexed[-1].nbytes <= x.nbytes
    (cost,) = [c for c in costs(lambda x: np.argsort(x, kind="stable"), x) if c.indexed]
    assert {(i.kind, i.elements) for i in cost.indexed} == {("added", 8000), ("moved", 8000)}
    assert not cost.is_shared
    (cost,) = [c for c in costs(lambda x, e: np.histogram(x, e)[0], x, np.linspace(0, 1, 9)) if c.indexed]
    assert {(i.kind, i.elements) for i in cost.indexed} == {("read", 2000), ("added", 1000)}


def test_attention_has_an_exponential_for_each_score():
    x = np.ones((2, 128, 16), np.float32)
    (cost,) = [c for c in costs(scaled_dot_product_attention, x, x, x) if c.name == "blocked_attention"]
    (exponential,) = costs(np.exp, np.ones((2, 128, 128), np.float32))
    products = 2 * 128 * 128 * (16 + 16) / (2 * LANES)
    assert cost.instructions[MULTIPLY] == products + exponential.instructions[MULTIPLY]
    assert cost.instructions[ADD] == exponential.instructions[ADD]


@pytest.mark.parametrize("f", [np.linalg.inv, lambda x: np.linalg.inv(2.0 * x)])
def test_elements_of_small_matrices_are_moved_between_lanes(f):
    """Those that are read, at once or by operations on elements, and those that are written."""
    (cost,) = costs(f, np.eye(3) + np.zeros((1000, 3, 3)))
    assert cost.instructions["shuffle"] == pytest.approx(2 * 9000 / LANES * np.log2(LANES))


def test_a_number_for_each_matrix_is_not_moved():
    (cost,) = costs(np.linalg.det, np.eye(3) + np.zeros((1000, 3, 3)))
    assert cost.instructions["shuffle"] == pytest.approx(9000 / LANES * np.log2(LANES))


@pytest.mark.parametrize("f", [lambda x: wg.linalg.qr(x)[1], lambda x: wg.linalg.eigh(x)[1]])
def test_all_columns_of_small_matrices_are_counted(f):
    """Code has a loop over the columns of large ones."""
    x = np.eye(5) + np.zeros((100, 5, 5))
    found = costs(f, x)[0].instructions
    with machine.using(max_unrolled_elements_of_matrix=100):
        assert costs(f, x)[0].instructions == found


def test_sweeps_are_counted_as_often_as_they_run_at_the_least():
    """Most of the roots of matrices of order 6 are those of rotations: 5 + 4 + 3 + 2 for blocks of 6 to 3 rows."""
    (cost,) = costs(lambda x: wg.linalg.eigh(x)[1], np.eye(6) + np.zeros((1000, 6, 6)))
    rotations = sum(fewest_rotations(6, i) for i in range(5))
    assert rotations == 5 + 4 + 3 + 2
    assert cost.instructions["sqrt double"] * LANES >= 1000 * rotations


@pytest.mark.parametrize(
    ("f", "chain"),
    [
        (lambda x: x * x + 1.0, {MULTIPLY: 1, ADD: 1}),
        (lambda x: (x * 2.0) * (x + 3.0), {MULTIPLY: 2}),
        (lambda x: np.sqrt(x) / 3.0 + x, {ADD: 1, "sqrt double": 1, "divide double": 1}),
        (np.sum, {ADD: 6}),
    ],
)
def test_a_chain_has_the_operations_that_wait(f, chain):
    found = costs(f, np.linspace(1.0, 2.0, 64))
    assert {name: count for cost in found for name, count in cost.chain.items() if count} == chain


def test_a_loop_has_the_chain_of_all_its_steps():
    def step(states, _):
        x, y, z = states
        return (y * 1.5 + 0.1, x / 3.0, z + 1.0), None

    f = lambda x: wg.scan(step, (x, x, x), length=100)[0]
    (cost,) = [cost for cost in costs(f, np.array(1.0)) if cost.name == "chain"]
    assert cost.runs == 1
    assert cost.chain == {MULTIPLY: 50, ADD: 50, "divide double": 50}


def test_what_is_assigned_in_place_waits_for_what_was_read():
    def step(k, x):
        x[k] = x[k - 1] * 0.5
        return x

    found = costs(lambda x: wg.fori_loop(1, 200, step, x), np.ones(200))
    (cost,) = [cost for cost in found if cost.name == "chain"]
    assert cost.chain == {MULTIPLY: 199, MEMORY: 199}


def test_a_loop_of_elements_may_end_early():
    step = lambda x, _: (x * 1.5, None)
    for length, steps in ((20, 20), (32, 8), (50, 10)):
        found = costs(lambda x, n=length: wg.scan(step, x, length=n)[0], np.ones((40, 50)))
        assert total(found, MULTIPLY) == pytest.approx(steps * 2000)


@pytest.mark.parametrize(
    ("step", "x", "steps"),
    [
        (lambda x: np.where(x < 4.0, x * 2.0, x), [1.0, 8.0], [3, 1]),
        (lambda x: x * -1.0, [0.0, 3.0], [1, 2]),
        (lambda x: x * np.nan, [1.0, np.nan], [2, 1]),
        (lambda x: x * 1.01, [1.0, 2.0], [50, 50]),
    ],
)
def test_numbers_say_how_many_steps_elements_take(step, x, steps):
    """The last of them finds that the states come again."""
    x = np.tile(x, 1000)
    graph = wg.compile(lambda x: wg.scan(lambda x, _: (step(x), None), x, length=50)[0]).trace(x)
    assert list(loop_lengths(prepare(graph), [x]).values()) == [np.mean(steps)]
    found, whole = program_costs(graph, inputs=[x]), program_costs(graph)
    assert total(found, MULTIPLY) == pytest.approx(total(whole, MULTIPLY) * np.mean(steps) / fewest_steps(50))

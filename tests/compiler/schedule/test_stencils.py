"""Steps of stencils: what is read at several positions is stored, so programs grow linearly with the steps."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg
from wengert.compiler.forms.affine import Affine, Counter, Guard
from wengert.compiler.program.prepare import prepare
from wengert.compiler.schedule.stencils import share_within, shares
from wengert.graph.ir import Operation, is_a
from wengert.ops.shape.rearranging import _roll

RNG = np.random.default_rng(0)


def heat_by_roll(u):
    return u + 0.2 * sum([np.roll(u, s, axis) - u for axis in range(u.ndim) for s in (1, -1)])


def heat_by_slices(u):
    if u.ndim == 1:
        inner = u[1:-1] + 0.2 * (u[2:] - 2.0 * u[1:-1] + u[:-2])
        return np.concatenate([u[:1], inner, u[-1:]])
    middle = u[1:-1, 1:-1]
    inner = middle + 0.2 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4.0 * middle)
    rows = np.concatenate([u[1:-1, :1], inner, u[1:-1, -1:]], axis=1)
    return np.concatenate([u[:1], rows, u[-1:]])


def heat_by_pad(u):
    padded = np.pad(u, 1)
    if u.ndim == 1:
        return u + 0.2 * (padded[2:] - 2.0 * u + padded[:-2])
    around = padded[2:, 1:-1] + padded[:-2, 1:-1] + padded[1:-1, 2:] + padded[1:-1, :-2]
    return u + 0.2 * (around - 4.0 * u)


def nonlinear(u):
    """A step whose backward pass reads the states of the forward pass."""
    return u - 0.1 * u * (np.roll(u, -1, 0) - np.roll(u, 1, 0)) + 0.1 / (2.0 + np.roll(u, 2, -1) ** 2)


STEPS = [heat_by_roll, heat_by_slices, heat_by_pad, nonlinear]


def make_loss(step, count):
    def loss(u):
        for _ in range(count):
            u = step(u)
        return np.sum(u**2)

    return loss


@pytest.mark.parametrize("shape", [(2000,), (40, 60)], ids=str)
@pytest.mark.parametrize("step", STEPS)
def test_the_program_grows_linearly_with_the_number_of_steps(step, shape):
    """The numbers of loops and of lines of LLVM text, of the value and of the gradient."""
    u = RNG.normal(size=shape)
    for transform in (lambda f: f, wg.value_and_grad):
        reports = [wg.compile(transform(make_loss(step, n)), unroll=True).report(u) for n in (3, 6, 9)]
        loops = [sum(["loop over" in step for step in report.steps]) for report in reports]
        lines = [report.llvm.count("\n") for report in reports]
        assert loops[2] - loops[1] == loops[1] - loops[0]
        assert loops[1] - loops[0] <= 3 * (1 + (transform is wg.value_and_grad))
        assert lines[2] - lines[1] <= 1.2 * (lines[1] - lines[0])


@pytest.mark.parametrize("shape", [(2000,), (40, 60)], ids=str)
@pytest.mark.parametrize("step", STEPS)
def test_steps_have_the_values_of_eager_code(step, shape):
    u = RNG.normal(size=shape)
    loss = make_loss(step, 5)
    expected, gradient = wg.value_and_grad(loss)(u)
    for unroll in (True, False):
        found = wg.compile(wg.value_and_grad(loss), unroll=unroll)(u)
        np.testing.assert_allclose(found[0], expected, rtol=1e-12)
        np.testing.assert_allclose(found[1], gradient, rtol=1e-11, atol=1e-12)


def test_a_value_that_is_read_once_is_not_stored():
    """It is computed at another position, but only there."""
    f = lambda x: np.roll(np.sin(np.exp(np.roll(x, 3))), 1) + 1.0
    assert len([s for s in wg.compile(f).report(RNG.normal(size=5000)).steps if "loop over" in s]) == 1


def test_an_expensive_value_that_is_read_at_two_positions_is_stored():
    """Also if what is read there are cheap functions of it."""

    def f(x):
        y = np.exp(np.sin(x))
        return np.roll(2.0 * y, 1) - np.roll(3.0 * y, -1)

    report = wg.compile(f).report(RNG.normal(size=5000))
    assert len([s for s in report.steps if "loop over" in s]) == 2


# The shares of the elements that reads are for


@pytest.mark.parametrize("factor", [1, 2, -1, -3])
@pytest.mark.parametrize("constant", [-40, -7, 0, 5, 6, 40])
@pytest.mark.parametrize("is_zero", [False, True])
def test_guards_hold_where_they_say(factor, constant, is_zero):
    counter = Counter(0, 20, within=range(3, 17))
    guard = Guard(Affine(constant, ((counter, factor),)), is_zero)
    holds = [i for i in range(3, 17) if (factor * i + constant == 0 if is_zero else factor * i + constant >= 0)]
    assert guard.where_true is not None
    assert list(guard.where_true[1]) == holds
    assert share_within([guard]) == len(holds) / 20


def test_the_reads_of_a_concatenation_share_its_elements():
    from wengert.compiler.aspects.shape import concatenate_reads
    from wengert.compiler.forms.affine import loop_position
    from wengert.core.spec import Spec

    specs = [Spec((n,), np.dtype(float)) for n in (1, 6, 3)]
    assert list(shares(concatenate_reads(loop_position((10,)), *specs, axis=0))) == pytest.approx([0.1, 0.6, 0.3])


def test_windows_that_do_not_overlap_need_each_element_once():
    """What is computed before a pooling is not stored for it."""

    def pool(x):
        y = ((x * x + 1.0) * x - 2.0) * x + 0.5
        return np.maximum(np.maximum(y[::4], y[1::4]), np.maximum(y[2::4], y[3::4]))

    x = RNG.normal(size=5000)
    assert len([s for s in wg.compile(pool).report(x).steps if "loop over" in s]) == 1
    np.testing.assert_array_equal(wg.compile(pool)(x), pool(x))


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64])
def test_products_with_a_number_are_rolled_before(dtype):
    """So an element in memory is chosen, and read once; the bits are those of eager code."""

    def f(x, c):
        return np.roll(0.1 * x, 3, 0), np.roll(-(x * c), (1, -2), (0, 1)), np.roll(x * x, 1, 1), np.roll(x * x[0], 1, 0)

    x = np.random.default_rng(0).standard_normal((20, 33)).astype(dtype)
    x[0, :3] = 0.0, np.nan, -0.0
    c = dtype(-1.5)
    for found, expected in zip(wg.compile(f)(x, c), f(x, c), strict=True):
        np.testing.assert_array_equal(found, expected)
        is_number = ~np.isnan(expected)
        np.testing.assert_array_equal(np.signbit(found.real[is_number]), np.signbit(expected.real[is_number]))
    graph = prepare(wg.trace(f, x, c))
    rolls = [node.args[0] for node in graph.operations if is_a(node, _roll)]
    assert [isinstance(a, Operation) for a in rolls] == [False, False, True, True]

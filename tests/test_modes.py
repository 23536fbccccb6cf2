"""Every operation in every mode: forward, Taylor, and mixed second order agree with each other and with differences of
values.

As in the table test, the tests come from the table.
"""

from __future__ import annotations

import numpy as np
import pytest
from tests.oracle import random_weights, weighted
from tests.sampling import by_operation
from tests.test_table import SHAPES, case_arguments, live_arguments, op_of, sample

import wengert as wg
from wengert.core.levels import new_level
from wengert.core.primitive import TABLE
from wengert.modes.backward import backward_pass
from wengert.modes.forward import Dual
from wengert.modes.tape import Leaf
from wengert.modes.taylor import Jet, Run, Series
from wengert.modes.tensor import Tensor

pytestmark = pytest.mark.seconds(2)

SMOOTH = [p for p in TABLE.values() if p.kind != "nondifferentiable"]


def problems():
    """One function of arrays per operation and kind of argument: (function, arguments, live arguments)."""
    for p in SMOOTH:
        if p.kind == "elementwise":
            for name in ("0-d", "broadcast"):
                args = sample(p, SHAPES[name])
                yield pytest.param(op_of(p), args, live_arguments(p, args), id=f"{p.name}-{name}")
        for i, case in enumerate(p.trial.cases):
            args = case_arguments(case)
            yield pytest.param(op_of(p, case.params), args, live_arguments(p, args), id=f"{p.name}-{i}")


every_operation = by_operation(("op", "args", "live"), problems())


def directions(args, live, seed=2):
    rng = np.random.default_rng(seed)
    return {i: rng.uniform(-1.0, 1.0, np.shape(args[i])) for i in live}


def along(f, args, steps):
    """f as a function of one number, along a line through its arguments."""
    return lambda tau: f(*[a + tau * steps[i] if i in steps else a for i, a in enumerate(args)])


def push_forward(f, args, tangents):
    """Value and tangent of f by forward mode."""
    level = new_level()
    y = f(*[Dual(a, tangents[i], level) if i in tangents else a for i, a in enumerate(args)])
    if isinstance(y, Dual) and y.level == level:
        return y.value, y.tangent
    return y, np.zeros(y.shape)


def gradients(f, args, live):
    """The gradients of a scalar function by reverse mode, at a level of its own."""
    level = new_level()
    leaves = {i: Leaf(args[i]) for i in live}
    y = f(*[Tensor(a, level, leaves[i]) if i in leaves else a for i, a in enumerate(args)])
    found = {}
    if isinstance(y, Tensor) and y.level == level and y.node is not None:
        backward_pass([(y.node, np.ones(y.shape))], found.__setitem__)
    return {i: found.get(leaf, np.zeros(args[i].shape)) for i, leaf in leaves.items()}


def taylor_coefficients(f, args, steps, order):
    level, run = new_level(), Run(order)
    y = f(*[Jet(Series(run, [a, steps[i]]), level) if i in steps else a for i, a in enumerate(args)])
    terms = y.series.coefficients if isinstance(y, Jet) else [y]
    return [np.zeros(np.shape(terms[0])) if t is None else t for t in terms] + [0.0] * (order + 1 - len(terms))


@every_operation
def test_forward(op, args, live):
    f, v = weighted(op, random_weights(op, args)), directions(args, live)
    value, slope = push_forward(f, args, v)
    np.testing.assert_allclose(value, f(*args), rtol=1e-14)
    np.testing.assert_allclose(
        slope, sum((g * v[i]).sum() for i, g in gradients(f, args, live).items()), rtol=1e-12, atol=1e-12
    )


@every_operation
def test_second_order_in_every_mix(op, args, live):
    f, v, w = weighted(op, random_weights(op, args)), directions(args, live), directions(args, live, seed=3)
    along_v = lambda *a: push_forward(f, a, v)[1]
    forward_over_forward = push_forward(along_v, args, w)[1]
    slope = lambda *a: sum((g * v[i]).sum() for i, g in gradients(f, a, live).items())
    forward_over_reverse = push_forward(slope, args, w)[1]
    reverse_over_forward = sum((g * w[i]).sum() for i, g in gradients(along_v, args, live).items())
    reverse_over_reverse = sum((g * w[i]).sum() for i, g in gradients(slope, args, live).items())
    for found in (forward_over_reverse, reverse_over_forward, reverse_over_reverse):
        np.testing.assert_allclose(found, forward_over_forward, rtol=1e-10, atol=1e-11)


@every_operation
def test_taylor(op, args, live):
    f, v = weighted(op, random_weights(op, args)), directions(args, live)
    v = {i: 0.2 * step for i, step in v.items()}
    terms = [float(t) for t in taylor_coefficients(f, args, v, 6)]
    line = along(f, args, v)
    np.testing.assert_allclose(terms[0], line(0.0), rtol=1e-14)
    np.testing.assert_allclose(terms[1], push_forward(f, args, v)[1], rtol=1e-11, atol=1e-12)
    for tau in (-0.05, 0.05):
        np.testing.assert_allclose(np.polyval(terms[::-1], tau), line(tau), rtol=1e-10, atol=1e-10)
    again = lambda *a: push_forward(f, a, v)[1]
    np.testing.assert_allclose(2 * terms[2], push_forward(again, args, v)[1], rtol=1e-9, atol=1e-10)
    thrice = lambda *a: push_forward(again, a, v)[1]
    np.testing.assert_allclose(6 * terms[3], push_forward(thrice, args, v)[1], rtol=1e-8, atol=1e-9)


@every_operation
def test_taylor_of_a_gradient(op, args, live):
    f, v = weighted(op, random_weights(op, args)), directions(args, live)
    slope = lambda *a: sum((g * v[i]).sum() for i, g in gradients(f, a, live).items())
    terms = taylor_coefficients(slope, args, v, 2)
    np.testing.assert_allclose(terms[1], push_forward(slope, args, v)[1], rtol=1e-9, atol=1e-10)
    again = lambda *a: push_forward(slope, a, v)[1]
    np.testing.assert_allclose(2 * terms[2], push_forward(again, args, v)[1], rtol=1e-8, atol=1e-9)


def test_assignment_turns_zeros_into_what_is_assigned():
    x, v = np.array([0.3, 0.7]), np.array([1.0, 2.0])

    def f(x):
        y = wg.zeros(3)
        y[0] = x[0] * x[1]
        y[1:] = np.sin(x)
        y *= 2.0
        return y

    expected = 2 * np.array([x[0] * v[1] + x[1] * v[0], *(np.cos(x) * v)])
    np.testing.assert_allclose(push_forward(f, [x], {0: v})[1], expected)
    np.testing.assert_allclose(taylor_coefficients(f, [x], {0: v}, 2)[1], expected)

"""Facts about operations, checked by running the operations."""

from __future__ import annotations

import numpy as np
import pytest
from tests.test_table import CONSTANT, ELEMENTWISE, SHAPES, case_arguments, cases_of, op_of, sample

import wengert as wg
from wengert.core.primitive import TABLE
from wengert.ops.shape.reshaping import _broadcast_to

MOVING = cases_of([p for p in TABLE.values() if p.facts.moves])
COMMUTATIVE = [p for p in (*ELEMENTWISE, *CONSTANT) if p.facts.commutative and p.trial.domain]
VIEWS = cases_of([p for p in TABLE.values() if p.facts.view and p.name != "broadcast_to"])  # which copies a few numbers


@pytest.mark.parametrize(("primitive", "case"), MOVING)
def test_what_moves_makes_no_new_numbers(primitive, case):
    args = case_arguments(case)
    outs = primitive.op(*args, **case.params)
    dtypes = {np.asarray(out).dtype for out in (outs if isinstance(outs, tuple | list) else [outs])}
    given = {0.0, *[x for a in args for dtype in dtypes for x in np.ravel(a).astype(dtype).tolist()]}
    assert {x for out in (outs if isinstance(outs, tuple | list) else [outs]) for x in np.ravel(out).tolist()} <= given


@pytest.mark.parametrize(("primitive", "case"), VIEWS)
def test_views_are_views(primitive, case):
    args = case_arguments(case)
    if not all(isinstance(a, np.ndarray) and a.size for a in args):
        return
    outs = primitive.op(*args, **case.params)
    for out in outs if isinstance(outs, tuple | list) else [outs]:
        assert not np.size(out) or not isinstance(out, np.ndarray) or np.shares_memory(out, args[0])


@pytest.mark.parametrize("primitive", COMMUTATIVE, ids=lambda p: p.name)
def test_commutative_operations_are(primitive):
    x, y = sample(primitive, SHAPES["vector"])
    op = op_of(primitive)
    assert op(x, y).tobytes() == op(y, x).tobytes()
    assert primitive.facts.cost is None or primitive.facts.cost <= 1


def test_a_large_broadcast_is_a_view():
    x = np.ones((1, 3))
    assert np.shares_memory(_broadcast_to(x, shape=(5000, 3)), x)


def test_what_is_a_view_moves():
    assert all(p.facts.moves for p in TABLE.values() if p.facts.view)


SELECTING = cases_of([p for p in TABLE.values() if p.facts.selects])


@pytest.mark.parametrize(("primitive", "case"), SELECTING)
def test_what_selects_gives_elements_of_its_arguments(primitive, case):
    test_what_moves_makes_no_new_numbers(primitive, case)


@pytest.mark.parametrize("primitive", [p for p in ELEMENTWISE if p.facts.selects], ids=lambda p: p.name)
def test_a_choice_has_the_derivative_of_what_it_takes(primitive):
    floats = [i for i, name in enumerate(primitive.inputs) if name != "condition"]
    args = [np.array([True, False])] * (len(primitive.inputs) - 2) + [np.array([1.0, 2.0]), np.array([3.0, 0.5])]
    slopes = wg.grad(lambda *xs: wg.sum(op_of(primitive)(*xs)), argnums=tuple(floats))(*args)
    assert {*slopes[0].tolist(), *slopes[1].tolist()} == {0.0, 1.0}


@pytest.mark.parametrize("primitive", [p for p in TABLE.values() if p.facts.saturates], ids=lambda p: p.name)
def test_what_saturates_becomes_flat(primitive):
    op = op_of(primitive)
    weights = op_of(primitive, {"axis": (0,)})
    along = {
        "logsumexp": lambda *xs: wg.logsumexp(wg.stack(xs)),
        **dict.fromkeys(("softmax", "softmax_weights"), lambda *xs: weights(wg.stack(xs))[0]),
    }
    f = along.get(primitive.name, op)
    others = [] if len(primitive.inputs) == 1 and f is op else [0.0]
    with np.errstate(all="ignore"):
        assert any(wg.grad(f)(far, *others) == 0.0 for far in (1e200, -1e200))


@pytest.mark.parametrize("primitive", [p for p in TABLE.values() if p.facts.multiplies], ids=lambda p: p.name)
def test_what_multiplies_has_no_slope_beside_zeros(primitive):
    if len(primitive.inputs) == 2:
        assert wg.grad(op_of(primitive), argnums=1)(0.0, 2.0) == 0.0
    else:
        last = {"prod": lambda x: wg.prod(x), "cumprod": lambda x: wg.cumprod(x)[-1]}[primitive.name]
        assert wg.grad(last)(np.array([0.0, 2.0])).tolist() == [2.0, 0.0]


@pytest.mark.parametrize("primitive", [p for p in TABLE.values() if p.facts.tests_points], ids=lambda p: p.name)
def test_tests_of_points_have_one_answer_elsewhere(primitive):
    answers = op_of(primitive)(*sample(primitive, SHAPES["vector"]))
    assert len(set(answers.tolist())) == 1


def test_what_overwrites_selects():
    assert all(p.facts.selects for p in TABLE.values() if p.facts.overwrites)

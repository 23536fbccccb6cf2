"""Facts about operations, checked by running the operations."""

from __future__ import annotations

import numpy as np
import pytest
from tests.test_table import CONSTANT, ELEMENTWISE, SHAPES, case_arguments, cases_of, op_of, sample

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

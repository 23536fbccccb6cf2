"""Test cases for the operations that hold graphs, with which the tests of the whole table cover them too."""

from __future__ import annotations

import numpy as np

from wengert.control.bodies import trace_body
from wengert.control.branches import SWITCH
from wengert.control.loop import LOOP, Shape
from wengert.core.kinds import case
from wengert.core.spec import Spec
from wengert.distributed.execution import shard_layout
from wengert.distributed.operation import DISTRIBUTED_SUM
from wengert.distributed.shards import RunOptions
from wengert.distributed.sources import find_shards

NUMBER, ROW = Spec((), np.dtype(float)), Spec((2,), np.dtype(float))


def step(x):
    """A step of a loop with a constant, a state and a slice, and with an output."""
    return [np.sin(x[1]) * x[0] + x[2], x[1] * x[2]]


def term(x):
    """A term of a sum over shards: a number and a row."""
    return [(np.sin(x[0][0] * x[2]) * x[1]).sum(), np.exp(0.1 * x[0]) * x[1] * x[2].sum()]


def add_trials() -> None:
    """Give cases to loops, choices and sums over shards."""
    body = trace_body(step, [NUMBER, ROW, ROW])
    raised = trace_body(lambda x: [0.1 * x[1] * x[1] + x[0] ** 2 + x[1] + 1.0], [NUMBER, NUMBER])
    condition = trace_body(lambda x: [x[1] < 9.0], [NUMBER, NUMBER])
    branches = tuple([trace_body(f, [ROW, NUMBER]) for f in (lambda x: [x[0] * x[1]], lambda x: [np.cos(x[0]) + x[1]])])
    LOOP.trial = LOOP.trial._replace(
        cases=(
            case((), (2,), (3, 2), body=body, condition=None, shape=Shape(1, 1, 3)),
            case((), (2,), (3, 2), body=body, condition=None, shape=Shape(1, 1, 3, reverse=True)),
            case((), (2,), (3, 2), body=body, condition=None, shape=Shape(1, 1, 3, snapshots=1)),
            case((), (), body=raised, condition=condition, shape=Shape(1, 1, None)),
        )
    )
    shards = find_shards(np.arange(5.0), rows=2, persist=None)
    kinds = shard_layout(shards).kinds
    terms = tuple([trace_body(term, [ROW, NUMBER, *kind]) for kind in kinds])
    DISTRIBUTED_SUM.trial = DISTRIBUTED_SUM.trial._replace(
        cases=(case((2,), (), bodies=terms, shards=shards, options=RunOptions()),)
    )
    SWITCH.trial = SWITCH.trial._replace(
        cases=(case(np.int64(0), (2,), (), branches=branches), case(np.int64(1), (2,), (), branches=branches))
    )

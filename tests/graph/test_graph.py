"""Graphs as values: when two of them are equal."""

import numpy as np

import wengert as wg
from wengert.core.primitive import TABLE


def test_operations_of_one_name_make_different_graphs():
    """Caches compare graphs, and must not exchange the operations of users."""
    graphs = []
    for scale in (2.0, 3.0):
        own = wg.primitive("own_scale", lambda x, scale=scale: x * scale, lambda t: t, kind="general", spec=lambda x: x)
        del TABLE["own_scale"]  # other tests iterate over the table
        graphs += [wg.trace(own, np.ones(2)), wg.trace(lambda x, own=own: wg.cond(x > 0.0, own, np.sin, x), 1.0)]
    plain, branch, other_plain, other_branch = graphs
    assert plain.fingerprint == other_plain.fingerprint
    assert plain != other_plain
    assert branch.fingerprint == other_branch.fingerprint
    assert branch != other_branch

"""Passes: each returns a graph that computes the same in less time or memory. `optimize` runs them all."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from wengert.core import machine
from wengert.graph.forms import form
from wengert.graph.graph import Graph
from wengert.graph.passes.bodies import improve_bodies
from wengert.graph.passes.dead import remove_dead
from wengert.graph.passes.fold import fold
from wengert.graph.passes.joins import join_pieces
from wengert.graph.passes.recompute import recompute
from wengert.graph.passes.reductions import shorten_reductions
from wengert.graph.passes.simplify import simplify
from wengert.graph.passes.subexpressions import merge_common
from wengert.graph.passes.updates import add_at_indices
from wengert.graph.passes.views import merge_views

Pass = Callable[[Graph], Graph]
REWRITES: tuple[Pass, ...] = (
    remove_dead,
    improve_bodies,
    join_pieces,
    fold,
    merge_common,
    simplify,
    merge_views,
    add_at_indices,
    shorten_reductions,
)
"""In the order in which they run. Then comes `recompute`, once: it repeats operations, which these would undo."""


@form("optimize")
def optimize(graph: Graph, verbose: bool = False) -> Graph:
    """The graph after all passes, in turn until none changes anything, for three rounds at most.

    With `verbose`, stages are printed.

    Its values are those of the graph, its derivatives need not be: what only the derivative sees (`stop_gradient`, the
    branch of a `where` that is not taken) may be gone. So differentiate first, then optimize.
    """
    return run_pass(recompute, run_until_stable(graph, REWRITES, verbose), verbose)


def run_until_stable(graph: Graph, rewrites: Sequence[Pass], verbose: bool = False) -> Graph:
    """The graph after these passes, in turn until none changes anything."""
    idle = 0
    for rewrite in (*rewrites,) * machine.current.max_rounds_of_passes:
        after = run_pass(rewrite, graph, verbose)
        idle = idle + 1 if after is graph else 0
        graph = after
        if idle == len(rewrites):
            break
    return graph


def run_pass(rewrite: Pass, graph: Graph, verbose: bool) -> Graph:
    """The graph after one pass; if that changed something and `verbose`, it is printed."""
    after = rewrite(graph)
    if verbose and after is not graph:
        print(f"{rewrite.__name__}: {len(graph.operations)} -> {len(after.operations)} operations\n{after}\n")
    return after

"""Graphs as they are scheduled: optimised, expanded, and tidied up after that; and the bodies of native loops."""

from __future__ import annotations

from functools import lru_cache

from wengert.compiler.aspects.running_reductions import reduce_in_one_read
from wengert.compiler.aspects.softmax import share_exponentials
from wengert.compiler.forms.attention import block_attention
from wengert.compiler.forms.columns import stack_columns
from wengert.compiler.forms.device_products import replace_products
from wengert.compiler.forms.expand import expand
from wengert.compiler.forms.factors import drop_factors
from wengert.compiler.forms.inline import inline_calls
from wengert.compiler.forms.iterations import iterate_elements
from wengert.compiler.forms.library_operations import device_expansion
from wengert.compiler.forms.moves import compose_moves, roll_factors
from wengert.compiler.forms.selected_values import select_values
from wengert.compiler.forms.sorted_values import sort_values
from wengert.compiler.forms.written_loops import write_out_loops
from wengert.compiler.machine.target import cache_for_target
from wengert.control.rolling import roll
from wengert.core import machine
from wengert.graph.graph import Graph
from wengert.graph.passes import REWRITES, run_until_stable
from wengert.graph.passes.fold import fold
from wengert.graph.passes.simplify import simplify
from wengert.graph.passes.subexpressions import merge_common
from wengert.graph.passes.views import merge_views

TIDY = (fold, merge_common, simplify, merge_views)
"""The passes after the expansion: no reduction may become a contraction again."""


def prepare(graph: Graph, rolls: bool = True) -> Graph:
    """The graph as it is scheduled; with `rolls`, parts that repeat themselves become loops.

    Loops that read and write large arrays at every step are written out.
    """
    whole = drop_factors(inline_calls(graph))
    rolled = run_until_stable(roll(whole) if rolls else whole, REWRITES)
    written = write_out_loops(rolled, prepare_body)
    optimised = rolled if written is rolled else run_until_stable(written, REWRITES)
    expanded = expand(share_exponentials(block_attention(stack_columns(optimised))))
    expanded = roll_factors(select_values(sort_values(expanded)))
    tidy = expanded if expanded.outputs == optimised.outputs else run_until_stable(expanded, TIDY)
    return iterate_elements(compose_moves(tidy), prepare_body)


prepare_body = cache_for_target(256)(prepare)
"""The same for the body of a loop, which is asked for several times."""


def prepare_for_device(graph: Graph, rolls: bool = True) -> Graph:
    """The graph as it is scheduled for a GPU: what a library has as one call stays whole, and nothing is blocked."""
    whole = drop_factors(inline_calls(graph))
    optimised = run_until_stable(roll(whole) if rolls else whole, REWRITES)
    once = reduce_in_one_read(share_exponentials(stack_columns(optimised)))
    expanded = replace_products(expand(once, device_expansion))
    tidy = expanded if expanded.outputs == optimised.outputs else run_until_stable(expanded, TIDY)
    return iterate_elements(tidy, prepare_device_body)


prepare_device_body = lru_cache(256)(prepare_for_device)
"""The same for the body of a loop."""
machine.on_change(prepare_device_body.cache_clear)

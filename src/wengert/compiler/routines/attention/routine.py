"""The routines of attention and of its derivative."""

from __future__ import annotations

from functools import partial
from math import prod

from wengert.compiler.forms.lowering import Routine, RoutineWork
from wengert.compiler.forms.strides import contiguous_strides, is_by_rows
from wengert.compiler.routines.attention.backward import backward_workspace, write_pull
from wengert.compiler.routines.attention.forward import forward_workspace, write_attention
from wengert.graph.ir import Node, Operation

Shape = tuple[int, ...]


def is_read_forward(operand: int, shape: Shape, strides: Shape) -> bool:
    """Whether attention reads an operand with these strides; a mask may have any."""
    return operand == 3 or is_by_rows(shape, strides)


def is_read_backward(operand: int, shape: Shape, strides: Shape) -> bool:
    """The same for the derivative, which finds what attention has stored as it is."""
    if operand in (4, 5, 6):
        return strides == contiguous_strides(shape)
    return operand == 7 or is_by_rows(shape, strides)


def count_scores(query: Node, key: Node, is_causal: bool) -> int:
    """The number of pairs of a query and a key that it sees."""
    length, keys = query.shape[-2], key.shape[-2]
    pairs = sum([min(i + 1, keys) for i in range(length)]) if is_causal else length * keys
    return prod(query.shape[:-2]) * pairs


def attention_work(first: int, node: Operation) -> RoutineWork:
    """The exponential of each score; `first` is the number of the operand that has the queries."""
    query, key = node.args[first : first + 2]
    return RoutineWork(exponentials=count_scores(query, key, node.params["is_causal"]))


ATTEND = Routine(
    write_attention,
    lambda node: True,  # a pass makes it, of products of floats
    workspace=forward_workspace,
    reads_strided=is_read_forward,
    beside_flops=partial(attention_work, 0),
)
PULL = Routine(
    write_pull,
    lambda node: True,
    workspace=backward_workspace,
    reads_strided=is_read_backward,
    beside_flops=partial(attention_work, 1),
)

"""The routines of attention and of its derivative."""

from __future__ import annotations

from wengert.compiler.forms.lowering import Routine
from wengert.compiler.routines.attention.backward import backward_workspace, write_pull
from wengert.compiler.routines.attention.forward import forward_workspace, write_attention
from wengert.compiler.schedule.strides import contiguous_strides, is_by_rows

Shape = tuple[int, ...]


def is_read_forward(operand: int, shape: Shape, strides: Shape) -> bool:
    """Whether attention reads an operand with these strides; a mask may have any."""
    return operand == 3 or is_by_rows(shape, strides)


def is_read_backward(operand: int, shape: Shape, strides: Shape) -> bool:
    """The same for the derivative, which finds what attention has stored as it is."""
    if operand in (4, 5, 6):
        return strides == contiguous_strides(shape)
    return operand == 7 or is_by_rows(shape, strides)


ATTEND = Routine(
    write_attention,
    lambda node: True,  # a pass makes it, of products of floats
    workspace=forward_workspace,
    reads_strided=is_read_forward,
)
PULL = Routine(write_pull, lambda node: True, workspace=backward_workspace, reads_strided=is_read_backward)

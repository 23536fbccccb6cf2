"""Pieces: parts of an array that are computed by one loop, and stored where they belong.

A stack of arrays, or a concatenation of arrays of one shape, takes each element from one of them. A loop over all
elements would ask for each of them which array it is from, and compute all arrays for it. A loop over one array's
elements has an element of each: nothing is asked, and what the arrays are computed from is read once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from wengert.compiler.forms.affine import Position, loop_position
from wengert.compiler.forms.classify import Form
from wengert.compiler.forms.lowering import Choice, lowering_of
from wengert.compiler.forms.short_rows import in_rows
from wengert.graph.ir import Operation

if TYPE_CHECKING:
    from wengert.compiler.schedule.schedule import Schedule


def piece_positions(choice: Operation, position: Position) -> list[Position] | None:
    """For a position in an operand of a choice, those of all operands in the result; None if it has no pieces."""
    return lowering_of(choice, Choice).pieces(position, *[a.spec for a in choice.args], **choice.params)


def find_pieces(schedule: Schedule, node: Operation) -> None:
    """Compute a choice piece by piece if its operands are parts of it, and so what is computed of its elements."""
    if schedule.is_tiny or in_rows(node, schedule.rows):
        return
    choice = None
    if schedule.forms[node] is Form.CHOICE:
        choice = node if piece_positions(node, loop_position(node.args[0].shape)) is not None else None
    elif schedule.forms[node] is Form.ELEMENT:
        joined = [schedule.pieces[a] for a in node.args if a in schedule.pieces and a not in schedule.stored]
        choice = next((found for found in joined if found.shape == node.shape), None)
    if choice is not None:
        schedule.pieces[node] = choice

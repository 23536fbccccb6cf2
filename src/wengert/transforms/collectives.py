"""Collectives: what the elements of a batch compute together, along the axis that `vmap` has named."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wengert.core.axis_names import NamedAxis, axis_size, find_axis
from wengert.core.errors import user_error
from wengert.core.primitive import as_operand
from wengert.core.tree import map as map_tree
from wengert.modes import recording
from wengert.modes.batch import Batched
from wengert.ops.reductions.named_axes import _pmax, _psum

__all__ = ["axis_index", "pmax", "pmean", "pmin", "psum"]

AxisNames = str | Sequence[str]


def psum(x: Any, axis_name: AxisNames) -> Any:
    """The sum over all elements of the batch along a named axis of `vmap`, or along several; x may be a tree.

    A derivative inside the function is that of the sum of the results of all elements.

    >>> from wengert.transforms.vmap import vmap
    >>> vmap(lambda x: x / psum(x, "i"), axis_name="i")(np.array([1.0, 1.0, 2.0]))
    array([0.25, 0.25, 0.5 ])
    """
    return along_axes(lambda x, axis: _psum(x, axis_name=axis.name, size=axis.size), x, axis_name)


def pmean(x: Any, axis_name: AxisNames) -> Any:
    """The mean over all elements of the batch along a named axis of `vmap`, or along several; x may be a tree.

    >>> from wengert.transforms.vmap import vmap
    >>> vmap(lambda x: x - pmean(x, "i"), axis_name="i")(np.array([1.0, 2.0, 6.0]))
    array([-2., -1.,  3.])
    """
    return along_axes(lambda x, axis: _psum(x, axis_name=axis.name, size=axis.size) / axis.size, x, axis_name)


def pmax(x: Any, axis_name: AxisNames) -> Any:
    """The largest among all elements of the batch along a named axis of `vmap`, or along several; x may be a tree.

    Equal elements share its derivative equally.

    >>> from wengert.transforms.vmap import vmap
    >>> vmap(lambda x: x - pmax(x, "i"), axis_name="i")(np.array([1.0, 2.0, 6.0]))
    array([-5., -4.,  0.])
    """
    return along_axes(lambda x, axis: _pmax(x, axis_name=axis.name, size=axis.size), x, axis_name)


def pmin(x: Any, axis_name: AxisNames) -> Any:
    """The smallest among all elements of the batch; otherwise like `pmax`.

    >>> from wengert.transforms.vmap import vmap
    >>> vmap(lambda x: x - pmin(x, "i"), axis_name="i")(np.array([1.0, 2.0, 6.0]))
    array([0., 1., 5.])
    """
    return map_tree(reverse_order, pmax(map_tree(reverse_order, x), axis_name))


def reverse_order(x: Any) -> Any:
    """A number that is smaller where x is larger, and whose reverse is x again: -x, or -1 - x of integers."""
    x = as_operand(x)
    return -x if x.dtype.kind == "f" else ~x


def axis_index(axis_name: str) -> Any:
    """The number of the element in the batch along a named axis of `vmap`, from zero.

    >>> from wengert.transforms.vmap import vmap
    >>> vmap(lambda x: x * axis_index("i"), axis_name="i")(np.array([5.0, 6.0, 7.0]))
    array([ 0.,  6., 14.])
    """
    axis = read_axis(axis_name)
    assert axis.level is not None  # find_axis has looked
    return Batched(np.arange(axis.size), axis.level)


def along_axes(operation: Callable[[Any, NamedAxis], Any], x: Any, axis_name: AxisNames) -> Any:
    """An operation on each leaf of a tree, along one named axis after the other."""
    for name in (axis_name,) if isinstance(axis_name, str) else axis_name:
        axis = read_axis(name)
        x = map_tree(lambda leaf, axis=axis: operation(as_operand(leaf), axis), x)
    return x


def read_axis(name: str) -> NamedAxis:
    """The axis of a name. A trace inside the batch relies on its length."""
    if not isinstance(name, str):
        raise user_error(TypeError, f"The name of an axis is a string, not {name!r}")
    axis, trace = find_axis(name), recording.current_trace()
    if trace is not None and axis.level is not None and axis.level < trace.level:
        trace.read(name, axis_size)
    return axis

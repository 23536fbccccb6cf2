"""vmap: a function of single values as a function of batches, in one run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Never

import numpy as np

from wengert.control.values import match_given
from wengert.core.errors import user_error
from wengert.core.foreign_keywords import refuse_keywords
from wengert.core.levels import is_own, new_level
from wengert.core.primitive import as_constant, as_operand
from wengert.core.spec import Spec
from wengert.core.subclasses import refuse_subclass
from wengert.core.tree import LEAF, Structure, children_of, flatten, leaf_paths, unflatten
from wengert.modes import recording
from wengert.modes.batch import Batched, bind_axis
from wengert.ops.shape.rearranging import concatenate
from wengert.ops.shape.reshaping import broadcast_to, moveaxis
from wengert.transforms.boundary import P
from wengert.transforms.transformed_function import TransformedFunction

__all__ = ["vmap"]


def vmap(
    f: Callable[P, Any],
    in_axes: Any = 0,
    out_axes: Any = 0,
    chunk_size: int | None = None,
    axis_name: str | None = None,
    **foreign: Never,
) -> Callable[P, Any]:
    """The function that runs `f` on each element of a batch, all at once, and stacks the results.

    `in_axes` says which axis of each positional argument is the batch: one integer for all, or a tuple with one for
    each; None passes an argument whole. For an argument that is a tree, it may be a tree too, in which an integer
    stands for all leaves below. Keyword arguments are batched along their first axis. `out_axes` says in the same way
    where the batch axis of the results is. `chunk_size` limits how many elements run together, and so the memory.
    By its `axis_name`, the elements can refer to the batch: `psum`, `pmean`, `pmax`, `pmin`, `axis_index`.

    >>> vmap(np.dot)(np.arange(6.0).reshape(3, 2), np.ones((3, 2)))
    array([1., 5., 9.])
    >>> vmap(np.dot, in_axes=(1, None))(np.arange(6.0).reshape(3, 2), np.ones(3))
    array([6., 9.])
    """
    if foreign:
        refuse_keywords(foreign)
    if chunk_size is not None and (not isinstance(chunk_size, int) or chunk_size < 1):
        raise user_error(ValueError, f"chunk_size={chunk_size!r} is not a positive number of elements")
    if axis_name is not None and chunk_size is not None:
        raise user_error(
            ValueError,
            f"vmap was given axis_name={axis_name!r} and chunk_size={chunk_size}",
            "Leave one of them out.",
            because="the elements of one chunk do not know the others.",
        )
    if not isinstance(axis_name, str | None):
        raise user_error(TypeError, f"The name of an axis is a string, not {axis_name!r}")

    def batched(*args: Any, **kwargs: Any) -> Any:
        leaves, structure = flatten((args, kwargs))
        outs, out_structure = run_batched(f, leaves, structure, in_axes, out_axes, chunk_size, axis_name)
        return unflatten(out_structure, [copy_if_shared(match_given(out, leaves), leaves) for out in outs])

    return TransformedFunction(f, "vmap", None, batched)


def run_batched(
    f: Callable[..., Any],
    leaves: Sequence[Any],
    structure: Structure,
    in_axes: Any = 0,
    out_axes: Any = 0,
    chunk_size: int | None = None,
    axis_name: str | None = None,
) -> tuple[list[Any], Structure]:
    """The leaves of the results of `vmap`, from the leaves of (args, kwargs), and their structure.

    Results may share memory with the arguments.
    """
    args_structure, kwargs_structure = structure.children
    axes = spread_axes(in_axes, args_structure, "in_axes") + [0] * kwargs_structure.size
    names = argument_labels(structure)
    leaves = [
        x if axis is None else move_batch_first(x, axis, name)
        for x, axis, name in zip(leaves, axes, names, strict=True)
    ]
    n = batch_size(leaves, axes, names)

    def run(first: int, last: int) -> tuple[list[Any], Structure]:
        """The results for these elements, with the batch axes moved to `out_axes`."""
        level = new_level()
        whole = first == 0 and last == n
        parts = [
            x if axis is None else Batched(x if whole else x[first:last], level)
            for x, axis in zip(leaves, axes, strict=True)
        ]
        chunk_args, chunk_kwargs = unflatten(structure, parts)
        with bind_axis(axis_name, level, n):
            outs, out_structure = flatten(recording.as_read(f)(*chunk_args, **chunk_kwargs))
        results = zip(outs, spread_axes(out_axes, out_structure, "out_axes"), leaf_paths(out_structure), strict=True)
        moved = [move_batch_back(out, level, last - first, axis, f"result{path}") for out, axis, path in results]
        return moved, out_structure

    if chunk_size is None or n <= chunk_size:
        return run(0, n)
    chunks = [run(i, min(i + chunk_size, n)) for i in range(0, n, chunk_size)]
    out_structure = chunks[0][1]
    columns = zip(spread_axes(out_axes, out_structure, "out_axes"), *[outs for outs, _ in chunks], strict=True)
    return [parts[0] if axis is None else concatenate(parts, axis) for axis, *parts in columns], out_structure


def spread_axes(axes: Any, structure: Structure, what: str) -> list[Any]:
    """One axis for each leaf, from a tree of axes that may be less deep than the tree of leaves."""
    if axes is None or (isinstance(axes, int) and not isinstance(axes, bool)):
        return [axes] * structure.size
    given = children_of(axes)
    if structure is not LEAF and given is not None and given.keys() == set(structure.keys):
        return [
            axis
            for key, below in zip(structure.keys, structure.children, strict=True)
            for axis in spread_axes(given[key], below, what)
        ]
    raise user_error(
        ValueError,
        f"{what} has {axes!r} where the {('arguments' if what == 'in_axes' else 'results')} are {structure!r}",
        "Give a number or None, or a tree of the same structure, with a tuple for the arguments.",
    )


def argument_labels(structure: Structure) -> list[str]:
    """A name for each leaf of the arguments: `argument 0['w']`."""
    return [
        f"argument {key!r}{path}"
        for group in structure.children
        for key, child in zip(group.keys, group.children, strict=True)
        for path in leaf_paths(child)
    ]


def move_batch_first(x: Any, axis: int, name: str) -> Any:
    """A leaf with its batch axis first."""
    refuse_subclass(x)
    x = as_operand(x)
    if not -x.ndim <= axis < x.ndim:
        raise user_error(
            ValueError,
            f"vmap cannot batch {name} of shape {x.shape} along axis {axis}",
            "Use in_axes=None there to keep it whole.",
        )
    return moveaxis(x, axis, 0)


def batch_size(leaves: list[Any], axes: list[Any], names: list[str]) -> int:
    """The length of the batch, which must be the same for all leaves."""
    found = [
        (name, int(x.shape[0]), axis) for x, axis, name in zip(leaves, axes, names, strict=True) if axis is not None
    ]
    if not found:
        raise user_error(ValueError, "vmap has no argument to batch over", "Give at least one an axis in in_axes.")
    if len({n for _, n, _ in found}) > 1:
        lengths = ", ".join(f"{name} has {n} along axis {axis}" for name, n, axis in found)
        raise user_error(ValueError, f"vmap needs batches of one length, but {lengths}")
    return found[0][1]


def move_batch_back(out: Any, level: int, n: int, axis: int | None, name: str) -> Any:
    """A result with its batch axis moved to `axis`; one that is the same for all elements is repeated."""
    mine = is_own(out, Batched, level)
    if axis is None:
        if mine:
            raise user_error(
                ValueError, f"The {name} differs between the elements of the batch, so out_axes cannot be None there"
            )
        return out
    if mine:
        value = out.value
    else:
        out = as_constant(out)
        spec = Spec.of(out)
        if spec.dtype.kind not in "biufc":
            raise user_error(
                TypeError, f"The {name} of a function under vmap must be an array or a number, not {spec.dtype}"
            )
        out = as_operand(out)
        value = broadcast_to(out, (n, *out.shape))
    if not -value.ndim <= axis < value.ndim:
        raise user_error(ValueError, f"The {name} of shape {value.shape[1:]} has no axis {axis} for the batch")
    return moveaxis(value, 0, axis)


def copy_if_shared(out: Any, inputs: list[Any]) -> Any:
    """A result; a plain array is copied if it is read-only or shares memory with an input."""
    if not isinstance(out, np.ndarray):
        return out
    shared = not out.flags.writeable or any(isinstance(x, np.ndarray) and np.may_share_memory(out, x) for x in inputs)
    return out.copy() if shared else out

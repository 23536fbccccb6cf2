"""What each kind of operation does to sets of indices: which elements of its operands an element of its result depends on.

Most rules follow from what the table says. A derivative that is known to be zero cuts a dependence; what is not known never does. An
operation without a rule here depends on all of its operands, which is never wrong.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from wengert.core.array import Array
from wengert.core.primitive import TABLE, Primitive
from wengert.core.spec import Spec
from wengert.ops.key import Hole, Index
from wengert.structure.contraction import contracted, convolved, einsum_axes, matmul_axes, stacked_axes
from wengert.structure.convolution import convolution_sets
from wengert.structure.incidence import Sets, Shape, along, everything, grouped, moved, none, numbered, one_after_the_other, taken, union


class Step(NamedTuple):
    """One operation: its operands, the sets of those that matter (None for the others), its results, its metadata."""

    primitive: Primitive
    values: Sequence[Any]
    sets: Sequence[Sets | None]
    outs: Sequence[Any]
    params: dict[str, Any]

    @property
    def live(self) -> list[tuple[int, Sets]]:
        return [(i, sets) for i, sets in enumerate(self.sets) if sets is not None]

    @property
    def shapes(self) -> list[Shape]:
        return [Spec.of(v).shape for v in self.values]

    @property
    def shape(self) -> Shape:
        """Of the result, where there is one."""
        return self.outs[0].shape

    def known(self, i: int) -> np.ndarray | None:
        """An operand, where its numbers are known."""
        value = self.values[i]
        return None if isinstance(value, Array) else np.asarray(value)

    def partial(self, i: int) -> np.ndarray | None:
        """The derivative in one operand, element by element, where its numbers are known."""
        keep = self.primitive.keep(*[k == i for k in range(len(self.values))])
        assert keep is not None
        out = self.outs[0]
        saved = keep(out, *self.values)
        if any(isinstance(x, Array) for x in saved):
            return None
        t = np.ones(self.shapes[i], self.values[i].dtype)
        with np.errstate(all="ignore"):
            return np.asarray(self.primitive.pushes[i](t, saved, self.params))


def propagated(step: Step) -> list[Sets]:
    """The sets of the results of an operation."""
    rule = RULES.get(step.primitive.name) if TABLE.get(step.primitive.name) is step.primitive else None
    found = (rule or KINDS.get(step.primitive.kind, anything))(step)
    return found if isinstance(found, list) else [found]


# By kind


def elementwise(step: Step) -> Sets:
    families = []
    for i, sets in step.live:
        places = np.broadcast_to(numbered(step.shapes[i]), step.shape)
        partial = step.partial(i) if step.primitive.kind == "elementwise" else None
        if partial is not None and partial.dtype != object:
            places = np.where(np.broadcast_to(partial, step.shape) == 0, -1, places)
        families.append(moved(sets, places))
    return union(families)


def reduction(step: Step) -> Sets:
    ((_, sets),) = step.live
    shape = step.shapes[0]
    groups = along(shape, step.params["axis"])
    partial = step.partial(0) if step.primitive.kind == "reduction" else None
    if partial is not None:
        groups = np.where(np.broadcast_to(partial, shape) == 0, -1, groups)
    return grouped(sets, groups, math.prod(step.shape))


def anything(step: Step) -> list[Sets]:
    """Each result depends on all operands."""
    return [union([everything(sets, out.size) for _, sets in step.live]) for out in step.outs]


# Operations that move elements, shown by what they do to the numbers of places


def moving(step: Step) -> list[Sets]:
    """Each element comes from one place of one operand, or is a constant."""
    starts = np.cumsum([1, *[math.prod(shape) for shape in step.shapes]])
    numbers = [numbered(shape, start) for shape, start in zip(step.shapes, starts, strict=False)]
    results = step.primitive.impl(*numbers, **step.params)
    whole = stacked(step)
    return [moved(whole, np.asarray(result) - 1) for result in (results if isinstance(results, tuple) else (results,))]


def stacked(step: Step) -> Sets:
    """The sets of all operands, one after the other."""
    n = step.live[0][1].shape[1]
    if len(step.sets) == 1:
        return step.live[0][1]
    families = [none(math.prod(shape), n) if sets is None else sets for sets, shape in zip(step.sets, step.shapes, strict=True)]
    return one_after_the_other(families)


def unmoved(step: Step) -> Sets:
    return step.live[0][1]


def labelled(step: Step) -> Any:
    """A linear operation of one operand that only moves elements, or whose transpose does: random labels show where each goes.

    Labels have 62 bits, so a sum of several is none of them but by a chance of one in many millions of millions, and numbers that are
    scaled are none.
    """
    primitive, (shape, *more) = step.primitive, step.shapes
    if more or len(step.outs) > 1 or not primitive.structural or primitive.vjp is not None:
        return anything(step)
    rng = np.random.default_rng(0)
    sets = step.live[0][1]
    try:
        labels = rng.integers(1, 2**62, shape)
        places = found_labels(primitive.impl(labels, **step.params), labels)
        if places is not None:
            return moved(sets, places)
        labels = rng.integers(1, 2**62, step.shape)
        keep = primitive.keep(True)
        saved = keep(step.outs[0], step.values[0]) if keep is not None else ()
        if not any(isinstance(x, Array) for x in saved):
            places = found_labels(primitive.pulls[0](labels, saved, step.params), labels)
    except (TypeError, ValueError):
        places = None  # it does not take integers
    return anything(step) if places is None else grouped(sets, places, math.prod(step.shape))


def found_labels(result: Any, labels: np.ndarray) -> np.ndarray | None:
    """For each element the place that has its label, -1 for zero; None where some element is neither."""
    result = np.asarray(result)
    order = np.argsort(labels, axis=None)
    at = np.searchsorted(labels.reshape(-1)[order], result)
    places = order[np.minimum(at, max(labels.size - 1, 0))] if labels.size else np.full(result.shape, -1)
    places = np.where(result == 0, -1, places)
    wrong = (places >= 0) & (labels.reshape(-1)[places] != result) if labels.size else result != 0
    return None if result.dtype.kind != "i" or wrong.any() else places


# Indexing, where numbers of the indices may be unknown: then a whole axis stands for each of its elements


class Reading(NamedTuple):
    """What a key reads from an array: `matrix` has a row for each element that is read, in the shape `shape`."""

    matrix: Sets
    shape: Shape


def reading(shape: Shape, key: Index, indices: Sequence[Any]) -> Reading | None:
    """None where not even the number of elements is known."""
    size = math.prod(shape)
    unknown = [isinstance(index, Array) for index in indices]
    if not any(unknown):
        places = numbered(shape)[key.filled(indices)]
        return Reading(taken(np.asarray(places), size), np.shape(places))
    if Hole.MASK in key.key:
        return None
    axes = [axis for axis, missing in zip(key.array_axes(len(shape)), unknown, strict=True) if missing]
    groups = along(shape, axes)
    corner = groups[tuple([slice(0, 1) if i in axes else slice(None) for i in range(len(shape))])]
    places = corner[key.filled([np.zeros(i.shape, int) if m else i for i, m in zip(indices, unknown, strict=True)])]
    return Reading(taken(np.asarray(places), corner.size) @ taken(groups, corner.size).T.tocsr(), np.shape(places))


def gather(step: Step) -> Sets:
    read = reading(step.shapes[0], step.params["key"], step.values[1:])
    sets = step.live[0][1]
    return everything(sets, math.prod(step.shape)) if read is None else read.matrix @ sets


def scatter(step: Step) -> Sets:
    read = reading(step.shape, step.params["key"], step.values[1:])
    return written(read, step.live[0][1], step.shapes[0], step.shape)


def written(read: Reading | None, sets: Sets, shape: Shape, whole: Shape) -> Sets:
    """The sets of an array of zeros into which a value of this shape is written, or added, where something else would be read."""
    if read is None:
        return everything(sets, math.prod(whole))
    numbers = numbered(shape)
    if len(shape) > len(read.shape):
        numbers = numbers.reshape(shape[len(shape) - len(read.shape) :])  # leading axes of length one
    return read.matrix.T.tocsr() @ moved(sets, np.broadcast_to(numbers, read.shape))


def change(step: Step) -> Sets:
    """An array with a value written, or added, at a key."""
    overwrites = step.primitive.name == "set_at"
    indices = step.values[2:]
    if overwrites and not any(isinstance(index, Array) for index in indices):
        places = numbered(step.shape, 1)
        v_numbers = numbered(step.shapes[1], 1 + places.size)
        moved_to = step.primitive.impl(places, v_numbers, *indices, key=step.params["key"], reuse=False)
        both = Step(step.primitive, step.values[:2], step.sets[:2], step.outs, step.params)
        return moved(stacked(both), moved_to - 1)
    families = [] if step.sets[0] is None else [step.sets[0]]
    if step.sets[1] is not None:
        read = reading(step.shape, step.params["key"], indices)
        families.append(written(read, step.sets[1], step.shapes[1], step.shape))
    return union(families)


# Products and transforms


def matmul(step: Step) -> Sets:
    return union([contracted(sets, matmul_axes(step.shapes, step.shape, i), step.known(1 - i)) for i, sets in step.live])


def einsum(step: Step) -> Sets:
    subscripts = step.params["subscripts"]
    return union([contracted(sets, einsum_axes(subscripts, step.shapes, i), step.known(1 - i)) for i, sets in step.live])


def cross(step: Step) -> Sets:
    axes = [stacked_axes([[0], [1]], step.shapes, step.shape, [2], i) for i in range(2)]
    return union([contracted(sets, axes[i], None) for i, sets in step.live])


def convolve(step: Step) -> Sets:
    return union([convolved(sets, step.shapes, step.shape, i, step.params["mode"]) for i, sets in step.live])


def convolution(step: Step) -> Any:
    if any(len(shape) != len(step.params["stride"]) + 2 for shape in step.shapes):
        return anything(step)  # a stack of convolutions
    parts = [convolution_sets(step.primitive.name, i, sets, step.shapes, step.shape, step.params) for i, sets in step.live]
    return union(parts)


def lines(step: Step) -> Sets:
    """Each element depends on all that lie on its lines along some axes, as in a Fourier transform."""
    axis = step.params["axis"]
    axes = axis if isinstance(axis, tuple) else (axis,)
    ((_, sets),) = step.live
    shape = step.shapes[0]
    count = math.prod(n for i, n in enumerate(shape) if i not in axes)
    return moved(grouped(sets, along(shape, axes), count), along(step.shape, axes))


def cumulative(step: Step) -> Sets:
    """Each element depends on those before it along an axis: by doubling, those within 1, 2, 4, ... steps."""
    ((_, sets),) = step.live
    shape, axis = step.shape, step.params["axis"]
    numbers = np.moveaxis(numbered(shape), axis, -1)
    reach = 1
    while reach < shape[axis]:
        before = np.full(shape, -1)
        np.moveaxis(before, axis, -1)[..., reach:] = numbers[..., :-reach]
        sets = sets + moved(sets, before)
        reach *= 2
    return sets


def matrices(step: Step) -> list[Sets]:
    """Each matrix of a stack for itself."""
    stack = step.shapes[0][:-2]
    rank = len(stack)
    live = [step.shapes[i] for i, _ in step.live]
    if any(out.shape[:rank] != stack or out.ndim > rank + 2 for out in step.outs):
        return anything(step)
    if rank and any(shape[:rank] != stack or len(shape) != rank + 2 for shape in live):
        return anything(step)  # an operand of fewer axes belongs to all matrices of the stack
    count = math.prod(stack)
    inside = union([grouped(sets, along(step.shapes[i], range(rank, len(step.shapes[i]))), count) for i, sets in step.live])
    return [moved(inside, along(out.shape, range(rank, len(out.shape)))) for out in step.outs]


MOVING = (
    "reshape", "expand_dims", "transpose", "broadcast_to", "copy", "flip", "roll", "diagonal", "embed_diagonal", "tril", "triu",
    "concatenate", "split", "getitem", "stack", "unstack", "pad",
)  # fmt: skip
OF_MATRICES = (
    "solve_triangular", "cholesky", "lu", "qr", "solve", "inv", "cofactor", "det", "logdet", "eigh", "eig", "svd", "pinv",
    "expm", "logm", "sqrtm", "expm_frechet", "logm_frechet", "solve_sylvester",
)  # fmt: skip
OF_ELEMENTS = ("jv", "yv", "iv", "kv", "polygamma", "zeta", "ldexp")

RULES: dict[str, Callable[[Step], Any]] = {
    **dict.fromkeys(MOVING, moving),
    **dict.fromkeys(OF_MATRICES, matrices),
    **dict.fromkeys(OF_ELEMENTS, elementwise),
    **dict.fromkeys(("fft", "ifft", "rfft", "irfft"), lines),
    **dict.fromkeys(("cumsum", "cumprod"), cumulative),
    **dict.fromkeys(("sum", "mean"), reduction),
    **dict.fromkeys(("add_at", "set_at"), change),
    "astype": unmoved,
    "gather": gather,
    "scatter": scatter,
    "matmul": matmul,
    "einsum": einsum,
    "cross": cross,
    "convolve": convolve,
    **dict.fromkeys(("convolution", "convolution_signals", "convolution_filters"), convolution),
}
KINDS: dict[str, Callable[[Step], Any]] = {"elementwise": elementwise, "reduction": reduction, "linear": labelled}

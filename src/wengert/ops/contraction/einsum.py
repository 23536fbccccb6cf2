"""Sums of products over shared axes: `einsum` and `tensordot`.

The primitive is the binary contraction, in a normal form that is closed under transposition: no label is repeated
within a term, and each occurs in at least two of the two operands and the result, so that both transposes are again
such contractions.
"""

from __future__ import annotations

import math
import operator
from collections import Counter
from collections.abc import Callable, Sequence
from functools import lru_cache
from string import ascii_lowercase, ascii_uppercase
from typing import Any, NamedTuple

import numpy as np

from wengert.core.array import Array, implements
from wengert.core.devices import as_payload
from wengert.core.errors import user_error
from wengert.core.kinds import case, multilinear
from wengert.core.primitive import as_operand
from wengert.core.spec import Spec

__all__ = ["einsum", "tensordot"]

LETTERS = ascii_uppercase + ascii_lowercase
"""Labels in the order in which NumPy counts and sorts them."""


# The binary contraction


class Layout(NamedTuple):
    """How a contraction becomes a matrix product.

    `stack`, `rows` and `columns` are the numbers of labels of the result that come from both operands, from the first
    and from the second. The operands are exchanged first if `is_exchanged`, so that the rows come first in the result.
    """

    x_order: tuple[int, ...]
    y_order: tuple[int, ...]
    out_order: tuple[int, ...]
    stack: int
    rows: int
    columns: int
    is_exchanged: bool = False

    @property
    def is_plain(self) -> bool:
        """Whether this is a product of two matrices, which may be transposed."""
        return (self.stack, self.rows, self.columns, len(self.x_order), len(self.y_order)) == (0, 1, 1, 2, 2)


@lru_cache(4096)
def _split(subscripts: str) -> tuple[str, str, str]:
    terms, out = subscripts.split("->")
    x, y = terms.split(",")
    return x, y, out


@lru_cache(4096)
def layout(subscripts: str) -> Layout:
    x, y, out = _split(subscripts)
    stack = [c for c in out if c in x and c in y]
    rows = [c for c in out if c not in y]
    columns = [c for c in out if c not in x]
    if rows and columns and out.index(columns[0]) < out.index(rows[0]):
        return layout(f"{y},{x}->{out}")._replace(is_exchanged=True)
    summed = [c for c in x if c not in out]
    made = stack + rows + columns
    return Layout(
        tuple(x.index(c) for c in stack + rows + summed),
        tuple(y.index(c) for c in stack + summed + columns),
        tuple(made.index(c) for c in out),
        len(stack),
        len(rows),
        len(columns),
    )


def _contract(x: Any, y: Any, subscripts: str) -> Any:
    plan = layout(subscripts)
    x_order, y_order, out_order, stack, rows, columns, is_exchanged = plan
    if is_exchanged:
        x, y = y, x
    x, y = as_payload(x), as_payload(y)
    if plan.is_plain:
        return np.matmul(x.T if x_order[0] else x, y.T if y_order[0] else y)
    if len(x_order) == stack + rows:  # nothing is summed
        return np.einsum(subscripts, *(y, x) if is_exchanged else (x, y))
    x, y = x.transpose(x_order), y.transpose(y_order)
    shape = x.shape[: stack + rows] + y.shape[y.ndim - columns :]
    summed = math.prod(x.shape[stack + rows :])
    x = _blocks(x, stack, (math.prod(x.shape[stack : stack + rows]), summed))
    y = _blocks(y, stack, (summed, math.prod(y.shape[y.ndim - columns :])))
    return np.matmul(x, y).reshape(shape).transpose(out_order)


def _blocks(x: np.ndarray, stack: int, matrix: tuple[int, int]) -> np.ndarray:
    x = x.reshape(x.shape[:stack] + matrix)
    return x if x.itemsize in x.strides[-2:] else x.copy()  # BLAS needs rows or columns without gaps


@lru_cache(4096)
def _transpose_subscripts(subscripts: str, argument: int) -> str:
    x, y, out = _split(subscripts)
    return f"{x},{out}->{y}" if argument else f"{out},{y}->{x}"


def _contract_spec(x: Any, y: Any, subscripts: str) -> Spec:
    x_labels, y_labels, out = _split(subscripts)
    lengths = dict(zip(x_labels + y_labels, x.shape + y.shape, strict=True))
    return Spec(tuple(lengths[c] for c in out), np.result_type(x.dtype, y.dtype))


_einsum: Callable = multilinear(
    "einsum",
    _contract,
    lambda t, y, subscripts: _einsum(t, y, subscripts=_transpose_subscripts(subscripts, 0)),
    lambda t, x, subscripts: _einsum(x, t, subscripts=_transpose_subscripts(subscripts, 1)),
    takes_params=True,
    spec=_contract_spec,
    cases=(
        case((2, 3), (3, 4), subscripts="ab,bc->ca"),
        case((2, 3, 4), (4, 2, 5), subscripts="abc,cad->bad"),
        case((3, 2), (2, 3), subscripts="ab,ba->"),
        case((2, 3), (2, 3), subscripts="ab,ab->a"),
        case((2,), (3,), subscripts="a,b->ab"),
        case((), (2, 0), subscripts=",ab->ba"),
    ),
)


@implements(np.tensordot)
def tensordot(a: Any, b: Any, /, axes: Any = 2) -> Any:
    """The sum of products over pairs of axes: the last `axes` of `a` with the first of `b`, or those in two lists.

    >>> tensordot(np.ones((2, 3)), np.ones((4, 3)), (1, 1)).shape
    (2, 4)
    """
    a, b = as_operand(a), as_operand(b)
    pair = axes if np.iterable(axes) else (range(-axes, 0), range(axes))
    a_axes, b_axes = (tuple(s) if np.iterable(s) else (s,) for s in pair)
    if len(a_axes) != len(b_axes) or any(a.shape[i] != b.shape[j] for i, j in zip(a_axes, b_axes, strict=True)):
        raise user_error(
            ValueError, f"shape-mismatch for sum: shapes {a.shape} and {b.shape} over axes {a_axes} and {b_axes}"
        )
    subscripts = _pairing(a.ndim, b.ndim, tuple(i % a.ndim for i in a_axes), tuple(j % b.ndim for j in b_axes))
    return _einsum(a, b, subscripts=subscripts)


@lru_cache(4096)
def _pairing(a_ndim: int, b_ndim: int, a_axes: tuple[int, ...], b_axes: tuple[int, ...]) -> str:
    """The subscripts that sum over pairs of axes."""
    if len(set(a_axes)) < len(a_axes) or len(set(b_axes)) < len(b_axes):
        raise user_error(ValueError, "duplicate axes are not allowed in tensordot")
    x = LETTERS[:a_ndim]
    y = list(LETTERS[a_ndim : a_ndim + b_ndim])
    for i, j in zip(a_axes, b_axes, strict=True):
        y[j] = x[i]
    out = [c for c in x if c not in y] + [c for c in y if c not in x]
    return f"{x},{''.join(y)}->{''.join(out)}"


# Einstein sums of any number of operands


class EinsumPlan(NamedTuple):
    """The steps of an Einstein sum: bring each operand to normal form, contract pairs, order the axes."""

    prepare: tuple[Prepare, ...]
    contract: tuple[tuple[int, int, str], ...]
    order: tuple[int, ...]


class Prepare(NamedTuple):
    """How an operand is brought to normal form.

    Axes of length one that broadcast are dropped, repeated labels become diagonals, and labels that occur nowhere else
    are summed over.
    """

    squeezed: tuple[int, ...]
    diagonals: tuple[tuple[int, int], ...]
    summed: tuple[int, ...]


@implements(np.einsum)
def einsum(*operands: Any, optimize: Any = False) -> Any:
    """A sum of products, by labels of axes, in either of NumPy's two notations.

    Pairs are contracted in a good order, by BLAS.

    >>> einsum("ij,j->i", [[1, 2], [3, 4]], [10, 1])
    array([12, 34])
    """
    if isinstance(operands[0], str):
        subscripts, arrays = operands[0], [as_operand(x) for x in operands[1:]]
    else:
        arrays = [as_operand(x) for x in operands[: len(operands) // 2 * 2 : 2]]
        subscripts = _as_string(operands[1::2], operands[-1] if len(operands) % 2 else None)
    if not any(isinstance(x, Array) for x in arrays):
        return np.einsum(subscripts, *arrays, optimize=optimize)
    strategy = "greedy" if isinstance(optimize, bool) else tuple(optimize) if isinstance(optimize, list) else optimize
    plan = _plan(subscripts, tuple(x.shape for x in arrays), strategy)
    dtype = np.result_type(*[x.dtype for x in arrays])
    if len(arrays) > 2:  # pairs of int16, uint16 and float32 would come to float64
        arrays = [x.astype(dtype, copy=False) for x in arrays]
    arrays = [_prepare(x, step, dtype) for x, step in zip(arrays, plan.prepare, strict=True)]
    for i, j, step in plan.contract:
        y = arrays.pop(j)
        arrays.append(_einsum(arrays.pop(i), y, subscripts=step))
    (out,) = arrays
    return out if plan.contract else out.transpose(plan.order)


def _prepare(x: Any, step: Prepare, dtype: np.dtype) -> Any:
    if step.squeezed:
        x = x.squeeze(step.squeezed)
    for i, j in step.diagonals:
        x = x.diagonal(0, i, j)
    if not step.summed:
        return x
    return x.sum(
        axis=step.summed, dtype=None if x.dtype.kind in "fc" else dtype
    )  # a sum alone would widen small integers


def _as_string(terms: Sequence[Any], out: Any) -> str:
    """Lists of integers and ellipses as subscripts."""

    def text(labels: Any) -> str:
        numbers = [label if label is Ellipsis else operator.index(label) for label in labels]
        if any(n is not Ellipsis and not 0 <= n < len(LETTERS) for n in numbers):
            raise user_error(ValueError, f"subscript is not within the valid range [0, {len(LETTERS)})")
        return "".join("..." if n is Ellipsis else LETTERS[n] for n in numbers)

    return ",".join(map(text, terms)) + ("" if out is None else "->" + text(out))


@lru_cache(1024)
def _plan(subscripts: str, shapes: tuple[tuple[int, ...], ...], strategy: Any) -> EinsumPlan:
    stand_ins = [np.broadcast_to(0.0, shape) for shape in shapes]
    strategy = list(strategy) if isinstance(strategy, tuple) else strategy
    path = np.einsum_path(subscripts, *stand_ins, optimize=strategy)[0][1:]  # also raises NumPy's errors
    terms, out = _labels(subscripts, shapes)
    lengths: dict[str, int] = {}
    for term, shape in zip(terms, shapes, strict=True):
        if len(set(zip(term, shape, strict=True))) > len(set(term)):
            raise user_error(
                ValueError, f"a label is repeated for axes of different lengths, {term!r} for shape {shape}"
            )
        lengths |= {c: n for c, n in zip(term, shape, strict=True) if lengths.get(c, 1) == 1}

    squeezed = [
        tuple(i for i, c in enumerate(term) if shape[i] != lengths[c])
        for term, shape in zip(terms, shapes, strict=True)
    ]
    terms = [
        "".join(c for i, c in enumerate(term) if i not in axes) for term, axes in zip(terms, squeezed, strict=True)
    ]
    prepare = []
    for k, axes in enumerate(squeezed):
        diagonals, term = _diagonals(terms[k])
        elsewhere = "".join(terms[:k] + terms[k + 1 :]) + out
        prepare.append(Prepare(axes, diagonals, tuple(i for i, c in enumerate(term) if c not in elsewhere)))
        terms[k] = "".join(c for c in term if c in elsewhere)

    contract = []
    for positions in path:
        j, *others = sorted(positions, reverse=True)
        for i in others:
            y, x = terms.pop(j), terms.pop(i)
            wanted = set("".join(terms) + out)
            both, first, second = [c for c in x if c in y], [c for c in x if c not in y], [c for c in y if c not in x]
            result = "".join(c for c in both + first + second if c in wanted) if terms else out
            contract.append((i, j, f"{x},{y}->{result}"))
            terms.append(result)
            j = len(terms) - 1
    (last,) = terms
    return EinsumPlan(tuple(prepare), tuple(contract), tuple(last.index(c) for c in out))


def _diagonals(term: str) -> tuple[tuple[tuple[int, int], ...], str]:
    """The pairs of axes to take diagonals of until no label is repeated, and the labels that are left.

    A diagonal becomes the last axis.
    """
    pairs = []
    for label, count in Counter(term).items():
        for _ in range(count - 1):
            i = term.index(label)
            j = term.index(label, i + 1)
            pairs.append((i, j))
            term = term[:i] + term[i + 1 : j] + term[j + 1 :] + label
    return tuple(pairs), term


def _labels(subscripts: str, shapes: tuple[tuple[int, ...], ...]) -> tuple[list[str], str]:
    """The labels of each operand and of the result, with those that ellipses and an implicit result stand for."""
    text = subscripts.replace(" ", "")
    written, arrow, out = text.partition("->")
    terms = written.split(",")
    hidden = [len(shape) + 3 - len(term) if "..." in term else 0 for term, shape in zip(terms, shapes, strict=True)]
    dots = "".join(c for c in LETTERS if c not in text)[: max(hidden)]
    if arrow and dots and "..." not in out:
        raise user_error(
            ValueError, f"the output subscripts {out!r} have no '...' for the axes that it stands for in an operand"
        )
    named = sorted(c for c, count in Counter(written).items() if count == 1 and c in LETTERS)
    terms = [term.replace("...", dots[len(dots) - n :]) for term, n in zip(terms, hidden, strict=True)]
    return terms, out.replace("...", dots) if arrow else dots + "".join(named)

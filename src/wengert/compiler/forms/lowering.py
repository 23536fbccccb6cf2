"""Lowerings: the native code of operations, which `aspects/` and `simd/` define.

    lowering.enter(on_numbers(lambda x: -x), negative)

    @lowering(_flip)
    @View
    def flip_position(position, x, axis): ...

`lowering` has the native code of an operation, `expansion` the simpler operations that it consists of. NumPy runs
operations that have neither.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar

import numpy as np

from wengert.compiler.forms.affine import Position, Read
from wengert.compiler.forms.failures import DIAGONAL
from wengert.compiler.simd.complex_lanes import RunningState
from wengert.compiler.simd.lanes import Lanes
from wengert.compiler.simd.types import PARTS, Type
from wengert.core import machine
from wengert.core.aspects import Aspect, primitive_of
from wengert.core.machine import Machine
from wengert.core.spec import Spec
from wengert.graph.ir import Constant, Operation
from wengert.ops.elementwise.choices import _where

if TYPE_CHECKING:
    from wengert.compiler.routines.call import RoutineCall

SUPPORTED = frozenset(map(np.dtype, ("f8", "f4", "c16", "c8", "i8", "i4", "?")))
"""The dtypes of native arithmetic."""
FLOATS = frozenset(map(np.dtype, ("f8", "f4")))

Rows = Sequence[Sequence[Lanes]]
"""The elements of a matrix."""


Cost = int | Callable[[Machine], int]
"""The cost of one element, in additions: a number, or a field of the machine record."""


class Lowering:
    """The native code of an operation."""

    def __init__(self, cost: Cost = 1):
        self._cost = cost

    @property
    def cost(self) -> int:
        """The cost of one element, in additions."""
        return self._cost if isinstance(self._cost, int) else self._cost(machine.current)


class Instructions(Lowering):
    """Each element by instructions on lanes, as NumPy computes it.

    `body` is called with one value for each operand, all of one type, and with the operation's parameters as keywords.
    `results` are the kinds of dtypes that it supports: "f" floats, "c" complex numbers, "i" integers, "b" booleans.
    """

    def __init__(self, body: Callable[..., Lanes], results: str, cost: Cost = 1):
        super().__init__(cost)
        self.body, self.results = body, results

    def is_for(self, operands: Sequence[Spec], out: Spec) -> bool:
        """Whether there are instructions for these dtypes. NumPy converts floats to integers."""
        return out.dtype.kind in self.results and not (
            out.dtype.kind == "i" and any(o.dtype.kind == "f" for o in operands)
        )

    def write(self, operands: Sequence[Lanes], kind: str, params: dict[str, Any]) -> Lanes:
        """The result, computed in the type `kind`."""
        return self.body(*[x.to(kind) for x in operands], **params)


class Predicate(Instructions):
    """Booleans, from operands of one common dtype."""

    def __init__(self, body: Callable[..., Lanes]):
        super().__init__(body, "b")

    def write(self, operands: Sequence[Lanes], kind: str, params: dict[str, Any]) -> Lanes:
        # one signed bit would order True before False
        return super().write(operands, "i8" if kind == "i1" else kind, params)


def on_floats(body: Callable[..., Lanes], cost: Cost = 1) -> Instructions:
    """Instructions on floats; integers are converted first if NumPy does so."""
    return Instructions(body, "f", cost)


def on_numbers(body: Callable[..., Lanes], cost: Cost = 1) -> Instructions:
    """Instructions on floats and integers, in the dtype of the result."""
    return Instructions(body, "fi", cost)


def on_scalars(body: Callable[..., Lanes], cost: Cost = 1) -> Instructions:
    """Instructions on numbers and booleans, in the dtype of the result."""
    return Instructions(body, "fib", cost)


def on_bits(body: Callable[..., Lanes]) -> Instructions:
    """Instructions on integers and booleans."""
    return Instructions(body, "ib")


class Iteration(Lowering):
    """All steps of a loop whose body is elementwise, for each element in registers (`forms/iterations.py`)."""


class Draw(Lowering):
    """Hashes the index of each element with a state: `body` is called with the state and the index, as integers.

    The operand is a state of three numbers along its last axis, or several; the result has the axes of the parameter
    `size` for each.
    """

    def __init__(self, body: Callable[..., Lanes], cost: Cost):
        super().__init__(cost)
        self.body = body


class View(Lowering):
    """Shows elements of its operand: `position` gives the position in the operand, or None where that is not affine.

    It is called with a position in the result, the operand's spec, and the operation's parameters as keywords.
    """

    def __init__(self, position: Callable[..., Position | None]):
        super().__init__(cost=0)
        self.position = position


class Choice(Lowering):
    """Takes each element from one of several positions: that of the first of `reads` whose guards hold.

    `reads` is called with a position in the result, the specs of the operands, and the operation's parameters as
    keywords; it returns None where positions are not affine. `arity` is the number of operands without the arrays in a
    key: with these, the operation is not a choice.

    If the operands are parts of the result, of one shape, `pieces` gives the position of each of them in the result for
    a position in an operand; it is called like `reads`, and returns None for other operands.
    """

    def __init__(
        self,
        reads: Callable[..., list[Read] | None],
        arity: int | None = 1,
        pieces: Callable[..., list[Position] | None] = lambda *_, **__: None,
    ):
        super().__init__(cost=2)
        self.reads, self.arity, self.pieces = reads, arity, pieces


class Scatter(Choice):
    """A choice that writes or adds its elements in memory if its key has arrays: into zeros, or a copy of an operand.

    `adds` says whether it adds to that operand.
    """

    def __init__(self, reads: Callable[..., list[Read] | None], arity: int | None = 1, adds: bool = False):
        super().__init__(reads, arity)
        self.adds = adds


class Gather(Lowering):
    """Reads its operand at computed indices: the arrays in its key."""


class Reduction(Lowering):
    """Folds the elements along axes: `fold` combines two partial results, `identity` is the result of no elements.

    With `is_ordered`, it compares elements, which have an order: complex numbers have none here.
    """

    def __init__(
        self,
        fold: Callable[[Lanes, Lanes], Lanes],
        identity: Callable[[Type], Any],
        is_ordered: bool = False,
        cost: Cost = 1,
    ):
        super().__init__(cost)
        self.fold, self.identity, self.is_ordered = fold, identity, is_ordered

    def accumulator(self, result: Type) -> Type:
        """The type of partial results."""
        return result

    def initial(self, type: Type) -> Any:
        """The partial result of no elements."""
        return self.identity(type)

    def begin(self, terms: Sequence[Lanes]) -> Lanes:
        """The partial result of several terms."""
        return reduce(self.fold, terms)

    def finish(self, total: Lanes) -> Lanes:
        """The result, of the last partial result."""
        return total


class RunningReduction(Reduction):
    """A reduction whose partial results are states of several numbers.

    `start` makes one of several terms, `end` makes the result of one, and `letter` is that of the kind of states.
    """

    def __init__(
        self,
        letter: Literal["d", "q"],
        identity: tuple[float, ...],
        start: Callable[[Sequence[Lanes]], RunningState],
        fold: Callable[..., Lanes],
        end: Callable[[RunningState], Lanes],
        cost: Cost,
    ):
        super().__init__(fold, lambda type: identity, is_ordered=True, cost=cost)
        self.letter, self.start, self.end = letter, start, end

    def accumulator(self, result: Type) -> Type:
        return result.of(f"{self.letter}{PARTS[self.letter] * result.bits}")

    def begin(self, terms: Sequence[Lanes]) -> Lanes:
        return self.start(terms)

    def finish(self, total: Lanes) -> Lanes:
        assert isinstance(total, RunningState)
        return self.end(total)


class Indexed(NamedTuple):
    """Elements at computed indices of an array of so many bytes: they are `read`, or a number is `added` to each.

    Elements that are `moved` are distributed: each comes after the one before it with the same digit. Rows of
    neighbours count as one element, which has `width` bytes.
    """

    kind: Literal["read", "added", "moved"]
    nbytes: int
    elements: int
    width: int = 8


class RoutineWork(NamedTuple):
    """What a routine does besides the flops of its operation.

    Whether it runs on all cores depends on these, unless `is_shared` says it.
    """

    indexed: tuple[Indexed, ...] = ()
    exponentials: int = 0
    is_shared: bool | None = None


class Routine(Lowering):
    """A step of its own, on operands in memory, for operations that `is_for` accepts.

    `write` adds the instructions of a call, and may return whether the routine failed: then NumPy runs the operation,
    which raises the error. `may_fail` and `workspace`, in bytes, are known before. With `reads_transposed`, operands
    may be stored with their last two axes exchanged. `reads_strided` says whether it reads an operand of a shape, by
    its number, with strides: as a part of a larger array. `updates` says whether it may write its result to the memory
    of its first operand, by the strides of all operands and whether it is in a loop. What it does
    `beside_flops` is for estimates of time.
    """

    def __init__(
        self,
        write: Callable[[RoutineCall], Lanes | None],
        is_for: Callable[[Operation], bool],
        may_fail: Callable[[Operation], bool] = lambda node: False,
        workspace: Callable[[Operation], int] = lambda node: 0,
        reads_transposed: bool = False,
        reads_strided: Callable[[int, tuple[int, ...], tuple[int, ...]], bool] | None = None,
        updates: Callable[[Operation, Sequence[tuple[int, ...]], bool], bool] | None = None,
        beside_flops: Callable[[Operation], RoutineWork] = lambda node: RoutineWork(),
    ):
        super().__init__()
        self.beside_flops = beside_flops
        self.write, self.is_for, self.may_fail, self.workspace = write, is_for, may_fail, workspace
        self.reads_transposed, self.reads_strided, self.updates = reads_transposed, reads_strided, updates


def largest_order(is_triangle: bool) -> int:
    """The most rows and columns of matrices whose functions are written out in kernels."""
    now = machine.current
    return min(now.max_order_of_small_triangle, DIAGONAL) if is_triangle else now.max_order_of_small_matrix


def vectors_of_matrices(node: Operation) -> int:
    """The vectors of doubles of matrices that run at once."""
    return 2 if max(node.args[0].shape[-2:]) <= machine.current.max_order_of_two_vectors else 1


class MatrixFunction(Lowering):
    """All elements of a small matrix, or number, at once: from those of the matrices of the operands.

    `body` is called with a `MatrixCall` and the operation's parameters as keywords, and returns the rows of the result,
    whose last axes, as many as `core`, they are. `flops` estimates its operations for one matrix of a node. Only the
    first `operands` of a node are read. It is for real matrices with few rows and columns, of which triangles may have
    more, and whose work is small. With `in_double` it computes in double precision, as NumPy does whatever the dtype.
    Elements have at least so many `vectors` of doubles: several run at once, because instructions wait for quotients
    and roots before them.
    """

    def __init__(
        self,
        body: Callable[..., Rows],
        flops: Callable[[Operation], int],
        core: int = 2,
        operands: int = 1,
        is_triangle: bool = False,
        in_double: bool = True,
        may_fail: Callable[[Operation], bool] = lambda node: False,
        vectors: Callable[[Operation], int] | None = None,
    ):
        super().__init__()
        self.body, self.flops, self.core, self.operands = body, flops, core, operands
        self.is_triangle, self.in_double, self.may_fail = is_triangle, in_double, may_fail
        self.vectors = vectors or vectors_of_matrices

    def is_for(self, node: Operation) -> bool:
        """Whether the matrices are small."""
        read = node.args[: self.operands]
        shapes, largest = [a.shape[-2:] for a in read], largest_order(self.is_triangle)
        return (
            all(a.dtype in FLOATS and a.spec.__class__ is Spec for a in (node, *read))
            and all(0 < n <= largest for shape in shapes for n in shape)
            and self.flops(node) <= machine.current.max_operations_of_small_matrix
        )

    def lead(self, node: Operation) -> int:
        """The number of axes of a node before those of its matrices."""
        return node.ndim - self.core


class Alternatives(Lowering):
    """Several native codes of one operation: a node has the first of them that is for it, or none."""

    def __init__(self, *members: MatrixFunction | Routine):
        super().__init__()
        self.members = members


lowering: Aspect[Lowering] = Aspect("lowering", "its native code", rest="its expansion is compiled")

complex_lowering: Aspect[Instructions] = Aspect(
    "complex_lowering",
    "its instructions for complex numbers",
    rest="NumPy runs it on complex numbers, or only moves them",
)

expansion: Aspect[Callable[..., Any]] = Aspect(
    "expansion",
    "the simpler operations that it consists of in native code",
    rest="it has native code, or NumPy runs it",
)
"""A function of the operands as symbols, and of the parameters as keywords. It returns None where the operation stays.
"""

L = TypeVar("L", bound=Lowering)

CHOOSE = primitive_of(_where)


def native_code(node: Operation) -> Lowering | None:
    """The native code of a node: of several alternatives the one that is for it, and instructions for its dtypes."""
    found = lowering.of(node.primitive)
    if isinstance(found, Alternatives):
        return next((member for member in found.members if member.is_for(node)), None)
    if (found is None or isinstance(found, Instructions)) and is_complex(node):
        return complex_lowering.of(node.primitive)
    return found


def is_complex(node: Operation) -> bool:
    """Whether a node has complex numbers among its operands, or gives them; not if it has several results."""
    return any(x.spec.__class__ is Spec and x.dtype.kind == "c" for x in (node, *node.args))


def lowering_of(node: Operation, kind: type[L]) -> L:
    """The native code of a node, known to be of this class."""
    found = native_code(node)
    assert isinstance(found, kind), node.primitive.name
    return found


def common_kind(operands: Sequence[Any], out: Spec) -> str:
    """The type that an operation computes in; `operands` are specs, or the types of Python numbers."""
    has_complex = any(o is complex or isinstance(o, Spec) and o.dtype.kind == "c" for o in operands)
    if out.dtype.kind == "b" or (has_complex and out.dtype.kind != "c"):
        return Type.from_dtype(np.result_type(*[o.dtype if isinstance(o, Spec) else o(1) for o in operands])).kind
    return Type.from_dtype(out.dtype).kind


def converted_numbers(node: Operation) -> list[int]:
    """The operands that are Python integers, known only when code runs, beside arrays of int32.

    If they are out of bounds, NumPy raises an error, except in choices, which take their last bits.
    """
    if node.primitive is CHOOSE or not any(a.weak is int for a in node.args):
        return []
    if common_kind([a.operand for a in node.args], node.spec) != "i32":
        return []
    return [i for i, a in enumerate(node.args) if a.weak is int and not isinstance(a, Constant)]


def write_element(node: Operation, operands: Sequence[Lanes]) -> Lanes:
    """The instructions of one elementwise operation, on operands with as many lanes."""
    kind = common_kind([a.operand for a in node.args], node.spec)
    if kind == "i32" and node.dtype.kind == "b" and converted_numbers(node):
        kind = "i64"  # numbers beyond those of the array are compared as they are
    return lowering_of(node, Instructions).write(operands, kind, node.params).to(Type.from_dtype(node.dtype).kind)

"""How an operation becomes native code: what `aspects/` and `simd/` say of each operation, and the forms in which they
say it.

    lowering.enter(numbers(lambda x: -x), negative)

    @lowering(_flip)
    @View
    def flipped(position, x, axis): ...

`lowering` has the native code of an operation, `expansion` the simpler operations that it is made of. NumPy runs what
has neither.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from wengert.compiler.affine import Position, Read
from wengert.compiler.lanes import Lanes, Type
from wengert.core.aspects import Aspect
from wengert.core.spec import Spec
from wengert.graph.ir import Operation

SUPPORTED = frozenset(map(np.dtype, ("f8", "f4", "i8", "i4", "?")))
"""The dtypes that native code computes with."""


class Lowering:
    """The native code of an operation; `cost` is that of one element, in additions."""

    def __init__(self, cost: int = 1):
        self.cost = cost


class Instructions(Lowering):
    """Each element by instructions on lanes, as NumPy computes it.

    `body` is called with one value for each operand, all of one kind of number, and with the operation's metadata by
    name. `results` are the kinds of dtypes that it can give: "f" floats, "i" integers, "b" booleans.
    """

    def __init__(self, body: Callable[..., Lanes], results: str, cost: int = 1):
        super().__init__(cost)
        self.body, self.results = body, results

    def is_for(self, operands: Sequence[Spec], out: Spec) -> bool:
        """Whether there are instructions for these dtypes. NumPy's own conversion makes integers of floats."""
        return out.dtype.kind in self.results and not (
            out.dtype.kind == "i" and any(o.dtype.kind == "f" for o in operands)
        )

    def write(self, operands: Sequence[Lanes], kind: str, params: dict[str, Any]) -> Lanes:
        """The result; `kind` is what it is computed with."""
        return self.body(*[x.to(kind) for x in operands], **params)


class Predicate(Instructions):
    """Booleans, from operands of one common dtype."""

    def __init__(self, body: Callable[..., Lanes]):
        super().__init__(body, "b")

    def write(self, operands: Sequence[Lanes], kind: str, params: dict[str, Any]) -> Lanes:
        return super().write(
            operands, "i8" if kind == "i1" else kind, params
        )  # one signed bit would order True before False


def floats(body: Callable[..., Lanes], cost: int = 1) -> Instructions:
    """Instructions on floats; integers are converted first, where NumPy does."""
    return Instructions(body, "f", cost)


def numbers(body: Callable[..., Lanes], cost: int = 1) -> Instructions:
    """Instructions on floats and integers, in the dtype of the result."""
    return Instructions(body, "fi", cost)


def scalars(body: Callable[..., Lanes], cost: int = 1) -> Instructions:
    """Instructions on numbers, and on booleans as they are."""
    return Instructions(body, "fib", cost)


def bits(body: Callable[..., Lanes]) -> Instructions:
    """Instructions on integers and booleans."""
    return Instructions(body, "ib")


class View(Lowering):
    """Shows elements of its operand: `position` gives the position in the operand for a position in the result, or None where
    that is not affine.

    It is called with the position, the operand's spec, and the operation's metadata by name.
    """

    def __init__(self, position: Callable[..., Position | None]):
        super().__init__(cost=0)
        self.position = position


class Choice(Lowering):
    """Takes each element from one operand or another: `reads` gives the positions that it may come from, the first whose
    guards hold.

    It is called with a position in the result, the specs of the operands, and the operation's metadata by name, and gives
    None where the positions are not affine. `arity` is the number of operands, apart from the arrays in a key: with these
    it is no choice.
    """

    def __init__(self, reads: Callable[..., list[Read] | None], arity: int | None = 1):
        super().__init__(cost=2)
        self.reads, self.arity = reads, arity


class Scatter(Choice):
    """A choice which with arrays in its key adds its elements at the positions that they name."""


class Gather(Lowering):
    """Reads its operand at the positions that the arrays in its key name."""


class Reduction(Lowering):
    """Folds the elements along axes: `fold` makes one of two partial results, `identity` is what it starts with in some
    type.
    """

    def __init__(self, fold: Callable[[Lanes, Lanes], Lanes], identity: Callable[[Type], Any]):
        super().__init__()
        self.fold, self.identity = fold, identity


class LibraryCall(Lowering):
    """A routine of BLAS, for those operands that `is_for` admits."""

    def __init__(self, is_for: Callable[[Operation], bool]):
        super().__init__()
        self.is_for = is_for


lowering: Aspect[Lowering] = Aspect("lowering", "its native code", rest="by its expansion")

expansion: Aspect[Callable[..., Any]] = Aspect(
    "expansion",
    "the simpler operations that it is made of in native code",
    rest="it is native as it is, or runs by NumPy",
)
"""A function of the operands as symbols and the metadata by name, written in operations.

It gives None where the operation stays.
"""

Form = TypeVar("Form", bound=Lowering)


def lowering_of(node: Operation, form: type[Form]) -> Form:
    """The native code of an operation that is known to have this form."""
    found = lowering.of(node.primitive)
    assert isinstance(found, form), node.primitive.name
    return found


def common_kind(operands: Sequence[Any], out: Spec) -> str:
    """The kind of number that an operation computes with; `operands` are specs, or the types of Python's numbers."""
    if out.dtype.kind != "b":
        return Type.from_dtype(out.dtype).kind
    return Type.from_dtype(np.result_type(*[o.dtype if isinstance(o, Spec) else o(1) for o in operands])).kind

"""How an entry reads its arguments: from Python's objects to the addresses of data that the program takes."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby

from wengert.compiler.entry.entry_code import EntryCode
from wengert.compiler.entry.entry_signature import ArgumentTree, Constant, EntrySignature
from wengert.compiler.entry.entry_values import Argument
from wengert.compiler.machine.python_objects import dtype_name, python_symbol
from wengert.compiler.simd.lanes import Lanes
from wengert.compiler.simd.types import BOOL, I64, PTR
from wengert.core import machine
from wengert.core.spec import Spec


class ArgumentReader:
    """Writes the code that reads the arguments of one entry, or goes to `other` if they do not match.

    The children of containers are held in slots during the run, as the caller holds the arguments themselves.
    """

    def __init__(self, entry: EntryCode, signature: EntrySignature):
        self.entry, self.code, self.signature = entry, entry.code, signature
        self.leaves = len(signature.leaves)
        self.capacity, self.used = signature.children, 0
        self.slots = entry.stack_bytes(8 * self.capacity)
        if self.capacity:
            self.code.clear(self.slots, 8 * self.capacity)

    def read(self, inputs: Lanes, input_count: int) -> None:
        """Fill the table of inputs: the addresses of data, and after all of these the objects that own the data."""
        arguments, keywords = self.signature.arguments, self.signature.keywords
        self.entry.require(Lanes(self.code, "%count", I64).eq(len(arguments)), "other")
        self.match_names(list(keywords))
        self.inputs, self.input_count, self.next_input = inputs, input_count, 0
        self.fit = self.code.constant(True, BOOL)
        self.read_all(Lanes(self.code, "%args", PTR), (*arguments, *keywords.values()))
        self.entry.require(self.fit, "other")

    def match_names(self, names: list[str]) -> None:
        """Require that the keyword arguments have these names."""
        given = Lanes(self.code, "%names", PTR)
        if names:
            count, expected = self.code.constant(len(names), I64), self.entry.next_objects(len(names))
            self.entry.require(self.entry.helper("same_names", BOOL, given, count, expected), "other")
        else:
            self.entry.require(given.eq(self.entry.null()), "other")

    def read_all(self, given: Lanes, trees: Iterable[ArgumentTree]) -> None:
        """Read objects that are one after the other in memory."""
        i = 0
        for is_array, group in groupby(trees, is_array_argument):
            run = list(group)
            if is_array and len(run) > machine.current.max_unrolled_arrays_of_entry:
                self.read_arrays(
                    self.code.offset(given, i, PTR), [tree.spec for tree in run if isinstance(tree, Argument)]
                )
            else:
                for k, tree in enumerate(run, i):
                    self.read_tree(self.code.load(self.code.offset(given, k, PTR), PTR), tree)
            i += len(run)

    def read_arrays(self, given: Lanes, specs: list[Spec]) -> None:
        """Read arrays in a loop."""
        data, owners = self.next_inputs(len(specs))
        arguments = given, self.code.constant(len(specs), I64), self.entry.layouts(specs), data, owners
        self.fit = self.fit & self.entry.helper("read_arrays", BOOL, *arguments)

    def next_inputs(self, count: int) -> tuple[Lanes, Lanes]:
        """Where the addresses of the data of the next inputs belong, and their owners."""
        data = self.code.offset(self.inputs, self.next_input, PTR)
        owners = self.code.offset(self.inputs, self.input_count + self.next_input, PTR)
        self.next_input += count
        return data, owners

    def read_tree(self, given: Lanes, tree: ArgumentTree) -> None:
        """Read an argument, or a part of one."""
        if isinstance(tree, Argument):
            data = self.leaf_data(given, tree)
            for value, address in zip((data, given), self.next_inputs(1), strict=True):
                self.code.store(value, address)
            self.fit = self.fit & data.ne(self.entry.null())
        elif isinstance(tree, Constant):
            self.fit = self.fit & self.entry.helper("same_object", BOOL, given, self.entry.next_object())
        else:
            self.read_all(self.open_container(given, tree), tree.values() if isinstance(tree, dict) else tree)

    def leaf_data(self, given: Lanes, argument: Argument) -> Lanes:
        """The address of the data of a number or an array, or null if it does not match."""
        kind, spec = argument
        if kind == "array":
            return self.entry.helper("array_data", PTR, given, *self.entry.layout(spec))
        if kind == "int":
            return self.entry.helper("int_data", PTR, given, self.entry.stack_bytes(8))
        expected = self.entry.external("float" if kind == "float" else f"{dtype_name(spec.dtype)}.type")
        return self.entry.helper("number_data", PTR, given, expected)

    def open_container(self, given: Lanes, tree: tuple | list | dict) -> Lanes:
        """The address of the slots with the children of a container, if it matches."""
        slots, count = self.code.offset(self.slots, self.used, PTR), self.code.constant(len(tree), I64)
        self.used += len(tree)
        if isinstance(tree, dict):
            opened = self.entry.helper("open_dict", BOOL, given, count, self.entry.next_objects(len(tree)), slots)
        else:
            kind, name = ("list", "PyList") if isinstance(tree, list) else ("tuple", "PyTuple")
            size, item = [Lanes(self.code, python_symbol(f"{name}_{part}"), PTR) for part in ("Size", "GetItem")]
            expected = self.entry.external(kind)
            opened = self.entry.helper("open_sequence", BOOL, given, expected, size, item, count, slots)
        self.entry.require(opened, "other")
        return slots

    def release(self) -> None:
        """Give up the children of containers."""
        if self.capacity:
            self.entry.do("drop", self.slots, self.code.constant(self.capacity, I64))


def is_array_argument(tree: ArgumentTree) -> bool:
    """Whether an argument is an array."""
    return isinstance(tree, Argument) and tree.kind == "array"

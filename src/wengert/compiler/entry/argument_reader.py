"""How an entry reads its arguments: from Python's objects to the addresses of data that the program takes."""

from __future__ import annotations

from wengert.compiler.entry.entry_code import EntryCode
from wengert.compiler.entry.entry_signature import ArgumentTree, Constant, EntrySignature
from wengert.compiler.entry.entry_values import Argument
from wengert.compiler.entry.python_objects import dtype_name, python_symbol
from wengert.compiler.simd.lanes import Lanes
from wengert.compiler.simd.types import BOOL, I64, PTR


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
        given, self.fit = Lanes(self.code, "%args", PTR), self.code.constant(True, BOOL)
        for i, tree in enumerate((*arguments, *keywords.values())):
            self.read_tree(self.code.load(self.code.offset(given, i, PTR), PTR), tree)
        self.entry.require(self.fit, "other")

    def match_names(self, names: list[str]) -> None:
        """Require that the keyword arguments have these names."""
        given = Lanes(self.code, "%names", PTR)
        if names:
            count, expected = self.code.constant(len(names), I64), self.entry.next_objects(len(names))
            self.entry.require(self.entry.helper("same_names", BOOL, given, count, expected), "other")
        else:
            self.entry.require(given.eq(self.entry.null()), "other")

    def read_tree(self, given: Lanes, tree: ArgumentTree) -> None:
        """Read an argument, or a part of one."""
        if isinstance(tree, Argument):
            self.read_leaf(given, tree)
        elif isinstance(tree, Constant):
            self.fit = self.fit & self.entry.helper("same_object", BOOL, given, self.entry.next_object())
        else:
            slots = self.open_container(given, tree)
            for i, part in enumerate(tree.values() if isinstance(tree, dict) else tree):
                self.read_tree(self.code.load(self.code.offset(slots, i, PTR), PTR), part)

    def read_leaf(self, given: Lanes, argument: Argument) -> None:
        """Read a number or an array."""
        data = self.leaf_data(given, argument)
        self.code.store(data, self.code.offset(self.inputs, self.next_input, PTR))
        self.code.store(given, self.code.offset(self.inputs, self.input_count + self.next_input, PTR))
        self.next_input += 1
        self.fit = self.fit & data.ne(self.entry.null())

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

"""The declarations for type checkers name what ops/methods.py attaches, with the same parameters."""

import ast
import inspect
from pathlib import Path

import pytest

from wengert.core import array
from wengert.ops.methods import BINARY, METHODS, OTHER_OPERATORS, PROPERTIES

STUB = ast.parse(Path(array.__file__).with_name("array_methods.pyi").read_text())
CLASSES = [node for node in STUB.body if isinstance(node, ast.ClassDef)]
DECLARED = {f.name: f for node in CLASSES for f in node.body if isinstance(f, ast.FunctionDef)}


def test_what_is_attached_is_declared():
    operators = {f"__{name}__" for name in BINARY} | {f"__r{name}__" for name in BINARY} | set(OTHER_OPERATORS)
    assert set(DECLARED) == operators | set(METHODS) | set(PROPERTIES)


@pytest.mark.parametrize("name", METHODS)
def test_parameters_are_those_that_run(name):
    given = DECLARED[name].args
    declared = [a.arg for a in (*given.posonlyargs, *given.args, given.vararg, *given.kwonlyargs) if a is not None]
    parameters = inspect.signature(METHODS[name]).parameters
    assert declared[1:] == [p for p in parameters if p != "foreign"][1:]  # which only raises

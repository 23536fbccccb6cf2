"""The lines of functions: those that the code knows give the syntax tree of those that `inspect` finds."""

import argparse
import ast
import collections
import functools
import importlib
import inspect
import textwrap
import types

import numpy as np
import pytest

from wengert.source.finding import find_node, parse_function
from wengert.source.lines import source_blocks


# fmt: off
def with_parentheses(x):
    y = (
        1
    )
    return x + y


def with_a_comment(x):
    return x
    # deeper than what follows


def with_dead_code(x):  # noqa: RET503  # its end is dead code
    return x
    x = 2
# fmt: on


def decorated(f):
    return functools.wraps(f)(lambda *args: f(*args))


@decorated
def with_a_decorator(x):
    def inner(y):
        return y + x

    return inner


OWN = [with_parentheses, with_a_comment, with_dead_code, with_a_decorator.__wrapped__]


def functions_of(module):
    owners = [module, *[value for value in vars(module).values() if isinstance(value, type)]]
    found = [value for owner in owners for value in vars(owner).values() if isinstance(value, types.FunctionType)]
    return [f for f in found if f.__module__ == module.__name__ and not hasattr(f, "__wrapped__")]


def inspected(f):
    lines, first = inspect.getsourcelines(f.__code__)
    return parse_function(f, "".join(lines), first)


@pytest.mark.parametrize("module", [argparse, textwrap, collections, inspect, np.lib._function_base_impl])
def test_quick_lines_give_the_same_tree(module):
    functions, quick = functions_of(module), 0
    for f in functions:
        expected, found = inspected(f), find_node(f)
        assert (found is None) == (expected is None), f.__qualname__
        if found is not None:
            assert ast.dump(found, include_attributes=True) == ast.dump(expected, include_attributes=True)
        first, *_ = source_blocks(f)
        quick += parse_function(f, "".join(first[0]), first[1]) is not None
    assert quick >= 0.9 * len(functions)


@pytest.mark.parametrize("f", OWN, ids=lambda f: f.__name__)
def test_ends_that_positions_do_not_show(f):
    assert ast.dump(find_node(f), include_attributes=True) == ast.dump(inspected(f), include_attributes=True)


def test_a_lambda_of_several_lines():
    f = functools.partial(
        lambda x, y: x + y,  # fmt: skip
        y=2,
    ).func
    assert ast.unparse(find_node(f).body[0]) == "return x + y"


def test_no_source():
    namespace = {}
    exec("def f(x):\n    return x", namespace)
    assert find_node(namespace["f"]) is None


def test_the_lambda_itself_of_several_on_one_line():
    table = {"+": lambda x, y: x + y, "*": lambda x, y: x * y, "-": lambda x, y: (lambda z: x - z)(y), "/": lambda x, y: (lambda z: x / z)(y)}  # fmt: skip  # noqa: E501  # one line is what is tested
    for sign, f in table.items():
        assert f"x {sign}" in ast.unparse(find_node(f))
    inner = (lambda: lambda x: x + 1)()
    assert ast.unparse(find_node(inner).body[0]) == "return x + 1"
    pair = (lambda x: -0.0 * x), (lambda x: 0.0 * x), (lambda x: 0 * x)
    assert [ast.unparse(find_node(f).body[0]) for f in pair] == ["return -0.0 * x", "return 0.0 * x", "return 0 * x"]


def test_a_file_that_has_changed_is_not_read(tmp_path, monkeypatch):
    path = tmp_path / "edited.py"
    path.write_text("def f(x):\n    return x + 1\n\n\ng = lambda x: x + 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    edited = importlib.import_module("edited")
    assert find_node(edited.f) is not None
    assert find_node(edited.g) is not None
    path.write_text("def f(x):\n    return x - 111\n\n\ng = lambda x: x - 111\n")
    assert find_node(edited.f) is None
    assert find_node(edited.g) is None


class Scaled:
    __factor = 2.0

    def scale(self):
        def scaled(x):
            """A string
  of its own indentation."""  # fmt: skip
            return self.__factor * x

        return scaled


def test_private_names_and_strings_of_functions_inside_methods():
    text = ast.unparse(find_node(Scaled().scale()))
    assert "self._Scaled__factor" in text
    assert "\n  of its own" in text

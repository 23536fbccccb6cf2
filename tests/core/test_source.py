"""The source line of an operation, and the variable of its result."""

from __future__ import annotations

import numpy as np

import wengert as wg
from wengert.core import source


def traced(f, *args):
    return wg.trace(f, *args).operations


def test_lines():
    def f(x):
        y = np.sin(x)
        z = (
            y
            + 1.0
        )  # fmt: skip
        return z.sum()

    operations = traced(f, np.ones(3))
    first = f.__code__.co_firstlineno
    assert operations[0].source.source_line == f"{__file__}:{first + 1}"
    assert first + 2 <= operations[1].source.line <= first + 5
    assert operations[2].source.line == first + 6
    assert {(node.source.code.co_filename, node.source.code.co_name) for node in operations} == {(__file__, "f")}


def test_names_of_results():
    def f(x):
        a = np.sin(x)
        b = a.reshape(1, 3)
        c, d = a * 2.0, a + b
        e = [np.exp(d)]
        f = x[1:]
        for g in (np.cos(c),):
            h = g - 1.0
        return h, e, f

    names = {node.primitive.name: node.source.name for node in traced(f, np.ones(3))}
    assert names["sin"] == "a"
    assert names["reshape"] == "b"
    assert names["getitem"] == "f"
    assert names["subtract"] == "h"
    assert names["exp"] is None
    assert names["multiply"] is None  # part of a pair, not assigned at once


def test_names_are_not_those_of_what_calls_many_operations():
    def f(x):
        slope = wg.grad(lambda x: np.sin(x) * x)(x)
        deviation = np.std(x * np.ones(3))
        return slope, deviation

    operations = traced(f, 0.5)
    assert all(node.source.name != "slope" for node in operations)
    assert not any(node.source.code.co_filename.startswith(source.OURS) for node in operations)


def test_attributes_and_items_are_no_names():
    class Box:
        pass

    def f(x):
        box, values = Box(), {}
        box.first = np.sin(x)
        values["second"] = np.cos(x)
        return box.first + values["second"]

    assert [node.source.name for node in traced(f, np.ones(2))] == [None, None, None]


def test_global_and_captured_variables_are_names():
    scope = {"np": np}
    exec(
        "def f(x):\n    global y\n    y = np.sin(x)\n    def g():\n        return z\n    z = y * 2.0\n    return g()",
        scope,
    )
    assert [node.source.name for node in traced(scope["f"], np.ones(2))] == ["y", "z"]
    assert traced(scope["f"], np.ones(2))[0].source.source_line == "<string>:3"


def test_through_numpy_and_this_package():
    def f(x):
        return np.linalg.norm(x) if False else np.mean(x)

    assert {node.source.line for node in traced(f, np.ones(3))} == {f.__code__.co_firstlineno + 1}


def test_code_is_not_kept():
    before = len(source._OWNERS)
    for k in range(50):
        scope = {"np": np}
        exec(f"def f(x):\n    return np.sin(x) * {k}.5", scope)
        traced(scope["f"], np.ones(2))
    assert len(source._OWNERS) <= before + 1

"""Lowerings and expansions: which operations have them, and how new ones are entered."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg
from wengert.compiler.entry.native import own_operations
from wengert.compiler.forms.lowering import (
    Choice,
    Instructions,
    Reduction,
    View,
    expansion,
    lowering,
    lowering_of,
    on_floats,
    on_numbers,
)
from wengert.compiler.functions.vector_functions import FUNCTIONS, vector
from wengert.core.definition import Definition
from wengert.core.kinds import elementwise
from wengert.core.primitive import TABLE, Primitive
from wengert.ops.elementwise.arithmetic import multiply
from wengert.ops.elementwise.trigonometric import sin
from wengert.ops.samples import draws
from wengert.random import draw

X = np.linspace(-2.0, 2.0, 9)


@pytest.fixture
def forget():
    """Takes an operation out of the tables afterwards."""
    added = []
    yield lambda operation: added.append(operation.primitive) or operation
    for primitive in added:
        TABLE.pop(primitive.name, None)
        FUNCTIONS.pop(primitive.name, None)
        lowering.entries.pop(primitive, None)


@pytest.mark.parametrize("aspect", [lowering, expansion], ids=lambda a: a.name)
def test_entries_are_of_operations_of_the_table(aspect):
    assert len(list(aspect)) > 10
    assert all(TABLE.get(primitive.name, primitive) is primitive for primitive in aspect)


def test_every_operation_has_native_code_or_a_reason():
    own = own_operations.__wrapped__() & set(TABLE.values())  # not those of other tests, nor calls of functions
    drawn = [*vars(draws).values(), *vars(draw).values()]  # which a trace refuses
    own -= {p for f in drawn if isinstance(p := getattr(f, "primitive", f), Primitive)}
    native = {*lowering, *expansion}
    assert len(own) > 200
    assert {p.name for p in own - native - set(lowering.reasons)} == set()
    assert {p.name for p in native & set(lowering.reasons)} == set()


def test_an_operation_is_not_known_by_its_name():
    """One that is not in the table may be called like one that is."""
    other = Primitive(
        Definition(name="rad2deg", impl=lambda x: x + 1.0, kind="elementwise", inputs=("x",), rules=(lambda t: t,))
    ).op
    f = wg.compile(lambda x: other(x) * 2.0)
    np.testing.assert_array_equal(f(X), (X + 1.0) * 2.0)
    assert f.report(X).fallbacks == ["rad2deg"]


def test_instructions_are_given_the_parameters(forget):
    scaled = forget(
        elementwise("scaled", lambda x, factor: x * factor, lambda t, factor: t * factor, params={"factor": 2.0})
    )
    lowering.enter(on_numbers(lambda x, factor: x * factor), scaled)
    f = wg.compile(lambda x: scaled(x, factor=3.0))
    np.testing.assert_array_equal(f(X), X * 3.0)
    assert not f.report(X).fallbacks


def test_a_new_operation_becomes_native(forget):
    cube = forget(elementwise("cube", lambda x: x * x * x, lambda t, x: t * (3.0 * x * x)))
    f = wg.compile(lambda x: cube(x) + 1.0)
    assert f.report(X).fallbacks == ["cube"]
    lowering.enter(on_floats(lambda x: x * x * x), cube)
    f = wg.compile(lambda x: cube(x) + 1.0)
    np.testing.assert_array_equal(f(X), X * X * X + 1.0)
    assert not f.report(X).fallbacks
    assert f.report(np.arange(9)).fallbacks == ["cube"]  # of integers it has no instructions


def test_a_vector_function_has_the_symbol_of_its_operation(forget):
    doubled = forget(elementwise("doubled", lambda x: 2.0 * x, lambda t: 2.0 * t))

    @vector(doubled)
    def body(x):
        return x + x

    f = wg.compile(lambda x: doubled(x))
    np.testing.assert_array_equal(f(X), 2.0 * X)
    assert "@wengert.doubled." in f.report(X).llvm
    assert lowering.of(doubled).cost == lowering.of(sin).cost > lowering.of(multiply).cost


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "i4", "?"])
@pytest.mark.parametrize("f", [np.imag, np.isreal, np.iscomplex, np.isposinf, np.isneginf], ids=lambda f: f.__name__)
def test_tests_of_real_numbers(f, dtype):
    x = np.array([0.0, -0.0, 1.0, -2.0, np.inf, -np.inf, np.nan] if dtype[0] == "f" else [0, 1, 2], dtype)
    compiled = wg.compile(lambda x: f(x))
    found, expected = compiled(x), f(x)
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)
    assert not compiled.report(x).fallbacks or (f, dtype) == (np.imag, "?")


def test_forms():
    x = np.ones((2, 3))
    graph = wg.trace(lambda x: np.concatenate([np.sin(x), x.T.reshape(2, 3)], 0).sum(0), x)
    forms = {"sin": Instructions, "transpose": View, "reshape": View, "concatenate": Choice, "sum": Reduction}
    assert {node.primitive.name for node in graph.operations} == set(forms)
    for node in graph.operations:
        assert isinstance(lowering_of(node, forms[node.primitive.name]), forms[node.primitive.name])
    with pytest.raises(AssertionError, match="sin"):
        lowering_of(next(node for node in graph.operations if node.primitive is TABLE["sin"]), View)

"""A graph that is wrong is refused, by the name of the node."""

from __future__ import annotations

import numpy as np
import pytest
from tests.sampling import by_operation
from tests.test_table import ELEMENTWISE, OTHERS, SHAPES, case_arguments, op_of, sample

import wengert as wg
from wengert.core.errors import TrackedValueError
from wengert.core.primitive import TABLE
from wengert.core.spec import Spec
from wengert.graph.graph import Graph
from wengert.graph.ir import Constant, Input, Operation, make_operation
from wengert.transforms.tracing import trace

F64 = np.dtype(np.float64)


def graph_of_two() -> Graph:
    x, y = Input(Spec((3,), F64), name="x"), Input(Spec((3,), F64), name="y")
    return Graph([x, y], [make_operation(TABLE["sin"], [make_operation(TABLE["multiply"], [x, y])])])


def test_a_right_graph_is_returned():
    graph = graph_of_two()
    assert graph.validate() is graph


@by_operation(
    ("primitive", "args", "params"),
    [
        *[pytest.param(p, sample(p, SHAPES["broadcast"]), p.trial.params, id=p.name) for p in ELEMENTWISE],
        *[
            pytest.param(p, case_arguments(c), c.params, id=f"{p.name}-{k}")
            for p in OTHERS
            for k, c in enumerate(p.trial.cases)
        ],
    ],
)
def test_what_is_traced_is_right(primitive, args, params):
    try:
        graph = trace(op_of(primitive, params), *args)
    except TrackedValueError:
        return  # its shape depends on numbers
    assert graph.validate() is graph


def test_derivatives_are_right():
    def f(x):
        y = np.split(x[1:] @ x[1:].T, 2)
        return np.tanh(y[0]).sum() * np.std(x)

    trace(wg.hessian(f), np.ones((3, 2))).validate()


def test_an_input_that_is_not_taken():
    graph = graph_of_two()
    with pytest.raises(ValueError, match=r"Node %1 \(input y\) is an input that the graph does not take"):
        Graph(graph.inputs[:1], graph.outputs).validate()


def test_an_input_that_is_there_twice():
    graph = graph_of_two()
    with pytest.raises(ValueError, match="Input 2 of this graph, x, is there twice"):
        Graph([*graph.inputs, graph.inputs[0]], graph.outputs).validate()


def test_an_input_that_is_no_input():
    graph = graph_of_two()
    with pytest.raises(ValueError, match="Input 0 of this graph is a Constant"):
        Graph([Constant(1.0)], graph.outputs).validate()


def test_a_value_that_is_used_before_it_is_made():
    graph = graph_of_two()
    product, sine = graph.operations
    sine.sequence, product.sequence = product.sequence, sine.sequence
    with pytest.raises(ValueError, match=r"Node %2 \(sin\) uses argument 0 \(f64\[3\]\) before it is made"):
        graph.with_outputs(graph.outputs).validate()


@pytest.mark.parametrize("spec", [Spec((4,), F64), Spec((3,), np.dtype(np.float32))])
def test_a_wrong_spec(spec):
    graph = graph_of_two()
    sine = Operation(TABLE["sin"], (graph.operations[0],), {}, spec)
    with pytest.raises(ValueError, match=r"Node %3 \(sin\) says f(64|32)\[[34]\], but it is f64\[3\]"):
        graph.with_outputs([sine]).validate()


def test_shapes_that_do_not_fit():
    graph = graph_of_two()
    other = Constant(np.ones(4))
    with pytest.raises(ValueError, match=r"Node %4 \(add\) cannot be computed"):
        graph.with_outputs([Operation(TABLE["add"], (graph.operations[0], other), {}, Spec((3,), F64))]).validate()


def test_a_constant_whose_value_has_changed():
    graph = graph_of_two()
    constant = Constant(np.ones(3))
    changed = graph.with_outputs([make_operation(TABLE["add"], [graph.outputs[0], constant])]).validate()
    constant.value = np.ones(4)
    with pytest.raises(ValueError, match=r"\(constant\) says f64\[3\], but its value is f64\[4\]"):
        changed.validate()


def test_a_shape_that_differs_from_the_spec():
    graph = graph_of_two()
    graph.operations[0].shape = (2,)
    with pytest.raises(ValueError, match=r"Node %2 \(multiply\) has shape \(2,\)"):
        graph.validate()


def test_an_output_that_does_not_exist():
    graph = trace(lambda x: np.split(x, 2), np.ones(4))
    graph.operations[1].params["index"] = 5
    with pytest.raises(ValueError, match=r"\(output\) picks output 5"):
        graph.validate()


def test_the_line_of_the_user_is_named():
    def f(x):
        return np.sin(x)

    graph = trace(f, np.ones(2))
    graph.operations[0].spec = Spec((3,), F64)
    with pytest.raises(ValueError, match=rf"test_validation.py:{f.__code__.co_firstlineno + 1} says"):
        graph.validate()

import numpy as np
import pytest
from hypothesis import given, settings
from tests.graph.passes.programs import SPECIAL, assert_same_bits, names, programs

import wengert as wg
from wengert.core import machine, native
from wengert.core.primitive import TABLE
from wengert.core.spec import Spec
from wengert.graph.graph import Graph
from wengert.graph.ir import Constant, Input, make_constant, make_operation
from wengert.graph.passes.fold import fold
from wengert.transforms.tracing import trace


def of_constant(value, *steps):
    """A graph of operations on one constant, added to an input of the same shape in the end."""
    node = value if isinstance(value, Constant) else make_constant(value)
    for name, params in steps:
        node = make_operation(TABLE[name], [node], **params)
    given = Input(node.spec, name="x")
    return Graph([given], [make_operation(TABLE["add"], [given, node])])


def test_operations_on_constants_become_constants():
    graph = of_constant(
        np.array([1.0, 2.0, 3.0]), ("exp", {}), ("negative", {}), ("sum", {"axis": (0,), "keepdims": False})
    )
    after = fold(graph)
    assert names(graph) == ["exp", "negative", "sum", "add"]
    assert names(after) == ["add"]
    assert_same_bits(graph.evaluate(np.float64(2.0)), after.evaluate(np.float64(2.0)))


def test_numpy_computes_what_is_folded(monkeypatch):
    """So a program does not depend on what ran before, nor is native code made for a machine that is exported to."""
    calls: list[str] = []
    monkeypatch.setattr(native, "run_natively", lambda primitive, *_: calls.append(primitive.name))
    x = np.linspace(0.0, 1.0, machine.current.min_elements_of_native_wide_function)
    after = fold(of_constant(x, ("exp", {}), ("sum", {"axis": (0,), "keepdims": False})))
    assert names(after) == ["add"]
    assert calls == []
    TABLE["exp"].op(x)
    assert calls == ["exp"]


def test_special_numbers_are_folded_without_warnings():
    graph = of_constant(np.array(SPECIAL), ("log", {}), ("sqrt", {}), ("reciprocal", {}))
    after = fold(graph)
    assert names(after) == ["add"]
    assert_same_bits(graph.evaluate(np.zeros(len(SPECIAL))), after.evaluate(np.zeros(len(SPECIAL))))


def test_weak_numbers_stay_weak():
    x = Input(Spec((3,), np.dtype(np.float32)))
    number = make_operation(TABLE["multiply"], [Constant(2.0), Constant(0.25)])
    number.weak = float
    after = fold(Graph([x], [make_operation(TABLE["multiply"], [x, number])]))
    assert names(after) == ["multiply"]
    (folded,) = after.constants
    assert folded.weak is float
    assert folded.value == 0.5
    assert after.outputs[0].dtype == np.float32


@pytest.mark.parametrize("shape", [(10,), (1000, 1000)])
def test_broadcasting_stays_an_operation(shape):
    after = fold(of_constant(np.float64(2.0), ("exp", {}), ("broadcast_to", {"shape": shape})))
    assert names(after) == ["broadcast_to", "add"]
    assert sum(c.nbytes for c in after.constants) == 8


def test_arrays_of_one_number_become_that_number():
    graph = trace(lambda x: x * np.full((300, 300), 7.0), np.ones((300, 300)))
    after = fold(graph)
    assert sum(c.nbytes for c in graph.constants) == 720_000
    assert sum(c.nbytes for c in after.constants) == 8
    x = np.random.default_rng(0).normal(size=(300, 300))
    assert_same_bits(graph.evaluate(x), after.evaluate(x))


def test_zeros_of_different_signs_are_different_numbers():
    mixed = np.array([0.0, -0.0])
    assert fold(trace(lambda x: x + mixed, np.ones(2))).constants[0].shape == (2,)


def test_constants_do_not_grow_without_bound():
    data = np.arange(100_000.0)
    outputs = [make_operation(TABLE[name], [make_constant(data)]) for name in ("sin", "cos", "exp", "tanh", "square")]
    data_node = outputs[0].args[0]
    graph = Graph([], [make_operation(out.primitive, [data_node]) for out in outputs])
    after = fold(graph)
    assert sum(c.nbytes for c in after.constants) <= 2 * data.nbytes + machine.current.max_bytes_of_folded_constants
    assert names(after) == names(graph)
    assert_same_bits(graph.evaluate(), after.evaluate())


def test_captured_values_are_not_folded():
    captured = wg.tensor(np.array([1.0, 2.0]), requires_grad=True)
    graph = of_constant(Constant(captured), ("exp", {}))
    assert fold(graph) is graph


def test_errors_of_numbers_are_left_to_the_run():
    (read,) = trace(lambda x, i: x[i], np.ones(3), np.array([0, 1])).operations
    graph = Graph(
        [],
        [
            make_operation(
                read.primitive, [make_constant(np.arange(3.0)), make_constant(np.array([0, 7]))], **read.params
            )
        ],
    )
    assert fold(graph) is graph
    with pytest.raises(IndexError):
        graph.evaluate()


def test_nothing_to_fold_is_the_graph_itself():
    graph = trace(lambda x: np.sin(x) * 2.0, np.ones(3))
    assert fold(graph) is graph


@settings(max_examples=60)
@given(programs())
def test_random_programs_keep_their_bits(program):
    x, y = np.array(SPECIAL[:8]).reshape(2, 4), np.array(SPECIAL[-4:])
    graph = trace(program, x, y)
    assert_same_bits(graph.evaluate(x, y), fold(graph).evaluate(x, y))

"""Graphs with loops and choices as data: text, checks, costs, equality, pickles and copies."""

from __future__ import annotations

import copy
import json
import os
import pickle
import subprocess
import sys

import numpy as np
import pytest

import wengert as wg
from wengert.control.branches import SWITCH
from wengert.control.loop import LOOP, Shape
from wengert.core.primitive import OUTPUT, TABLE
from wengert.core.spec import Spec
from wengert.graph.graph import Graph
from wengert.graph.ir import Constant, Input, Node, Operation, make_operation
from wengert.graph.passes.subexpressions import merge_common
from wengert.ops.elementwise.arithmetic import add, multiply
from wengert.ops.elementwise.predicates import less

F8 = np.dtype(float)
NUMBER, VECTOR = Spec((), F8), Spec((3,), F8)
THREE = Shape(0, 1, 3)


def scan(x, w):
    return wg.scan(lambda h, u: (wg.tanh(h * w + u), h.sum()), x, np.arange(15.0).reshape(5, 3))


def body_of(function, *specs) -> Graph:
    inputs = [Input(spec) for spec in specs]
    return Graph(inputs, function(*inputs))


def on(operation, *nodes: Node) -> Operation:
    return make_operation(operation.primitive, nodes)


def loop(operands, body, condition=None, shape=THREE) -> Graph:
    params = {"body": body, "condition": condition, "shape": shape}
    rows = [Spec((shape.length, *y.shape), y.dtype) for y in body.outputs[shape.states :]]
    node = Operation(LOOP, tuple(operands), params, (*[y.spec for y in body.outputs[: shape.states]], *rows))
    inputs = [a for a in operands if isinstance(a, Input)]
    return Graph(inputs, [make_operation(OUTPUT, [node], index=0)])


# Text


def test_a_loop_is_printed_with_its_step_below_it():
    def f(x, w):
        h = wg.scan(lambda h, u: (h * w + u, h), x, np.array([1.0, 2.0]))[0]
        return h * 2.0

    assert (
        str(wg.trace(f, 1.0, 2.0)).split("\n", 3)[3]
        == """%3: (f64[], f64[2]) = loop %1 %0 %2
  step, 2 times:
    %3.0 w: f64[] = operand %1
    %3.1 h: f64[] = state %0
    %3.2 u: f64[] = slice of %2
    %3.3: f64[] = multiply %3.1 %3.0
    %3.4: f64[] = add %3.3 %3.2
    next %3.4; output %3.1
%4: f64[] = output %3 index=0
%5: float = constant 2.0
%6: f64[] = multiply %4 %5
return %6"""
    )


def test_conditions_branches_and_loops_back_are_printed():
    text = str(wg.trace(wg.grad(lambda x: wg.while_loop(lambda s: s < 100.0, lambda s: s * s * x, x)), 2.0))
    assert "  condition:\n" in text
    assert "    while %1." in text
    assert ": f64[?] = output %1 index=1" in text
    assert "  step, %3 times, last slice first:\n" in text
    text = str(wg.trace(lambda x: wg.cond(x > 0, lambda x: wg.cond(x > 1, wg.sin, wg.cos, x), wg.exp, x), 2.0))
    assert "  branch 1:\n" in text
    assert "      branch 0:\n        " in text


# Soundness


def test_sound_graphs_pass():
    x, xs = Input(NUMBER), Input(VECTOR)
    body = body_of(lambda s, u: [on(add, s, u), s], NUMBER, NUMBER)
    loop([x, xs], body).validate()


def test_a_step_that_takes_another_number_of_values_is_found():
    body = body_of(lambda s, u: [on(add, s, u)], NUMBER, NUMBER)
    with pytest.raises(ValueError, match=r"%1 \(loop\) passes 1 values to its step, which takes 2"):
        loop([Input(NUMBER)], body).validate()


def test_an_operand_of_another_spec_is_found():
    body = body_of(lambda s: [on(add, s, s)], NUMBER)
    with pytest.raises(ValueError, match=r"passes f64\[3\] to its step, whose input 0 \(state\) is f64\[\]"):
        loop([Input(VECTOR)], body).validate()


def test_a_state_that_changes_is_found():
    body = body_of(lambda s, u: [on(add, s, u)], NUMBER, VECTOR)
    with pytest.raises(ValueError, match=r"changes state 0 from f64\[\] to f64\[3\] in its step"):
        loop([Input(VECTOR), Input(NUMBER)], Graph(body.inputs[::-1], body.outputs), shape=Shape(1, 1, 3)).validate()


def test_a_sequence_of_another_length_is_found():
    body = body_of(lambda s, u: [on(add, s, u)], NUMBER, NUMBER)
    with pytest.raises(ValueError, match=r"takes f64\[3\] as a sequence, but makes 4 steps"):
        loop([Input(NUMBER), Input(VECTOR)], body, shape=Shape(0, 1, 4)).validate()
    with pytest.raises(ValueError, match=r"takes f64\[\] as a sequence, but makes 4 steps"):
        loop([Input(NUMBER), Input(NUMBER)], body, shape=Shape(0, 1, 4)).validate()


def test_a_condition_that_is_no_boolean_is_found():
    body = body_of(lambda s: [on(add, s, s)], NUMBER)
    with pytest.raises(ValueError, match=r"goes on by a f64\[\], and not by one boolean"):
        loop([Input(NUMBER)], body, body, Shape(0, 1, None)).validate()
    rows = body_of(lambda s: [on(add, s, s)], VECTOR)
    test = body_of(lambda s: [on(less, s, s)], VECTOR)
    with pytest.raises(ValueError, match=r"goes on by a bool\[3\], and not by one boolean"):
        loop([Input(VECTOR)], rows, test, Shape(0, 1, None)).validate()


def test_a_number_of_steps_that_is_no_integer_is_found():
    body = body_of(lambda s: [on(add, s, s)], NUMBER)
    with pytest.raises(ValueError, match=r"takes as its number of steps a f64\[\]"):
        loop([Input(NUMBER), Input(NUMBER)], body, shape=Shape(0, 1, None)).validate()


def test_branches_with_different_results_are_found():
    branches = body_of(lambda x: [on(add, x, x)], NUMBER), body_of(lambda x: [Constant(np.ones(3))], NUMBER)
    node = make_operation(SWITCH, [Constant(np.int64(0)), x := Input(NUMBER)], branches=branches)
    graph = Graph([x], [make_operation(OUTPUT, [node], index=0)])
    with pytest.raises(
        ValueError, match=r"has the results \[f64\[3\]\] in its branch 1, and \[f64\[\]\] in its branch 0"
    ):
        graph.validate()


def test_what_is_wrong_inside_a_body_is_found():
    s = Input(NUMBER)
    wrong = Operation(add.primitive, (s, s), {}, Spec((), np.dtype(int)))
    inner = loop([Input(NUMBER)], Graph([s], [on(multiply, s, wrong)]))
    outer = loop([Input(NUMBER)], inner)
    with pytest.raises(ValueError, match=r"Node %1.1.1 \(add\) says i64\[\], but it is f64\[\]"):
        outer.validate()
    assert "%1.1.1: i64[] = add %1.1.0 %1.1.0" in str(outer)


# Costs


def test_steps_count_as_often_as_they_run():
    stats = wg.trace(lambda x: wg.fori_loop(0, 7, lambda i, s: s * x + i, x), np.ones(3)).stats()
    assert stats.by_name == {"add": 14, "multiply": 7, "loop": 1, "output": 1}
    assert stats.operations == 23
    assert stats.flops == 7 * (2 * 3 + 1)  # the counter is a number
    nested = wg.trace(
        lambda x: wg.fori_loop(0, 7, lambda i, s: wg.fori_loop(0, 5, lambda j, s: s * x, s), x), np.ones(3)
    )
    assert nested.stats().by_name["multiply"] == 35


def test_one_branch_counts():
    stats = wg.trace(lambda x: wg.cond(x[0] > 0, lambda x: x * x * x, wg.sin, x), np.ones(3)).stats()
    assert stats.by_name["multiply"] == 2
    assert "sin" not in stats.by_name


def test_a_loop_of_unknown_length_counts_one_step():
    stats = wg.trace(wg.grad(lambda x: wg.while_loop(lambda s: s < 9.0, lambda s: s * s, x)), 2.0).stats()
    assert stats.flops > 0
    assert stats.bytes_written > 0
    assert stats.peak_memory > 0


# Identity


def test_bodies_that_differ_make_graphs_that_differ():
    def f(operation):
        return wg.trace(lambda x: wg.scan(lambda s, u: (operation(s, u), s), x, np.ones(5)), 1.0)

    assert f(wg.add) == f(lambda s, u: s + u)
    assert hash(f(wg.add)) == hash(f(wg.add))
    assert f(wg.add) != f(wg.multiply)


def test_a_number_deep_inside_makes_a_difference():
    def f(c):
        inner = lambda s: wg.fori_loop(0, 3, lambda j, s: s * c, s)
        return wg.trace(lambda x: wg.fori_loop(0, 2, lambda i, s: inner(s), x), 1.0)

    assert f(2.0) == f(2.0)
    assert f(2.0) != f(3.0)


def test_equal_loops_are_merged_and_others_are_not():
    def f(x):
        return (
            wg.fori_loop(0, 5, lambda i, s: s * 2.0, x)
            + wg.fori_loop(0, 5, lambda j, a: a * 2.0, x)
            + wg.fori_loop(0, 5, lambda i, s: s * 3.0, x)
        )

    merged = merge_common(wg.trace(f, 1.5))
    assert sum(node.primitive is LOOP for node in merged.operations) == 2
    assert merged.evaluate(1.5) == f(1.5)


@pytest.mark.parametrize("again", [lambda g: pickle.loads(pickle.dumps(g)), copy.copy, copy.deepcopy])
def test_pickles_and_copies(again):
    x = np.array([0.1, 0.2, 0.3])
    for f in (scan, wg.grad(lambda x, w: scan(x, w)[1].sum()), lambda x, w: wg.cond(x[0] > 0, scan, scan, x, w)):
        graph = wg.trace(f, x, x)
        restored = again(graph)
        assert restored == graph
        assert str(restored) == str(graph)
        for y, z in zip(restored.run([x, x]), graph.run([x, x]), strict=True):
            np.testing.assert_array_equal(y, z)


def test_the_fingerprint_is_the_same_in_another_process():
    code = (
        "import wengert as wg, numpy as np; "
        "print(wg.trace(wg.grad(lambda x: wg.scan(lambda s, u: (s * s + u, s), x, np.ones(5))[0]), 1.0).fingerprint)"
    )
    found = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(found) == 1


PROGRAM = """
import json
import numpy as np
import wengert as wg

f = wg.compile(wg.value_and_grad(lambda x: wg.scan(lambda s, u: (wg.sin(s) * u, s), x, np.arange(5.0) + FACTOR)[0]))
value, gradient = f(2.0)
print(json.dumps([f.report(2.0).is_warm, float(value), float(gradient)]))
"""


def test_a_second_process_compiles_nothing(tmp_path):
    environment = {**os.environ, "WENGERT_CACHE_DIR": str(tmp_path)}

    def run(factor: str) -> list:
        command = [sys.executable, "-c", PROGRAM.replace("FACTOR", factor)]
        return json.loads(subprocess.run(command, env=environment, capture_output=True, check=True).stdout)

    cold, *first = run("1.0")
    warm, *second = run("1.0")
    assert (cold, warm) == (False, True)
    assert first == second
    assert run("2.0")[0] is False


def test_a_program_with_the_users_own_operation_in_a_loop_is_not_kept(tmp_path, monkeypatch):
    monkeypatch.setenv("WENGERT_CACHE_DIR", str(tmp_path))
    cube = wg.primitive("cube_in_a_loop", lambda x: x * x * x, lambda t, x: t * (3.0 * x * x), kind="elementwise")
    del TABLE["cube_in_a_loop"]  # the table is that of all tests
    f = wg.compile(lambda x: wg.fori_loop(0, 2, lambda i, s: cube(s), x))
    assert f(1.5) == (1.5**3) ** 3
    assert not list(tmp_path.iterdir())


def test_compiled_functions_are_pickled_with_their_loops():
    f = wg.compile(powers)
    assert pickle.loads(pickle.dumps(f))(1.5) == f(1.5) == powers(1.5)


def powers(x):
    return wg.fori_loop(0, 3, lambda i, s: s * x, x)

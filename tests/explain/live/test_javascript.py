"""The numbers of the page are those of Python: every operation of the table that has a form in JavaScript."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.explain.live.node import assert_same, needs_node, run_programs

import wengert
from wengert.core.infer import is_elementwise
from wengert.core.primitive import TABLE, Primitive
from wengert.core.spec import Spec
from wengert.explain.live.javascript import CodeWriter, NoForm, javascript, literal
from wengert.explain.live.program import LiveProgram, write_program
from wengert.explain.tables.numbers import format_number
from wengert.graph.ir import Input
from wengert.modes.forward import push
from wengert.modes.symbolic import Symbol

POINTS = 20
SCALAR = [p for p in TABLE.values() if is_elementwise(p) and p.trial.domain and javascript.of(p) is not None]
ORDERS = dict.fromkeys(("jv", "yv", "iv", "kv", "kve"), ((0.0, 0.5, 1.0, 2.0, 3.7), (0.3, 4.0))) | {
    "polygamma": ((0.0, 1.0, 2.0, 3.0), (0.2, 4.0)),
    "zeta": ((1.5, 2.0, 4.0), (0.2, 4.0)),
}
"""Functions with an order: the orders, and the interval of the argument."""
COMPLEX = "its derivative is complex"
SECOND = "its derivative is a second one with respect to a parameter"
NO_DERIVATIVE = {"angle": COMPLEX, "odd_integral": SECOND}


def draw_points(primitive: Primitive) -> list[list[float]]:
    """Points inside the domain of an operation; integers and booleans where it needs them."""
    rng = np.random.default_rng(7)
    domain = primitive.trial.domain
    spans = [domain[i] if isinstance(domain[0], tuple) else domain for i in range(len(primitive.inputs))]
    return [
        [
            float(rng.uniform() < 0.5) if name == "condition" else float(rng.uniform(*span))
            for name, span in zip(primitive.inputs, spans, strict=True)
        ]
        for _ in range(POINTS)
    ]


class Trial:
    """The program of an operation and of its derivatives with respect to each argument, and what they should give."""

    def __init__(self, primitive: Primitive, points: list[list[float]], constants: int = 0):
        self.name, self.points, params = primitive.name, points, dict(primitive.trial.params)
        kinds = [np.dtype(bool if name == "condition" else float) for name in primitive.inputs]
        given = [Input(Spec((), kind)) for kind in kinds]
        symbols = [Symbol(x) for x in given]
        live = [
            i
            for i, kind in enumerate(kinds)
            if kind.kind == "f" and i >= constants and i not in primitive.constants and primitive.keep is not None
        ]
        live = [] if primitive.kind == "nondifferentiable" or primitive.name in NO_DERIVATIVE else live
        seeds = [[np.float64(1.0) if i == k else None for i in range(len(kinds))] for k in live]

        def run(args: list[Any]) -> list[Any]:
            out = primitive.op(*args, **params)
            return [out, *[push(primitive, args, seed, out, params) for seed in seeds]]

        self.program: LiveProgram = write_program(given, run(symbols))
        with np.errstate(all="ignore"):
            self.expected = [
                [float(y) for y in run([kind.type(x) for kind, x in zip(kinds, at, strict=True)])] for at in points
            ]


@needs_node
def test_the_scalar_table_is_the_same_in_the_page():
    trials = [Trial(p, draw_points(p)) for p in SCALAR]
    for name, (orders, (low, high)) in ORDERS.items():
        xs = np.linspace(low, high, POINTS)
        trials.append(Trial(TABLE[name], [[orders[i % len(orders)], float(x)] for i, x in enumerate(xs)], constants=1))
    assert len(trials) > 130
    assert not {t.name: t.program.reason for t in trials if not t.program.source}
    found = run_programs([t.program.source for t in trials], [t.points for t in trials])
    for trial, results in zip(trials, found, strict=True):
        for at, outs, expected in zip(trial.points, results, trial.expected, strict=True):
            assert_same(outs, expected, f"{trial.name} at {at}")


INTEGERS = {
    "bitwise_and": 2, "bitwise_or": 2, "bitwise_xor": 2, "left_shift": 2, "right_shift": 2, "gcd": 2, "lcm": 2,
    "invert": 1, "bitwise_count": 1,
}  # fmt: skip
"""Operations on integers, and how many they take."""


@needs_node
def test_operations_on_integers_are_the_same_in_the_page():
    rng, programs, points, expected = np.random.default_rng(3), [], [], []
    for name, count in INTEGERS.items():
        given = [Input(Spec((), np.dtype(np.int64))) for _ in range(count)]
        programs.append(write_program(given, [TABLE[name].op(*map(Symbol, given))]).source)
        points.append([[int(n) for n in rng.integers(0, 20, count)] for _ in range(POINTS)])
        expected.append([float(TABLE[name].op(*map(np.int64, at))) for at in points[-1]])
    for name, found, wanted in zip(INTEGERS, run_programs(programs, points), expected, strict=True):
        assert_same(found, wanted, name)


@needs_node
def test_the_hypergeometric_function_is_the_same_in_the_page():
    rng = np.random.default_rng(5)
    at = [[*map(float, rng.uniform(0.3, 3.0, 3)), float(rng.uniform(-3.0, 0.8))] for _ in range(POINTS)]
    trial = Trial(TABLE["hyp2f1"], at, constants=3)
    (results,) = run_programs([trial.program.source], [at])
    for point, outs, expected in zip(at, results, trial.expected, strict=True):
        assert_same(outs, expected, f"hyp2f1 at {point}")


def array_programs() -> dict[str, tuple[Any, list[Any]]]:
    """Functions of arrays, with their arguments."""
    rng = np.random.default_rng(2)
    x, w, v = rng.normal(size=(3, 4)), rng.normal(size=(4, 2)), rng.normal(size=4)
    return {
        "matmul": (lambda x, w: x @ w, [x, w]),
        "matrix and vector": (lambda x, v: x @ v, [x, v]),
        "vectors": (lambda v: np.dot(v, v), [v]),
        "einsum": (lambda x, w: np.einsum("ij,jk->ki", x, w), [x, w]),
        "broadcasting": (lambda x, v: np.exp(x * 0.1) + v - 2.0, [x, v]),
        "sums": (lambda x: np.sum(x, axis=0) + np.mean(x), [x]),
        "moves": (lambda x: np.concatenate([x.T[1:].ravel(), x[::-1, 0]]), [x]),
        "cumsum": (lambda v: np.cumsum(v)[::-1] + np.cumprod(v), [v]),
        "extrema": (lambda x: np.max(x, axis=1) - np.min(x) + np.prod(x, axis=1), [x]),
        "softmax": (lambda x: wengert.special.softmax(x, axis=1), [x]),
        "logsumexp": (lambda x: wengert.logsumexp(x, axis=0), [x]),
        "norms": (lambda v: np.linalg.norm(v) + np.linalg.norm(v, 1) + np.linalg.norm(v, np.inf), [v]),
        "convolve": (lambda v, u: np.convolve(v, u), [v, v[:3].copy()]),
        "where": (lambda x: np.where(x > 0.1, x, -x).sum(), [x]),
    }


@needs_node
@pytest.mark.parametrize("name", array_programs())
def test_operations_on_arrays_are_the_same_in_the_page(name):
    function, args = array_programs()[name]
    graph = wengert.trace(function, *args)
    program = write_program(graph.inputs, [Symbol(out) for out in graph.outputs])
    assert program.source, program.reason
    ((found,),) = run_programs([program.source], [[[np.ravel(a).tolist() for a in args]]])
    assert_same(found[0], function(*args), name)


@needs_node
def test_the_page_prints_numbers_like_the_tables():
    rng = np.random.default_rng(4)
    xs = [*(10.0 ** rng.uniform(-7, 9, 400) * rng.choice([-1, 1], 400)), *np.arange(-20, 20) / 16, 0.1 + 0.2, 1e6, -0.0]
    script = Path(wengert.__file__).parent / "explain" / "page" / "assets" / "numbers.js"
    (found,) = run_programs(
        ["((...xs) => xs.map((x) => formatNumber(x)))"], [[[float(x) for x in xs]]], script.read_text(), str
    )
    assert found[0] == [format_number(float(x)) for x in xs]


def test_float32_is_rounded_like_in_python():
    x = Input(Spec((), np.dtype(np.float32)), name="x")
    assert "Math.fround" in write_program([x], [wengert.sin(Symbol(x))]).source


def test_what_has_no_form_says_why():
    graph = wengert.trace(lambda a: wengert.linalg.inv(a), np.eye(2))
    program = write_program(graph.inputs, [Symbol(out) for out in graph.outputs])
    assert not program.source
    assert "inv has no JavaScript" in program.reason
    many = Input(Spec((1000,), np.dtype(float)))
    assert "more than 512 elements" in write_program([many], [Symbol(many) * 2.0]).reason
    complex_number = Input(Spec((), np.dtype(complex)))
    assert "complex" in write_program([complex_number], [Symbol(complex_number) * 2.0]).reason


def test_computed_indices_have_no_form():
    def f(x):
        return wengert.sort(x)

    graph = wengert.trace(f, np.arange(3.0))
    program = write_program(graph.inputs, [Symbol(out) for out in graph.outputs])
    assert program.reason


def test_a_new_operation_of_arithmetic_needs_nothing():
    from wengert.core.kinds import elementwise

    cube = elementwise("cube_for_this_test", lambda x: x * x * x - 1.0 / x, lambda t, x: t * (3.0 * x * x))
    try:
        x = Input(Spec((), np.dtype(float)), name="x")
        assert "(((x0 * x0) * x0) - (1 / x0))" in write_program([x], [cube(Symbol(x))]).source
    finally:
        del TABLE["cube_for_this_test"]


@pytest.mark.parametrize(
    ("number", "text"),
    [(1.0, "1"), (-2.5, "(-2.5)"), (np.inf, "Infinity"), (-np.inf, "(-Infinity)"), (-0.0, "(-0.0)"), (1e300, "1e+300")],
)
def test_literals(number, text):
    assert literal(number) == text
    assert literal([number, [number]]) == f"[{text},[{text}]]"


def test_forms_refuse_complex_constants():
    from wengert.graph.ir import Constant

    with pytest.raises(NoForm, match="complex"):
        CodeWriter().name(Constant(1j))


def test_every_function_of_the_runtime_is_used():
    """No dead code in the files of special functions."""
    folder = Path(wengert.__file__).parent / "explain" / "live"
    source = "\n".join(p.read_text() for p in folder.glob("assets/*.js"))
    entries = "\n".join(p.read_text() for p in folder.rglob("*.py"))
    names = re.findall(r"^(?:function|const) (\w+)", source, re.M)
    direct = {p.name for p in TABLE.values()}
    unused = [n for n in names if len(re.findall(rf"\b{n}\b", source)) < 2 and n not in entries and n not in direct]
    assert not unused

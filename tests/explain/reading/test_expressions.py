"""Formulas: their results beside NumPy, their errors, and the functions that they become."""

from __future__ import annotations

import gc
import inspect
import linecache
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import wengert as wg
from wengert.core.source import _TABLES
from wengert.explain.reading.expressions import DEEPEST, LONGEST, expression
from wengert.explain.reading.tokens import ExpressionError
from wengert.explain.reading.vocabulary import ALIASES, functions

X = np.array([0.3, -1.2, 2.5])
M = np.array([[1.0, 2.0], [-3.0, 0.5]])

MEANINGS = [
    ("x + 2*y - 3/y", lambda x, y: x + 2 * y - 3 / y),
    ("-x**2", lambda x: -(x**2)),
    ("2**-x**2", lambda x: 2 ** -(x**2)),
    ("x^3^0.5", lambda x: x ** (3**0.5) if np.all(x >= 0) else np.power(x, 3**0.5)),
    ("x - y - 1", lambda x, y: (x - y) - 1),
    ("x / y / 2 * 3", lambda x, y: ((x / y) / 2) * 3),
    ("-x*y", lambda x, y: (-x) * y),
    ("x - -y", lambda x, y: x + y),
    ("+x", lambda x: x),
    ("x % 2 + x // 2", lambda x: x % 2 + x // 2),
    ("(x + 1)*(x - 1)", lambda x: x * x - 1),
    ("where(x > 0, x, 0.1*x)", lambda x: np.where(x > 0, x, 0.1 * x)),
    ("where(x + 1 <= 2*y, 1, 0) * x", lambda x, y: np.where(x + 1 <= 2 * y, 1, 0) * x),
    ("max(x, y, 0.5)", lambda x, y: np.maximum(np.maximum(x, y), 0.5)),
    ("min(x, 0)", lambda x: np.minimum(x, 0)),
    ("2*pi*x + e", lambda x: 2 * np.pi * x + np.e),
    ("1.5e-2*x + .5 + 2.", lambda x: 0.015 * x + 2.5),
    ("π·x − x×2 ÷ 4", lambda x: np.pi * x - x * 2 / 4),
    ("2*x₁² + x₁⁻¹⁰ − x1⁰", lambda x: 2 * x**2 + x**-10.0 - 1),
    ("ln(x**2 + 1) + sigmoid(x) + relu(x)", lambda x: np.log(x * x + 1) + 1 / (1 + np.exp(-x)) + np.maximum(x, 0)),
    ("atan2(x, y) + hypot(x, y)", lambda x, y: np.arctan2(x, y) + np.hypot(x, y)),
    ("s = x*y; t = s + x; sin(t)*s", lambda x, y: np.sin(x * y + x) * x * y),
    ("a = x\nb = a*(\n  2)\nb", lambda x: x * 2),
    ("x = 2*x; x", lambda x: 2 * x),
]


@pytest.mark.parametrize(("text", "meaning"), MEANINGS, ids=[text for text, _ in MEANINGS])
def test_formulas_mean_what_they_mean_in_numpy(text, meaning):
    f = expression(text)
    for x, y in ((0.7, 1.3), (X, np.array([1.0, 2.0, -0.5]))):
        args = [x, y][: len(inspect.signature(f).parameters)]
        with np.errstate(invalid="ignore"):
            np.testing.assert_allclose(f(*args), meaning(*args), rtol=1e-13)


ARRAYS = [
    ("sum(x)", X.sum()),
    ("mean(x**2)", (X**2).mean()),
    ("max(x) - min(x)", np.ptp(X)),
    ("sum(m, axis=0)", M.sum(0)),
    ("max(m, axis=-1)", M.max(-1)),
    ("norm(x)", np.linalg.norm(X)),
    ("dot(x, x)", X @ X),
    ("x @ x", X @ X),
    ("m @ m", M @ M),
    ("x[0] + x[-1]", X[0] + X[-1]),
    ("x[1:] - x[:-1]", np.diff(X)),
    ("x[::2]", X[::2]),
    ("m[:, 0]", M[:, 0]),
    ("m[1, 0]", M[1, 0]),
    ("m[1][0]", M[1, 0]),
    ("[x[0], 2*x[1], 3]", np.array([X[0], 2 * X[1], 3])),
    ("[[1, 2], [3, 4]] @ [x[0], x[1]]", np.array([[1, 2], [3, 4]]) @ X[:2]),
    ("transpose(m)[0]", M.T[0]),
    ("(2*x)[1]", 2 * X[1]),
]


@pytest.mark.parametrize(("text", "value"), ARRAYS, ids=[text for text, _ in ARRAYS])
def test_arrays(text, value):
    f = expression(text, ["x", "m"])
    np.testing.assert_allclose(f(X, M), value, rtol=1e-14)


@pytest.mark.parametrize("name", sorted(functions()))
def test_every_function_can_be_called_and_differentiated(name):
    function = functions()[name]
    x = np.full(3, 1.25) if name in ("arccosh", "acosh") else np.array([0.2, 0.3, 0.6])
    names = ["x", "y", "z"][: function.arguments]
    args = [x, x + 0.1, x + 0.2][: function.arguments]
    f = expression(f"{name}({', '.join(names)})", names)
    np.testing.assert_array_equal(f(*args), getattr(wg, ALIASES.get(name, name), wg.linalg.norm)(*args))
    if np.asarray(f(*args)).dtype.kind == "f":
        assert wg.grad(lambda t: f(t, *args[1:]).sum() if name not in ("norm",) else f(t))(args[0]).shape == x.shape


def test_aliases():
    for alias, name in ALIASES.items():
        assert functions()[alias] == functions()[name]


# Any formula beside NumPy: the formula and its value are drawn together

NAMES = {"x": 0.7, "y": -1.3, "long_name": 2.25}
UNARY = {
    "sin": np.sin,
    "exp": lambda v: np.exp(v),
    "abs": np.abs,
    "tanh": np.tanh,
    "sqrt": np.sqrt,
    "ln": np.log,
    "-": np.negative,
}
BINARY = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.divide,
    "**": np.power,
    "^": np.power,
    "%": np.remainder,
}
POWERS = ("**", "^")


def numbers():
    exact = st.floats(0, 100, allow_nan=False).map(lambda v: (repr(v), np.float64(v), 9))
    return st.one_of(exact, st.integers(0, 20).map(lambda v: (str(v), np.float64(v), 9)))


def variables():
    return st.sampled_from(sorted(NAMES)).map(lambda name: (name, np.float64(NAMES[name]), 9))


def level_of(sign: str) -> int:
    return 4 if sign in POWERS else 2 if sign in "*/%" else 1


def bracketed(part, level):
    text, value, binds = part
    return (text, value) if binds >= level else (f"({text})", value)


def unary(drawn):
    name, part = drawn
    if name in ("sin", "cos", "tan") and not abs(part[1]) < 1000.0:
        name = "-"  # of a large angle they would magnify the last bit of a power
    if name == "-":
        text, value = bracketed(part, 3)
        return f"-{text}", UNARY["-"](value), 3
    return f"{name}({part[0]})", UNARY[name](part[1]), 9


def binary(drawn):
    sign, left, right, space = drawn
    level = level_of(sign)
    (a, x), (b, y) = (
        (bracketed(left, 5), bracketed(right, 3))
        if sign in POWERS
        else (bracketed(left, level), bracketed(right, level + 1))
    )
    return f"{a}{space}{sign}{space}{b}", BINARY[sign](x, y), level


FORMULAS = st.recursive(
    st.one_of(numbers(), variables()),
    lambda parts: st.one_of(
        st.tuples(st.sampled_from(sorted(UNARY)), parts).map(unary),
        st.tuples(st.sampled_from(sorted(BINARY)), parts, parts, st.sampled_from(["", " "])).map(binary),
    ),
    max_leaves=20,
)


@settings(max_examples=400)
@given(st.data())
def test_drawn_formulas_beside_numpy(data):
    with np.errstate(all="ignore"):
        text, value, _ = data.draw(FORMULAS)
        found = expression(text, list(NAMES))(*[np.float64(v) for v in NAMES.values()])
        np.testing.assert_allclose(found, value, rtol=1e-12, atol=1e-14, err_msg=text)


@settings(max_examples=300)
@given(st.text(alphabet="xy12.+-*/^()[],:;= sine<>@_\"'\n\\{}λ", max_size=30))
def test_any_text_is_a_formula_or_an_error_that_points(text):
    error = None
    try:
        expression(text)
    except ExpressionError as caught:
        error = caught
    if error is not None:
        assert 0 <= error.at <= len(text)
        line, carets = error.excerpt.split("\n")
        assert set(carets.strip()) == {"^"}
        assert len(carets) <= len(line) + 1


HOSTILE = [
    "__import__('os').system('true')",
    "__builtins__",
    "__name__",
    "x.__class__",
    "(1).__class__",
    "lambda: 1",
    "lambda x: x",
    "f'{x}'",
    "'text'",
    '"text"',
    "eval(x)",
    "exec(x)",
    "open(x)",
    "getattr(x, y)",
    "globals()",
    "x := 2",
    "[y for y in x]",
    "{1: 2}",
    "{x}",
    "*x",
    "sin(*x)",
    "sin(**x)",
    "x if y else 1",
    "not x",
    "x and y",
    "x is y",
    "x in y",
    "import os",
    "x; import os",
    "del x",
    "global x",
    "return x",
    "yield x",
    "await x",
    "None",
    "True",
    "x = None",
    "lambda = 2; lambda",
    "__x = 2; __x",
    "x[y]",
    "x[[0]]",
    "x[1.5]",
    "x[...]",
    "sin(x=2)",
    "sum(x, axis=y)",
    "sum(x, where=1)",
    "sum(x, axis=0, axis=1)",
    "x\\\ny",
    "x # comment",
    "`x`",
    "$x",
    "x!",
    "x\0",
    "~x",
    "x << 2",
    "x & y",
    "0 < x < 1",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_what_is_no_formula_is_refused(text):
    with pytest.raises(ExpressionError):
        expression(text)


def test_formulas_have_no_builtins():
    f = expression("x")
    assert f.__globals__["__builtins__"] == {}
    assert not any(callable(value) for value in f.__globals__.values() if value is not f)


@pytest.mark.parametrize(
    ("text", "value"),
    [("9**9**9**9", np.inf), ("1/0", np.inf), ("-1/0", -np.inf), ("10^10^10 * 0", np.nan), ("2**-1", 0.5)],
)
def test_numbers_are_floats_and_never_grow(text, value):
    np.testing.assert_equal(expression(text)(), value)


def test_huge_exponents_of_variables_overflow():
    with np.errstate(over="ignore"):
        assert expression("x**999999999999")(np.float64(9.0)) == np.inf


DEEP = [
    "(" * 10_000 + "x" + ")" * 10_000,
    "-" * 10_000 + "x",
    "x" + "[0]" * 10_000,
    "[" * 10_000 + "x" + "]" * 10_000,
    "2**" * 10_000 + "x",
    "sin(" * 10_000 + "x" + ")" * 10_000,
    "(" * 100_000,
    "+".join(["x"] * 10_000),
    f"max({', '.join(['x'] * 10_000)})",
]


@pytest.mark.parametrize("text", DEEP, ids=[text[:6] for text in DEEP])
def test_depth_is_bounded(text):
    with pytest.raises(ExpressionError, match="nested|in a row"):
        expression(text)


def test_what_is_below_the_bounds_compiles():
    deep = "x < 1 + 2*(" * (DEEPEST - 1) + "x" + ")" * (DEEPEST - 1)
    assert callable(expression(deep))
    chain = "+".join(["x"] * LONGEST)
    assert expression(chain)(1.0) == LONGEST


def test_a_program_that_is_nested_itself():
    def down(n):
        return down(n - 1) if n else expression("((((((((((x))))))))))")

    room = sys.getrecursionlimit() - len(inspect.stack())
    with pytest.raises(ExpressionError, match="nested"):
        down(room - 40)


ERRORS = [
    ("ln(x1) + x3", ["x1", "x2"], 9, 2, "'x3' has no value. Did you mean x2 or x1?"),
    ("sinn(x)", None, 0, 4, "no function 'sinn'. Did you mean sin"),
    ("Sin(x)", None, 0, 3, "Did you mean sin?"),
    ("x + sin", None, 4, 3, "write sin(x)"),
    ("2x", None, 1, 1, "operator is missing before 'x'"),
    ("x (y)", ["x", "y"], 0, 1, "'x' is a variable"),
    ("(x)(y)", None, 3, 1, "operator is missing before '('"),
    ("sin(x", None, 3, 1, "never closed"),
    ("x + y)", None, 5, 1, "closes nothing"),
    ("x +", None, 3, 1, "ends too early"),
    ("x + * y", None, 4, 1, "not expected here"),
    ("sin(x, y)", None, 0, 3, "sin takes 1 argument and was given 2"),
    ("where(x, y)", None, 0, 5, "where takes 3 arguments and was given 2"),
    ("x.T", None, 1, 1, "no attributes"),
    ("()", None, 0, 1, "hold one value"),
    ("[]", None, 0, 1, "empty"),
    ("", None, 0, 1, "empty"),
    ("x; y", None, 0, 1, "Give this one a name"),
    ("a = x\nb = $", None, 10, 1, "means nothing"),
]


@pytest.mark.parametrize(("text", "names", "at", "width", "message"), ERRORS, ids=[e[0] for e in ERRORS])
def test_errors_point_at_the_characters(text, names, at, width, message):
    with pytest.raises(ExpressionError) as caught:
        expression(text, names)
    error = caught.value
    assert message in error.message
    assert error.at == at
    line, carets = error.excerpt.split("\n")
    assert carets.count("^") == width
    start = text.rfind("\n", 0, at) + 1
    assert carets.index("^") == 2 + at - start
    assert line[2:] == text[start:].split("\n")[0] or not text


def test_long_formulas_are_shown_around_the_error():
    text = " + ".join(["x"] * 100) + " + $ + " + " + ".join(["x"] * 100)
    with pytest.raises(ExpressionError) as caught:
        expression(text)
    line, carets = caught.value.excerpt.split("\n")
    assert line[carets.index("^")] == "$"
    assert len(line) < 120
    assert line.startswith("  ...")
    assert line.endswith("...")


# As functions


def test_parameters_have_names_in_order():
    assert list(inspect.signature(expression("b*a + c")).parameters) == ["b", "a", "c"]
    assert list(inspect.signature(expression("b*a", ["a", "unused", "b"])).parameters) == ["a", "unused", "b"]
    assert expression("pi + e", ["e"])(0.0) == np.pi  # what is given is a variable
    assert expression("s = 2*w; max = s; max", ["w"])(1.5) == 3.0


def test_source_can_be_read():
    f = expression("s = x ^ 2;  sin(s) · 2")
    assert inspect.getsource(f) == "def f(x):\n    s = x ** 2\n    return sin(s) * 2\n"
    g = expression("s0 = w*x; L = exp(s0)")
    assert inspect.getsource(g).splitlines()[-1] == "    return L"
    assert inspect.getsource(f).startswith("def f(x)")


def test_source_is_kept_as_long_as_it_is_needed():
    f = expression("sin(x) * 2.5")
    filename = f.__code__.co_filename
    explanation = wg.explain(f, 1.0)
    del f
    gc.collect()
    assert explanation.steps[-1].code == "return sin(x) * 2.5"
    _TABLES.clear()
    del explanation
    gc.collect()
    assert filename not in linecache.cache


def test_columns_are_those_of_the_source():
    f = expression("λ·ln(λ) + y")
    line = inspect.getsource(f).splitlines()[1].encode()
    shown = {
        line[start:stop].decode() for row, _, start, stop in f.__code__.co_positions() if row == 2 and start is not None
    }
    assert {"ln(λ)", "λ*ln(λ)", "λ*ln(λ) + y"} <= shown


def test_derivatives():
    f = expression("ln(x1) + x1*x2 - sin(x2)")
    assert wg.grad(f, argnums=(0, 1))(2.0, 5.0) == pytest.approx((5.5, 2 - np.cos(5)))


def test_names_of_statements_are_seen():
    f = expression(
        "s0 = w0*x0; s1 = w1*x1; s2 = s0 + s1; s3 = s2 + w2; L = sigmoid(s3)", ["w0", "w1", "w2", "x0", "x1"]
    )
    explanation = wg.explain(f, 1.0, 2.0, 3.0, -1.0, -2.0)
    titles = [step.title for step in explanation.steps]
    assert titles == ["w0", "w1", "w2", "x0", "x1", "s0", "s1", "s2", "s3", "L"]
    (step,) = [step for step in explanation.steps if step.title == "s1"]
    assert (step.line, step.code) == (3, "s1 = w1*x1")

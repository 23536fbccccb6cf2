"""The tables of an explanation: line by line as textbooks print them, in text, Markdown, LaTeX and HTML."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import numpy as np
import pytest
from tests.counted_calls import assert_linear
from tests.explain.textbook import neuron, running

import wengert as wg
from wengert.explain.explanation import explain
from wengert.explain.tables.equations import Equations
from wengert.explain.tables.html_tables import write_fragment
from wengert.explain.tables.plain_text import write_text
from wengert.explain.tables.rows import backward_rows, bottom_up_rows, lay_out_tables


def loop(x):
    y = x
    for _ in range(3):
        y = np.sin(y) * x
    return y


class Model:
    scale = 3.0

    def layer(self, a, w):
        z = w @ a
        return squashed(z) * self.scale

    def __call__(self, x, w):
        return self.layer(self.layer(x, w), w).sum()


def squashed(z):
    e = np.tanh(z)
    return e  # noqa: RET504  # the name is what is tested


def long(x, rounds=100):
    for i in range(rounds):
        x = np.sin(x) * x + 0.01 * i
    return x


def evaluation(lines):
    return [str(lines.evaluation(step)) for step in lines.steps]


def adjoints(lines):
    return [str(row.make(lines).first) for row in backward_rows(lines)]


def test_evaluation_trace_of_the_running_example():
    assert evaluation(Equations(explain(running, 2.0, 5.0))) == [
        "v-1 = x1 = 2",
        "v0 = x2 = 5",
        "v1 = ln v-1 = ln 2 = 0.693",
        "v2 = v-1 × v0 = 2 × 5 = 10",
        "v3 = sin v0 = sin 5 = -0.959",
        "v4 = v1 + v2 = 0.693 + 10 = 10.693",
        "v5 = v4 - v3 = 10.693 + 0.959 = 11.652",
    ]


def test_tangent_trace_of_the_running_example():
    """Table 2 of Baydin et al. (2018)."""
    lines = Equations(explain(running, 2.0, 5.0, mode="forward"))
    assert [str(lines.tangent(step)) for step in lines.steps] == [
        "v̇-1 = 1",
        "v̇0 = 0",
        "v̇1 = v̇-1 / v-1 = 1 / 2 = 0.5",
        "v̇2 = v̇-1 · v0 + v̇0 · v-1 = 1 · 5 + 0 · 2 = 5",
        "v̇3 = v̇0 · cos v0 = 0 · cos 5 = 0",
        "v̇4 = v̇1 + v̇2 = 0.5 + 5 = 5.5",
        "v̇5 = v̇4 - v̇3 = 5.5 - 0 = 5.5",
    ]


def test_adjoint_trace_of_the_running_example():
    """Table 3 of Baydin et al. (2018), from its last line to its first."""
    assert adjoints(Equations(explain(running, 2.0, 5.0))) == [
        "v̄5 = 1",
        "v̄4 = v̄5 · 1 = 1 · 1 = 1",
        "v̄3 = v̄5 · (-1) = 1 · (-1) = -1",
        "v̄1 = v̄4 · 1 = 1 · 1 = 1",
        "v̄2 = v̄4 · 1 = 1 · 1 = 1",
        "v̄0 = v̄3 · cos v0 = -1 · cos 5 = -0.284",
        "v̄-1 = v̄2 · v0 = 1 · 5 = 5",
        "v̄0 = v̄0 + v̄2 · v-1 = -0.284 + 1 · 2 = 1.716",
        "v̄-1 = v̄-1 + v̄1 / v-1 = 5 + 1 / 2 = 5.5",
    ]


def test_side_by_side_each_operation_stands_beside_what_it_sends_back():
    lines = Equations(explain(running, 2.0, 5.0))
    rows = [row.make(lines) for row in bottom_up_rows(lines)]
    assert [
        (row.first and row.first.left, row.second and f"{row.second.left} = {row.second.value}") for row in rows
    ] == [
        ("v-1", None),
        ("v0", None),
        ("v1", "v̄-1 = 5.5"),
        ("v2", "v̄0 = 1.716"),
        (None, "v̄-1 = 5"),
        ("v3", "v̄0 = -0.284"),
        ("v4", "v̄2 = 1"),
        (None, "v̄1 = 1"),
        ("v5", "v̄3 = -1"),
        (None, "v̄4 = 1"),
        (None, "v̄5 = 1"),
    ]


def test_text_of_the_running_example():
    line = running.__code__.co_firstlineno + 1
    assert (
        f"\n{explain(running, 2.0, 5.0)}\n".replace(f"{line} ", "## ")
        == """
f(x1, x2) = 11.652

line        evaluation ↓                                   adjoints ↑
      v-1 = x1                            = 2
      v0  = x2                            = 5
##    v1  = ln v-1       = ln 2           = 0.693    v̄-1 = v̄-1 + v̄1 / v-1 = 5 + 1 / 2      = 5.5
##    v2  = v-1 × v0     = 2 × 5          = 10       v̄0  = v̄0 + v̄2 · v-1  = -0.284 + 1 · 2 = 1.716
                                                     v̄-1 = v̄2 · v0        = 1 · 5          = 5
##    v3  = sin v0       = sin 5          = -0.959   v̄0  = v̄3 · cos v0    = -1 · cos 5     = -0.284
##    v4  = v1 + v2      = 0.693 + 10     = 10.693   v̄2  = v̄4 · 1         = 1 · 1          = 1
                                                     v̄1  = v̄4 · 1         = 1 · 1          = 1
##    v5  = v4 - v3      = 10.693 + 0.959 = 11.652   v̄3  = v̄5 · (-1)      = 1 · (-1)       = -1
                                                     v̄4  = v̄5 · 1         = 1 · 1          = 1
                                                     v̄5                                    = 1

∂f/∂x1 = 5.5    ∂f/∂x2 = 1.716
""".replace("f(x1", "running(x1").replace("∂f", "∂running")
    )


def test_the_sigmoid_neuron_in_the_users_own_names():
    lines = Equations(explain(neuron, 1.0, 2.0, 3.0, -1.0, -2.0))
    assert evaluation(lines) == [
        "w0 = 1",
        "w1 = 2",
        "w2 = 3",
        "x0 = -1",
        "x1 = -2",
        "s0 = w0 × x0 = 1 × (-1) = -1",
        "s1 = w1 × x1 = 2 × (-2) = -4",
        "s2 = s0 + s1 = -1 - 4 = -5",
        "s3 = s2 + w2 = -5 + 3 = -2",
        "L = σ(s3) = σ(-2) = 0.119",
    ]
    assert adjoints(lines) == [
        "grad_L = 1",
        "grad_s3 = grad_L · L · (1 - L) = 1 · 0.119 · (1 - 0.119) = 0.105",
        "grad_s2 = grad_s3 · 1 = 0.105 · 1 = 0.105",
        "grad_w2 = grad_s3 · 1 = 0.105 · 1 = 0.105",
        "grad_s0 = grad_s2 · 1 = 0.105 · 1 = 0.105",
        "grad_s1 = grad_s2 · 1 = 0.105 · 1 = 0.105",
        "grad_w1 = grad_s1 · x1 = 0.105 · (-2) = -0.210",
        "grad_x1 = grad_s1 · w1 = 0.105 · 2 = 0.210",
        "grad_w0 = grad_s0 · x0 = 0.105 · (-1) = -0.105",
        "grad_x0 = grad_s0 · w0 = 0.105 · 1 = 0.105",
    ]
    first = neuron.__code__.co_firstlineno
    assert [lines.source_line(step) for step in lines.steps] == [""] * 5 + [str(first + i) for i in range(1, 6)]


def test_loops_count_their_rounds():
    lines = Equations(explain(loop, 2.0, mode="both"))
    assert [lines.formulas.name(step) for step in lines.steps] == ["x", "v1", "y[0]", "v3", "y[1]", "v5", "y[2]"]
    assert str(lines.evaluation(lines.steps[4])) == "y[1] = v3 × x = 0.969 × 2 = 1.939"
    assert str(lines.tangent(lines.steps[4])) == "d_y[1] = d_v3 · x + d_x · v3 = -0.0189 · 2 + 1 · 0.969 = 0.932"
    assert adjoints(lines)[-1] == "grad_x = grad_x + grad_v1 · cos x = 0.556 + 0.706 · cos 2 = 0.262"
    assert sum(line.startswith("grad_x = ") for line in adjoints(lines)) == 4


def test_helpers_and_methods_are_named_with_their_lines():
    lines = Equations(explain(Model(), np.array([1.0, 2.0]), np.array([[0.1, 0.2], [0.3, 0.4]])))
    assert [lines.formulas.name(step) for step in lines.steps] == [
        "x",
        "w",
        "z[0]",
        "e[0]",
        "v3",
        "z[1]",
        "e[1]",
        "v6",
        "v7",
    ]
    assert [lines.source_line(step).split(":")[0] for step in lines.steps[2:6]] == [
        "layer",
        "squashed",
        "layer",
        "layer",
    ]
    assert lines.source_line(lines.steps[3]) == f"squashed:{squashed.__code__.co_firstlineno + 1}"
    assert "grad_w = grad_w + grad_z[0] xᵀ" in " ".join(adjoints(lines))


def test_vectors_and_matrices():
    def f(x, w):
        h = np.tanh(w @ x)
        return h.sum()

    small = str(explain(f, np.array([1.0, 2.0]), np.array([[0.1, 0.2], [0.3, 0.4]])))
    assert "[[0.1, 0.2], [0.3, 0.4]] [1, 2]" in small
    assert "∂f/∂x = " in small
    large = str(explain(f, np.linspace(0.0, 1.0, 100), np.full((50, 100), 0.1)))
    assert "= f64[100] mean 0.5, from 0 to 1" in large
    assert "= f64[50,100] all 0.1" in large
    assert "wᵀ grad_v1" in large


@pytest.mark.parametrize("mode", ["reverse", "forward", "both"])
def test_text_fits_the_terminal(mode):
    for f, args in (
        (running, (2.0, 5.0)),
        (neuron, (1.0, 2.0, 3.0, -1.0, -2.0)),
        (Model(), (np.ones(2), np.ones((2, 2)) / 3)),
    ):
        for width in (60, 100):
            shown = write_text(explain(f, *args, mode=mode), width=width)
            assert max(len(re.sub("[\u0304\u0307]", "", line)) for line in shown.splitlines()) <= width
            assert all(line == line.rstrip() for line in shown.splitlines())


def test_colours_only_if_asked_for():
    explanation = explain(running, 2.0, 5.0)
    assert "\x1b" not in explanation.text()
    coloured = explanation.text(color=True)
    assert "\x1b[" in coloured
    plain = [line.rstrip() for line in re.sub(r"\x1b\[[\d;]*m", "", coloured).splitlines()]
    assert plain == explanation.text().splitlines()


def test_long_traces_show_their_ends():
    explanation = explain(long, 0.5)
    shown = explanation.text()
    assert shown.count("⋮") == 4  # a row and a note in each of two tables
    assert "392 lines are left out here (⋮): .markdown() has them all." in shown
    assert shown.count("steps 2 to 99 of 100") == 2
    assert len(shown.splitlines()) < 40
    assert "x[0]" in shown
    assert "x[99]" in shown
    assert "x[50]" not in shown
    whole = write_text(explanation, limit=None)
    assert "left out" not in whole
    assert all(f" x[{i}] " in whole for i in range(100))
    written = explanation.markdown()
    assert all(f"`x[{i}] = " in written for i in range(100))
    assert "left out" in write_fragment(explanation)


def test_a_weight_of_the_results_and_results_that_are_used():
    def f(x):
        y = np.exp(x)
        return y, y * x

    lines = Equations(explain(f, 1.0, seed=(2.0, 1.0)))
    assert adjoints(lines) == [
        "grad_y = 2",
        "grad_v2 = 1",
        "grad_y = grad_y + grad_v2 · x = 2 + 1 · 1 = 3",
        "grad_x = grad_v2 · y = 1 · 2.718 = 2.718",
        "grad_x = grad_x + grad_y · y = 2.718 + 3 · 2.718 = 10.873",
    ]
    assert lines.results() == [("grad_x", "10.873")]


def test_operations_of_several_results():
    def f(x):
        a, b = np.split(x, 2)
        return a * b

    lines = Equations(explain(f, np.array([1.0, 2.0]), mode="both"))
    assert [line.split(" = ")[-1] for line in evaluation(lines)] == ["[1, 2]", "([1], [2])", "[1]", "[2]", "[2]"]
    assert adjoints(lines)[-1] == "v̄0 = concatenate(v̄2, v̄3; axis = 0) = concatenate([2], [1]; axis = 0) = [2, 1]"
    assert [lines.tangent(step) is None for step in lines.steps] == [False, True, False, False, False]


def test_functions_without_operations():
    assert "∂f/∂x = 1" in str(explain(lambda x: x, 2.0))
    assert "∂f/∂x = 0, by no path" in str(explain(lambda x: 3.0, 2.0))


def test_what_the_derivative_of_the_arguments_is_called():
    assert Equations(explain(running, 2.0, 5.0)).results() == [("∂running/∂x1", "5.5"), ("∂running/∂x2", "1.716")]
    assert Equations(explain(running, 2.0, 5.0, mode="forward", seed=(0.0, 1.0))).results() == [
        ("∂running/∂x2", "1.716")
    ]
    assert Equations(explain(running, 2.0, 5.0, mode="forward", seed=(1.0, 1.0))).results() == [("drunning", "7.216")]
    assert Equations(explain(running, 2.0, 5.0, seed=2.0)).results() == [("grad_x1", "11"), ("grad_x2", "3.433")]


def test_markdown():
    written = explain(lambda x: np.abs(x) * x, -2.0).markdown()
    rows = [line for line in written.splitlines() if line.startswith("|")]
    bars = [len(re.findall(r"(?<!\\)\|", row)) for row in rows]
    assert set(bars) == {4}
    assert r"`v1 = \|v0\| = \|-2\| = 2`" in written
    assert "| `v̄1 = v̄2 · v0 = 1 · (-2) = -2` |" in written


def test_latex_is_balanced_and_regular():
    for f, args in (
        (running, (2.0, 5.0)),
        (neuron, (1.0, 2.0, 3.0, -1.0, -2.0)),
        (Model(), (np.ones(2), np.ones((2, 2)) / 3)),
    ):
        for mode in ("reverse", "both"):
            written = explain(f, *args, mode=mode).latex()
            assert written.count("{") == written.count("}")
            assert re.findall(r"\\begin{(\w+)}", written).count("tabular") == written.count(r"\end{tabular}") > 0
            for table in re.findall(r"\\begin{tabular}.*?\\end{tabular}", written, re.DOTALL):
                body = re.sub(r"\\begin{bmatrix}.*?\\end{bmatrix}", "", table, flags=re.DOTALL).splitlines()
                width = body[0].count("l@{ }l@{ }l@{ }l") * 4
                assert {row.count("&") for row in body[3:-1]} == {width}
    assert "longtable" in explain(long, 0.5).latex()


def test_latex_is_mathematics():
    mathtext = pytest.importorskip("matplotlib.mathtext")
    parser = mathtext.MathTextParser("path")
    checked = 0
    for f, args in (
        (running, (2.0, 5.0)),
        (neuron, (1.0, 2.0, 3.0, -1.0, 1e-7)),
        (loop, (2.0,)),
        (lambda x: long(x, 3), (0.5,)),
    ):
        for piece in set(re.findall(r"\$[^$]+\$", explain(f, *args, mode="both").latex())):
            parser.parse(piece)
            checked += 1
    assert checked > 50
    with pytest.raises(ValueError, match="Expected"):
        parser.parse(r"$\frac{v_1}$")


class Tags(HTMLParser):
    """Notes which tags are open, and what a row holds."""

    def __init__(self):
        super().__init__()
        self.open, self.rows = [], []

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append(int(dict(attrs).get("colspan", 1)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_html_tables():
    def f(x):
        return {"<b>": x * 2.0}["<b>"] < 3

    written = write_fragment(explain(running, 2.0, 5.0, mode="both"))
    tags = Tags()
    tags.feed(written)
    assert not tags.open
    assert {sum(row) for row in tags.rows} == {9, 5}
    assert "v\u0304<sub>-1</sub>" in written
    assert "prefers-color-scheme: dark" in written
    assert "http" not in written
    assert "&lt;" in write_fragment(explain(f, 1.0))
    colours = {name: set(re.findall(rf"--{name}: (#\w+)", written)) for name in ("ink", "value", "derivative")}
    assert all(len(found) == 2 for found in colours.values())  # light, dark


def test_tables_go_below_each_other_where_they_do_not_fit():
    lines = Equations(explain(running, 2.0, 5.0))
    assert [table.titles for table in lay_out_tables(lines, None, lambda table: False)] == [
        ("evaluation",),
        ("adjoints, from the result back",),
    ]
    assert [table.titles for table in lay_out_tables(lines, None)] == [("evaluation ↓", "adjoints ↑")]


def test_ten_thousand_operations():
    explanation = explain(lambda x: long(x, 3400), 0.5)
    assert len(explanation.steps) > 10_000
    assert "⋮" in explanation.text()
    assert "x[3399]" in write_fragment(explanation)
    assert_linear(lambda steps: write_fragment(explain(lambda x: long(x, steps), 0.5)), 100)


@pytest.mark.parametrize("mode", ["reverse", "forward", "both"])
def test_whole_numbers_alone_have_no_derivative(mode):
    with pytest.raises(wg.GradientError, match="no argument is a floating-point number"):
        explain(lambda x: x**2, 3, mode=mode)
    with pytest.raises(wg.GradientError, match="floating-point"):
        wg.grad(lambda x: x**2)(3)
    assert explain(lambda x, n: x**n, 3.0, 2, mode=mode).steps

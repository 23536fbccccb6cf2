"""compare: every way to a gradient, judged by formulas that are known."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

import mpmath
import numpy as np
import pytest

import wengert as wg
from wengert.core import machine
from wengert.explain.comparing import ways
from wengert.explain.comparing.chart import Chart, Curve, ticks
from wengert.explain.comparing.compare import compare, relative_error
from wengert.explain.comparing.reference import DIGITS, UnknownToPrecision, precise_gradient
from wengert.explain.recorder import record_run

STEPS = np.geomspace(1e-15, 1e-1, 15)


def running_example(x1, x2):
    return np.log(x1) + x1 * x2 - np.sin(x2)


def slopes(x1, x2):
    return 1 / x1 + x2, x1 - np.cos(x2)


@pytest.fixture(scope="module")
def example():
    return compare(running_example, 2.0, 5.0, formula=slopes)


class TestRunningExample:
    def test_every_way_is_there(self, example):
        assert [(way.family, way.name) for way in example.ways] == [
            ("manual", "formula"),
            ("numerical", "forward difference"),
            ("numerical", "backward difference"),
            ("numerical", "central difference"),
            ("numerical", "complex step"),
            ("symbolic", "SymPy"),
            ("automatic", "forward mode"),
            ("automatic", "reverse mode"),
            ("automatic", "reverse mode, compiled"),
        ]

    def test_gradients(self, example):
        for way in example.ways:
            np.testing.assert_allclose(way.gradient, [5.5, 2 - np.cos(5.0)], rtol=1e-6)
            assert way.seconds > 0
        assert example.value == pytest.approx(11.652071455223084)

    def test_errors_are_those_of_each_way(self, example):
        with mpmath.workdps(40):
            exact = [mpmath.mpf("5.5"), 2 - mpmath.cos(5)]
            size = mpmath.norm(exact)
            for way in example.ways:
                expected = (
                    mpmath.norm([mpmath.mpf(g) - e for g, e in zip(way.gradient.tolist(), exact, strict=True)]) / size
                )
                assert way.error == pytest.approx(float(expected), rel=1e-9)
        for name in ("formula", "complex step", "SymPy", "forward mode", "reverse mode", "reverse mode, compiled"):
            assert example[name].error < 1e-15
        assert 1e-12 < example["forward difference"].error < 1e-6
        assert example["central difference"].error < example["forward difference"].error / 10

    def test_counts(self, example):
        evaluations = {way.name: way.evaluations for way in example.ways if way.evaluations}
        assert evaluations == {
            "forward difference": 3,
            "backward difference": 3,
            "central difference": 4,
            "complex step": 2,
            "forward mode": 2,
            "reverse mode": 1,
            "reverse mode, compiled": 1,
        }
        assert example.operations == 5
        assert example["central difference"].operations == 20
        assert example["reverse mode"].operations == example.derivative_operations == 4

    def test_the_counts_of_evaluations_are_true(self, monkeypatch):
        calls = []

        def counting(x):
            calls.append(1)
            return (x * x).sum()

        monkeypatch.setattr(ways, "time_call", lambda function, budget=0.0: 1.0)
        problem = ways.ComparedFunction(counting, (np.ones(5),))
        calls.clear()
        for way in ways.numerical_ways(problem):
            checks = 5 if way.name == "complex step" else 0  # whether it is analytic, once
            assert len(calls) == way.evaluations + checks
            calls.clear()

    def test_text(self, example):
        text = str(example)
        for word in (
            "manual",
            "numerical",
            "symbolic",
            "automatic",
            "5.5, 1.71633781454",
            "mpmath",
            "step h",
            "evaluations",
        ):
            assert word in text
        assert "step h" not in example.text(plot=False)
        assert max(map(len, text.splitlines())) < 150

    def test_notebook(self, example):
        page = example._repr_html_()
        assert page.count("<tr>") == 10
        assert "<svg" in page

    def test_unknown_way(self, example):
        with pytest.raises(KeyError, match="reverse mode"):
            example["astrology"]


class TestCurve:
    def test_truncation_and_round_off(self):
        curve = compare(lambda x: np.exp(x), 1.0, steps=STEPS).curve
        errors = {name: dict(points) for name, points in curve.items()}
        slope = lambda name, a, b: np.log10(errors[name][a] / errors[name][b]) / np.log10(a / b)
        steps = sorted(errors["forward difference"])
        np.testing.assert_allclose(steps, STEPS)
        assert slope("forward difference", steps[13], steps[10]) == pytest.approx(1.0, abs=0.1)
        assert slope("backward difference", steps[13], steps[10]) == pytest.approx(1.0, abs=0.1)
        assert slope("central difference", steps[13], steps[11]) == pytest.approx(2.0, abs=0.1)
        assert errors["forward difference"][steps[0]] > 1e-3  # round-off
        assert max(errors["complex step"][h] for h in steps[:7]) < 1e-15
        best = min(errors["forward difference"], key=errors["forward difference"].__getitem__)
        assert 1e-10 < best < 1e-6

    def test_along_one_direction(self):
        curve = compare(lambda x: (x**3).sum(), np.arange(1.0, 5.0), steps=[1e-6]).curve
        assert set(curve) == {"forward difference", "backward difference", "central difference", "complex step"}
        assert curve["central difference"][0][1] < 1e-8

    def test_not_analytic(self):
        comparison = compare(lambda x: np.abs(x) * x, 1.5, steps=STEPS)
        assert "complex step" not in comparison.curve
        assert comparison["complex step"].gradient is None
        assert "GradientError" in comparison["complex step"].note


class TestPicture:
    def test_svg_is_well_formed_and_labelled(self, example, tmp_path):
        path = tmp_path / "curve.svg"
        drawn = example.svg(path)
        assert path.read_text(encoding="utf-8") == drawn
        root = ElementTree.fromstring(drawn)
        texts = ["".join(e.itertext()) for e in root.iter("{http://www.w3.org/2000/svg}text")]
        assert "step h" in texts
        assert "relative error" in texts
        assert "10−8" in texts
        assert any(text.startswith("central difference: ") for text in texts)
        assert len(list(root.iter("{http://www.w3.org/2000/svg}polyline"))) == 4
        assert "prefers-color-scheme: dark" in drawn

    def test_points_lie_inside_the_frame(self, example):
        root = ElementTree.fromstring(example.svg())
        frame = next(e for e in root.iter("{http://www.w3.org/2000/svg}rect") if e.get("class") == "wg-frame")
        x, y, width, height = (float(frame.get(key)) for key in ("x", "y", "width", "height"))
        for line in root.iter("{http://www.w3.org/2000/svg}polyline"):
            for point in line.get("points").split():
                across, down = map(float, point.split(","))
                assert x - 0.1 <= across <= x + width + 0.1
                assert y - 0.1 <= down <= y + height + 0.1

    def test_a_straight_line_is_drawn_straight(self):
        chart = Chart("line", "x", "y", [Curve("power", [(10.0**i, 10.0 ** (2 * i)) for i in range(-4, 1)])])
        line = next(ElementTree.fromstring(chart.svg()).iter("{http://www.w3.org/2000/svg}polyline"))
        points = np.array([[float(c) for c in point.split(",")] for point in line.get("points").split()])
        steps = np.diff(points, axis=0)
        np.testing.assert_allclose(steps, np.broadcast_to(steps[0], steps.shape), atol=0.2)

    def test_terminal(self, example):
        lines = example.plot(width=40, height=10).splitlines()
        assert len(lines) == 14
        assert all(mark in "".join(lines) for mark in "fci")
        assert "1e-06" in lines[-2]

    def test_title_is_escaped(self):
        assert "a &lt; b" in Chart("a < b", "x", "y", []).svg()

    @pytest.mark.parametrize(("low", "high", "most"), [(-16, 0, 9), (-3, 3, 4), (0, 1, 8), (-300, 300, 8), (5, 6, 1)])
    def test_ticks(self, low, high, most):
        found = ticks(low, high, most)
        assert all(low <= power <= high for power in found)
        assert 1 <= len(found) <= most + 1
        assert len(set(np.diff(found))) <= 1


class TestOtherFunctions:
    def test_vectors_and_trees(self):
        x = np.linspace(-1, 1, 6).reshape(2, 3)

        def loss(params, x, power):
            return (np.tanh(x @ params["w"]) ** power).mean() + params["b"]

        params = {"w": np.array([0.3, -0.2, 0.5]), "b": 0.1}
        comparison = compare(loss, params, x, 2, steps=[1e-6])
        dw, dx = wg.grad(loss, argnums=(0, 1))(params, x, 2)
        reverse = comparison["reverse mode"]
        np.testing.assert_allclose(
            np.sort(reverse.gradient), np.sort(np.concatenate([dw["w"], [dw["b"]], dx.ravel()])), rtol=1e-12
        )
        assert comparison["central difference"].evaluations == 20
        assert comparison["central difference"].error < 1e-9
        assert reverse.error < 1e-15
        assert "mpmath" in comparison.judge
        assert "arrays" in comparison["SymPy"].note
        assert "norm of gradient" in str(comparison)

    def test_branches(self):
        def f(x):
            if x > 1:
                return x**2 * np.exp(x)
            return x

        comparison = compare(f, 2.0, steps=[1e-6])
        assert comparison["SymPy"].error < 1e-15
        assert comparison["reverse mode"].error < 1e-15
        assert comparison["reverse mode, compiled"].error < 1e-15

    def test_a_kink_has_no_exact_reference(self):
        comparison = compare(lambda x: wg.relu(x), 0.0, steps=[1e-6])
        assert "kink" in comparison.judge
        assert comparison["forward mode"].error == comparison["reverse mode"].error == 0
        assert comparison["forward difference"].gradient == [1.0]

    def test_a_derivative_of_zero(self):
        comparison = compare(lambda x: np.cos(x) * 3.0, 0.0, steps=[1e-6])
        assert comparison.reference == [0]
        assert comparison["reverse mode"].error == 0

    def test_a_wrong_formula_shows(self):
        comparison = compare(lambda x: x**2, 3.0, formula=lambda x: x, steps=[1e-6])
        assert comparison["manual"].error == pytest.approx(0.5)

    def test_a_formula_of_another_size_is_told_of(self):
        assert (
            "2 elements instead of 1"
            in compare(lambda x: x**2, 3.0, formula=lambda x: (x, x), steps=[1e-6])["manual"].note
        )

    def test_formulas_grow_and_graphs_do_not(self):
        def nested(x):
            for _ in range(5):
                x = 3.5 * x * (1.0 - x)  # the logistic map
            return x

        comparison = compare(nested, 0.5, steps=[1e-6])
        assert comparison.written_out > 5 * comparison.operations
        assert comparison["SymPy"].operations > 3 * comparison["reverse mode"].operations

    def test_a_formula_too_long_for_algebra(self):
        def nested(x):
            for _ in range(20):
                x = x * x * 0.9
            return x

        assert "written out" in compare(nested, 1.0, steps=[1e-6])["SymPy"].note

    def test_single_precision(self):
        comparison = compare(lambda x: np.sin(x) * x, np.float32(1.5), steps=[1e-3])
        assert 1e-10 < comparison["reverse mode"].error < 1e-6
        assert comparison["central difference"].error < 1e-2

    def test_tensors(self):
        assert compare(lambda x: x**3, wg.tensor(2.0, requires_grad=True), steps=[1e-6])["reverse mode"].gradient == [
            12.0
        ]

    def test_a_captured_tensor(self):
        w = wg.tensor([1.0, 2.0], requires_grad=True)
        comparison = compare(lambda x: (w * x).sum() ** 2, np.array([1.0, 3.0]), steps=[1e-6])
        np.testing.assert_allclose(comparison["central difference"].gradient, [14.0, 28.0])
        assert comparison["reverse mode"].error == 0

    def test_where_there_is_no_derivative(self):
        comparison = compare(lambda x: np.sqrt(x), 0.0, steps=[1e-6])
        assert comparison["reverse mode"].gradient == [np.inf]
        assert np.isnan(comparison["reverse mode"].error)
        assert str(comparison)

    def test_a_large_array_leaves_out_what_takes_too_long(self):
        with machine.using(max_seconds_of_compared_way=1e-3, max_numbers_of_forward_way=1000):
            comparison = compare(lambda x: np.sin(x).sum(), np.ones(1000), steps=[1e-6])
            assert "1001 evaluations would take" in comparison["forward difference"].note
            assert "one pass for each" in comparison["forward mode"].note
            assert comparison["reverse mode"].error == 0
            assert "reverse mode" in comparison.judge

    def test_a_function_that_does_not_take_complex_numbers(self):
        assert "TypeError" in compare(lambda x: np.floor(x) * x, 2.5, steps=[1e-6])["complex step"].note

    def test_what_is_refused(self):
        with pytest.raises(wg.GradientError, match="one real number"):
            compare(lambda x: x * 2.0, np.ones(2))
        with pytest.raises(TypeError, match=r"2\.0 instead of 2"):
            compare(lambda x: x * 2.0, 2)
        with pytest.raises(TypeError, match="real"):
            compare(lambda x: x.real, 1j)


class TestReference:
    @pytest.mark.parametrize(
        "f",
        [
            lambda x: np.sum(np.exp(np.sin(x)) * np.log1p(x)),
            lambda x: np.mean(np.arctan2(x, 2.0) + np.hypot(x, 1.0)),
            lambda x: wg.logsumexp(x) + np.linalg.norm(x) * np.linalg.norm(x, 3) + np.linalg.norm(x, np.inf),
            lambda x: np.prod(x) + np.max(x) - np.cumsum(x)[1],
            lambda x: (x.reshape(2, 2) @ x[:2]).sum() * wg.sigmoid(x[3]),
            lambda x: np.sum(wg.where(x > 0.5, np.tanh(x), x**3)) + np.std(x),
            lambda x: np.concatenate([x, np.sqrt(x)])[::2].sum() / np.arccosh(1.0 + x[0]),
            lambda x: np.einsum("i,i->", x, wg.softplus(x)) + np.logaddexp(x[0], x[1]),
        ],
    )
    def test_agrees_with_reverse_mode(self, f):
        x = np.array([0.3, 0.7, 1.1, 0.2])
        found = precise_gradient(record_run(f, x).graph, [x])
        assert relative_error(wg.grad(f)(x).tolist(), found) < 1e-15

    def test_is_exact_beyond_double_precision(self):
        (found,) = precise_gradient(record_run(np.exp, 1.0).graph, [1.0])
        with mpmath.workdps(50):
            assert abs(mpmath.mpf(found.numerator) / found.denominator - mpmath.e) < mpmath.mpf(10) ** -35

    def test_says_what_it_does_not_know(self):
        with pytest.raises(UnknownToPrecision, match="fft"):
            precise_gradient(record_run(lambda x: np.fft.fft(x * np.ones(2)).real.sum(), 1.0).graph, [1.0])
        x = np.ones(1000)
        graph = record_run(lambda x: np.sin(x).sum(), x).graph
        with pytest.raises(UnknownToPrecision, match="too many"):
            precise_gradient(graph, [x])


def test_a_formula_of_astronomical_size():
    def loop(x):
        for _ in range(600):
            x = x * 1.001 + np.sin(x) * 0.01
        return x

    comparison = compare(loop, 0.5, steps=[1e-6])
    assert comparison.derivative_written_out > 10**308
    assert "e+361 written out" in str(comparison)


@pytest.mark.parametrize(
    ("f", "args"),
    [
        (lambda d: d["a"] ** 2, ({"a": 3.0},)),
        (lambda pair: pair[0] ** 2, ([3.0],)),
        (lambda pair: pair[0][0] ** 2, (((3.0,),),)),
        (lambda x, d: x * d["a"], (1.0, {"a": 6.0})),
    ],
)
def test_trees_with_one_leaf(f, args):
    assert compare(f, *args)["reverse mode"].gradient[0] == 6.0


MATRIX = np.array([[3.0, 1.0], [0.5, 2.0]])


@pytest.mark.parametrize(
    "f",
    [
        lambda a: np.linalg.solve(a, np.ones(2)).sum(),
        lambda a: np.linalg.slogdet(a)[1],
        lambda a: np.linalg.eigh(a)[1][0, 0],
        lambda a: np.linalg.svd(a)[1][0],
        lambda a: np.linalg.qr(a)[0][0, 0],
        lambda a: wg.linalg.lu(a)[1].sum(),
        lambda a: wg.linalg.logm(a).sum(),
        lambda a: wg.special.softmax(a)[0, 0],
    ],
    ids=["solve", "slogdet", "eigh", "svd", "qr", "lu", "logm", "softmax"],
)
def test_linear_algebra_is_judged_by_many_digits(f):
    comparison = compare(f, MATRIX, steps=[1e-6])
    assert comparison.judge == f"mpmath with {DIGITS} digits"
    assert comparison["reverse mode"].error < 1e-13

"""What commands are given: values, files of arrays, functions in files."""

from __future__ import annotations

import json
import sys

import numpy as np
import pytest
from tests.cli.commands import RUNNING

from wengert.cli import FAILED, FINE, USAGE, arrange_words


def test_grad(command):
    code, out, _ = command("grad", *RUNNING)
    assert code == FINE
    assert out.splitlines() == ["f      = 11.652071455223084", "df/dx1 = 5.5", "df/dx2 = 1.7163378145367738"]


def test_json(command):
    found = json.loads(command("grad", "sum(w**2) * b", "w=[1,2]", "b=3", "--json")[1])
    assert found == {"value": 15.0, "gradients": {"w": [6.0, 12.0], "b": 5.0}}


def test_json_has_no_number_that_is_not_finite(command):
    out = command("grad", "log(x)", "x=0", "--json")[1]
    assert json.loads(out, parse_constant=pytest.fail) == {"value": "-Infinity", "gradients": {"x": "Infinity"}}


def test_several_results_have_a_jacobian(command):
    found = json.loads(command("grad", "[x*y, x, y**2]", "x=2", "y=3", "--json")[1])
    assert found == {"value": [6.0, 2.0, 9.0], "gradients": {"x": [3.0, 1.0, 0.0], "y": [2.0, 0.0, 6.0]}}


def test_what_is_not_finite_is_said(command):
    code, out, err = command("grad", "sqrt(x)", "x=0")
    assert (code, out) == (FINE, "f     = 0.\ndf/dx = inf\n")
    assert "wengert why" in err


VALUES = [
    ("x=2", 2.0),
    ("x=-2", -2.0),
    ("x=-1e-3", -1e-3),
    ("x=.5", 0.5),
    ("x = 2", 2.0),
    ("x=pi/4", np.pi / 4),
    ("x=-sqrt(2)", -np.sqrt(2)),
    ("x=[1, -2.5]", [1.0, -2.5]),
    ("x=[[1,2],[3,4]]", [[1.0, 2.0], [3.0, 4.0]]),
    ("x=[pi, 1/3]", [np.pi, 1 / 3]),
    ("x=inf", np.inf),
    ("x=[]", []),
]


@pytest.mark.parametrize(("text", "value"), VALUES)
def test_values(command, text, value):
    code, out, _ = command("grad", "sum(x)", text, "--json")
    assert code == FINE
    assert float(json.loads(out)["value"]) == pytest.approx(np.sum(value))
    assert np.shape(json.loads(out)["gradients"]["x"]) == np.shape(value)


@pytest.mark.parametrize(
    "words",
    [
        ["x=2", "y=3"],
        ["--at", "x=2, y=3"],
        ["--at", "y=3", "--at", "x=2"],
        ["x=2", "--at=y=3"],
        ["--json", "x=2", "y=3"],
    ],
)
def test_ways_to_give_values(command, words):
    assert json.loads(command("grad", "x - 2*y", *words, "--json")[1])["value"] == -4.0


def test_arrays_from_files(command, tmp_path):
    np.save(tmp_path / "x.npy", np.arange(3))
    for text in ("x=@x.npy", "x=x.npy"):
        assert json.loads(command("grad", "x @ x", text, "--json")[1]) == {
            "value": 5.0,
            "gradients": {"x": [0.0, 2.0, 4.0]},
        }
    np.save(tmp_path / "objects.npy", np.array([{}], object), allow_pickle=True)
    for name, reason in (("none.npy", "no such file"), ("objects.npy", "NumPy's format")):
        code, _, err = command("grad", "x", f"x=@{name}")
        assert code == USAGE
        assert reason in err


@pytest.mark.parametrize(
    ("formula", "value"), [("-x", -2.0), ("-x**2", -4.0), ("-2*x + 1", -3.0), ("-(x)", -2.0), ("  x", 2.0), ("x²", 4.0)]
)
def test_formulas_that_begin_with_a_sign(command, formula, value):
    assert json.loads(command("grad", formula, "x=2", "--json")[1])["value"] == value


def test_arranged():
    assert arrange_words(["explain", "-x", "--svg", "x=1"]) == ["explain", " -x", "--svg=-", "x=1"]
    assert arrange_words(["--svg", "a.svg", "--html", "--png"]) == [
        "--svg=a.svg",
        "--html=explanation.html",
        "--png=explanation.png",
    ]
    assert arrange_words(["-h", "--mode", "both"]) == ["-h", "--mode", "both"]


def test_functions_in_files(command, model):
    found = json.loads(command("grad", f"{model}:loss", "--at", "w=[1,2], b=0.5", "--json")[1])
    assert found["value"] == pytest.approx(5 * (np.sin(0.5) + np.sin(1.5)))
    assert found["gradients"]["w"] == pytest.approx([2 * (np.sin(0.5) + np.sin(1.5)), 4 * (np.sin(0.5) + np.sin(1.5))])
    assert found["gradients"]["b"] == pytest.approx(5 * (np.cos(0.5) + np.cos(1.5)))


def test_declared_integers_and_booleans_are_fixed(command, model):
    found = json.loads(command("grad", f"{model}:loss", "n=3", "w=[1]", "verbose=true", "--json")[1])
    assert found["value"] == pytest.approx(np.sin(1) + np.sin(2))
    assert list(found["gradients"]) == ["w"]
    code, out, _ = command("explain", f"{model}:loss", "n=1", "w=[1]", "b=2")
    assert code == FINE
    assert out.startswith("loss(w, b) = ")


def test_trees_keywords_and_methods(command, model):
    found = json.loads(command("grad", f"{model}:tree", 'params={"w": [1, 2], "b": 3}', "--json")[1])
    assert found == {"value": 9.0, "gradients": {"params['w']": [2.0, 2.0], "params['b']": 1.0}}
    assert json.loads(command("grad", f"{model}:tagged", "rate=3", "x=2", "--json")[1])["gradients"] == {
        "x": 3.0,
        "rate": 2.0,
    }
    assert json.loads(command("grad", f"{model}:Model.energy", "x=3", "--json")[1])["gradients"] == {"x": 6.0}


WRONG = [
    (["{model}:los", "w=1"], "has no function 'los'. Did you mean loss?"),
    (["{model}:constant", "w=1"], "has no function 'constant'"),
    (["{model}", "w=1"], "Which function"),
    (["{model}:", "w=1"], "It has loss, tree, broken, tagged."),
    (["missing.py:f", "w=1"], "There is no file missing.py."),
    (["{model}:loss", "w=1", "c=2"], "loss has no parameter 'c'"),
    (["{model}:loss", "b=2"], "loss needs a value for w: w=1.0."),
    (["{model}:loss", "w=true"], "no argument that could vary"),
]


@pytest.mark.parametrize(("words", "message"), WRONG)
def test_wrong_names_in_files(command, model, words, message):
    code, out, err = command("grad", *[word.format(model=model) for word in words])
    assert (code, out) == (USAGE, "")
    assert err.startswith("error: ")
    assert message in err


def test_errors_of_the_function_name_its_line(command, model):
    code, _, err = command("grad", f"{model}:broken", "x=1")
    assert code == FAILED
    assert "ValueError: matmul" in err
    assert "line 14, in broken" in err
    assert "return x + np.ones(3) @ np.ones(4)" in err
    assert "Traceback" not in err
    assert "Traceback" in command("grad", f"{model}:broken", "x=1", "--traceback")[2]


@pytest.mark.parametrize(
    ("content", "message"),
    [("1 +", "SyntaxError"), ("import nothing_like_it", "ModuleNotFoundError"), ("raise SystemExit", "ended")],
)
def test_files_that_cannot_be_imported(command, tmp_path, content, message):
    (tmp_path / "unreadable.py").write_text(content)
    code, _, err = command("grad", "unreadable.py:f", "x=1")
    assert code == FAILED
    assert message in err
    sys.modules.pop("unreadable", None)


def test_files_import_their_neighbours(command, tmp_path):
    (tmp_path / "neighbour_of_test.py").write_text("def square(x):\n    return x * x\n")
    (tmp_path / "main_of_test.py").write_text("from neighbour_of_test import square\ndef f(x):\n    return square(x)\n")
    assert json.loads(command("grad", "main_of_test.py:f", "x=3", "--json")[1])["value"] == 9.0
    assert str(tmp_path) not in sys.path
    for name in ("neighbour_of_test", "main_of_test"):
        del sys.modules[name]

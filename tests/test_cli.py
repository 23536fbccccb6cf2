"""The command line: what it prints, writes and returns, and where its errors point."""

from __future__ import annotations

import doctest
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import wengert as wg
from wengert.cli import FAILED, FINE, USAGE, arrange_words, main
from wengert.explain.play.server import PlayServer

ROOT = Path(__file__).parent.parent
RUNNING = ["ln(x1) + x1*x2 - sin(x2)", "x1=2", "x2=5"]
MODEL = """
import numpy as np

def loss(w, b=0.0, *, n: int = 2, verbose=False):
    total = 0.0
    for k in range(n):
        total = total + (w**2).sum() * np.sin(b + k)
    return total

def tree(params):
    return (params["w"] * 2.0).sum() + params["b"]

def broken(x):
    return x + np.ones(3) @ np.ones(4)

def tagged(x, **options):
    return x * options["rate"]

class Model:
    @staticmethod
    def energy(x):
        return x * x

constant = 2.0
"""


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "model_of_test.py"
    path.write_text(MODEL)
    yield path
    for name in [name for name in sys.modules if name.startswith("model_of_test")]:
        del sys.modules[name]


@pytest.fixture
def command(capsys, monkeypatch, tmp_path):
    """Runs a command in an empty folder: its exit status, what it printed, what it complained about."""
    monkeypatch.chdir(tmp_path)

    def run(*words):
        code = main([str(word) for word in words])
        done = capsys.readouterr()
        return code, done.out, done.err

    return run


def process(*words, **environment):
    return subprocess.run(
        [sys.executable, "-m", "wengert", *words],
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
        env=os.environ | environment,
    )


# As a process


def test_the_module_is_the_command():
    done = process("explain", *RUNNING, PYTHONIOENCODING="utf-8")
    assert done.returncode == FINE
    assert done.stderr == ""
    for piece in ("ln v-1", "11.652", "5.5", "1.716"):
        assert piece in done.stdout
    assert "\x1b" not in done.stdout


def test_a_terminal_without_mathematics():
    done = process("explain", *RUNNING, PYTHONIOENCODING="ascii")
    assert done.returncode == FINE
    assert "?f/?x1 = 5.5" in done.stdout


def test_a_reader_that_goes_away_is_no_traceback():
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "w") as gone:
        done = subprocess.run(
            [sys.executable, "-m", "wengert", "grad", *RUNNING],
            stdout=gone,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == FAILED
    assert "Traceback" not in done.stderr
    assert "BrokenPipe" not in done.stderr


def test_help_leaves_heavy_parts_alone():
    heavy = (
        "llvmlite",
        "scipy",
        "rich",
        "sympy",
        "igraph",
        "json",
        "wengert.compiler",
        "wengert.explain.tables.plain_text",
    )
    code = "import sys, wengert.cli; wengert.cli.main(['--help']);"
    code += f"print([m for m in {heavy} if m in sys.modules], file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "[]"
    assert "wengert explain" in done.stdout


def test_the_script_is_declared():
    import tomllib

    assert tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"] == {"wengert": "wengert.cli:main"}


# What documentation shows

CONSOLE = re.compile(r"^```console\n(.*?)^```", re.MULTILINE | re.DOTALL)
SHOWN = [
    (page.name, lines[0], "\n".join(lines[1:]))
    for page in (ROOT / "README.md", ROOT / "docs" / "explain.md")
    for block in CONSOLE.findall(page.read_text(encoding="utf-8"))
    for lines in [part.splitlines() for part in block.split("$ ")[1:]]
]


@pytest.mark.parametrize(("page", "line", "output"), SHOWN, ids=[f"{page}: {line}" for page, line, _ in SHOWN])
def test_documented_commands_print_what_is_shown(command, tmp_path, page, line, output):
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    program, *words = shlex.split(line)
    assert program == "wengert"
    _, out, err = command(*words)
    found = "\n".join(
        text.rstrip() for text in f"{out}{re.sub(r'.* written$', '', err, flags=re.MULTILINE)}".strip().splitlines()
    )
    assert doctest.OutputChecker().check_output(output, found, doctest.ELLIPSIS), found


def test_commands_are_documented():
    assert len(SHOWN) >= 4


# explain


def test_explain_prints_the_traces(command):
    code, out, _ = command("explain", *RUNNING)
    assert code == FINE
    assert "\x1b" not in out
    lines = [" ".join(line.split()) for line in out.splitlines()]
    assert any(line.startswith("2 v1 = ln v-1 = ln 2 = 0.693 v̄-1 =") for line in lines)
    assert any(line.startswith("2 v5 = v4 - v3 = 10.693 + 0.959 = 11.652 v̄3 =") for line in lines)
    assert lines[-1] == "∂f/∂x1 = 5.5 ∂f/∂x2 = 1.716"


@pytest.mark.parametrize(
    ("mode", "has", "lacks"), [("reverse", "v̄5", "v̇5"), ("forward", "v̇5", "v̄5"), ("both", "v̇5", None)]
)
def test_modes(command, mode, has, lacks):
    code, out, _ = command("explain", *RUNNING, "--mode", mode)
    assert code == FINE
    assert has in out
    assert lacks is None or lacks not in out


def test_seeds(command):
    out = {
        seed: command("explain", *RUNNING, "--mode", "forward", "--seed", seed)[1]
        for seed in ("x1=1", "x2=1", "x1=2, x2=3")
    }
    assert "= 5.5" in out["x1=1"]
    assert "= 1.716" in out["x2=1"]
    assert f"= {2 * 5.5 + 3 * (2 - np.cos(5)):.3f}" in out["x1=2, x2=3"]
    code, both, _ = command("explain", *RUNNING, "--mode", "both", "--seed", "x2=1")
    assert code == FINE
    assert "= 1.716" in both
    assert command("explain", *RUNNING, "--mode", "forward", "--seed", "x3=1")[0] == USAGE
    assert command("explain", *RUNNING, "--mode", "forward", "--seed", "x1=[1,2]")[0] == USAGE


def test_forms_are_written(command, tmp_path):
    words = [
        "--html",
        "page.html",
        "--svg",
        "g.svg",
        "--dot=g.dot",
        "--markdown",
        "t.md",
        "--latex",
        "t.tex",
        "--edges",
    ]
    code, out, err = command("explain", RUNNING[0], *words, *RUNNING[1:])
    assert code == FINE
    assert "11.652" in out  # the table as well
    starts = {"page.html": "<!doctype html>", "g.svg": "<svg", "g.dot": "digraph", "t.md": "`f", "t.tex": "%"}
    for name, start in starts.items():
        text = (tmp_path / name).read_text(encoding="utf-8")
        assert text.lower().lstrip().startswith(start), name
        assert f"{name} written" in err


@pytest.mark.parametrize(
    ("form", "piece"), [("--svg", "<svg"), ("--dot", "digraph"), ("--markdown", "| "), ("--latex", "\\begin")]
)
def test_forms_without_a_file_go_to_the_terminal(command, tmp_path, form, piece):
    for words in ([form, *RUNNING], [*RUNNING, form], [RUNNING[0], form, *RUNNING[1:]], [*RUNNING, form, "-"]):
        code, out, err = command("explain", *words)
        assert code == FINE
        assert piece in out
        assert err == ""
    assert list(tmp_path.iterdir()) == []


def test_open_shows_the_page(command, tmp_path, monkeypatch):
    shown = []
    monkeypatch.setattr("webbrowser.open", shown.append)
    assert command("explain", *RUNNING, "--open")[0] == FINE
    assert shown == [(tmp_path / "explanation.html").as_uri()]
    assert (tmp_path / "explanation.html").stat().st_size > 1000


def test_folders_that_do_not_exist(command):
    code, _, err = command("explain", *RUNNING, "--svg=nowhere/g.svg")
    assert code == FAILED
    assert err.strip() == f"error: {os.path.join('nowhere', 'g.svg')}: No such file or directory"


# grad


def test_grad(command):
    code, out, _ = command("grad", *RUNNING)
    assert code == FINE
    assert out.splitlines() == ["f      = 11.652071455223084", "df/dx1 = 5.5", "df/dx2 = 1.7163378145367738"]


def test_json(command):
    found = json.loads(command("grad", "sum(w**2) * b", "w=[1,2]", "b=3", "--json")[1])
    assert found == {"value": 15.0, "gradients": {"w": [6.0, 12.0], "b": 5.0}}


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
    assert json.loads(out)["value"] == pytest.approx(np.sum(value))
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


# Functions in files


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


# Errors


POINTING = [
    (["grad", "ln(x1) + sinn(x2)", "x1=2", "x2=5"], "no function 'sinn'", "ln(x1) + sinn(x2)", "         ^^^^"),
    (["explain", "x1 + x3", "x1=2", "x2=5"], "'x3' has no value", "x1 + x3", "     ^^"),
    (["compare", "2x", "x=2"], "operator is missing", "2x", " ^"),
    (["why", "sin(x", "x=2"], "never closed", "sin(x", "   ^"),
    (["grad", "sin(x)", "x=2 $"], "The value of x", "2 $", "  ^"),
    (["grad", "sin(x)", "x=[1,"], "The value of x", "[1,", "^"),
    (["grad", "-x.T", "x=2"], "no attributes", "-x.T", "  ^"),
]


@pytest.mark.parametrize(("words", "message", "line", "carets"), POINTING)
def test_errors_point_at_the_character(command, words, message, line, carets):
    code, out, err = command(*words)
    assert (code, out) == (USAGE, "")
    assert message in err
    assert err.splitlines()[-2:] == [f"  {line}", f"  {carets}"]


def test_errors_in_the_computation_point_as_well(command):
    code, _, err = command("grad", "1 + x[7]", "x=[1,2]")
    assert code == FAILED
    *_, line, carets = err.splitlines()
    assert line[carets.index("~") : carets.rindex("^") + 1] == "x[7]"


USELESS = [
    ["frobnicate"],
    ["explain"],
    ["explain", "x", "x=1", "--mode", "sideways"],
    ["explain", "x", "x=1", "--frobnicate"],
    ["info", "x=1"],
    ["grad", "x", "x=1", "x=2"],
    ["grad", "x", "x"],
    ["grad", "x", "x="],
    ["grad", "x", "=2"],
    ["grad", "x", "x==2"],
    ["grad", "lambda", "lambda=2"],
    ["grad", "None", "None=2"],
    ["grad", "x", 'x="text"'],
    ["grad", "x", "x=true"],
    ["grad", "x", 'x={"a": 1}'],
    ["grad", "sum(x)", "x=[[1,2],[3]]"],
    ["grad", "1"],
    ["grad", "", "x=1"],
]


@pytest.mark.parametrize("words", USELESS, ids=" ".join)
def test_usage_errors(command, words):
    code, _, err = command(*words)
    assert code == USAGE
    assert err
    assert "Traceback" not in err


FAILING = [
    ["grad", "x + y", "x=[1,2]", "y=[1,2,3]"],
    ["grad", "x > 1", "x=2"],
    ["explain", "x @ y", "x=2", "y=3"],
    ["compare", "[x, x]", "x=1"],
]


@pytest.mark.parametrize("words", FAILING, ids=" ".join)
def test_failures(command, words):
    code, _, err = command(*words)
    assert code == FAILED
    assert err.startswith("error: ")
    assert "Traceback" not in err


def test_help_and_version(command):
    for words in (
        ["--help"],
        ["-h"],
        ["explain", "--help"],
        ["grad", "-h"],
        ["compare", "-h"],
        ["why", "-h"],
        ["export", "-h"],
        ["info", "-h"],
    ):
        code, out, err = command(*words)
        assert (code, err) == (FINE, "")
        assert "wengert" in out
    assert command("--version")[1] == f"wengert {wg.__version__}\n"


class Terminal:
    """A stream that is a terminal."""

    def __init__(self, stream):
        self.stream = stream

    def isatty(self):
        return True

    def __getattr__(self, name):
        return getattr(self.stream, name)


@pytest.mark.parametrize(
    ("environment", "is_colored"),
    [({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False), ({"NO_COLOR": ""}, True)],
)
def test_colours_only_on_a_terminal(command, monkeypatch, environment, is_colored):
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "stdout", Terminal(sys.stdout))
    monkeypatch.setattr(sys, "stderr", Terminal(sys.stderr))
    assert ("\x1b" in command("explain", *RUNNING)[1]) == is_colored
    assert ("\x1b" in command("explain", "x +", "x=1")[2]) == is_colored


# The other commands


def test_compare(command, tmp_path):
    code, out, _ = command(
        "compare", "x1**2 * x2", "x1=2", "x2=5", "--formula", "2*x1*x2", "--formula", "x1^2", "--svg", "v.svg"
    )
    assert code == FINE
    for way in ("formula", "central difference", "complex step", "forward mode", "reverse mode"):
        assert way in out
    assert (tmp_path / "v.svg").read_text().startswith("<svg")
    (row,) = [line for line in out.splitlines() if line.startswith("manual")]
    assert "20, 4" in row
    assert command("compare", "x", "x=1", "--formula", "y")[0] == USAGE


def test_why(command, model):
    assert "log of x = 0" in command("why", "log(x) * 0", "x=0")[1]
    code, out, _ = command("why", "relu(x) * y", "x=-1", "y=2")
    assert code == FINE
    assert "relu is flat" in out
    assert "fine" in command("why", "x*y", "x=1", "y=2")[1]


def test_export(command, model, tmp_path):
    words = [f"{model}:loss", "--at", "w=[1,2], b=0.5", "--derivative", "gradient"]
    code, out, _ = command("export", *words, "--path", tmp_path / "made", "--name", "slope")
    assert code == FINE
    assert out.startswith(f"{tmp_path / 'made' / 'libslope.a'}: ")
    assert "beside it: slope.h, slope_example.c, slope.json, slope.pc, slope.cmake" in out
    found = wg.load_exported(tmp_path / "made")(np.array([1.0, 2.0]), 0.5)
    np.testing.assert_allclose(found, 2 * np.array([1.0, 2.0]) * (np.sin(0.5) + np.sin(1.5)))
    assert command("export", "sum(w*x)", "w=[1,2]", "x=3", "--format", "c", "--name", "total")[0] == FINE
    assert (tmp_path / "total.c").exists()
    code, _, err = command("export", "w*x", "w=1", "x=3", "--target", "pdp-11")
    assert code == FAILED
    assert "There is no target 'pdp-11'" in err


def test_info(command, monkeypatch, tmp_path):
    monkeypatch.setenv("WENGERT_CACHE_DIR", str(tmp_path / "kept"))
    wg.compile(lambda x: np.sin(np.cos(x) * np.arctan(x)))(np.ones(3))  # a program that no other test compiles
    facts = json.loads(command("info", "--json")[1])
    assert facts["versions"]["wengert"] == wg.__version__
    assert facts["versions"]["numpy"] == np.__version__
    assert facts["lanes"]["float32"] == 2 * facts["lanes"]["float64"] >= 4
    assert facts["threads"] >= 1
    assert facts["cache"]["folder"] == str(tmp_path / "kept")
    assert facts["cache"]["entries"] > 0
    assert facts["cache"]["bytes"] > 100
    code, out, err = command("info", "--clear-cache")
    assert code == FINE
    assert re.search(r"cache +.*kept: 0 compiled programs", out)
    assert err.startswith("Removed: ")
    monkeypatch.setenv("WENGERT_CACHE_DIR", "off")
    assert re.search(r"cache +off", command("info")[1])


def test_the_functions_are_in_the_package():
    assert wg.explain(np.sin, 1.0).outputs
    assert {"explain", "compare", "why_nan", "why_zero"} <= set(wg.__all__)
    for name in ("compare", "why_nan", "why_zero"):
        assert callable(getattr(wg, name))
    with pytest.raises(AttributeError, match="no attribute 'explane'"):
        wg.explane  # noqa: B018  # a misspelt name


# What it can do


def test_without_arguments_it_shows_three_examples_that_run(command):
    code, out, err = command()
    assert (code, err) == (FINE, "")
    examples = [line.strip() for line in out.splitlines() if line.startswith("  wengert ")]
    assert [line.split()[1] for line in examples] == ["play", "explain", "grad"]
    for line in examples[1:]:
        assert command(*shlex.split(line)[1:])[0] == FINE


@pytest.mark.parametrize("name", ["explain", "play", "grad", "compare", "why", "info", "completion"])
def test_the_help_of_every_command_has_an_example(command, name):
    code, out, _ = command(name, "--help")
    assert code == FINE
    assert f"wengert {name}" in out.split("options:")[1]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_knows_commands_and_options(command, shell):
    code, out, _ = command("completion", shell)
    assert code == FINE
    for word in ("explain", "play", "no-browser", "clear-cache", "formula"):
        assert word in out
    if shutil.which(shell):
        done = subprocess.run([shell, "-n"], input=out, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_bash_completes(command):
    script = command("completion", "bash")[1]
    ask = 'COMP_WORDS=(wengert {}); COMP_CWORD={}; _wengert; echo "${{COMPREPLY[@]}}"'
    lines = "\n".join([script, ask.format("com", 1), ask.format("explain --ht", 2)])
    done = subprocess.run(["bash"], input=lines, capture_output=True, text=True, check=True)
    assert done.stdout.split("\n")[:2] == ["compare completion", "--html"]


def test_play_serves_until_it_is_interrupted(command, monkeypatch):
    opened = []
    monkeypatch.setattr("webbrowser.open", lambda address: opened.append(address) or True)

    def interrupt(server):
        raise KeyboardInterrupt

    monkeypatch.setattr(PlayServer, "serve_forever", interrupt)
    code, out, err = command("play", *RUNNING)
    assert code == FINE
    assert out.strip() == opened[0]
    assert out.startswith("http://127.0.0.1:")
    assert "Only this machine" in err
    code, out, _ = command("play", "x*y", "--no-browser")
    assert (code, len(opened)) == (FINE, 1)


def test_play_without_a_browser_says_what_to_open(command, monkeypatch):
    monkeypatch.setattr("webbrowser.open", lambda address: False)
    monkeypatch.setattr(PlayServer, "serve_forever", lambda server: None)
    code, out, err = command("play", "x*x", "x=2")
    assert code == FINE
    assert f"No browser was found. Open {out.strip()} yourself." in err
    assert "No browser was found" in command("explain", "x*x", "x=2", "--open")[2]


def test_play_takes_formulas_and_ports_only(command, model):
    assert command("play", f"{model}:loss")[0] == USAGE
    assert "The port 99999 cannot be used" in command("play", "x", "--port", "99999", "--no-browser")[2]


def test_the_hessian_times_a_vector(command):
    code, out, _ = command("explain", "x**2 * y", "x=3", "y=2", "--mode", "hvp", "--seed", "x=1, y=0")
    assert code == FINE
    assert "= 4" in out
    assert "= 6" in out

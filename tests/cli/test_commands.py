"""Help, colours, completion, and the commands beside `explain`."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import sys

import numpy as np
import pytest
from tests.cli.commands import RUNNING

import wengert as wg
from wengert.cli import FAILED, FINE, USAGE
from wengert.explain.play.server import PlayServer


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

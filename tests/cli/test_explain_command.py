"""`wengert explain`: what it prints and writes."""

from __future__ import annotations

import os

import numpy as np
import pytest
from tests.cli.commands import RUNNING

from wengert.cli import FAILED, FINE, USAGE


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

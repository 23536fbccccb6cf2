"""Errors of commands: where they point, and what the command returns."""

from __future__ import annotations

import pytest

from wengert.cli import FAILED, USAGE

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

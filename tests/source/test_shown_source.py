"""`wg.source`: the text of what a function becomes."""

from __future__ import annotations

import ast
import functools

import numpy as np
import pytest

import wengert as wg


def branch(x):
    if x > 0:  # noqa: SIM108  # a statement
        y = x
    else:
        y = -x
    return y


def loop(x):
    for i in range(30):
        x = np.sin(x) + i
    return x


def straight(x):
    return np.sin(x)


def test_branches_and_loops_are_functions():
    text = wg.source(branch)
    assert "__wengert__.choose(x > 0, " in text
    assert "nonlocal y" in text
    text = wg.source(loop)
    assert "__wengert__.iterate(" in text
    assert "np.sin(x) + i" in text
    ast.parse(text)


def test_what_stays_is_shown_as_it_is():
    assert wg.source(straight) == "def straight(x):\n    return np.sin(x)"


def test_wrapped_functions():
    for f in (wg.compile(branch), functools.partial(branch), wg.trace):
        assert wg.source(f).startswith("def ")
    with pytest.raises(TypeError, match="takes a function"):
        wg.source(3)
    known = {}
    exec("def f(x): return x", known)
    with pytest.raises(OSError, match="no source"):
        wg.source(known["f"])

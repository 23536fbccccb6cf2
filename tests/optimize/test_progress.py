"""The progress of a search: callbacks see trees and may stop it, and a line shows where it is."""

from __future__ import annotations

import io
import re

import numpy as np
import pytest
import scipy.optimize
from rich.console import Console
from tests.optimize.searches import START, rosenbrock, start_of

from wengert.optimize import minimize
from wengert.optimize.minimize import METHODS


@pytest.mark.parametrize("method", METHODS)
def test_callbacks_see_trees_and_may_stop(method):
    points = []

    def stop(p):
        points.append(p["x"].copy())
        p["x"][:] = np.nan  # it is the callback's own
        if len(points) == 3:
            raise StopIteration

    found = minimize(lambda p: rosenbrock(p["x"]), {"x": start_of(method)}, method=method, callback=stop)
    assert len(points) == 3
    assert all(p.shape == (3,) for p in points)
    assert np.isfinite(found.x["x"]).all()
    assert not found.success or method in ("COBYLA", "COBYQA")


@pytest.mark.parametrize("method", ["BFGS", "trust-constr", "TNC", "Nelder-Mead"])
def test_callbacks_may_ask_for_the_state(method):
    seen = []

    def callback(intermediate_result):
        seen.append(intermediate_result)

    minimize(rosenbrock, START, method=method, callback=callback)
    assert [state.nit for state in seen] == list(range(1, len(seen) + 1))
    for state in seen:
        np.testing.assert_allclose(state.fun, scipy.optimize.rosen(state.x), rtol=1e-9, atol=1e-25)
        if METHODS[method].order:
            np.testing.assert_allclose(state.jac, scipy.optimize.rosen_der(state.x), rtol=1e-6, atol=1e-8)


def test_a_line_of_progress():
    written = io.StringIO()
    found = minimize(rosenbrock, START, method="Newton-CG", progress=Console(file=written, width=200))
    line = written.getvalue()
    assert line.count("\n") == 1
    assert re.search(
        rf"Newton-CG  iteration {found.nit}  value \S+  \|gradient\| \S+  evaluations {found.nfev}  \d+\.\d s", line
    )


def test_progress_ends_when_the_function_raises():
    def f(x):
        if x[0] < 1.2:
            raise ZeroDivisionError
        return rosenbrock(x)

    written = io.StringIO()
    with pytest.raises(ZeroDivisionError):
        minimize(f, START, compile=False, progress=Console(file=written, force_terminal=True))
    assert written.getvalue().endswith("\x1b[?25h")  # the cursor is shown again


def test_the_line_of_progress_is_not_broken_in_a_file(capsys):
    minimize(rosenbrock, np.full(50, 1.2), method="trust-constr", progress=True)
    line = capsys.readouterr().err.strip()
    assert len(line) > 80
    assert "\n" not in line

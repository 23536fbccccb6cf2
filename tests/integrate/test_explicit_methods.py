"""The coefficients of explicit methods are those of SciPy, which compiled functions need not load."""

import numpy as np
import pytest
import scipy.integrate
from tests.fresh_python import run_python

from wengert.integrate.explicit_methods import coefficients_of


@pytest.mark.parametrize("name", ["RK23", "RK45"])
def test_coefficients(name):
    ours, theirs = coefficients_of(name), getattr(scipy.integrate, name)
    assert ours is not theirs
    for part in "ABCEP":
        np.testing.assert_array_equal(getattr(ours, part), getattr(theirs, part))
    assert ours.error_estimator_order == theirs.error_estimator_order


@pytest.mark.parametrize("method", ["RK45", "Radau"])
def test_compiled_integrations_do_not_load_scipy(method):
    program = f"""
import sys
import numpy as np
import wengert as wg
from wengert.integrate import solve_ivp
f = lambda k: solve_ivp(lambda t, y: -k * y, (0.0, 1.0), [1.0], {method!r}, t_eval=[0.5, 1.0]).y[0, -1]
assert abs(wg.compile(wg.grad(f))(2.0) + np.exp(-2.0)) < 1e-3
assert "scipy.optimize" not in sys.modules and "scipy.integrate" not in sys.modules
"""
    run_python(program)

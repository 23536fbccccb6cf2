"""Systems without a compiler: the package imports, eager code works, and `wg.compile` says why not."""

from __future__ import annotations

import pytest
from tests.fresh_python import run_python

EAGER = """
import numpy as np
import wengert as wg

x = np.linspace(0.5, 1.0, 4)
f = lambda x: (x * np.sin(x)).sum()
np.testing.assert_allclose(wg.grad(f)(x), np.sin(x) + x * np.cos(x))
assert wg.hessian(f)(x).shape == (4, 4)
assert wg.vmap(np.sin)(x).shape == (4,)
assert wg.sparse_hessian(f)(x).shape == (4, 4)
assert wg.optimize.minimize(lambda x: ((x - 1.0) ** 2).sum(), x).success
assert wg.explain(lambda x: x * x, 2.0).outputs
assert wg.signal.convolution(np.ones((8, 8, 32, 32)), np.ones((16, 8, 3, 3))).max() == 72.0
t = wg.tensor(x, requires_grad=True)
f(t).backward()
wg.optim.SGD([t], lr=0.5).step()
np.testing.assert_allclose(t.detach(), x - 0.5 * t.grad.numpy())
try:
    wg.compile(f)
except ImportError as error:
    print(error)
"""
WITHOUT = {
    "llvmlite": "import sys; sys.modules['llvmlite'] = None",
    "Windows": "import sys, numpy, scipy.optimize, scipy.sparse, concurrent.futures, inspect, pathlib; sys.platform = "
    "'win32'",
}
REASONS = {
    "llvmlite": "needs llvmlite, which cannot be imported",
    "Windows": "made for CPython on 64-bit Linux and macOS, and this is cpython on win32",
}


@pytest.mark.parametrize("system", WITHOUT)
def test_eager_code_works_and_compile_says_why_not(system):
    done = run_python(WITHOUT[system] + EAGER, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("There is no compiler here: it ")
    assert REASONS[system] in done.stdout
    assert done.stdout.strip().endswith("Functions run without wg.compile, and have all their derivatives.")

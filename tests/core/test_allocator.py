from __future__ import annotations

import os
import subprocess
import sys

import pytest

PROGRAM = """
import resource
import numpy as np
import wengert as wg

def f(x):
    y = x
    for k in range(8):
        y = y * x + float(k)
    return y.mean()

gradient = wg.grad(f)
x = np.ones(100_000)
for _ in range(5):
    gradient(x)
start = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(20):
    gradient(x)
print((resource.getrusage(resource.RUSAGE_SELF).ru_minflt - start) / 20)
"""


def page_faults(**environment):
    """The number of page faults for one gradient."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("MALLOC_", "WENGERT_"))}
    clean["WENGERT_EAGER_KERNELS"] = "0"  # which would be compiled meanwhile
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True, env=clean | environment
    )
    return float(done.stdout)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="other systems have other C libraries")
def test_freed_memory_is_used_again():
    assert page_faults() < 100 < page_faults(WENGERT_KEEP_MEMORY="0")

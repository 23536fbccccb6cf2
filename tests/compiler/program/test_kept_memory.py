"""One large arena is kept for the next call."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

PROGRAM = """
import resource
import numpy as np
import wengert as wg
from wengert.compiler.program.kept_memory import KEPT
from wengert.core import machine

def loss(a, x, n):
    y, _ = wg.scan(lambda x, _: (np.sin(x) * a, None), x, length=n)
    return y.sum()

x = np.linspace(0.0, 1.0, 50_000)
gradients = [wg.compile(wg.grad(lambda a, x, n=n: loss(a, x, n))) for n in (60, 90)]
assert gradients[0].report(1.0, x).arena_bytes > machine.current.max_bytes_of_kept_array
expected = [wg.grad(lambda a, n=n: loss(a, x, n))(0.9) for n in (60, 90)]
for _ in range(2):
    for f, value in zip(gradients, expected):
        np.testing.assert_allclose(f(0.9, x), value)
count_faults = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_minflt
faults = []
for _ in range(8):  # the first calls have some, too
    before = count_faults()
    gradients[0](0.9, x)
    faults.append(count_faults() - before)
print(min(faults), bool(KEPT[0]))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="counts page faults as Linux does")
@pytest.mark.parametrize("keeps", [True, False])
def test_a_large_arena_is_kept_unless_the_user_wants_none(keeps):
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("MALLOC_", "GLIBC_TUNABLES"))}
    environment["WENGERT_KEEP_MEMORY"] = "1" if keeps else "0"
    environment["WENGERT_CACHE_DIR"] = "off"  # a thread that stores programs has faults of its own
    run = subprocess.run([sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    faults, is_kept = run.stdout.split()
    assert is_kept == str(keeps)
    assert (int(faults) < 10) is keeps  # of pages, which may be huge

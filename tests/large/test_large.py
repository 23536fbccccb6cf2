"""Programs at sizes where every path of a real machine is taken.

Value and gradient compiled, with 1, 2 and 4 threads, and of eager code after 40 calls, when it has its kernels, against
eager code on one thread without kernels.
"""

from __future__ import annotations

import numpy as np
import pytest
from tests.large import graphs, learning, physics, statistics
from tests.large.cases import Case, Draw

import wengert as wg
from wengert.core import machine, native

FAMILIES = {
    "graphs": graphs.FAMILY,
    "physics": physics.FAMILY,
    "learning": learning.FAMILY,
    "statistics": statistics.FAMILY,
}
CASES = {f"{family}, {name}": case for family, cases in FAMILIES.items() for name, case in cases.items()}
CALLS = 40


def leaves(result):
    value, gradients = result
    return [np.asarray(a) for a in (value, *gradients)]


def assert_near(found, expected, what):
    assert len(found) == len(expected)
    for a, b in zip(found, expected, strict=True):
        size = max(float(np.max(np.abs(b), initial=0.0)), 1e-3)
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-10 * size, err_msg=what)


def test_there_are_sixty():
    assert len(CASES) == 60


@pytest.mark.parametrize("name", CASES)
def test_large_program(name, monkeypatch):
    case: Case = CASES[name]
    args = case.args(Draw(3))
    live = tuple(i for i, a in enumerate(args) if a.dtype.kind == "f")
    g = wg.value_and_grad(case.f, live)
    with machine.using(threads=1), monkeypatch.context() as patch:
        patch.setattr(native, "IS_ON", False)
        expected = leaves(g(*args))
    bits = set()
    for count in (1, 2, 4):
        with machine.using(threads=count):
            compiled = wg.compile(g)
            for _ in range(3):
                found = leaves(compiled(*args))
                bits.add(b"".join(a.tobytes() for a in found))
        assert_near(found, expected, f"{name}, compiled, {count} threads")
    assert len(bits) == 1, "the bits depend on the number of threads, or on the call"
    if case.is_short:
        for _ in range(CALLS):
            found = leaves(g(*args))
        assert_near(found, expected, f"{name}, eager")

"""Programs at sizes where every path of a real machine is taken.

Value and gradient compiled, with 1, 2 and 4 threads, and of eager code that is warm, so that its operations and its
backward pass have programs, against eager code on one thread without kernels. Sizes are just above those from which
four threads share a loop.
"""

from __future__ import annotations

import os

import numpy as np
import pytest
from tests.large import graphs, learning, likelihoods, physics
from tests.large.cases import Case, Draw

import wengert as wg
from wengert.compiler.threads.pool import LIMITS
from wengert.core import machine, native

FAMILIES = {
    "graphs": graphs.FAMILY,
    "physics": physics.FAMILY,
    "learning": learning.FAMILY,
    "statistics": likelihoods.FAMILY,
}
CASES = {f"{family}, {name}": case for family, cases in FAMILIES.items() for name, case in cases.items()}
THREADS = (1, 2, 4)
CALLS = 3


def on_threads(count):
    """A machine with so many threads, which are woken at once: when they sleep depends on time."""
    return machine.using(threads=count, min_operations_to_wake=1)


def leaves(result):
    value, gradients = result
    return [np.asarray(a) for a in (value, *gradients)]


def bits(arrays):
    return b"".join(a.tobytes() for a in arrays)


def run_backward(f, live, args):
    """Value and gradients as a user of tensors has them."""
    args = [wg.tensor(a, requires_grad=True) if i in live else a for i, a in enumerate(args)]
    value = f(*args)
    value.backward()
    gradients = [args[i].grad for i in live]
    for k, i in enumerate(live):
        if gradients[k] is None:  # the program does not read it
            gradients[k] = np.zeros(args[i].shape)
    return leaves((value.detach(), gradients))


def assert_near(found, expected, what):
    assert len(found) == len(expected)
    for a, b in zip(found, expected, strict=True):
        size = max(float(np.max(np.abs(b), initial=0.0)), 1e-3)
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-10 * size, err_msg=what)


def test_there_are_sixty():
    assert len(CASES) == 60


@pytest.mark.skipif(not os.path.isdir("/proc/self/task"), reason="threads are counted by Linux")
def test_four_threads_share_a_large_kernel_on_any_machine():
    """More threads than there are cores are started, too."""
    f = wg.compile(lambda x: np.exp(np.sin(x)) * x)
    x = np.linspace(0.0, 1.0, 200_000)
    with on_threads(4):
        f(x)
        assert LIMITS.threads == 4
        tasks = set(os.listdir("/proc/self/task"))
    assert len(tasks) >= 4


@pytest.mark.seconds(12)
@pytest.mark.parametrize("name", CASES)
def test_large_program(name, at_once, monkeypatch):
    case: Case = CASES[name]
    args = case.args(Draw(3))
    live = tuple(i for i, a in enumerate(args) if a.dtype.kind == "f")
    g = wg.value_and_grad(case.f, live)
    with machine.using(threads=1), monkeypatch.context() as patch:
        patch.setattr(native, "IS_ON", False)
        expected = leaves(g(*args))
    compiled, eager = set(), set()
    for count in THREADS:
        with on_threads(count):
            f = wg.compile(g)
            for _ in range(CALLS):
                found = leaves(f(*args))
                compiled.add(bits(found))
            assert_near(found, expected, f"{name}, compiled, {count} threads")
            for _ in range(CALLS):
                found = run_backward(case.f, live, args)
                eager.add(bits(found))
            assert_near(found, expected, f"{name}, eager, {count} threads")
    assert len(compiled) == 1, "compiled: the bits depend on the number of threads, or on the call"
    assert len(eager) == 1, "eager: the bits depend on the number of threads, or on the call"

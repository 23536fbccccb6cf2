"""Training steps compute the same eager, compiled and in the other systems, at small batches."""

from __future__ import annotations

import json
import subprocess
import sys
from copy import copy
from pathlib import Path

import pytest
from benchmarks import runner
from benchmarks.agreement import check
from benchmarks.systems import named
from benchmarks.workloads import TRAINING_WORKLOADS

BATCH = 2
COMPILED = [name for name in TRAINING_WORKLOADS if name.endswith("-compiled")]
PEER = """
import json, sys
from benchmarks import runner
from benchmarks.agreement import check
from benchmarks.workloads import TRAINING_WORKLOADS

peer, names = sys.argv[1], json.loads(sys.argv[2])
for name in names:
    workload = TRAINING_WORKLOADS[name]
    workload.sizes = {"tiny": int(sys.argv[3])}
    found, expected = [runner.observed(workload, "tiny", system) for system in (peer, workload.reference)]
    check(f"{peer} on {name}", found, expected, workload.tolerance)
    print(name)
"""


@pytest.mark.parametrize("name", COMPILED)
def test_compiled_steps_agree_with_eager_ones(name):
    workload = copy(TRAINING_WORKLOADS[name])
    workload.sizes = {"tiny": BATCH}
    found, expected = [runner.observed(workload, "tiny", system) for system in (workload.subject, workload.reference)]
    check(name, found, expected, 1e-3)
    assert all((update != 0.0).any() for update in found[1:])


@pytest.mark.parametrize("peer", ["torch", "optax"])
def test_peers_agree(peer):
    """In a process of its own, which imports the peer."""
    if not named(peer).installed:
        pytest.skip(f"{peer} is not installed")
    root = Path(__file__).parents[2]
    command = [sys.executable, "-c", PEER, peer, json.dumps(COMPILED), str(BATCH)]
    run = subprocess.run(command, cwd=root, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert run.stdout.split() == COMPILED


def test_every_step_has_the_targets_of_both_faces():
    assert len(COMPILED) == 5
    for name in COMPILED:
        eager, compiled = TRAINING_WORKLOADS[name.removesuffix("-compiled")], TRAINING_WORKLOADS[name]
        assert (eager.subject, compiled.subject) == ("wengert", "wengert compiled")
        assert eager.targets["medium"].keys() == {"torch"}
        assert compiled.targets["medium"].keys() == {"optax", "torch", "torch compiled"}

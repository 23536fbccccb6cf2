"""The example of `docs/design/nests.md`: the change that it shows adds a decision, which may be drawn by the fuzzer."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
CHECKS = """
import numpy as np
import wengert as wg
from wengert.compiler.nests.decisions import Decision
from wengert.compiler.nests.legality import RULES
from wengert.compiler.nests.policy import decide

x = np.random.default_rng(0).normal(size=1000)
policy = lambda nest, machine: [*decide(nest, machine), Decision("prefetch", 0, 4)]
f = lambda x: np.exp(x) * 2.0
g = wg.compile(f, decide=policy)
np.testing.assert_array_equal(g(x), wg.compile(f)(x))
report = g.report(x)
assert "prefetch 4" in report.nests[0] and "llvm.prefetch" in report.llvm
assert list(RULES) == ["prefetch"] + [kind for kind in RULES if kind != "prefetch"]
"""


@pytest.fixture(scope="module")
def copy_with_a_decision(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the package with the change that the page shows."""
    source = tmp_path_factory.mktemp("copy") / "src"
    shutil.copytree(ROOT / "src", source, ignore=shutil.ignore_patterns("__pycache__"))
    page = (ROOT / "docs" / "design" / "nests.md").read_text()
    (change,) = re.findall(r"```diff\n(.*?)```", page, re.DOTALL)
    for part in change.split("--- ")[1:]:
        name, *lines = part.splitlines()
        path = source / "wengert" / name
        before, after = ["\n".join(line[1:] for line in lines if line[0] == sign) for sign in "-+"]
        text = path.read_text()
        assert text.count(f"\n{before}\n") == 1, f"{name} has changed: {before}"
        path.write_text(text.replace(f"\n{before}\n", f"\n{after}\n"))
    return source


def run(source: Path, *command: str) -> str:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(source), str(ROOT)]), "WENGERT_CACHE_DIR": "off"}
    done = subprocess.run([sys.executable, *command], cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_loops_obey_it(copy_with_a_decision: Path):
    run(copy_with_a_decision, "-c", CHECKS)


def test_the_fuzzer_draws_it(copy_with_a_decision: Path):
    report = run(copy_with_a_decision, "-m", "tools.fuzz", "--schedules", "--programs", "4", "--seed", "5")
    assert "4 programs, 0 with differences" in report

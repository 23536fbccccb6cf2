"""Programs written for JAX have the results on the layer that they have on JAX, from the same source text.

JAX compiles for more than a minute, so its results are those that `run_programs.py jax --store` has stored. Where it
is installed, one program runs on it again.
"""

from __future__ import annotations

from typing import Any

import pytest
from tests.compat.run_programs import is_installed, run_in_process, stored_results
from tests.compat.swapped_programs import compare, names_of, results_on_layer

pytestmark = pytest.mark.together("programs of jax")  # they run in one process


def check_results(ours: dict[str, Any], theirs: dict[str, Any], name: str) -> None:
    assert "error" not in theirs, theirs["error"]
    assert "error" not in ours, ours["error"]
    assert set(ours) == set(theirs)
    assert theirs, "a program has results"
    for key, wanted in theirs.items():
        compare(ours[key], wanted, 1e-10, f"{name}: {key}")


@pytest.mark.parametrize("name", names_of("jax"))
def test_same_results(name: str) -> None:
    check_results(results_on_layer("jax")[name], stored_results("jax")[name], name)


@pytest.mark.skipif(not is_installed("jax"), reason="JAX is not installed")
def test_stored_results_are_those_of_jax() -> None:
    name = "while_newton"
    check_results(run_in_process("jax", True, [name])[name], stored_results("jax")[name], name)

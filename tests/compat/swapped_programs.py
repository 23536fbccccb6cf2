"""What the tests of all layers ask: a program has the same results on the layer as on the peer."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from tests.compat.run_programs import is_installed, programs, run_in_process, stored_results


@cache
def results_on_layer(peer: str) -> dict[str, Any]:
    return run_in_process(peer, on_peer=False)


@cache
def results_on_peer(peer: str) -> dict[str, Any]:
    """The results of the peer if it is installed, and those that it had once if not."""
    return run_in_process(peer, on_peer=True) if is_installed(peer) else stored_results(peer)


def names_of(peer: str) -> list[str]:
    return [path.stem for path in programs(peer)]


def check_program(peer: str, name: str, tolerance: float = 1e-10) -> None:
    """Compare all results of a program on the layer with those of the peer."""
    ours, theirs = results_on_layer(peer)[name], results_on_peer(peer)[name]
    assert "error" not in theirs, theirs["error"]
    assert "error" not in ours, ours["error"]
    assert set(ours) == set(theirs)
    assert theirs, "a program has results"
    for key, wanted in theirs.items():
        compare(ours[key], wanted, tolerance, f"{name}: {key}")


def compare(ours: Any, theirs: Any, tolerance: float, where: str) -> None:
    if isinstance(theirs, dict):
        assert set(ours) == set(theirs), where
        for key, wanted in theirs.items():
            compare(ours[key], wanted, tolerance, f"{where}.{key}")
    elif isinstance(theirs, list) and not is_array(theirs):
        assert len(ours) == len(theirs), where
        for i, (mine, wanted) in enumerate(zip(ours, theirs, strict=True)):
            compare(mine, wanted, tolerance, f"{where}[{i}]")
    elif isinstance(theirs, str | bool | type(None)):
        assert ours == theirs, where
    else:
        np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance, err_msg=where)


def is_array(nested: list[Any]) -> bool:
    """Whether nested lists hold the numbers of one array."""
    try:
        return np.asarray(nested).dtype.kind in "iuf"
    except ValueError:
        return False

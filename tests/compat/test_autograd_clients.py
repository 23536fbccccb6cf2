"""Libraries written for autograd find the same on the layer. `python tools/clients.py` runs all of them."""

from __future__ import annotations

import pytest
from tools.clients import CLIENTS, WRONG, difference, installed, run_in_process

QUICK = {
    "lifelines WeibullFitter": 1e-9,
    "lifelines WeibullAFTFitter": 1e-9,
    "pymanopt TrustRegions, complex circle": 1e-9,
    "pymanopt ConjugateGradient, Stiefel": 1e-9,
    "autograd-gamma": 1e-10,
}


@pytest.mark.parametrize("name", QUICK)
def test_a_client_finds_the_same(name):
    if name not in installed():
        pytest.skip(f"needs autograd and {CLIENTS[name][0]}: pip install autograd lifelines pymanopt autograd-gamma")
    ours = run_in_process(name, on_layer=True)
    assert difference(ours, run_in_process(name, on_layer=False)) < QUICK[name]
    assert difference(run_in_process(name, on_layer=True, error=WRONG), ours) > 1e-7, "the results ignore derivatives"


def test_a_difference_is_found():
    assert difference({"results": {"x": [[1.0, 2.0]]}}, {"results": {"x": [[1.0, 4.0]]}}) == 0.5

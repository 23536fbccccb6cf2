"""Optimisers and schedules against PyTorch: stored values everywhere, PyTorch itself where it is installed."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from tests.nn.torch_cases import stored_values
from tests.optim.cases_torch import CASES, OPTIMIZERS, SCHEDULES

STORED = stored_values(Path(__file__).parent / "stored" / "torch.npz")


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_hundred_steps(name):
    np.testing.assert_allclose(
        OPTIMIZERS[name].wengert_values()["parameters"], STORED[name]["parameters"], rtol=1e-10, atol=1e-10
    )


@pytest.mark.parametrize("name", SCHEDULES)
def test_forty_epochs(name):
    np.testing.assert_allclose(SCHEDULES[name].wengert_values()["rates"], STORED[name]["rates"], rtol=1e-12, atol=1e-14)


def test_the_steps_differ():
    """Stored values that were all alike would prove nothing."""
    ends = np.stack([STORED[name]["parameters"][-1] for name in OPTIMIZERS if "lbfgs" not in name])
    distances = np.abs(ends[:, None] - ends).max(axis=-1)
    assert (distances[~np.eye(len(ends), dtype=bool)] > 1e-6).all()


@pytest.mark.skipif(find_spec("torch") is None or find_spec("optax") is None, reason="stored values are compared")
@pytest.mark.filterwarnings("ignore")  # those of PyTorch and JAX are not ours
def test_stored_values_are_those_of_torch():
    assert STORED.keys() == CASES.keys()
    for name, case in OPTIMIZERS.items():
        np.testing.assert_allclose(
            case.torch_values()["parameters"], STORED[name]["parameters"], rtol=1e-11, atol=1e-12, err_msg=name
        )
    for name, case in SCHEDULES.items():
        np.testing.assert_allclose(case.torch_values()["rates"], STORED[name]["rates"], rtol=1e-13, err_msg=name)

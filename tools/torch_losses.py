"""Store what PyTorch makes of the cases of `tests/nn/loss_cases.py`: values and gradients, in double precision.

`python -m tools.torch_losses` writes `tests/nn/stored/losses.npz`, which the tests read where PyTorch is not installed.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from tests.nn.loss_cases import CASES, LossCase

STORED = Path(__file__).parent.parent / "tests" / "nn" / "stored" / "losses.npz"


def torch_values(case: LossCase) -> list[np.ndarray]:
    """The loss, and the gradients of its sum with respect to the inputs."""
    inputs = [torch.tensor(x, requires_grad=True) for x in case.inputs]
    out = case.call(torch.nn.functional, *inputs, *[torch.tensor(x) for x in case.constants])
    out.sum().backward()
    return [out.detach().numpy(), *[x.grad.numpy() for x in inputs]]  # type: ignore[union-attr]  # a gradient for each


if __name__ == "__main__":
    stored = {f"{name}.{i}": x for name, case in CASES.items() for i, x in enumerate(torch_values(case))}
    np.savez_compressed(STORED, **stored)

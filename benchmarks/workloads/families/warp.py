"""An image that is displaced at every pixel, by bilinear interpolation: gathers, and scatters in the gradient."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.workload import Workload
from benchmarks.workloads.faces import Face, write_for_jax, write_for_torch, write_for_wengert


def data(n: int) -> tuple:
    """A square image and displacements of its rows and columns; the image that should come out."""
    rng = np.random.default_rng(0)
    return [rng.standard_normal((n, n)), rng.uniform(-2.0, 2.0, (2, n, n))], rng.standard_normal((n, n))


def loss(params: Any, target: Any, face: Face) -> Any:
    """The mean squared difference, where the border goes on for ever."""
    m = face.numpy
    image, shift = params
    n = len(image)
    grid = m.arange(n, dtype=np.float64)
    rows = m.clip(grid[:, None] + shift[0], 0.0, n - 1.0)
    columns = m.clip(grid[None] + shift[1], 0.0, n - 1.0)
    i = m.minimum(m.floor(rows), n - 2.0).astype(np.int32)
    j = m.minimum(m.floor(columns), n - 2.0).astype(np.int32)
    down, right = rows - i, columns - j
    upper = image[i, j] * (1.0 - right) + image[i, j + 1] * right
    lower = image[i + 1, j] * (1.0 - right) + image[i + 1, j + 1] * right
    return m.mean((upper * (1.0 - down) + lower * down - target) ** 2)


def torch_loss(params: Any, target: Any, face: Face) -> Any:
    """The same by the function that PyTorch has for it, whose coordinates go from -1 to 1, columns first."""
    import torch

    image, shift = params
    n = len(image)
    grid = torch.arange(n, dtype=torch.float64)
    rows, columns = grid[:, None] + shift[0], grid[None] + shift[1]
    where = 2.0 / (n - 1) * torch.stack([columns, rows], dim=-1) - 1.0
    warped = torch.nn.functional.grid_sample(
        image[None, None], where[None], mode="bilinear", padding_mode="border", align_corners=True
    )
    return torch.mean((warped[0, 0] - target) ** 2)


workload = Workload(
    "warp",
    "an image of 128 x 128 and 1 024 x 1 024 displaced by bilinear interpolation: value, gradients in image and "
    "displacement (PyTorch: `grid_sample`)",
    data=data,
    sizes={"small": 128, "large": 1_024},
    subject="wengert compiled",
    reference="wengert",
    tolerance=1e-8,
    family="gather",
    traffic=lambda n: 8 * 7 * n * n,
)
write_for_wengert(workload, loss)
write_for_jax(workload, loss)
write_for_torch(workload, torch_loss)

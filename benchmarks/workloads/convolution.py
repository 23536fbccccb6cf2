"""Convolutions of signals with channels, forward and backward: the result, and the gradients of signals and filters, in
float32.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from benchmarks.workload import Run, Workload

ROOM = {"torch": 1.0}
"""PyTorch's convolutions are written for the processor, and so are ours."""


class Setting(NamedTuple):
    """Shapes without the batch, and options that are the same for each axis."""

    signal: tuple[int, ...]
    filters: tuple[int, ...]
    stride: int = 1
    padding: int = 0
    groups: int = 1

    @property
    def rank(self) -> int:
        return len(self.filters) - 2

    @property
    def positions(self) -> tuple[int, ...]:
        return tuple(
            (n + 2 * self.padding - k) // self.stride + 1
            for n, k in zip(self.signal[1:], self.filters[2:], strict=True)
        )

    @property
    def options(self) -> dict[str, int]:
        return {"stride": self.stride, "padding": self.padding, "groups": self.groups}


class Problem(NamedTuple):
    """Signals, filters, and the cotangent of the result."""

    x: np.ndarray
    w: np.ndarray
    t: np.ndarray


def data(setting: Setting, batch: int) -> Problem:
    rng = np.random.default_rng(0)
    shapes = (batch, *setting.signal), setting.filters, (batch, setting.filters[0], *setting.positions)
    return Problem(*[rng.standard_normal(shape, dtype=np.float32) for shape in shapes])


def taps(setting: Setting) -> list[tuple[slice, ...]]:
    """For each element of a window, its positions in the padded signal."""
    ends = [(n - 1) * setting.stride + 1 for n in setting.positions]
    return [
        tuple(slice(start, start + end, setting.stride) for start, end in zip(tap, ends, strict=True))
        for tap in np.ndindex(setting.filters[2:])
    ]


def wengert(setting: Setting, problem: Problem) -> Run:
    import wengert as wg

    x, w = (wg.tensor(a, requires_grad=True) for a in (problem.x, problem.w))

    def run() -> tuple:
        x.grad = w.grad = None
        y = wg.signal.convolution(x, w, **setting.options)
        y.backward(problem.t)
        return y, x.grad, w.grad

    return run


def torch(setting: Setting, problem: Problem) -> Run:
    import torch

    convolve = getattr(torch.nn.functional, f"conv{setting.rank}d")
    x, w = (torch.tensor(a, requires_grad=True) for a in (problem.x, problem.w))
    t = torch.tensor(problem.t)

    def run() -> tuple:
        x.grad = w.grad = None
        y = convolve(x, w, **setting.options)
        y.backward(t)
        return y, x.grad, w.grad

    return run


def jax(setting: Setting, problem: Problem) -> Run:
    import jax

    def convolve(x: Any, w: Any) -> Any:
        padding = [(setting.padding,) * 2] * setting.rank
        return jax.lax.conv_general_dilated(
            x, w, (setting.stride,) * setting.rank, padding, feature_group_count=setting.groups
        )

    def step(x: Any, w: Any, t: Any) -> tuple:
        y, pull = jax.vjp(convolve, x, w)
        return y, *pull(t)

    compiled = jax.jit(step)
    arrays = [jax.numpy.asarray(a) for a in problem]
    return lambda: jax.block_until_ready(compiled(*arrays))


def autograd(setting: Setting, problem: Problem) -> Run:
    """By indices of the columns, since it has no convolution with these options."""
    import autograd
    import autograd.numpy as anp

    around = ((0, 0), (0, 0), *((setting.padding,) * 2 for _ in range(setting.rank)))
    lengths = tuple(n + 2 * setting.padding for n in setting.signal[1:])
    elements = np.arange(np.prod(lengths)).reshape(lengths)
    index = np.stack([elements[at].ravel() for at in taps(setting)])

    def convolve(arrays: tuple) -> Any:
        x, w = arrays
        batch, channels = x.shape[:2]
        seen = anp.reshape(anp.pad(x, around, "constant"), (batch, channels, -1))[:, :, index]
        columns = anp.reshape(seen, (batch, setting.groups, -1, index.shape[1]))
        filters = anp.reshape(w, (setting.groups, w.shape[0] // setting.groups, -1))
        return anp.reshape(anp.matmul(filters, columns), problem.t.shape)

    def run() -> tuple:
        pull, y = autograd.make_vjp(convolve)((problem.x, problem.w))
        return y, *pull(problem.t)

    return run


def numpy(setting: Setting, problem: Problem) -> Run:
    """One product of matrices for each element of a window, and no columns."""
    x, w, t = problem
    batch, groups = len(x), setting.groups
    channels, filters = x.shape[1] // groups, len(w) // groups
    around = ((0, 0), (0, 0), *((setting.padding,) * 2 for _ in range(setting.rank)))
    inside: Any = (..., *(slice(setting.padding, setting.padding + n) for n in x.shape[2:]))
    elements = [
        np.ascontiguousarray(w.reshape(groups, filters, channels, -1)[..., i]) for i in range(len(taps(setting)))
    ]

    def run() -> tuple:
        padded = np.pad(x, around)
        dx, upstream = np.zeros_like(padded), t.reshape(batch, groups, filters, -1)
        y, dw = np.zeros_like(upstream), []
        for at, element in zip(taps(setting), elements, strict=True):
            seen = padded[:, :, *at]
            rows = seen.reshape(batch, groups, channels, -1)
            y += element @ rows
            dw.append((upstream @ rows.swapaxes(-1, -2)).sum(0))
            dx[:, :, *at] += (element.swapaxes(-1, -2) @ upstream).reshape(seen.shape)
        return y.reshape(t.shape), dx[inside], np.stack(dw, -1).reshape(w.shape)

    return run


SYSTEMS: dict[str, Callable[[Setting, Problem], Run]] = {
    "wengert": wengert,
    "torch": torch,
    "jax": jax,
    "autograd": autograd,
    "numpy": numpy,
}


SETTINGS: dict[str, tuple[str, Setting, dict[str, int]]] = {
    "conv-1d": (
        "16 channels of 256, 32 filters of 5, padded",
        Setting((16, 256), (32, 16, 5), padding=2),
        {"medium": 16},
    ),
    "conv-2d": (
        "16 channels of 32 x 32, 32 filters of 3 x 3, padded",
        Setting((16, 32, 32), (32, 16, 3, 3), padding=1),
        {"small": 1, "medium": 8, "large": 64},
    ),
    "conv-rgb": ("3 channels of 64 x 64, 16 filters of 5 x 5", Setting((3, 64, 64), (16, 3, 5, 5)), {"medium": 4}),
    "conv-3d": (
        "8 channels of 16^3, 16 filters of 3^3, padded",
        Setting((8, 16, 16, 16), (16, 8, 3, 3, 3), padding=1),
        {"medium": 2},
    ),
    "conv-strided": (
        "`conv-2d` with steps of 2",
        Setting((16, 32, 32), (32, 16, 3, 3), stride=2, padding=1),
        {"medium": 8},
    ),
    "conv-grouped": ("`conv-2d` in 4 groups", Setting((16, 32, 32), (32, 4, 3, 3), padding=1, groups=4), {"medium": 8}),
    "conv-depthwise": (
        "`conv-2d` with one filter for each channel",
        Setting((16, 32, 32), (16, 1, 3, 3), padding=1, groups=16),
        {"medium": 8},
    ),
}


def _workload(name: str, what: str, setting: Setting, sizes: dict[str, int]) -> Workload:
    made = Workload(
        name,
        f"a convolution, and the gradients of signals and filters: {what}, float32; the size is the batch",
        data=lambda batch: data(setting, batch),
        sizes=sizes,
        targets=dict.fromkeys(sizes, ROOM),
    )
    for system, prepare in SYSTEMS.items():
        made.implementation(system)(lambda *problem, prepare=prepare: prepare(setting, Problem(*problem)))
    return made


workloads: Sequence[Workload] = [_workload(name, *setting) for name, setting in SETTINGS.items()]

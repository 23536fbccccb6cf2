"""PyTorch's module of schedules: `from wengert.optim.lr_scheduler import StepLR`. They are those of `wg.optim`."""

from wengert.optim.one_cycle import OneCycleLR
from wengert.optim.plateau import ReduceLROnPlateau
from wengert.optim.schedules import (
    CosineAnnealingLR,
    ExponentialLR,
    LambdaLR,
    LinearLR,
    LRScheduler,
    MultiStepLR,
    SequentialLR,
    StepLR,
)

__all__ = [
    "CosineAnnealingLR",
    "ExponentialLR",
    "LRScheduler",
    "LambdaLR",
    "LinearLR",
    "MultiStepLR",
    "OneCycleLR",
    "ReduceLROnPlateau",
    "SequentialLR",
    "StepLR",
]

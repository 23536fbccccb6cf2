"""PyTorch's module of schedules: `from wengert.optim.lr_scheduler import StepLR`. They are those of `wg.optim`."""

from wengert.optim.cycles import CosineAnnealingWarmRestarts, CyclicLR
from wengert.optim.one_cycle import OneCycleLR
from wengert.optim.plateau import ReduceLROnPlateau
from wengert.optim.schedules import (
    ChainedScheduler,
    ConstantLR,
    CosineAnnealingLR,
    ExponentialLR,
    LambdaLR,
    LinearLR,
    LRScheduler,
    MultiStepLR,
    PolynomialLR,
    SequentialLR,
    StepLR,
)

__all__ = [
    "ChainedScheduler",
    "ConstantLR",
    "CosineAnnealingLR",
    "CosineAnnealingWarmRestarts",
    "CyclicLR",
    "ExponentialLR",
    "LRScheduler",
    "LambdaLR",
    "LinearLR",
    "MultiStepLR",
    "OneCycleLR",
    "PolynomialLR",
    "ReduceLROnPlateau",
    "SequentialLR",
    "StepLR",
]

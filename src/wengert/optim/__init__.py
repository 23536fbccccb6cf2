"""Optimisers: update rules on tensors, as in PyTorch, and on trees of arrays; schedules; methods of second order."""

from wengert.core.namespaces import name_functions
from wengert.nn.clipping import clip_by_norm, clip_by_value
from wengert.optim import lr_scheduler as lr_scheduler
from wengert.optim.cycles import CosineAnnealingWarmRestarts, CyclicLR
from wengert.optim.lbfgs import LBFGS
from wengert.optim.methods import SGD, Adadelta, Adagrad, Adam, Adamax, AdamW, Lion, NAdam, RAdam, RMSprop
from wengert.optim.one_cycle import OneCycleLR
from wengert.optim.optimizer import Optimizer
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
from wengert.optim.second_order import GaussNewton, NewtonCG

__all__ = [
    "LBFGS",
    "SGD",
    "Adadelta",
    "Adagrad",
    "Adam",
    "AdamW",
    "Adamax",
    "ChainedScheduler",
    "ConstantLR",
    "CosineAnnealingLR",
    "CosineAnnealingWarmRestarts",
    "CyclicLR",
    "ExponentialLR",
    "GaussNewton",
    "LRScheduler",
    "LambdaLR",
    "LinearLR",
    "Lion",
    "MultiStepLR",
    "NAdam",
    "NewtonCG",
    "OneCycleLR",
    "Optimizer",
    "PolynomialLR",
    "RAdam",
    "RMSprop",
    "ReduceLROnPlateau",
    "SequentialLR",
    "StepLR",
    "clip_by_norm",
    "clip_by_value",
    "lr_scheduler",
]

__getattr__, __dir__ = name_functions(globals())

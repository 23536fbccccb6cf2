"""Models: modules with parameters, layers, losses, and how they are trained."""

from wengert.nn import functional as functional
from wengert.nn import init as init
from wengert.nn import metrics as metrics
from wengert.nn.activations import (
    CELU,
    ELU,
    GELU,
    GLU,
    SELU,
    Hardshrink,
    Hardsigmoid,
    Hardswish,
    Hardtanh,
    LeakyReLU,
    LogSigmoid,
    LogSoftmax,
    Mish,
    PReLU,
    ReLU,
    ReLU6,
    Sigmoid,
    SiLU,
    Softmax,
    Softmin,
    Softplus,
    Softshrink,
    Softsign,
    Tanh,
    Tanhshrink,
    Threshold,
)
from wengert.nn.callbacks import Callback, EarlyStopping, Schedule
from wengert.nn.checkpoints import Checkpoint
from wengert.nn.clipping import clip_grad_norm_, clip_grad_value_
from wengert.nn.containers import ModuleDict, ModuleList, ParameterList, Residual, Sequential
from wengert.nn.convolution import Conv1d, Conv2d, Conv3d, ConvTranspose1d, ConvTranspose2d, ConvTranspose3d
from wengert.nn.embedding import Embedding
from wengert.nn.fit import fit
from wengert.nn.history import History
from wengert.nn.linear import Bilinear, Identity, Linear
from wengert.nn.module import Module, Parameter
from wengert.nn.normalization import BatchNorm1d, BatchNorm2d, BatchNorm3d, GroupNorm, LayerNorm, RMSNorm
from wengert.nn.pooling import (
    AdaptiveAvgPool1d,
    AdaptiveAvgPool2d,
    AdaptiveAvgPool3d,
    AdaptiveMaxPool1d,
    AdaptiveMaxPool2d,
    AdaptiveMaxPool3d,
    AvgPool1d,
    AvgPool2d,
    AvgPool3d,
    MaxPool1d,
    MaxPool2d,
    MaxPool3d,
)
from wengert.nn.shapes import Flatten, Unflatten
from wengert.nn.training import NonFiniteLossError, Training
from wengert.nn.weights import load, load_metadata, save

__all__ = [
    "AdaptiveAvgPool1d", "AdaptiveAvgPool2d", "AdaptiveAvgPool3d", "AdaptiveMaxPool1d", "AdaptiveMaxPool2d",
    "AdaptiveMaxPool3d", "AvgPool1d", "AvgPool2d", "AvgPool3d", "BatchNorm1d", "BatchNorm2d", "BatchNorm3d",
    "Bilinear", "CELU", "Callback", "Checkpoint", "Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d",
    "ConvTranspose3d", "ELU", "EarlyStopping", "Embedding", "Flatten", "GELU", "GLU", "GroupNorm", "Hardshrink",
    "Hardsigmoid", "Hardswish", "Hardtanh", "History", "Identity", "LayerNorm", "LeakyReLU", "Linear", "LogSigmoid",
    "LogSoftmax", "MaxPool1d", "MaxPool2d", "MaxPool3d", "Mish", "Module", "ModuleDict", "ModuleList",
    "NonFiniteLossError", "PReLU", "Parameter", "ParameterList", "RMSNorm", "ReLU", "ReLU6", "Residual", "SELU",
    "Schedule", "Sequential", "SiLU", "Sigmoid", "Softmax", "Softmin", "Softplus", "Softshrink", "Softsign", "Tanh",
    "Tanhshrink", "Threshold", "Training", "Unflatten", "clip_grad_norm_", "clip_grad_value_", "fit", "functional",
    "init", "load", "load_metadata", "metrics", "save",
]  # fmt: skip

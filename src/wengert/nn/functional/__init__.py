"""`wg.nn.functional`: layers as functions of their inputs and weights, by the names of PyTorch."""

from wengert.nn.functional.activations import (
    celu,
    elu,
    gelu,
    glu,
    hardshrink,
    hardsigmoid,
    hardswish,
    hardtanh,
    leaky_relu,
    log_softmax,
    logsigmoid,
    mish,
    prelu,
    relu,
    relu6,
    selu,
    sigmoid,
    silu,
    softmax,
    softmin,
    softplus,
    softshrink,
    softsign,
    tanh,
    tanhshrink,
    threshold,
)
from wengert.nn.functional.affine import bilinear, embedding, linear
from wengert.nn.functional.convolution import (
    conv1d,
    conv2d,
    conv3d,
    conv_transpose1d,
    conv_transpose2d,
    conv_transpose3d,
)
from wengert.nn.functional.normalization import batch_norm, group_norm, instance_norm, layer_norm, normalize, rms_norm

__all__ = [
    "batch_norm", "bilinear", "celu", "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d",
    "conv_transpose3d", "elu", "embedding", "gelu", "glu", "group_norm", "hardshrink", "hardsigmoid", "hardswish",
    "hardtanh", "instance_norm", "layer_norm", "leaky_relu", "linear", "log_softmax", "logsigmoid", "mish", "normalize",
    "prelu", "relu", "relu6", "rms_norm", "selu", "sigmoid", "silu", "softmax", "softmin", "softplus", "softshrink",
    "softsign", "tanh", "tanhshrink", "threshold",
]  # fmt: skip

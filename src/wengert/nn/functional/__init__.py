"""`wg.nn.functional`: layers and losses as functions of arrays, by the names and with the arguments of PyTorch."""

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
from wengert.nn.functional.attention import scaled_dot_product_attention
from wengert.nn.functional.classification import (
    binary_cross_entropy,
    binary_cross_entropy_with_logits,
    cross_entropy,
    hinge_embedding_loss,
    multi_margin_loss,
    nll_loss,
    one_hot,
)
from wengert.nn.functional.convolution import (
    conv1d,
    conv2d,
    conv3d,
    conv_transpose1d,
    conv_transpose2d,
    conv_transpose3d,
)
from wengert.nn.functional.ctc import ctc_loss
from wengert.nn.functional.distances import (
    cosine_embedding_loss,
    cosine_similarity,
    huber_loss,
    kl_div,
    l1_loss,
    mse_loss,
    pairwise_distance,
    smooth_l1_loss,
    triplet_margin_loss,
)
from wengert.nn.functional.dropout import alpha_dropout, dropout, dropout1d, dropout2d, dropout3d
from wengert.nn.functional.normalization import batch_norm, group_norm, instance_norm, layer_norm, normalize, rms_norm
from wengert.nn.functional.pooling import (
    adaptive_avg_pool1d,
    adaptive_avg_pool2d,
    adaptive_avg_pool3d,
    adaptive_max_pool1d,
    adaptive_max_pool2d,
    adaptive_max_pool3d,
    avg_pool1d,
    avg_pool2d,
    avg_pool3d,
    max_pool1d,
    max_pool2d,
    max_pool3d,
)

__all__ = [
    "adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "adaptive_max_pool1d", "adaptive_max_pool2d",
    "adaptive_max_pool3d", "alpha_dropout", "avg_pool1d", "avg_pool2d", "avg_pool3d", "batch_norm", "bilinear",
    "binary_cross_entropy", "binary_cross_entropy_with_logits", "celu", "conv1d", "conv2d", "conv3d",
    "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "cosine_embedding_loss", "cosine_similarity",
    "cross_entropy", "ctc_loss", "dropout", "dropout1d", "dropout2d", "dropout3d", "elu", "embedding", "gelu", "glu",
    "group_norm", "hardshrink", "hardsigmoid", "hardswish", "hardtanh", "hinge_embedding_loss", "huber_loss",
    "instance_norm", "kl_div", "l1_loss", "layer_norm", "leaky_relu", "linear", "log_softmax", "logsigmoid",
    "max_pool1d", "max_pool2d", "max_pool3d", "mish", "mse_loss", "multi_margin_loss", "nll_loss", "normalize",
    "one_hot", "pairwise_distance", "prelu", "relu", "relu6", "rms_norm", "scaled_dot_product_attention", "selu",
    "sigmoid", "silu", "smooth_l1_loss", "softmax", "softmin", "softplus", "softshrink", "softsign", "tanh",
    "tanhshrink", "threshold", "triplet_margin_loss",
]  # fmt: skip

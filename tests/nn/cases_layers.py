"""Layers that PyTorch has by the same names."""

from __future__ import annotations

from typing import Any

import numpy as np
from tests.nn.torch_cases import FunctionCase, Given, Integers, LayerCase, by_name

KINKS = Given(np.array([-6.0, -3.0, -1.0, -0.5, -0.2, 0.0, 0.3, 0.5, 1.0, 2.0, 3.0, 6.0, 7.5, 30.0]))
"""Points of activation functions, those without a derivative among them."""


def activation(layer: str, *args, **kwargs) -> LayerCase:
    name = " ".join([layer, *map(str, args), *[f"{k}={v}" for k, v in kwargs.items()]])
    return LayerCase(name, layer, args, kwargs, (KINKS,), has_dtype=False)


ACTIVATIONS = [
    activation("ReLU"), activation("ReLU6"), activation("LeakyReLU"), activation("LeakyReLU", 0.3), activation("ELU"),
    activation("ELU", 0.7), activation("CELU", 0.5), activation("SELU"), activation("GELU"),
    activation("GELU", approximate="tanh"), activation("SiLU"), activation("Mish"), activation("Sigmoid"),
    activation("LogSigmoid"), activation("Tanh"), activation("Tanhshrink"), activation("Softplus"),
    activation("Softplus", beta=2.0, threshold=5.0), activation("Softsign"), activation("Softshrink"),
    activation("Hardshrink"), activation("Hardtanh"), activation("Hardtanh", -0.5, 2.0),
    LayerCase("Hardsigmoid", "Hardsigmoid", (), {}, (KINKS,), has_dtype=False, tolerance=1e-7),  # its 1/6 is a float32
    activation("Hardswish"), activation("Threshold", 0.5, -1.0), activation("GLU"), activation("Softmax", dim=0),
    activation("Softmin", dim=0), activation("LogSoftmax", dim=0), activation("Identity"),
]  # fmt: skip

AFFINE = [
    LayerCase("Linear", "Linear", (3, 4), {}, ((5, 3),)),
    LayerCase("Linear without bias", "Linear", (3, 4), {"bias": False}, ((2, 5, 3),)),
    LayerCase("Linear of one vector", "Linear", (3, 1), {}, ((3,),)),
    LayerCase("Bilinear", "Bilinear", (3, 2, 4), {}, ((5, 3), (5, 2))),
    LayerCase("Bilinear without bias", "Bilinear", (3, 2, 4), {"bias": False}, ((2, 5, 3), (2, 5, 2))),
    LayerCase("Embedding", "Embedding", (7, 3), {}, (Integers((4, 5), 7),)),
    LayerCase("Embedding with padding", "Embedding", (4, 3), {"padding_idx": 1}, (Integers((4, 5), 4),)),
    LayerCase("EmbeddingBag", "EmbeddingBag", (7, 3), {}, (Integers((4, 5), 7),)),
    LayerCase(
        "EmbeddingBag with offsets", "EmbeddingBag", (7, 3), {"mode": "sum"}, (Integers((9,), 7),),
        {"offsets": np.array([0, 4, 4])},
    ),
    LayerCase("PReLU", "PReLU", (), {}, ((3, 4),)),
    LayerCase("PReLU of channels", "PReLU", (4,), {}, ((3, 4, 2),)),
    LayerCase("Flatten", "Flatten", (), {}, ((2, 3, 4),), has_dtype=False),
    LayerCase("Unflatten", "Unflatten", (1, (2, 3)), {}, ((2, 6, 2),), has_dtype=False),
]  # fmt: skip

CONVOLUTIONS = [
    LayerCase("Conv1d", "Conv1d", (2, 4, 3), {}, ((2, 2, 7),)),
    LayerCase("Conv1d same", "Conv1d", (2, 4, 4), {"padding": "same", "dilation": 2}, ((2, 2, 9),)),
    LayerCase("Conv1d of one signal", "Conv1d", (2, 4, 3), {"stride": 2}, ((2, 7),)),
    LayerCase("Conv1d circular", "Conv1d", (2, 3, 3), {"padding": 2, "padding_mode": "circular"}, ((2, 2, 5),)),
    LayerCase("Conv2d", "Conv2d", (3, 4, 3), {"padding": 1}, ((2, 3, 5, 6),)),
    LayerCase("Conv2d strides", "Conv2d", (2, 4, (3, 2)), {"stride": (2, 1), "padding": (1, 0)}, ((2, 2, 6, 5),)),
    LayerCase("Conv2d groups", "Conv2d", (4, 6, 3), {"groups": 2, "dilation": 2, "bias": False}, ((2, 4, 6, 7),)),
    LayerCase("Conv2d depthwise", "Conv2d", (3, 3, 3), {"groups": 3, "padding": "same"}, ((2, 3, 4, 4),)),
    LayerCase("Conv2d valid", "Conv2d", (1, 2, 2), {"padding": "valid"}, ((1, 1, 3, 3),)),
    LayerCase("Conv2d reflect", "Conv2d", (2, 3, 3), {"padding": 1, "padding_mode": "reflect"}, ((2, 2, 5, 4),)),
    LayerCase("Conv2d replicate", "Conv2d", (2, 3, 3), {"padding": 1, "padding_mode": "replicate"}, ((2, 2, 5, 4),)),
    LayerCase("Conv3d", "Conv3d", (2, 3, 2), {"padding": 1, "stride": 2}, ((2, 2, 3, 4, 3),)),
    LayerCase("ConvTranspose1d", "ConvTranspose1d", (2, 3, 3), {}, ((2, 2, 5),)),
    LayerCase(
        "ConvTranspose1d all", "ConvTranspose1d", (4, 6, 3),
        {"stride": 2, "padding": 1, "output_padding": 1, "groups": 2, "dilation": 2}, ((2, 4, 5),),
    ),
    LayerCase(
        "ConvTranspose1d more padding after", "ConvTranspose1d", (2, 3, 2),
        {"stride": 1, "padding": 1, "output_padding": 2, "dilation": 3}, ((2, 2, 5),),
    ),
    LayerCase("ConvTranspose2d", "ConvTranspose2d", (2, 3, 3), {"stride": 2, "padding": 1}, ((2, 2, 3, 4),)),
    LayerCase("ConvTranspose2d of one image", "ConvTranspose2d", (2, 3, (3, 2)), {"bias": False}, ((2, 3, 4),)),
    LayerCase("ConvTranspose3d", "ConvTranspose3d", (2, 2, 2), {"stride": (1, 2, 1)}, ((1, 2, 2, 2, 3),)),
]  # fmt: skip

NORMALIZATIONS = [
    LayerCase("LayerNorm", "LayerNorm", (4,), {}, ((3, 4),)),
    LayerCase("LayerNorm of axes", "LayerNorm", ((3, 4),), {"eps": 0.1}, ((2, 3, 4),)),
    LayerCase("LayerNorm without bias", "LayerNorm", (4,), {"bias": False}, ((3, 4),)),
    LayerCase("LayerNorm without affine", "LayerNorm", (4,), {"elementwise_affine": False}, ((3, 4),)),
    LayerCase("RMSNorm", "RMSNorm", (4,), {}, ((3, 4),)),
    LayerCase("RMSNorm of axes", "RMSNorm", ((3, 4),), {"eps": 0.1}, ((2, 3, 4),)),
    LayerCase("GroupNorm", "GroupNorm", (2, 6), {}, ((3, 6, 5),)),
    LayerCase("GroupNorm without affine", "GroupNorm", (3, 6), {"affine": False, "eps": 0.1}, ((3, 6, 2, 2),)),
    LayerCase("InstanceNorm1d", "InstanceNorm1d", (3,), {"affine": True}, ((2, 3, 5),)),
    LayerCase("InstanceNorm2d of one image", "InstanceNorm2d", (3,), {}, ((3, 4, 5),)),
    LayerCase("InstanceNorm3d", "InstanceNorm3d", (2,), {"affine": True, "eps": 0.1}, ((2, 2, 3, 2, 4),)),
    LayerCase("BatchNorm1d", "BatchNorm1d", (3,), {}, ((5, 3),)),
    LayerCase("BatchNorm1d of sequences", "BatchNorm1d", (3,), {"momentum": None}, ((5, 3, 4),)),
    LayerCase("BatchNorm1d after training", "BatchNorm1d", (3,), {}, ((5, 3),), training=False),
    LayerCase("BatchNorm1d without statistics", "BatchNorm1d", (3,), {"track_running_stats": False}, ((5, 3),)),
    LayerCase(
        "BatchNorm1d after training without statistics", "BatchNorm1d", (3,), {"track_running_stats": False},
        ((5, 3),), training=False,
    ),
    LayerCase("BatchNorm2d", "BatchNorm2d", (3,), {"momentum": 0.3}, ((2, 3, 4, 5),)),
    LayerCase("BatchNorm2d without affine", "BatchNorm2d", (3,), {"affine": False}, ((2, 3, 4, 5),)),
    LayerCase("BatchNorm2d after training", "BatchNorm2d", (3,), {}, ((2, 3, 4, 5),), training=False),
    LayerCase("BatchNorm3d", "BatchNorm3d", (3,), {}, ((2, 3, 2, 4, 3),)),
    FunctionCase("normalize", "normalize", ((3, 4),)),
    FunctionCase("normalize 1", "normalize", ((3, 4),), {"p": 1.0, "dim": 0}),
    FunctionCase("instance_norm", "instance_norm", ((2, 3, 4),)),
]  # fmt: skip


def pooling(name: str, layer: str, args: tuple, kwargs: dict, shape: tuple) -> LayerCase:
    return LayerCase(name, layer, args, kwargs, (shape,), has_dtype=False)


TIES = Given(np.array([[[[1.0, 1.0, 0.0, 2.0], [1.0, 0.0, 2.0, 2.0], [0.0, 0.0, -1.0, -1.0], [0.0, 0.0, -2.0, -1.0]]]]))

POOLINGS = [
    pooling("MaxPool1d", "MaxPool1d", (2,), {}, (2, 3, 7)),
    pooling("MaxPool1d dilated", "MaxPool1d", (3,), {"stride": 1, "dilation": 2, "padding": 1}, (2, 3, 9)),
    pooling("MaxPool1d of one signal", "MaxPool1d", (2,), {"ceil_mode": True}, (3, 7)),
    pooling("MaxPool2d", "MaxPool2d", (2,), {}, (2, 3, 6, 8)),
    pooling("MaxPool2d overlapping", "MaxPool2d", (3,), {"stride": 2, "padding": 1}, (2, 2, 7, 8)),
    pooling("MaxPool2d ceil", "MaxPool2d", ((3, 2),), {"stride": (2, 3), "ceil_mode": True}, (2, 2, 8, 7)),
    pooling("MaxPool2d indices", "MaxPool2d", (3,), {"stride": 2, "padding": 1, "return_indices": True}, (2, 2, 7, 6)),
    LayerCase("MaxPool2d ties", "MaxPool2d", (2,), {}, (TIES,), has_dtype=False),
    LayerCase("MaxPool2d overlapping ties", "MaxPool2d", (3,), {"stride": 1}, (TIES,), has_dtype=False),
    pooling("MaxPool3d", "MaxPool3d", (2,), {"stride": (1, 2, 2), "padding": (1, 0, 1)}, (1, 2, 3, 4, 5)),
    pooling("AvgPool1d", "AvgPool1d", (3,), {"stride": 2, "padding": 1}, (2, 3, 8)),
    pooling("AvgPool2d", "AvgPool2d", (2,), {}, (2, 3, 6, 8)),
    pooling("AvgPool2d ceil", "AvgPool2d", (3,), {"stride": 2, "padding": 1, "ceil_mode": True}, (2, 2, 8, 6)),
    pooling(
        "AvgPool2d without padding", "AvgPool2d", ((3, 2),),
        {"stride": 2, "padding": 1, "ceil_mode": True, "count_include_pad": False}, (2, 2, 8, 6),
    ),
    pooling("AvgPool2d divisor", "AvgPool2d", (2,), {"padding": 1, "divisor_override": 3}, (2, 2, 5, 6)),
    pooling("AvgPool3d", "AvgPool3d", (2,), {"padding": 1}, (1, 2, 3, 4, 5)),
    pooling("AdaptiveMaxPool1d", "AdaptiveMaxPool1d", (3,), {}, (2, 3, 8)),
    pooling("AdaptiveMaxPool2d", "AdaptiveMaxPool2d", ((2, None),), {"return_indices": True}, (2, 3, 5, 4)),
    pooling("AdaptiveMaxPool2d of tiles", "AdaptiveMaxPool2d", ((2, 3),), {}, (2, 3, 4, 6)),
    pooling("AdaptiveMaxPool2d more than there are", "AdaptiveMaxPool2d", ((5, 3),), {}, (2, 1, 3, 4)),
    pooling("AdaptiveMaxPool3d", "AdaptiveMaxPool3d", (2,), {}, (1, 2, 3, 4, 5)),
    pooling("AdaptiveAvgPool1d", "AdaptiveAvgPool1d", (3,), {}, (2, 3, 8)),
    pooling("AdaptiveAvgPool2d", "AdaptiveAvgPool2d", ((2, None),), {}, (2, 3, 5, 4)),
    pooling("AdaptiveAvgPool2d of tiles", "AdaptiveAvgPool2d", ((2, 3),), {}, (2, 3, 4, 6)),
    pooling("AdaptiveAvgPool2d whole", "AdaptiveAvgPool2d", (1,), {}, (2, 3, 4, 6)),
    pooling("AdaptiveAvgPool3d", "AdaptiveAvgPool3d", (2,), {}, (1, 2, 3, 4, 5)),
]  # fmt: skip


RESAMPLING = [
    pooling("Upsample", "Upsample", (), {"scale_factor": 2}, (2, 2, 3, 4)),
    pooling("Upsample bilinear", "Upsample", (), {"size": (5, 7), "mode": "bilinear"}, (2, 2, 3, 4)),
    pooling(
        "Upsample aligned", "Upsample", (),
        {"scale_factor": 1.7, "mode": "bilinear", "align_corners": True}, (1, 2, 4, 3),
    ),
    pooling("Upsample of signals", "Upsample", (), {"scale_factor": 2.5, "mode": "linear"}, (2, 2, 5)),
    pooling("Upsample bicubic", "Upsample", (), {"size": (7, 5), "mode": "bicubic"}, (1, 2, 4, 4)),
    pooling("Upsample trilinear", "Upsample", (), {"size": (3, 4, 5), "mode": "trilinear"}, (1, 1, 2, 3, 3)),
    pooling("Upsample nearest-exact", "Upsample", (), {"size": (5, 2), "mode": "nearest-exact"}, (1, 2, 3, 5)),
    pooling("Upsample area", "Upsample", (), {"size": (2, 3), "mode": "area"}, (1, 2, 5, 6)),
    pooling("PixelShuffle", "PixelShuffle", (2,), {}, (2, 8, 3, 2)),
    pooling("PixelUnshuffle", "PixelUnshuffle", (2,), {}, (2, 2, 4, 6)),
    pooling("Unfold", "Unfold", ((2, 3),), {"dilation": (1, 2), "padding": 1, "stride": (2, 1)}, (2, 2, 5, 6)),
    pooling("Fold", "Fold", ((5, 6), (2, 3)), {"dilation": (1, 2), "padding": 1, "stride": (2, 1)}, (2, 12, 12)),
    pooling("ZeroPad2d", "ZeroPad2d", ((1, 0, 2, -1),), {}, (2, 2, 3, 4)),
    pooling("ConstantPad1d", "ConstantPad1d", (2, 0.5), {}, (2, 2, 3)),
    pooling("ReflectionPad2d", "ReflectionPad2d", (1,), {}, (2, 2, 3, 4)),
    pooling("ReplicationPad1d", "ReplicationPad1d", ((2, 1),), {}, (2, 2, 3)),
    FunctionCase("pad circular", "pad", ((2, 2, 4),), {"pad": (1, 2), "mode": "circular"}),
]  # fmt: skip


def small_network(nn: Any) -> Any:
    return nn.Sequential(
        nn.Conv2d(1, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
        nn.Linear(4 * 4 * 4, 8), nn.LayerNorm(8), nn.GELU(), nn.Linear(8, 3, bias=False),
    )  # fmt: skip


MODELS = [
    LayerCase("network", small_network, inputs=((2, 1, 8, 8),)),
    LayerCase("network after training", small_network, inputs=((2, 1, 8, 8),), training=False),
]

CASES = by_name(*ACTIVATIONS, *AFFINE, *CONVOLUTIONS, *NORMALIZATIONS, *POOLINGS, *RESAMPLING, *MODELS)

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
from wengert.nn.attention import MultiheadAttention
from wengert.nn.callbacks import Callback, EarlyStopping, Schedule
from wengert.nn.checkpoints import Checkpoint
from wengert.nn.clipping import clip_grad_norm_, clip_grad_value_
from wengert.nn.containers import ModuleDict, ModuleList, ParameterList, Residual, Sequential
from wengert.nn.convolution import Conv1d, Conv2d, Conv3d, ConvTranspose1d, ConvTranspose2d, ConvTranspose3d
from wengert.nn.dropout import AlphaDropout, Dropout, Dropout1d, Dropout2d, Dropout3d
from wengert.nn.embedding import Embedding
from wengert.nn.fit import fit
from wengert.nn.history import History
from wengert.nn.linear import Bilinear, Identity, Linear
from wengert.nn.losses import (
    BCELoss,
    BCEWithLogitsLoss,
    CosineEmbeddingLoss,
    CosineSimilarity,
    CrossEntropyLoss,
    CTCLoss,
    HingeEmbeddingLoss,
    HuberLoss,
    KLDivLoss,
    L1Loss,
    MSELoss,
    MultiMarginLoss,
    NLLLoss,
    PairwiseDistance,
    SmoothL1Loss,
    TripletMarginLoss,
)
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
from wengert.nn.recurrent import GRU, LSTM, RNN
from wengert.nn.recurrent_cells import GRUCell, LSTMCell, RNNCell
from wengert.nn.shapes import Flatten, Unflatten
from wengert.nn.training import NonFiniteLossError, Training
from wengert.nn.transformer import (
    TransformerDecoder,
    TransformerDecoderLayer,
    TransformerEncoder,
    TransformerEncoderLayer,
    sinusoidal_positions,
)
from wengert.nn.weights import load, load_metadata, save

__all__ = [
    "AdaptiveAvgPool1d", "AdaptiveAvgPool2d", "AdaptiveAvgPool3d", "AdaptiveMaxPool1d", "AdaptiveMaxPool2d",
    "AdaptiveMaxPool3d", "AlphaDropout", "AvgPool1d", "AvgPool2d", "AvgPool3d", "BCELoss", "BCEWithLogitsLoss",
    "BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "Bilinear", "CELU", "CTCLoss", "Callback", "Checkpoint", "Conv1d",
    "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d", "CosineEmbeddingLoss",
    "CosineSimilarity", "CrossEntropyLoss", "Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "ELU", "EarlyStopping",
    "Embedding", "Flatten", "GELU", "GLU", "GRU", "GRUCell", "GroupNorm", "Hardshrink", "Hardsigmoid", "Hardswish",
    "Hardtanh", "HingeEmbeddingLoss", "History", "HuberLoss", "Identity", "KLDivLoss", "L1Loss", "LSTM", "LSTMCell",
    "LayerNorm", "LeakyReLU", "Linear", "LogSigmoid", "LogSoftmax", "MSELoss", "MaxPool1d", "MaxPool2d", "MaxPool3d",
    "Mish", "Module", "ModuleDict", "ModuleList", "MultiMarginLoss", "MultiheadAttention", "NLLLoss",
    "NonFiniteLossError", "PReLU", "PairwiseDistance", "Parameter", "ParameterList", "RMSNorm", "RNN", "RNNCell",
    "ReLU", "ReLU6", "Residual", "SELU", "Schedule", "Sequential", "SiLU", "Sigmoid", "SmoothL1Loss", "Softmax",
    "Softmin", "Softplus", "Softshrink", "Softsign", "Tanh", "Tanhshrink", "Threshold", "Training",
    "TransformerDecoder", "TransformerDecoderLayer", "TransformerEncoder", "TransformerEncoderLayer",
    "TripletMarginLoss", "Unflatten", "clip_grad_norm_", "clip_grad_value_", "fit", "functional", "init", "load",
    "load_metadata", "metrics", "save", "sinusoidal_positions",
]  # fmt: skip

"""Models: modules with parameters, layers, losses, and how they are trained.

Each name is loaded on first use, so that a function that calls one layer does not wait for all others. `__init__.pyi`,
which editors and type checkers read, is written by `python tools/stubs.py`.
"""

from wengert.core.namespaces import lazy_names, name_functions

LAZY = {"functional": "nn.", "init": "nn.", "metrics": "nn."} | lazy_names(
    "nn",
    (
        "activations: CELU ELU GELU GLU SELU Hardshrink Hardsigmoid Hardswish Hardtanh LeakyReLU LogSigmoid "
        "LogSoftmax Mish PReLU ReLU ReLU6 Sigmoid SiLU Softmax Softmin Softplus Softshrink Softsign Tanh Tanhshrink "
        "Threshold",
        "attention: MultiheadAttention",
        "callbacks: Callback EarlyStopping Schedule",
        "checkpoints: Checkpoint",
        "clipping: clip_grad_norm_ clip_grad_value_",
        "containers: ModuleDict ModuleList ParameterList Residual Sequential",
        "convolution: Conv1d Conv2d Conv3d ConvTranspose1d ConvTranspose2d ConvTranspose3d",
        "dropout: AlphaDropout Dropout Dropout1d Dropout2d Dropout3d",
        "embedding: Embedding EmbeddingBag",
        "fitting: fit",
        "history: History",
        "linear: Bilinear Identity Linear",
        "losses: BCELoss BCEWithLogitsLoss CosineEmbeddingLoss CosineSimilarity CrossEntropyLoss CTCLoss "
        "GaussianNLLLoss HingeEmbeddingLoss HuberLoss KLDivLoss L1Loss MSELoss MarginRankingLoss MultiMarginLoss "
        "NLLLoss PairwiseDistance PoissonNLLLoss SmoothL1Loss SoftMarginLoss TripletMarginLoss",
        "module: Module Parameter",
        "normalization: BatchNorm1d BatchNorm2d BatchNorm3d GroupNorm InstanceNorm1d InstanceNorm2d InstanceNorm3d "
        "LayerNorm RMSNorm",
        "pooling: AdaptiveAvgPool1d AdaptiveAvgPool2d AdaptiveAvgPool3d AdaptiveMaxPool1d AdaptiveMaxPool2d "
        "AdaptiveMaxPool3d AvgPool1d AvgPool2d AvgPool3d MaxPool1d MaxPool2d MaxPool3d",
        "recurrent: GRU LSTM RNN",
        "recurrent_cells: GRUCell LSTMCell RNNCell",
        "resampling: ConstantPad1d ConstantPad2d Fold PixelShuffle PixelUnshuffle ReflectionPad1d ReflectionPad2d "
        "ReplicationPad1d ReplicationPad2d Unfold Upsample ZeroPad1d ZeroPad2d",
        "shapes: Flatten Unflatten",
        "training: NonFiniteLossError Training",
        "transformer: Transformer TransformerDecoder TransformerDecoderLayer TransformerEncoder "
        "TransformerEncoderLayer sinusoidal_positions",
        "weights: load load_metadata save",
    ),
)

__all__ = sorted(LAZY)

__getattr__, __dir__ = name_functions(globals())

"""What `torch.nn`, `optim`, `utils` and `distributions` do differently here, and what they do not have.

`differences.py` has these among its own.
"""

from __future__ import annotations

from wengert.compat.differences import Difference

DIFFERENCES: list[Difference] = [
    Difference(
        "initial weights, dropout, samples", "numbers of its generators", "NumPy's, with the same distributions"
    ),
    Difference(
        "`F.mse_loss(x, y)` of two shapes", "broadcasts, with a warning", "an error: the loss would be of all pairs"
    ),
    Difference("wrong sizes in layers", "RuntimeError", "ValueError, which names the layer and the sizes"),
    Difference(
        "tensors of `state_dict()`",
        "share memory with the module",
        "what is written into them is written into the module; else they keep the numbers of the moment",
    ),
    Difference("`load_state_dict(assign=True)`, hooks of state dicts", "there", "not there"),
    Difference("`print(module)`", "shows all settings", "shows those that are not the defaults"),
    Difference(
        "`torch.save`, `torch.load`",
        "pickled objects",
        "tensors and plain containers in NumPy's archive, without code: save a module's `state_dict()`",
    ),
    Difference("`DataLoader(num_workers=n)`", "n processes", "loads in the calling process"),
    Difference("`checkpoint(preserve_rng_state=True)`", "draws the same numbers again", "an error for draws inside"),
    Difference(
        "`optimizer.step()`", "several kernels", "one native program, which is compiled at the first step of each kind"
    ),
    Difference("`ChainedScheduler`", "one step of each schedule after the other", "the product of their factors"),
    Difference(
        "parameters and values of distributions", "checked", "checked, except for supports that depend on parameters"
    ),
    Difference("trigamma, as in gradients of `Gamma.entropy`", "nine digits", "all digits"),
]

_SIZES = "the layer with its number of features"
_UPSAMPLE = "nn.Upsample(scale_factor=..., mode=...)"
_MASK = "sequences that are padded (pad_sequence), and a mask for the loss"
_ONE_PROCESS = "the model itself: there is one process"
_POOL = "nn.functional.avg_pool2d of powers"
_UNPOOL = "nn.functional.interpolate, or scatter with the indices of max_pool2d(return_indices=True)"

ABSENT: dict[str, str] = {
    **{
        f"torch.nn.Lazy{name}": _SIZES
        for name in (
            "BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d",
            "ConvTranspose2d", "ConvTranspose3d", "InstanceNorm1d", "InstanceNorm2d", "InstanceNorm3d", "Linear",
        )
    },
    **{f"torch.nn.{kind}Pad3d": "nn.functional.pad" for kind in ("Constant", "Zero", "Reflection", "Replication")},
    **{f"torch.nn.CircularPad{n}d": "nn.functional.pad(mode='circular')" for n in (1, 2, 3)},
    **{f"torch.nn.MaxUnpool{n}d": _UNPOOL for n in (1, 2, 3)},
    **{f"torch.nn.functional.max_unpool{n}d": _UNPOOL for n in (1, 2, 3)},
    **{f"torch.nn.LPPool{n}d": _POOL for n in (1, 2, 3)},
    **{f"torch.nn.functional.lp_pool{n}d": _POOL for n in (1, 2, 3)},
    "torch.nn.AdaptiveLogSoftmaxWithLoss": "nn.Linear and nn.CrossEntropyLoss",
    "torch.nn.ChannelShuffle": "reshape, transpose and reshape",
    "torch.nn.DataParallel": _ONE_PROCESS,
    "torch.nn.FeatureAlphaDropout": "nn.AlphaDropout",
    "torch.nn.FractionalMaxPool2d": "nn.AdaptiveMaxPool2d",
    "torch.nn.LocalResponseNorm": "nn.functional.avg_pool3d of squares, or nn.BatchNorm2d",
    "torch.nn.MultiLabelMarginLoss": "nn.BCEWithLogitsLoss",
    "torch.nn.MultiLabelSoftMarginLoss": "nn.BCEWithLogitsLoss",
    "torch.nn.RReLU": "nn.LeakyReLU",
    "torch.nn.Softmax2d": "nn.Softmax(dim=-3)",
    "torch.nn.SyncBatchNorm": "nn.BatchNorm2d",
    "torch.nn.TripletMarginWithDistanceLoss": "nn.TripletMarginLoss",
    "torch.nn.UpsamplingBilinear2d": _UPSAMPLE,
    "torch.nn.UpsamplingNearest2d": _UPSAMPLE,
    "torch.nn.functional.affine_grid": "a product with the matrix, and nn.functional.interpolate",
    "torch.nn.functional.channel_shuffle": "reshape, transpose and reshape",
    "torch.nn.functional.grid_sample": "indices and weights of the neighbours, or nn.functional.interpolate",
    "torch.nn.functional.local_response_norm": "nn.functional.avg_pool3d of squares",
    "torch.nn.functional.multi_head_attention_forward": "nn.MultiheadAttention",
    "torch.nn.functional.multilabel_margin_loss": "nn.functional.binary_cross_entropy_with_logits",
    "torch.nn.functional.multilabel_soft_margin_loss": "nn.functional.binary_cross_entropy_with_logits",
    "torch.nn.functional.pdist": "torch.cdist(x, x), and its upper triangle",
    "torch.nn.functional.rrelu": "nn.functional.leaky_relu",
    "torch.nn.functional.upsample": "nn.functional.interpolate",
    "torch.nn.parallel": _ONE_PROCESS,
    "torch.nn.quantized": "float32",
    "torch.nn.utils.parametrizations": "nn.utils.weight_norm and nn.utils.spectral_norm",
    "torch.nn.utils.parametrize": "a forward hook, or a module that computes its weight",
    "torch.nn.utils.prune": "a product of the weight and a mask",
    "torch.nn.utils.remove_spectral_norm": "a new layer with the weight",
    "torch.nn.utils.remove_weight_norm": "a new layer with the weight",
    "torch.nn.utils.rnn.PackedSequence": _MASK,
    "torch.nn.utils.rnn.pack_padded_sequence": _MASK,
    "torch.nn.utils.rnn.pack_sequence": _MASK,
    "torch.nn.utils.rnn.pad_packed_sequence": _MASK,
    "torch.optim.ASGD": "SGD with optim.swa_utils.AveragedModel",
    "torch.optim.Adafactor": "Adam",
    "torch.optim.Muon": "SGD with Nesterov's momentum",
    "torch.optim.Rprop": "RMSprop, or LBFGS for functions without noise",
    "torch.optim.SparseAdam": "Adam",
    "torch.optim.lr_scheduler.MultiplicativeLR": "LambdaLR, with the product of the factors",
    "torch.optim.swa_utils.SWALR": "lr_scheduler.LinearLR",
    "torch.optim.swa_utils.update_bn": "a run of the averaged model over the data in train() mode",
    "torch.utils.data.DistributedSampler": _ONE_PROCESS,
    "torch.utils.tensorboard": "a list of numbers",
    "torch.distributions.ContinuousBernoulli": "Beta",
    "torch.distributions.FisherSnedecor": "a quotient of two Gamma draws",
    "torch.distributions.HalfCauchy": "Cauchy, and log_prob of a positive value plus log(2)",
    "torch.distributions.Kumaraswamy": "Beta",
    "torch.distributions.LKJCholesky": "wg.stats",
    "torch.distributions.LogisticNormal": "Normal, and softmax of its draws",
    "torch.distributions.LowRankMultivariateNormal": "MultivariateNormal",
    "torch.distributions.OneHotCategoricalStraightThrough": "nn.functional.gumbel_softmax(hard=True)",
    "torch.distributions.RelaxedBernoulli": "nn.functional.gumbel_softmax",
    "torch.distributions.RelaxedOneHotCategorical": "nn.functional.gumbel_softmax",
    "torch.distributions.StickBreakingTransform": "softmax",
    "torch.distributions.Wishart": "wg.stats",
    "torch.distributions.biject_to": "ExpTransform, SigmoidTransform or SoftplusTransform",
    "torch.distributions.transform_to": "ExpTransform, SigmoidTransform or SoftplusTransform",
}  # fmt: skip

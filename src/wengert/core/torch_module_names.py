"""Names of modules of PyTorch that Wengert has not, and what to use instead: `torch.nn`, `torch.linalg` and so on."""

from __future__ import annotations

from wengert.core.absent import Ways, each

NN: dict[str, Ways] = {
    "Modules": {
        "Buffer": "self.register_buffer(name, tensor)",
        "ParameterDict": "a dict of wg.nn.Parameter as an attribute, or wg.nn.ModuleDict",
        "ChannelShuffle": "x.reshape and x.transpose",
        "UpsamplingNearest2d": "wg.nn.Upsample(size)",
        "UpsamplingBilinear2d": "wg.nn.Upsample(size, mode='bilinear', align_corners=True)",
        "RReLU": "wg.nn.LeakyReLU, which has a fixed slope",
        "Softmax2d": "wg.nn.Softmax(1)",
        "DataParallel": "the module itself: large operations use all cores",
        "SyncBatchNorm": "wg.nn.BatchNorm2d",
        "utils": "wg.nn.clip_grad_norm_, wg.nn.clip_grad_value_",
        "ConstantPad3d": "wg.pad(x, widths, mode='constant')",
        "ZeroPad3d": "wg.pad(x, widths)",
        "ReflectionPad3d": "wg.pad(x, widths, mode='reflect')",
        "ReplicationPad3d": "wg.pad(x, widths, mode='edge')",
    }
    | each("wg.pad(x, widths, mode='wrap')", "CircularPad1d CircularPad2d CircularPad3d")
    | {
        "LazyLinear": "wg.nn.Linear(inputs, outputs)",
        "LazyConv1d": "wg.nn.Conv1d(inputs, outputs, size)",
        "LazyConv2d": "wg.nn.Conv2d(inputs, outputs, size)",
        "LazyConv3d": "wg.nn.Conv3d(inputs, outputs, size)",
        "LazyBatchNorm1d": "wg.nn.BatchNorm1d(features)",
        "LazyBatchNorm2d": "wg.nn.BatchNorm2d(features)",
    },
    "Losses": {
        "MultiLabelSoftMarginLoss": "wg.nn.BCEWithLogitsLoss",
        "MultiLabelMarginLoss": "wg.nn.MultiMarginLoss",
    },
}
"""Of `torch.nn`."""

NN_FUNCTIONAL: dict[str, Ways] = {
    "Functions": {
        "upsample": "interpolate",
        "grid_sample": "x[indices] with weights",
        "pdist": "wg.linalg.norm(x[i] - x[j], axis=-1), with i, j = wg.triu_indices(n, 1)",
        "gumbel_softmax": "wg.softmax((x + rng.gumbel(size=x.shape)) / tau, axis=-1)",
        "multilabel_soft_margin_loss": "binary_cross_entropy_with_logits",
        "rrelu": "leaky_relu, which has a fixed slope",
        "relu_": "relu",
        "leaky_relu_": "leaky_relu",
        "elu_": "elu",
        "selu_": "selu",
    },
}
"""Of `torch.nn.functional`."""

OTHERS: dict[str, dict[str, Ways]] = {
    "torch.linalg": {
        "Functions": {
            "matrix_exp": "wg.linalg.expm(a)",
            "cholesky_ex": "wg.linalg.cholesky(a)",
            "inv_ex": "wg.linalg.inv(a)",
            "solve_ex": "wg.linalg.solve(a, b)",
            "lu_factor": "wg.linalg.lu(a)",
            "lu_solve": "wg.linalg.solve(a, b)",
            "vander": "wg.vander(x)",
            "ldl_factor": "wg.linalg.cholesky(a)",
            "householder_product": "wg.linalg.qr(a)",
        }
    },
    "torch.special": {
        "Functions": {
            "bessel_j0": "wg.special.j0(x)",
            "bessel_j1": "wg.special.j1(x)",
            "bessel_y0": "wg.special.y0(x)",
            "bessel_y1": "wg.special.y1(x)",
            "modified_bessel_i0": "wg.special.i0(x)",
            "modified_bessel_i1": "wg.special.i1(x)",
            "modified_bessel_k0": "wg.special.kv(0, x)",
            "modified_bessel_k1": "wg.special.kv(1, x)",
            "round": "wg.round(x)",
            "sinc": "wg.sinc(x)",
        }
    },
    "torch.optim": {
        "Optimisers": {
            "ASGD": "wg.optim.SGD(params, lr), which is the nearest",
            "Adafactor": "wg.optim.AdamW(params, lr), which is the nearest",
            "Muon": "wg.optim.AdamW(params, lr), which is the nearest",
            "Rprop": "wg.optim.RMSprop(params, lr), which is the nearest",
            "SparseAdam": "wg.optim.Adam(params, lr), which is the nearest",
        }
    },
    "torch.autograd": {
        "Functions": {
            "Variable": "wg.tensor(data, requires_grad=True)",
            "functional": "wg.jacobian, wg.hessian, wg.vjp, wg.jvp, wg.hvp, wg.vhp",
            "forward_ad": "wg.jvp(f, primals, tangents)",
            "graph": "wg.autograd.saved_tensors_hooks",
            "set_detect_anomaly": "wg.autograd.detect_anomaly",
            "profiler": "wg.compile(f).report(x)",
        }
    },
    "torch.utils.data": {
        "Data": {
            "DataLoader": "wg.data.Batches(data, batch_size, shuffle=True, rng=seed)",
            "TensorDataset": "a tuple of arrays, (x, y)",
            "Dataset": "arrays, or a function that returns an iterator of samples",
            "IterableDataset": "a function that returns an iterator of samples",
            "Subset": "arrays with an index, x[indices]",
            "random_split": "wg.data.split(data, parts, rng=seed)",
        }
    },
}
"""Of other modules of PyTorch."""

MODULES = {"torch.nn": NN, "torch.nn.functional": NN_FUNCTIONAL, **OTHERS}

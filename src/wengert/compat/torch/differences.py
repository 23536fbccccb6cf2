"""What PyTorch does one way and this layer another, and what it does not have."""

from __future__ import annotations

from wengert.compat.differences import Difference
from wengert.compat.torch import module_differences

PEER = "PyTorch"

DIFFERENCES: list[Difference] = [
    Difference(
        "views (`x.view(...)`, `x.t()`, `x.split(...)`, `x.expand(...)`)",
        "share memory: `x.view(-1)[0] = 1` changes x",
        "share nothing: writing into what may be a view of another tensor raises an error",
    ),
    Difference(
        "`x[0]`, `x[:, 1:]`, `for v in x`, `x.unbind()`, `x.data` and `x.detach()`",
        "share memory with x, both ways",
        "what is written into them is written into x, in all transforms; what is written into x, they show only after "
        "they are written into themselves",
    ),
    Difference(
        "writing into the items of `for v in x` and `x.unbind()` while gradients are recorded",
        "an error",
        "recorded, as for `x[0]`",
    ),
    Difference(
        "writing into the argument of a function under `vmap` or `jvp`",
        "changes the tensor that was passed",
        "an error: work on `x.clone()`",
    ),
    Difference("`x.data` under `vmap`, `x.data = v` under `jvp`", "an error", "as elsewhere"),
    Difference(
        "`torch.from_numpy(a)`, `torch.as_tensor(a)`, `x.numpy()`",
        "share memory",
        "copies, and a read-only array",
    ),
    Difference("`nn.Parameter(x)`, `y.data = x`, `copy.copy(x)`", "share memory with x", "have the numbers of x, once"),
    Difference("random numbers", "those of its generators", "NumPy's, from the same calls; `manual_seed` repeats them"),
    Difference("`log(0)`, `0 / 0`, overflow", "silent", "NumPy's warnings; `np.seterr(all='ignore')` silences them"),
    Difference(
        "dtypes",
        "`torch.float32` is an object of its own",
        "NumPy's: `torch.float32 == np.float32`; `torch.is_floating_point(x)` asks",
    ),
    Difference("float32", "rounds after each kernel", "may differ in the last digit"),
    Difference(
        "a value that `where` or a mask discards",
        "its derivative may be NaN and spoil the gradient",
        "no derivative flows through it: `where(x > 0, sqrt(x), 0)` has gradient 0 at -1",
    ),
    Difference(
        "indices that repeat in `x[i] = v`, `index_put`, `scatter`",
        "every value that was written gets a gradient",
        "the value that remains gets the gradient",
    ),
    Difference(
        "a value that is changed in place after the tape saved it",
        "an error in `backward`",
        "the gradient at the value that was used",
    ),
    Difference("`eigh`, `eigvalsh`, `cholesky`", "read one triangle", "read the symmetric part"),
    Difference(
        "`grad_fn`", "a class for each operation, `MulBackward0`", "one class, with the `name` of the operation"
    ),
    Difference("`stride()`, `is_contiguous()`", "how the tensor lies in memory", "those of a contiguous tensor"),
    Difference("`torch.empty`, `new_empty`", "numbers of no meaning", "zeros"),
    Difference("`torch.compile`", "compiles", "returns the function; `wg.compile` compiles functions of arrays"),
    Difference("matrix products of different dtypes", "an error", "promotes"),
    Difference("`sort` and `topk` of equal numbers", "in any order", "in their order"),
    Difference(
        "`x[0, :, i] = v` with a tensor v",
        "assigns",
        "an error: NumPy and PyTorch order the axes differently",
    ),
]

_SPARSE = "a dense tensor; Wengert takes sparse matrices of SciPy as operands"
_CPU = "the CPU, on which all tensors are"
_FLOAT32 = "torch.float32"

ABSENT: dict[str, str] = {
    "torch.as_strided": "reshape, unfold or an index",
    "torch.bfloat16": _FLOAT32,
    "torch.autocast": "x.to(dtype) where you want another type",
    "torch.binomial": "torch.distributions.Binomial, or wg.random",
    "torch.cond": "wg.cond",
    "torch.export": "wg.trace, which gives a graph",
    "torch.distributed": "one process",
    "torch.hub": "weights in files",
    "torch.jit": "wg.compile",
    "torch.multiprocessing": "one process",
    "torch.onnx": "wg.trace, which gives a graph",
    "torch.profiler": "Python's cProfile",
    "torch.quantize_per_tensor": _FLOAT32,
    "torch.sparse": _SPARSE,
    "torch.sparse_coo_tensor": _SPARSE,
    "torch.sparse_csr_tensor": _SPARSE,
    "torch.stft": "unfold, a window, and torch.fft.rfft",
    "torch.istft": "torch.fft.irfft, and scatter_add of the windows",
    "torch.lu": "torch.linalg.lu",
    "torch.lu_solve": "torch.linalg.solve",
    "torch.triangular_solve": "torch.linalg.solve_triangular",
    "torch.symeig": "torch.linalg.eigh",
    "torch.eig": "torch.linalg.eig",
    "torch.lstsq": "torch.linalg.lstsq",
    "torch.histogram": "torch.histc",
    "torch.histogramdd": "wg.histogramdd",
    "torch.renorm": "a division by torch.linalg.vector_norm",
    "torch.resize_as_": "reshape",
    "torch.index_reduce": "scatter_reduce",
    "torch.put": "scatter, or x.view(-1)[i]",
    "torch.segment_reduce": "scatter_reduce",
    **{
        f"torch.{name}": f"torch.nn.functional.{name}"
        for name in (
            "adaptive_avg_pool1d", "adaptive_max_pool1d", "alpha_dropout", "avg_pool1d", "batch_norm", "bilinear",
            "binary_cross_entropy_with_logits", "celu", "conv1d", "conv2d", "conv3d", "conv_transpose1d",
            "conv_transpose2d", "conv_transpose3d", "cosine_embedding_loss", "ctc_loss", "embedding", "group_norm",
            "hardshrink", "hinge_embedding_loss", "instance_norm", "kl_div", "layer_norm", "margin_ranking_loss",
            "max_pool1d", "max_pool2d", "max_pool3d", "pairwise_distance", "pixel_shuffle", "poisson_nll_loss",
            "prelu", "rms_norm", "rrelu", "selu", "threshold", "triplet_margin_loss",
        )
    },
    "torch.autograd.profiler": "Python's cProfile",
    "torch.func.functionalize": "the function itself",
    "torch.linalg.lu_factor": "torch.linalg.lu",
    "torch.linalg.lu_solve": "torch.linalg.solve",
    "torch.linalg.ldl_factor": "torch.linalg.cholesky, or torch.linalg.eigh",
    "torch.linalg.householder_product": "torch.linalg.qr",
    "torch.fft.hfft2": "torch.fft.fftn of the whole signal",
    "torch.fft.hfftn": "torch.fft.fftn of the whole signal",
    "torch.special.airy_ai": "scipy.special.airy, without derivatives",
    "torch.special.modified_bessel_k0": "wg.special.kv(0, x)",
    "torch.special.modified_bessel_k1": "wg.special.kv(1, x)",
    "torch.special.modified_bessel_i0": "torch.special.i0",
    "torch.special.modified_bessel_i1": "torch.special.i1",
    "torch.special.spherical_bessel_j0": "torch.sinc(x / torch.pi)",
    "torch.special.legendre_polynomial_p": "its recurrence",
    "torch.special.hermite_polynomial_h": "its recurrence",
    "torch.special.laguerre_polynomial_l": "its recurrence",
    "torch.special.chebyshev_polynomial_t": "torch.cos(n * torch.acos(x))",
    "torch.cuda.Event": _CPU,
    "torch.cuda.Stream": _CPU,
    "torch.cuda.amp": "float32 or float64, on the CPU",
    "torch.cuda.current_device": _CPU,
    "torch.cuda.get_device_name": _CPU,
    "torch.cuda.memory_allocated": "Python's tracemalloc",
    "torch.cuda.max_memory_allocated": "Python's tracemalloc",
    "torch.cuda.set_device": _CPU,
    "torch.Tensor.as_strided": "reshape, unfold or an index",
    "torch.Tensor.bfloat16": "x.float()",
    "torch.Tensor.data_ptr": "x.numpy().ctypes.data, of memory that must not be written",
    "torch.Tensor.map_": "apply_, or operations on tensors",
    "torch.Tensor.pin_memory": "x itself",
    "torch.Tensor.put_": "x[i] = v",
    "torch.Tensor.resize_": "reshape, or a new tensor",
    "torch.Tensor.resize_as_": "reshape, or a new tensor",
    "torch.Tensor.set_": "x.data = y",
    "torch.Tensor.share_memory_": "threads, which share all tensors",
    "torch.Tensor.storage": "x.numpy()",
    "torch.Tensor.untyped_storage": "x.numpy()",
    "torch.Tensor.storage_offset": "x.numpy()",
    "torch.Tensor.stft": "unfold, a window, and torch.fft.rfft",
    "torch.Tensor.to_sparse": _SPARSE,
    "torch.Tensor.coalesce": _SPARSE,
    "torch.Tensor.histogram": "torch.histc",
    "torch.Tensor.lstsq": "torch.linalg.lstsq",
    "torch.Tensor.lu": "torch.linalg.lu",
    "torch.Tensor.symeig": "torch.linalg.eigh",
    "torch.Tensor.triangular_solve": "torch.linalg.solve_triangular",
    "torch.Tensor.solve": "torch.linalg.solve",
    "torch.Tensor.renorm": "a division by torch.linalg.vector_norm",
    "torch.Tensor.index_reduce_": "scatter_reduce",
}  # fmt: skip

DIFFERENCES += module_differences.DIFFERENCES
ABSENT |= module_differences.ABSENT

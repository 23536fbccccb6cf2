"""Wengert: automatic differentiation for Python. `import wengert as wg`.

Each family declares its public names in `__all__`, and this module gathers them. `__init__.pyi`, which editors and type
checkers read, is written by `python tools/stubs.py`.
"""

from wengert import autograd as autograd
from wengert import fft as fft
from wengert import linalg as linalg
from wengert import signal as signal
from wengert import special as special
from wengert import structure as _structure  # noqa: F401  # registers the way of `jacobian` through patterns
from wengert.core.namespace_info import __array_namespace_info__ as __array_namespace_info__
from wengert.core.namespaces import gather_names, name_functions

__version__ = "0.1.0"
__array_api_version__ = "2024.12"

NAMESPACES = ("autograd", "fft", "linalg", "signal", "special")

FAMILIES = (
    "core.array",
    "core.dtypes",
    "core.errors",
    "core.spec",
    "graph.graph",
    "modes.creation",
    "modes.grids",
    "modes.symbolic",
    "modes.tensor",
    "ops.calculus.differences",
    "ops.calculus.polynomials",
    "ops.contraction.einsum",
    "ops.contraction.products",
    "ops.elementwise.arithmetic",
    "ops.elementwise.bits",
    "ops.elementwise.choices",
    "ops.elementwise.complex_numbers",
    "ops.elementwise.exponential",
    "ops.elementwise.predicates",
    "ops.elementwise.trigonometric",
    "ops.indexing.index_arrays",
    "ops.indexing.sliding",
    "ops.indexing.taking",
    "ops.linear_algebra.linear_operator",
    "ops.linear_algebra.sparse_matrix",
    "ops.methods",
    "ops.reductions.cumulative",
    "ops.reductions.extremes",
    "ops.reductions.logical",
    "ops.reductions.sums",
    "ops.reductions.without_nan",
    "ops.samples.histograms",
    "ops.samples.sets",
    "ops.samples.sorting",
    "ops.samples.statistics",
    "ops.shape.casting",
    "ops.shape.editing",
    "ops.shape.joining",
    "ops.shape.metadata",
    "ops.shape.rearranging",
    "ops.shape.reshaping",
    "ops.shape.splitting",
    "ops.special.bessel: i0",
    "ops.special.entropy: log_softmax softmax",
    "ops.special.error: erf",
    "control.checkpoint",
    "control.custom",
    "source.shown_source",
    "transforms.collectives",
    "transforms.curvature",
    "transforms.gradients",
    "transforms.jacobians",
    "transforms.products",
    "transforms.series",
    "transforms.tracing",
    "transforms.vmap",
    "autograd.grad_mode: enable_grad inference_mode is_grad_enabled no_grad set_grad_enabled",
    "explain.explanation",
    "export.front_door",
)
"""The modules whose public names are here."""

LAZY = {
    "Coloring": "structure.coloring",
    "Pattern": "structure.patterns",
    "associative_scan": "control.associative",
    "check": "transforms.",
    "checkpoint_loop": "control.iteration",
    "checkpoint_schedule": "explain.schedule",
    "color": "structure.coloring",
    "compare": "explain.comparing.compare",
    "compat": "",
    "compile": "compiler.call.compiled",
    "cond": "control.branches",
    "data": "",
    "derivatives": "structure.choice",
    "distributed": "",
    "fisher_operator": "structure.operators",
    "fori_loop": "control.iteration",
    "function": "compiler.call.compiled",
    "gauss_newton_operator": "structure.operators",
    "hessian_operator": "structure.operators",
    "hutchinson": "structure.estimators",
    "implicit": "",
    "integrate": "",
    "jacobian_operator": "structure.operators",
    "map": "control.iteration",
    "nn": "",
    "numeric": "transforms.",
    "one_hot": "nn.functional.classification",
    "optim": "",
    "optimize": "",
    "random": "",
    "scan": "control.iteration",
    "sparse_hessian": "structure.sparse_derivatives",
    "sparse_jacobian": "structure.sparse_derivatives",
    "sparsity": "structure.patterns",
    "stats": "",
    "switch": "control.branches",
    "tree": "",
    "while_loop": "control.iteration",
    "why_nan": "explain.why.nan",
    "why_zero": "explain.why.zero",
}
"""The modules of names that are loaded on first use, because they bring LLVM or SciPy along or are rarely needed."""

__all__ = sorted(
    ["__array_api_version__", "__array_namespace_info__", *NAMESPACES, *LAZY, *gather_names(globals(), FAMILIES)]
)

__getattr__, __dir__ = name_functions(globals(), numpy="np")

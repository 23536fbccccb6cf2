"""The standard's elementwise functions, by their number of operands, with the dtypes that each takes."""

from __future__ import annotations

import operator
from collections.abc import Callable
from inspect import Parameter

import numpy as np
from tests.standard.calls import DTYPES, FUNCTIONS, accepts, parameters, sample

NOT_ELEMENTWISE = {
    "all", "any", "argmax", "argmin", "argsort", "asarray", "astype", "can_cast", "count_nonzero", "cumulative_prod",
    "cumulative_sum", "diff", "empty_like", "expand_dims", "finfo", "flip", "from_dlpack", "iinfo", "matmul",
    "matrix_transpose",
    "max", "mean", "min", "nonzero", "ones_like", "prod", "repeat", "searchsorted", "sort", "squeeze", "std", "sum",
    "take",
    "take_along_axis", "tensordot", "tile", "tril", "triu", "unique_all", "unique_counts", "unique_inverse",
    "unique_values",
    "unstack", "var", "vecdot", "zeros_like",
}  # fmt: skip


def operands(name: str) -> int:
    """How many arrays an elementwise function takes; 0 for one that is not elementwise."""
    if name in NOT_ELEMENTWISE or "." in name or any(p.kind is not Parameter.POSITIONAL_ONLY for p in parameters(name)):
        return 0
    return {("x",): 1, ("x1", "x2"): 2}.get(tuple(p.name for p in parameters(name)), 0)


UNARY = [name for name in FUNCTIONS if operands(name) == 1]
BINARY = [name for name in FUNCTIONS if operands(name) == 2]
PAIRS = [
    (first, second) for first in DTYPES for second in DTYPES if accepts("result_type", sample(first), sample(second))
]
"""The dtypes that promote with each other."""

SCALARS = {"bool": True, "int": 3, "float": 0.25, "complex": 0.5 - 0.25j}
"""One Python scalar of each kind."""

OPERATORS = {
    "add": "+",
    "subtract": "-",
    "multiply": "*",
    "divide": "/",
    "floor_divide": "//",
    "remainder": "%",
    "pow": "**",
    "bitwise_and": "&",
    "bitwise_or": "|",
    "bitwise_xor": "^",
    "bitwise_left_shift": "<<",
    "bitwise_right_shift": ">>",
}
COMPARISONS = {"equal": "==", "not_equal": "!=", "less": "<", "less_equal": "<=", "greater": ">", "greater_equal": ">="}


IN_PLACE = {
    "add": operator.iadd,
    "subtract": operator.isub,
    "multiply": operator.imul,
    "divide": operator.itruediv,
    "floor_divide": operator.ifloordiv,
    "remainder": operator.imod,
    "pow": operator.ipow,
    "bitwise_and": operator.iand,
    "bitwise_or": operator.ior,
    "bitwise_xor": operator.ixor,
    "bitwise_left_shift": operator.ilshift,
    "bitwise_right_shift": operator.irshift,
}


def written(symbol: str) -> Callable:
    """The binary operator of a symbol, as a function that runs what a user would write."""
    return eval(f"lambda x1, x2: x1 {symbol} x2")


def domain(name: str, dtype: str, seed: int = 0) -> np.ndarray:
    """Numbers where a function is defined: acosh and logarithms need larger or positive ones."""
    numbers = sample(dtype, seed=seed)
    if dtype.startswith("float"):
        if name == "acosh":
            return abs(numbers) + 1
        if name in ("log", "log2", "log10", "sqrt", "pow"):
            return abs(numbers)
    return numbers

"""Forms of many digits, from the table: each gives the numbers that NumPy and SciPy give, to their precision."""

from __future__ import annotations

import sys

import mpmath
import numpy as np
import pytest
from tests.test_table import case_arguments, sample

from wengert.core.primitive import TABLE, Primitive
from wengert.explain import aspects  # noqa: F401  # fills `digits`
from wengert.explain.comparing.digits import digits
from wengert.explain.comparing.reference import DIGITS, to_mpmath

MODULES = [module for name, module in sys.modules.items() if name.startswith("wengert.ops.")]
BUILT_IN = {f.primitive for module in MODULES for f in vars(module).values() if hasattr(f, "primitive")}
"""Other tests enter operations in the table."""
BITS = ("bitwise_and", "bitwise_or", "bitwise_xor", "invert", "left_shift", "right_shift")


def arguments(primitive: Primitive) -> list[tuple[list, dict]]:
    """Operands and parameters: real and not empty cases of the table, or numbers inside the domain."""
    if primitive.trial.cases:
        found = [(list(map(np.asarray, case_arguments(c))), c.params) for c in primitive.trial.cases]
        return [(args, params) for args, params in found if all(a.size and a.dtype.kind != "c" for a in args)]
    if primitive.name in BITS:
        return [([np.array([1, 2, 3])] * len(primitive.inputs), {})]
    return [(sample(primitive, [(3,)] * 3)[: len(primitive.inputs)], primitive.trial.params)]


@pytest.mark.parametrize("name", [p.name for p in TABLE.values() if p in BUILT_IN and p in digits])
def test_values(name):
    primitive = TABLE[name]
    for args, params in arguments(primitive):
        with np.errstate(all="ignore"):
            expected = primitive.impl(*args, **params)
        several = expected if isinstance(expected, tuple | list) else (expected,)
        if any(np.asarray(e).dtype.kind == "c" for e in several):
            continue
        with mpmath.workdps(DIGITS):
            form = digits.of(primitive)
            assert form is not None
            numbers = [to_mpmath(mpmath, a) if a.dtype.kind == "f" else a for a in args]
            found = form(mpmath, *numbers, **params)
        for f, e in zip(found if isinstance(expected, tuple | list) else (found,), several, strict=True):
            plain = np.asarray(f)
            assert plain.shape == np.shape(e)
            assert plain.dtype == object or np.asarray(e).dtype.kind != "f", (
                "rounded to floating-point numbers on the way"
            )
            np.testing.assert_allclose(plain.astype(np.asarray(e).dtype), e, rtol=1e-12, atol=1e-14)

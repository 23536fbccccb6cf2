"""Every operation of the table on a GPU, or its emulator: the same numbers as compiled for the processor.

Operations without native code are those of the library: of CuPy, or of its stand-in.
"""

from __future__ import annotations

import numpy as np
import pytest
from tests.compiler.targets.devices import assert_same_bits, on_gpu
from tests.compiler.test_compiled_table import OTHERS, crossed, depends_on_numbers
from tests.devices.table_walk import BY_ORDER, UP_TO_SIGNS
from tests.test_table import case_arguments, live_arguments, op_of, sample, several

import wengert as wg
from wengert.compiler.forms.lowering import complex_lowering, expansion, lowering
from wengert.core.device_calls import device_call
from wengert.core.infer import is_elementwise
from wengert.core.primitive import TABLE, Primitive

GROUP = 24
"""The number of operations of one program."""
ELEMENTWISE = [p for p in TABLE.values() if is_elementwise(p)]
SMOOTH = [p for p in ELEMENTWISE if p.kind == "elementwise"]
device_call.fill()
ELSEWHERE = {p.name for p in device_call.reasons} | {*BY_ORDER, "distributed_sum"}
"""What devices do not have, functions whose orders must be numbers, and what runs on several machines."""


def has_kernel(p: Primitive, dtype: str = "f8") -> bool:
    """Whether an operation has native code: others are run by the library, whose last digits are its own."""
    return p in expansion or p in (complex_lowering if dtype == "c16" else lowering)


def defined_arguments(p: Primitive, dtype: str) -> list:
    """Arguments at boundaries without the integer 0 of `reciprocal`, whose result is what a processor makes of it."""
    args = crossed(p, dtype)
    return [a[a != 0] for a in args] if (p.name, dtype) == ("reciprocal", "i8") else args


def groups(items: list, size: int = GROUP) -> list:
    return [items[k : k + size] for k in range(0, len(items), size)]


def together(runs: list) -> tuple:
    """Functions, each with arguments of its own, as one function."""
    ends = np.cumsum([0, *[len(args) for _, args in runs]])
    whole = lambda *args: tuple([f(*args[ends[i] : ends[i + 1]]) for i, (f, _) in enumerate(runs)])
    return whole, [a for _, args in runs for a in args]


def runs(f, args: list) -> bool:
    """Whether an operation takes these dtypes at all, and its shape does not depend on numbers."""
    try:
        with np.errstate(all="ignore"):
            wg.trace(f, *args)
            f(*args)
    except (TypeError, ValueError, wg.TrackedValueError, np.linalg.LinAlgError):
        return False
    return True


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "?", "c16"])
@pytest.mark.parametrize("group", groups(ELEMENTWISE), ids=lambda g: f"{g[0].name} to {g[-1].name}")
def test_elementwise_has_the_bits_of_the_processor(group, dtype):
    """At the boundaries of formulas, with NaN, infinities and zeros of both signs."""
    group = [p for p in group if has_kernel(p, dtype)]
    candidates = [(op_of(p), defined_arguments(p, dtype)) for p in group]
    found = [(f, args) for f, args in candidates if runs(f, args)]
    if not found:
        return
    f, args = together(found)
    with np.errstate(all="ignore"):
        expected, outs = wg.compile(f)(*args), on_gpu(f)(*args)
    names = [p.name for p, (g, a) in zip(group, candidates, strict=True) if any(g is h for h, _ in found)]
    for name, y, z in zip(names, outs, expected, strict=True):
        assert_same_bits(y, z, name)


@pytest.mark.parametrize("group", groups(SMOOTH), ids=lambda g: f"{g[0].name} to {g[-1].name}")
def test_gradients(group):
    parts = []
    for p in group:
        args = sample(p, [(7, 1), (9,), (1, 1)])
        op, live = op_of(p), tuple(live_arguments(p, args))
        parts.append((lambda *a, op=op, live=live: wg.grad(lambda *b: wg.real(op(*b)).sum(), live)(*a), args))
    f, args = together(parts)
    for p, found, expected in zip(group, on_gpu(f)(*args), wg.compile(f)(*args), strict=True):
        for y, z in zip(found, expected, strict=True):
            np.testing.assert_allclose(y, z, rtol=1e-12 if has_kernel(p) else 1e-9, atol=1e-12, err_msg=p.name)


CASES = [(p, c) for p in OTHERS if p.name not in ELSEWHERE for c in p.trial.cases]


@pytest.mark.parametrize("group", groups(CASES, 40), ids=lambda g: f"{g[0][0].name} to {g[-1][0].name}")
def test_cases(group):
    found = []
    for p, case in group:
        op, args = op_of(p, case.params), case_arguments(case)
        if not depends_on_numbers(p, args):
            found.append((p, lambda *a, op=op: several(op(*a)), args))
    f, args = together([(g, a) for _, g, a in found])
    for (p, g, a), out in zip(found, on_gpu(f)(*args), strict=True):
        for y, z in zip(out, g(*a), strict=True):
            assert (np.shape(y), y.dtype) == (np.shape(z), z.dtype), p.name
            tolerance = 1e-13 if y.dtype.kind in "fc" else 0
            size = np.abs if p.name in UP_TO_SIGNS else np.asarray
            np.testing.assert_allclose(size(y), size(z), rtol=1e-12, atol=tolerance, err_msg=p.name)


def test_most_operations_have_kernels():
    """So most results above are compared by their bits."""
    for dtype, share in (("f8", 0.6), ("c16", 0.25)):
        assert sum(has_kernel(p, dtype) for p in ELEMENTWISE) > share * len(ELEMENTWISE)

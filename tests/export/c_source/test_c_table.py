"""Every operation of the table that has a form in C: the numbers of NumPy, at boundaries, and in gradients.

All operations of a dtype are one program, so that there are few files to compile.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from tests.compiler.test_compiled_table import AROUND_ZERO, EXACT, OWN_ZEROS, TRUTHS, assert_same, crossed, truth
from tests.export.c_source.loading import compile_graphs, needs_compiler
from tests.test_table import case_arguments, live_arguments, op_of, sample, several

import wengert as wg
from wengert.core.errors import TrackedValueError
from wengert.core.infer import is_elementwise
from wengert.core.primitive import TABLE, Primitive
from wengert.export.c_source.forms import find_unwritable, prepare

pytestmark = needs_compiler

ELEMENTWISE = [p for p in TABLE.values() if is_elementwise(p)]
SMOOTH = [p for p in ELEMENTWISE if p.kind == "elementwise"]
OTHERS = [p for p in TABLE.values() if p.trial.cases and not is_elementwise(p)]

NOT_IN_C = frozenset(
    [
        "beta",
        "betainc",
        "betaincinv",
        "betaln",
        "binom",
        "ci",
        "erfcinv",
        "erfcx",
        "erfinv",
        "exp1",
        "expi",
        "expn",
        "gammainc",
        "gammaincc",
        "gammainccinv",
        "gammaincinv",
        "i0",
        "i0e",
        "i1",
        "i1e",
        "ive",
        "j0",
        "j1",
        "lambertw",
        "log_ndtr",
        "ndtri",
        "odd_integral",
        "rgamma",
        "si",
        "sinc",
        "spacing",
        "stdtr",
        "stdtrit",
        "y0",
        "y1",
    ]
)
"""Elementwise operations of floats for which C99 has no function."""
ULPS = 4
"""Functions of the C library, and formulas of them, are not always rounded as NumPy's: the error of each is up to 2."""
NEAR_ONE = {"digamma": "the errors of its terms are those of numbers around 1, and it has a zero at 1.46"}
NOT_COMPARED = {
    "loggamma": "SciPy's value of the smallest number is infinite, and that of C is not",
    "rel_entr": "SciPy's value for a quotient that is subnormal has few digits",
}
OF_ITS_DTYPE = {"nextafter": "the next number depends on the dtype"}


def has_form(f: Callable, args: list) -> bool:
    """Whether a function of these arrays can be written in C."""
    return not any(find_unwritable(prepare(wg.trace(f, *args))))


def run_together(programs: dict) -> dict:
    """The results in C of functions and their arguments, as one program: by name."""
    counts = [len(args) for _, args in programs.values()]
    flat = [x for _, args in programs.values() for x in args]

    def together(*flat):
        parts, start = [], 0
        for (f, _), count in zip(programs.values(), counts, strict=True):
            parts.append(several(f(*flat[start : start + count])))
            start += count
        return parts

    graph = wg.trace(together, *flat)
    assert graph.result is not None
    call = compile_graphs({"together": graph})["together"]
    found, (_, structure) = call(*flat), wg.tree.flatten(wg.tree.unflatten(graph.result, range(len(graph.outputs))))
    return dict(zip(programs, wg.tree.unflatten(structure, found), strict=True))


def is_defined(f: Callable, args: list) -> bool:
    """Whether NumPy defines an operation for these dtypes."""
    try:
        f(*args)
    except (TypeError, ValueError):
        return False
    return True


def expected_of(primitive: Primitive, args: list, found: np.ndarray) -> np.ndarray:
    """NumPy's result, in float32 that of double precision, or the truth where SciPy's is worse."""
    f = op_of(primitive)
    expected = f(*args)
    if found.dtype == np.float32 and primitive not in EXACT and primitive.name not in OF_ITS_DTYPE:
        expected = np.asarray(f(*[a.astype("f8") if a.dtype.kind == "f" else a for a in args])).astype("f4")
    return truth(primitive.name, args[0], expected).astype(expected.dtype) if primitive.name in TRUTHS else expected


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "i4", "?"])
def test_elementwise_at_boundaries(dtype):
    with np.errstate(all="ignore"):
        programs = {p: (op_of(p), crossed(p, dtype)) for p in ELEMENTWISE}
        programs = {p: program for p, program in programs.items() if is_defined(*program)}
        written = {p: program for p, program in programs.items() if has_form(*program)}
        if dtype[0] == "f":
            assert {p.name for p in programs.keys() - written.keys()} == NOT_IN_C
        for p, (found,) in run_together(written).items():
            if p.name in NOT_COMPARED:
                continue
            size = 2.0 if p.name in AROUND_ZERO else 1.0 if p.name in NEAR_ONE else 0.0
            expected = expected_of(p, written[p][1], found)
            assert_same(found, expected, 0 if p in EXACT else ULPS, p.name not in OWN_ZEROS, size)


@pytest.mark.parametrize("dtype", ["f8", "f4"])
def test_gradients_of_elementwise(dtype):
    programs = {}
    for p in SMOOTH:
        args = sample(p, [(7, 1), (9,), (1, 1)], np.dtype(dtype).type)
        op = op_of(p)
        f = wg.grad(lambda *args, op=op: wg.real(op(*args)).sum(), tuple(live_arguments(p, args)))
        if has_form(f, args):
            programs[p] = f, args
    assert len(programs) > 60
    rtol = 1e-11 if dtype == "f8" else 5e-5
    for p, results in run_together(programs).items():
        f, args = programs[p]
        for found, expected in zip(results, f(*args), strict=True):
            assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
            np.testing.assert_allclose(found, expected, rtol=rtol, atol=rtol, err_msg=p.name)


def weighted_sum(op: Callable) -> Callable:
    """A number that depends on all results of an operation."""
    return lambda *args: sum([wg.sum(np.cos(y)) for y in several(op(*args)) if y.dtype.kind == "f"])


def cases(with_gradients: bool) -> dict:
    """The cases of all operations that are not elementwise, or their gradients, that have a form in C."""
    programs = {}
    for p in OTHERS:
        for k, case in enumerate(p.trial.cases):
            args, f = case_arguments(case), op_of(p, dict(case.params))
            if with_gradients:
                live = live_arguments(p, args)
                is_smooth = p.kind not in ("nondifferentiable", "control") and live
                if not is_smooth or not all(y.dtype.kind == "f" for y in several(f(*args))):
                    continue
                f = wg.grad(weighted_sum(f), tuple(live))
            try:
                if has_form(f, args):
                    programs[p.name, k] = f, args
            except TrackedValueError:  # the shape depends on numbers: there is no graph
                continue
    return programs


@pytest.mark.parametrize(("with_gradients", "least"), [(False, 240), (True, 200)], ids=["values", "gradients"])
def test_other_operations(with_gradients, least):
    programs = cases(with_gradients)
    assert len(programs) >= least
    for name, results in run_together(programs).items():
        f, args = programs[name]
        for found, expected in zip(results, several(f(*args)), strict=True):
            assert (found.shape, found.dtype) == (np.shape(expected), np.asarray(expected).dtype), name
            np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12, err_msg=str(name))

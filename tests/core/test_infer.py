"""Inferred specs equal those of NumPy's results, for all operations of the table."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from tests.sampling import by_operation, each

import wengert as wg
from wengert.core.infer import infer, is_elementwise
from wengert.core.primitive import TABLE, Primitive
from wengert.core.spec import UNKNOWN, Spec

DTYPES = [np.dtype(d) for d in ("f8", "f4", "f2", "i8", "i4", "u1", "?", "c16", "c8")]
SHAPES = [((3,), (3,), (3,)), ((), (), ()), ((2, 1), (3,), (1, 1)), ((0, 2), (2,), (1,)), ((4, 3), (), (3,))]
ELEMENTWISE = [p for p in TABLE.values() if is_elementwise(p) and p.definition.spec is None and not (p.trial.params)]
OTHERS = [p for p in TABLE.values() if not is_elementwise(p) and p.trial.cases]


def specs_of(outs, primitive: Primitive):
    return Spec.of(outs) if primitive.outputs == 1 else tuple(map(Spec.of, outs))


def outcome(function):
    """The result of a function, or the type of error."""
    try:
        with np.errstate(all="ignore"):
            return function()
    except (TypeError, ValueError) as error:
        return type(error) if not isinstance(error, np.exceptions.AxisError) else ValueError


@pytest.mark.parametrize("primitive", ELEMENTWISE, ids=lambda p: p.name)
def test_elementwise(primitive):
    compared = 0
    for dtypes in itertools.product(DTYPES, repeat=len(primitive.inputs)):
        for shapes in SHAPES[:3] if len(dtypes) > 2 else SHAPES:
            args = [np.ones(shape, dtype) for shape, dtype in zip(shapes, dtypes, strict=False)]
            want = outcome(lambda args=args: specs_of(primitive.impl(*args), primitive))
            got = outcome(lambda args=args: infer(primitive, tuple(map(Spec.of, args)), {}))
            assert got == want, args
            compared += isinstance(want, Spec)
    assert compared >= 3


@pytest.mark.parametrize("primitive", [p for p in ELEMENTWISE if len(p.inputs) == 2], ids=lambda p: p.name)
@each("number", [True, 2, 2.0, 2j])
def test_python_numbers_promote_as_in_numpy(primitive, number):
    for dtype in DTYPES:
        array = np.ones((2, 1), dtype)
        for args in ((array, number), (number, array)):
            want = outcome(lambda args=args: specs_of(primitive.impl(*args), primitive))
            operands = tuple([type(a) if a is number else Spec.of(a) for a in args])
            assert outcome(lambda operands=operands: infer(primitive, operands, {})) == want, (dtype, args)


def case_arguments(case) -> list:
    rng = np.random.default_rng(5)
    return [rng.normal(size=a) if isinstance(a, tuple) else a for a in case.args]


@by_operation(
    ("primitive", "case"), [pytest.param(p, c, id=f"{p.name}-{k}") for p in OTHERS for k, c in enumerate(p.trial.cases)]
)
def test_the_rest_of_the_table(primitive, case):
    args = case_arguments(case)
    for dtype in (np.float64, np.float32, np.complex128)[: 1 if primitive.kind == "control" else 3]:
        if dtype is np.complex128 and primitive.name.startswith("astype"):
            continue  # NumPy warns
        cast = [np.asarray(a).astype(dtype) if np.asarray(a).dtype.kind == "f" else np.asarray(a) for a in args]
        want = outcome(lambda cast=cast: specs_of(primitive.impl(*cast, **case.params), primitive))
        got = outcome(lambda cast=cast: infer(primitive, tuple(map(Spec.of, cast)), case.params))
        if got is wg.TrackedValueError:
            assert primitive.name in ("argwhere", "gather")  # of booleans
        elif isinstance(want, type):
            assert (
                isinstance(got, type) or dtype is np.complex128
            )  # an error of the numbers, or of LAPACK for this dtype
        else:
            assert got == want


def test_an_operation_says_so_if_its_shape_depends_on_numbers():
    with pytest.raises(wg.TrackedValueError, match=r"depends on the numbers.*test_infer.py"):
        infer(TABLE["argwhere"], (Spec((3,), np.dtype(float)),), {})


@pytest.mark.parametrize(
    "f",
    [
        lambda a: a.sum(),
        lambda a: a.reshape(1, 1) * a,
        lambda a: np.stack([a, a * 2]),
        lambda a: np.concatenate([np.ones(2, np.float32), np.reshape(a, 1)]),
        lambda a: np.broadcast_to(a, (2, 3)).T,
        lambda a: wg.take(np.arange(5.0), wg.real(a).astype(int)),
        lambda a: np.sort(np.stack([a, 1.0])),
        lambda a: wg.astype(wg.real(a), np.float32) * 2.0,
        lambda a: np.cumsum(np.ones(3, np.float32) * a),
        lambda a: np.stack([np.float32(1.0) * a, 2.0]),
        lambda a: np.max(a) + a.mean(),
        lambda a: np.ones(3, np.float32) @ np.full((3,), 1, np.float32) * a,
    ],
)
@pytest.mark.parametrize("number", [2.0, 2, 2j], ids=["float", "int", "complex"])
def test_python_numbers_where_an_array_is_needed(f, number):
    """In a traced function a Python number has the methods of an array.

    It is one for all but elementwise operations.
    """
    graph = wg.trace(f, number).validate()
    got = graph.evaluate(number)
    np.testing.assert_array_equal(got, f(wg.tensor(number)).numpy())
    assert Spec.of(got) == graph.outputs[0].spec
    compiled = wg.compile(f)(number)
    np.testing.assert_array_equal(compiled, got)
    assert Spec.of(compiled) == graph.outputs[0].spec


def test_no_numbers_are_made():
    huge = Spec((10**6, 10**6), np.dtype(float))
    for name, operands, params in (
        ("exp", (huge,), {}),
        ("add", (huge, float), {}),
        ("sum", (huge,), {"axis": (1,), "keepdims": False}),
        ("transpose", (huge,), {"axes": (1, 0)}),
        ("matmul", (huge, huge), {}),
        ("reshape", (huge,), {"shape": (10**12,)}),
    ):
        assert infer(TABLE[name], operands, params).dtype == np.float64


LARGE = 1 << 40


@pytest.mark.parametrize(
    ("f", "shape", "want"),
    [
        (np.argsort, (LARGE,), (LARGE,)),
        (lambda x: np.searchsorted(np.arange(3.0), x), (LARGE,), (LARGE,)),
        (lambda x: x.astype(np.float32), (LARGE, 2), (LARGE, 2)),
        (lambda x: x.astype(np.int64), (LARGE,), (LARGE,)),
        (lambda x: wg.softmax(x, -1), (LARGE, 3), (LARGE, 3)),
        (lambda x: np.cumsum(x, 0), (LARGE, 3), (LARGE, 3)),
        (lambda x: np.roll(x, 2), (LARGE,), (LARGE,)),
        (lambda x: np.stack([x, x], 1), (LARGE, 3), (LARGE, 2, 3)),
        (lambda x: np.concatenate([x, x[1:]]), (LARGE, 3), (2 * LARGE - 1, 3)),
        (lambda x: np.pad(x, ((1, 0), (2, 3))), (LARGE, 3), (LARGE + 1, 8)),
        (lambda x: np.diag(x), (LARGE,), (LARGE, LARGE)),
        (lambda x: np.histogram(x, np.arange(5.0))[0], (LARGE,), (4,)),
    ],
)
def test_no_operation_runs_on_arrays_of_the_size_that_is_inferred(f, shape, want):
    """A trace would wait for the arithmetic, and for memory: these arrays have more elements than fit."""
    graph = wg.trace(f, Spec(shape, np.dtype(float)))
    assert graph.outputs[0].shape == want


@pytest.mark.parametrize(
    ("f", "message"),
    [
        (lambda x: np.stack([x, x[1:]]), "same shape"),
        (lambda x: np.concatenate([x, x[:, 1:]]), "must match exactly"),
        (lambda x: np.concatenate([x, x[0]]), "same number of dimensions"),
        (lambda x: np.cumsum(x, 2), "out of bounds"),
        (lambda x: np.sort(x, 2), "out of bounds"),
    ],
)
def test_shapes_that_do_not_fit_are_numpys_errors(f, message):
    x = np.ones((3, 4))
    with pytest.raises(ValueError, match=message):
        f(x)
    with pytest.raises(ValueError, match=message):
        wg.trace(f, x)


@pytest.mark.parametrize("f", [np.cumsum, np.sort, lambda x: np.stack([x, x]), lambda x: np.concatenate([x, x])])
def test_a_length_that_is_not_known_is_an_error(f):
    with pytest.raises(ValueError, match="negative"):
        wg.trace(f, Spec((UNKNOWN, 2), np.dtype(float)))

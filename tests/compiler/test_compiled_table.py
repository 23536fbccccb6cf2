"""Every operation of the table, compiled: NumPy's shapes, dtypes and values, with NaN, infinities and signed zeros."""

from __future__ import annotations

import contextlib
from itertools import chain, combinations

import mpmath
import numpy as np
import pytest
from tests.sampling import by_operation, each
from tests.test_table import case_arguments, live_arguments, op_of, sample, several

import wengert as wg
from wengert.compiler.forms.lowering import Instructions, lowering
from wengert.compiler.functions.vector_functions import FUNCTIONS
from wengert.core.infer import is_elementwise
from wengert.core.primitive import TABLE

pytestmark = pytest.mark.seconds(3)

ELEMENTWISE = [p for p in TABLE.values() if is_elementwise(p)]
OTHERS = [p for p in TABLE.values() if p.trial.cases and not is_elementwise(p)]
EXACT = {p for p in TABLE.values() if isinstance(lowering.of(p), Instructions) and p.name not in FUNCTIONS}
"""What is rounded as IEEE 754 says, so that there is one right answer."""

DTYPES = ("f8", "f4", "i8", "i4", "?", "c16", "c8")
COMPLEX = ("c16", "c8")
FINITE = (
    *(0.0, 1.0, 0.5, 2.0, 3.0, 1.5, 0.1, 1e-10, 1e10, 1e22, 1 - 2**-24, 1 + 2**-23),
    *(np.pi, np.pi / 2, np.pi / 4, 35.0, 88.5, 100.0),
)
ENDS = {
    "f8": (5e-324, 2.3e-308, 1e-300, 1e300, 1.7e308, 709.5, 710.5, 745.0, 746.0),
    "f4": (1e-45, 1.2e-38, 1e-30, 1e30, 3.4e38, 89.0, 103.0, 104.0),
}
WHOLE = (0, 1, -1, 2, -2, 3, 7, -7, 10, 100, -100, 2**31 - 1, -(2**31))

OWN_ZEROS = {"fmax": "NumPy's own zeros depend on the length of the array", "fmin": "the same"}
AROUND_ZERO = {
    "logaddexp": "near its zeros the error is one of the operands, in NumPy as well",
    "logaddexp2": "the same",
}


TRUTHS = {
    "erfc": mpmath.erfc,
    "ndtr": lambda x: mpmath.erfc(-x / mpmath.sqrt(2)) / 2,
    "digamma": mpmath.digamma,
    "gammaln": lambda x: mpmath.re(mpmath.loggamma(x)),
    "cbrt": lambda x: mpmath.sign(x) * mpmath.cbrt(abs(x)),
}
"""Functions of which the errors of SciPy, or of NumPy on some processors, are several units in the last place, and ours
are not.
"""


def truth(name: str, x: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """The right results, where they are finite."""

    def number(v: float, y: float) -> float:
        try:
            return float(TRUTHS[name](mpmath.mpf(float(v)))) if np.isfinite(y) and v != 0 else y  # mpmath has one zero
        except OverflowError:  # an exponent beyond mpmath's means, far beyond that of floats
            return y

    with mpmath.workdps(60):
        return np.array(list(map(number, x.flat, expected.flat))).reshape(expected.shape)


def boundaries(dtype: str) -> np.ndarray:
    """Numbers at which formulas break."""
    if dtype in ENDS:
        positive = (*FINITE, *ENDS[dtype], np.inf)
        return np.array([*positive, *[-v for v in positive], np.nan], dtype)
    if dtype in COMPLEX:
        parts = (0.0, -0.0, 1.0, -2.0, 0.5, np.inf, np.nan, 1e300 if dtype == "c16" else 1e37)
        return np.array([complex(a, b) for a in parts for b in parts], dtype)
    return np.array(WHOLE if dtype[0] == "i" else [True, False], dtype)


def crossed(primitive, dtype: str) -> list[np.ndarray]:
    """All pairs of boundaries, by broadcasting."""
    x = boundaries(dtype)
    if primitive.name == "where":
        return [np.arange(x.size**2).reshape(x.size, x.size) % 3 == 0, x[:, None], x]
    if len(primitive.inputs) == 3:
        x = x[::5]
        return [x[:, None, None], x[:, None], x]
    return [x] if len(primitive.inputs) == 1 else [x[:, None], x]


def assert_same(found, expected, ulps: float = 0, signs: bool = True, size: float = 0.0) -> None:
    """Equal in shape, dtype and values, up to `ulps` units in the last place of values of at least `size`."""
    found, expected = np.asarray(found), np.asarray(expected)
    assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
    if expected.dtype.kind == "c":
        assert_same(found.real, expected.real, ulps, signs)
        assert_same(found.imag, expected.imag, ulps, signs)
    elif expected.dtype.kind != "f":
        np.testing.assert_array_equal(found, expected)
    else:
        with np.errstate(all="ignore"):
            for test in (np.isnan, np.isposinf, np.isneginf):
                np.testing.assert_array_equal(test(found), test(expected))
            ordinary = np.isfinite(expected)
            x, y = found[ordinary], expected[ordinary]
            if signs:
                np.testing.assert_array_equal(np.signbit(x), np.signbit(y))
            error = np.abs(x.astype(np.longdouble) - y) / np.spacing(np.maximum(np.abs(y), y.dtype.type(size)))
        assert np.max(error, initial=0) <= ulps, (
            f"{np.max(error)} units in the last place: {x[np.argmax(error)]!r}, not {y[np.argmax(error)]!r}"
        )


def assert_near(found, expected, ulps: float) -> None:
    """Equal in shape, dtype, NaN, infinities and signs of zeros; other numbers up to `ulps` of their moduli."""
    found, expected = np.asarray(found), np.asarray(expected)
    assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
    tolerance = ulps * np.spacing(np.abs(expected))
    for x, y in ((found.real, expected.real), (found.imag, expected.imag)):
        for test in (np.isnan, np.isposinf, np.isneginf):
            np.testing.assert_array_equal(test(x), test(y))
        zeros = (x == 0) & (y == 0)
        np.testing.assert_array_equal(np.signbit(x)[zeros], np.signbit(y)[zeros])
        ordinary = np.isfinite(tolerance)
        error = np.abs(x - y)[ordinary] / tolerance[ordinary]
        worst = np.argmax(error) if error.size else None
        assert worst is None or error[worst] <= 1, (found[ordinary][worst], expected[ordinary][worst])


def is_stable(primitive, args: list) -> np.ndarray | bool:
    """Where a complex power does not depend on the last digits of the logarithm."""
    if primitive.name != "power":
        return True
    turns = np.abs(args[1] * np.log(args[0]))
    return (turns < 8) | ~np.isfinite(turns)


def assert_as_eager(primitive, args: list, compiled, eager) -> None:
    """Compiled code may be nearer to the truth than NumPy in float32, so there it is compared with the truth."""
    with np.errstate(all="ignore"):
        expected = eager(*args)
        found = compiled(*args)
        signs = primitive.name not in OWN_ZEROS
        if any(a.dtype.kind == "c" for a in args) and found.dtype.kind in "fc":
            where = is_stable(primitive, args)
            assert_near(np.where(where, found, 1), np.where(where, expected, 1), ulps=16)
        elif primitive in EXACT or compiled.report(*args).fallbacks or found.dtype.kind != "f":
            assert_same(found, expected, signs=signs)
        else:
            if found.dtype == np.float32:
                expected = eager(*[a.astype(np.float64) if a.dtype.kind == "f" else a for a in args]).astype(np.float32)
            if primitive.name in TRUTHS:
                expected = truth(primitive.name, args[0], expected).astype(expected.dtype)
            assert_same(found, expected, ulps=2, size=2.0 if primitive.name in AROUND_ZERO else 0.0)


@each("dtype", DTYPES, ids=DTYPES)
@pytest.mark.parametrize("primitive", ELEMENTWISE, ids=lambda p: p.name)
def test_elementwise_at_boundaries(primitive, dtype):
    args, eager = crossed(primitive, dtype), op_of(primitive)
    compiled = wg.compile(eager)
    try:
        with np.errstate(all="ignore"):
            eager(*args)
    except (TypeError, ValueError) as error:
        with pytest.raises(type(error)):
            compiled(*args)
        return
    assert_as_eager(primitive, args, compiled, eager)


SMOOTH = [p for p in ELEMENTWISE if p.kind == "elementwise"]


@each("dtype", ["f8", "f4"], ids=["f8", "f4"])
@pytest.mark.parametrize("primitive", SMOOTH, ids=lambda p: p.name)
def test_elementwise_inside_their_domain(primitive, dtype):
    for shapes in ([(23, 1), (41,), (1, 1)], [(), (), ()]):
        args = sample(primitive, shapes, np.dtype(dtype).type)
        eager = op_of(primitive)
        assert_as_eager(primitive, args, wg.compile(eager), eager)


def total(primitive, live: list[int]):
    """The sum of what an operation gives, a function whose gradient is the operation's rule."""
    op = op_of(primitive)
    return wg.grad(lambda *args: wg.real(op(*args)).sum(), tuple(live))


@each("dtype", ["f8", "f4"], ids=["f8", "f4"])
@pytest.mark.parametrize("primitive", SMOOTH, ids=lambda p: p.name)
def test_gradients_of_elementwise(primitive, dtype):
    args = sample(primitive, [(7, 1), (9,), (1, 1)], np.dtype(dtype).type)
    f = total(primitive, live_arguments(primitive, args))
    rtol = 1e-12 if dtype == "f8" else 2e-5
    for found, expected in zip(wg.compile(f)(*args), f(*args), strict=True):
        assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
        np.testing.assert_allclose(found, expected, rtol=rtol, atol=rtol)


@pytest.mark.parametrize("primitive", SMOOTH, ids=lambda p: p.name)
def test_gradients_at_boundaries(primitive):
    """Rules have the same NaN and infinities.

    What they round may cancel, so finite numbers need not agree in all digits.
    """
    x = np.array([0.0, -0.0, 1.0, -1.0, 2.0, 0.5, 30.0, -30.0, np.inf, -np.inf, np.nan])
    args = [np.repeat(x, x.size), np.tile(x, x.size), np.tile(x[::-1], x.size)][: len(primitive.inputs)]
    if primitive.name == "where":
        args = [np.arange(x.size**2) % 3 == 0, *args[:2]]
    f = total(primitive, live_arguments(primitive, args))
    with np.errstate(all="ignore"):
        expected, found = f(*args), wg.compile(f)(*args)
    for g, h in zip(found, expected, strict=True):
        for test in (np.isnan, np.isposinf, np.isneginf):
            np.testing.assert_array_equal(test(g), test(h))
        np.testing.assert_allclose(g[np.isfinite(h)], h[np.isfinite(h)], rtol=1e-9, atol=1e-12)


LENGTHS = [(), (0,), (1,), (2,), (7,), (8,), (9,), (15,), (16,), (17,), (1000,), (3, 0), (5, 1), (2, 3, 5), (4, 1, 33)]
ONE_OPERAND = [p for p in SMOOTH if len(p.inputs) == 1 and p.name not in ("imag", "angle", "sinc")]


@pytest.mark.parametrize("dtype", ["f8", "f4"])
@pytest.mark.parametrize("shape", LENGTHS, ids=str)
def test_all_lengths(shape, dtype):
    """One program of many operations, for all lengths around the number of lanes."""
    args = [sample(p, [shape], np.dtype(dtype).type)[0] for p in ONE_OPERAND]
    eager = lambda *args: tuple([op_of(p)(x) for p, x in zip(ONE_OPERAND, args, strict=True)])
    outs = wg.compile(eager)(*args)
    wide = eager(*[x.astype(np.float64) for x in args])
    for p, found, expected, x in zip(ONE_OPERAND, outs, wide, args, strict=True):
        assert isinstance(found, np.ndarray) == bool(x.shape)
        right = truth(p.name, x, np.asarray(expected)) if p.name in TRUTHS else np.asarray(expected)
        assert_same(found, right.astype(dtype), ulps=2)


@pytest.mark.parametrize(
    "shapes",
    [
        ((3, 1), (1, 5)),
        ((9,), (4, 1)),
        ((2, 1, 8), (7, 1)),
        ((), (6,)),
        ((1,), (1, 1)),
        ((0, 1), (3,)),
        ((17, 8), (8,)),
    ],
    ids=str,
)
def test_broadcasting_pairs(shapes):
    rng = np.random.default_rng(1)
    x, y = [rng.normal(size=s) for s in shapes]

    def eager(x, y):
        return (
            x + y,
            x - y,
            x * y,
            x / y,
            np.maximum(x, y),
            x < y,
            np.where(x > 0, x, y),
            np.where(y > 0, 1.5, x),
            (x * 2) ** 2 + y,
        )

    for found, expected in zip(wg.compile(eager)(x, y), eager(x, y), strict=True):
        assert_same(found, expected)


def cases() -> list:
    return [pytest.param(p, c, id=f"{p.name}-{k}") for p in OTHERS for k, c in enumerate(p.trial.cases)]


def with_dtype(args: list, live: list[int], dtype: str) -> list:
    rng = np.random.default_rng(2)
    imaginary = lambda a: 1j * rng.normal(size=np.shape(a)) if dtype in COMPLEX else 0
    return [
        (np.asarray(a) * 3 + imaginary(a)).astype(dtype) if i in live and dtype != "f8" else a
        for i, a in enumerate(args)
    ]


def depends_on_numbers(primitive, args: list) -> bool:
    """Whether the shape of a result may depend on numbers, so that there is no program."""
    return primitive.name == "argwhere" or any(np.asarray(a).dtype == bool for a in args[1:])


def groups(runs: list, size: int) -> list:
    """Cases in groups, with the names of the first and the last as an id."""
    parts = [runs[k : k + size] for k in range(0, len(runs), size)]
    return [pytest.param([run.values for run in part], id=f"{part[0].id} to {part[-1].id}") for part in parts]


def compile_together(runs: list) -> list:
    """The results of functions, each with arguments of its own, in one program: that takes a third of the time."""
    ends = np.cumsum([0, *[len(args) for _, args in runs]])
    together = wg.compile(lambda *args: tuple([f(*args[ends[i] : ends[i + 1]]) for i, (f, _) in enumerate(runs)]))
    return list(together(*[a for _, args in runs for a in args]))


def assert_case(primitive, case, found, expected, dtype: str, tolerances: tuple[float, float]) -> None:
    """Equal in shape and dtype, and in numbers up to the tolerance for single or double precision."""
    found, expected, what = several(found), several(expected), f"{primitive.name} {case.params} {dtype}"
    tolerance = tolerances[0] if dtype in ("f4", "c8") else tolerances[1]
    assert len(found) == len(expected), what
    for y, z in zip(found, expected, strict=True):
        assert (np.shape(y), y.dtype) == (np.shape(z), z.dtype), what
        np.testing.assert_allclose(y, z, rtol=tolerance, atol=tolerance if y.dtype.kind in "fc" else 0, err_msg=what)


@by_operation(("primitive", "case"), cases())
def test_cases(primitive, case):
    op, args = op_of(primitive, case.params), case_arguments(case)
    try:
        found = wg.compile(op)(*args)
    except wg.TrackedValueError:
        assert depends_on_numbers(primitive, args)
        return
    assert_case(primitive, case, found, op(*args), "f8", (1e-5, 1e-13))


@pytest.mark.parametrize("dtype", DTYPES[1:])
@pytest.mark.parametrize("group", groups(cases(), 16))
def test_cases_in_other_dtypes(group, dtype):
    """All cases of a group that have a result are one program."""
    runs = []
    for primitive, case in group:
        op, args = op_of(primitive, case.params), case_arguments(case)
        live = [i for i, a in enumerate(args) if np.asarray(a).dtype.kind == "f"]
        if (primitive.name.startswith("astype") and dtype in COMPLEX) or (
            primitive.name == "logsumexp" and dtype[0] in "i?"
        ):
            continue  # the public function converts them first
        given = with_dtype(args, live, dtype)
        try:
            expected = op(*given)
        except (TypeError, ValueError, IndexError) as error:
            with pytest.raises(type(error)):
                wg.compile(op)(*given)
            continue
        if depends_on_numbers(primitive, args):
            with contextlib.suppress(wg.TrackedValueError):
                assert_case(primitive, case, wg.compile(op)(*given), expected, dtype, (1e-5, 1e-13))
        else:
            runs.append((primitive, case, op, given, expected))
    outs = compile_together([(op, given) for _, _, op, given, _ in runs])
    for (primitive, case, _, _, expected), found in zip(runs, outs, strict=True):
        assert_case(primitive, case, found, expected, dtype, (1e-5, 1e-13))


def gradient_of_case(primitive, case):
    """The gradients of a sum of squares of all that an operation returns, and its arguments."""
    op, args = op_of(primitive, case.params), case_arguments(case)
    live = live_arguments(primitive, args)

    def f(*args):
        return sum([wg.real(y * (1.0 + wg.astype(y, y.dtype)) * 0.5).sum() for y in several(op(*args))])

    return wg.grad(f, tuple(live)), args, live


DIFFERENTIABLE = [c for c in cases() if c.values[0].kind != "nondifferentiable"]


@by_operation(("primitive", "case"), DIFFERENTIABLE)
def test_gradients_of_cases(primitive, case):
    g, args, _ = gradient_of_case(primitive, case)
    try:
        found = wg.compile(g)(*args)
    except wg.TrackedValueError:
        assert depends_on_numbers(primitive, args)
        return
    assert_case(primitive, case, found, g(*args), "f8", (1e-4, 1e-11))


@pytest.mark.parametrize("dtype", ["f4", *COMPLEX])
@pytest.mark.parametrize("group", groups(DIFFERENTIABLE, 8))
def test_gradients_of_cases_in_other_dtypes(group, dtype):
    """All cases of a group are one program."""
    runs = []
    for primitive, case in group:
        count = 0 if primitive.kind == "control" else 1 if primitive.name == "astype" else 3
        if dtype not in ("f4", *COMPLEX)[:count]:
            continue
        g, args, live = gradient_of_case(primitive, case)
        given = with_dtype(args, live, dtype)
        if depends_on_numbers(primitive, args):
            with contextlib.suppress(wg.TrackedValueError):
                assert_case(primitive, case, wg.compile(g)(*given), g(*given), dtype, (1e-4, 1e-11))
        else:
            runs.append((primitive, case, g, given))
    outs = compile_together([(g, given) for _, _, g, given in runs])
    for (primitive, case, g, given), found in zip(runs, outs, strict=True):
        assert_case(primitive, case, found, g(*given), dtype, (1e-4, 1e-11))


REDUCTIONS = ("sum", "mean", "max", "min", "prod", "logsumexp", "all", "any", "count_nonzero")


def subsets(rank: int) -> list[tuple[int, ...]]:
    return list(chain.from_iterable(combinations(range(rank), k) for k in range(rank + 1)))


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "?", *COMPLEX])
@pytest.mark.parametrize(
    "shape", [(1,), (7,), (8,), (9,), (17,), (1000,), (3, 17), (17, 3), (64, 5), (1, 9), (3, 5, 9), (9, 1, 4)], ids=str
)
def test_reductions_over_all_axes(shape, dtype):
    x = (np.random.default_rng(3).uniform(0.8, 1.2, shape) * (3 if dtype == "i8" else 1)).astype(dtype)
    runs = [(name, axes, keepdims) for name in REDUCTIONS for axes in subsets(len(shape)) for keepdims in (False, True)]
    if dtype == "?":
        x = x ^ (np.arange(x.size).reshape(shape) % 3 == 0)
    if dtype not in ("f8", "f4"):
        runs = [run for run in runs if run[0] != "logsumexp"]
    if dtype in COMPLEX:
        x = x * np.exp(1j * np.arange(x.size, dtype=x.real.dtype)).reshape(shape).astype(dtype)

    def eager(x):
        return tuple([TABLE[name].op(x, axis=axes, keepdims=keepdims) for name, axes, keepdims in runs])

    for found, expected, run in zip(wg.compile(eager)(x), eager(x), runs, strict=True):
        assert (np.shape(found), found.dtype) == (np.shape(expected), expected.dtype), run
        np.testing.assert_allclose(
            found, expected, rtol=1e-4 if dtype in ("f4", "c8") else 1e-12, atol=0, err_msg=str(run)
        )


@pytest.mark.parametrize("n", [1, 3, 8, 9, 31, 64, 200])
@pytest.mark.parametrize("special", [np.nan, np.inf, -np.inf, 0.0, -0.0])
def test_reductions_of_special_numbers(n, special):
    """At every position, next to numbers and to each other."""
    rng = np.random.default_rng(4)
    x = rng.normal(size=(8, n)) - 0.5
    for row, indices in enumerate([[0], [-1], [n // 2], range(n), range(0, n, 2), range(n - 1), [], [0, -1]]):
        x[row, list(indices)] = special

    def eager(x):
        return (
            x.max(1),
            x.min(1),
            x.prod(1),
            x.max(0),
            x.sum(1),
            x.mean(1),
            wg.logsumexp(x, 1),
            np.any(x, 1),
            np.all(x, 1),
            x.sum(0),
        )

    with np.errstate(all="ignore"):
        expected, found = eager(x), wg.compile(eager)(x)
    for k, (y, z) in enumerate(zip(found, expected, strict=True)):
        for test in (np.isnan, np.isposinf, np.isneginf):
            np.testing.assert_array_equal(test(y), test(z), err_msg=str(k))
        np.testing.assert_allclose(y, z, rtol=1e-12)
        if (
            k < 4 and n <= 8
        ):  # NumPy's own extremes of zeros depend on its vectors, and a sum of negative zeros may be one here
            np.testing.assert_array_equal(np.signbit(y)[y == 0], np.signbit(z)[z == 0], err_msg=str(k))


@pytest.mark.parametrize("dtype", ["f8", "f4"])
@pytest.mark.parametrize("shape", [(300_001,), (300, 1001), (3, 100_001), (100_001, 3)], ids=str)
def test_large_arrays(shape, dtype):
    """On all cores, with parts that are no multiples of anything."""
    x = np.random.default_rng(5).normal(size=shape).astype(dtype)

    def eager(x):
        y = np.exp(np.sin(x)) * np.cos(x) + np.tanh(x)
        return (
            y,
            np.sqrt(np.abs(x)),
            x * 3 - 1,
            y.sum(),
            y.max(-1),
            y.sum(0),
            x.min(),
            np.any(x > 100),
            np.mean(y, -1, keepdims=True),
        )

    found, expected = wg.compile(eager)(x), eager(x.astype(np.float64))
    for y, z in zip(found, expected, strict=True):
        assert np.shape(y) == np.shape(z)
        np.testing.assert_allclose(y, z, rtol=1e-4 if dtype == "f4" else 1e-12, atol=1e-2 if dtype == "f4" else 1e-10)
    for k in (1, 2):
        assert_same(found[k], eager(x)[k])

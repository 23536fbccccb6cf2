"""The table test: every operation, several shapes and dtypes, at first and second order, against differences of values.

Tests come from the table: an operation that is entered there is tested here, with its own domain and cases.
"""

from __future__ import annotations

import numpy as np
import pytest
from tests.operation_trials import SHAPES, case_arguments, live_arguments, op_of, sample, several
from tests.oracle import assert_modes_agree, check_derivatives, random_weights, tape_gradients, weighted
from tests.sampling import by_operation, each
from tests.versions import needs_scipy

import wengert as wg
from wengert.core.primitive import TABLE, Primitive

pytestmark = pytest.mark.seconds(6)  # what every operation stands on

ELEMENTWISE = [p for p in TABLE.values() if p.kind == "elementwise"]
OTHERS = [p for p in TABLE.values() if p.kind not in ("elementwise", "nondifferentiable")]
OF_ANY_DTYPE = [p for p in OTHERS if p.kind != "control"]  # a graph has its dtypes
SMOOTH = [p for p in TABLE.values() if p.kind != "nondifferentiable"]
CONSTANT = [p for p in TABLE.values() if p.kind == "nondifferentiable"]

ORDERED = "NumPy orders complex numbers by their real part; there is no derivative to speak of"
NOT_COMPLEX = dict.fromkeys(("maximum", "minimum", "fmax", "fmin", "max", "min", "relu"), ORDERED) | {
    "absolute": "tested apart: its domain here is one ray",
    "divide_live": "used on real denominators",
    "astype": "tested apart",
    "hyp2f1": "SciPy's values have no correct digit near exp(i pi / 3)",
}


def by_name(primitives: list[Primitive]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("primitive", primitives, ids=lambda p: p.name)


def cases_of(primitives: list[Primitive]) -> list:
    return [pytest.param(p, c, id=f"{p.name}-{k}") for p in primitives for k, c in enumerate(p.trial.cases)]


@by_name(ELEMENTWISE)
@each("shapes", SHAPES.values(), ids=SHAPES)
def test_elementwise(primitive, shapes):
    args = sample(primitive, shapes)
    np.testing.assert_array_equal(op_of(primitive)(*map(wg.tensor, args)).numpy(), op_of(primitive)(*args))
    check_derivatives(op_of(primitive), args, live_arguments(primitive, args))


@by_name(ELEMENTWISE)
def test_elementwise_not_contiguous(primitive):
    args = [np.repeat(a, 2, axis=0)[::2].T for a in sample(primitive, [(3, 2)] * 3)]
    assert not all(a.flags.c_contiguous for a in args)
    check_derivatives(op_of(primitive), args, live_arguments(primitive, args), orders=1)


@by_name(ELEMENTWISE)
def test_elementwise_float32(primitive):
    args64 = sample(primitive, SHAPES["broadcast"])
    args32 = [a.astype(np.float32) if a.dtype.kind == "f" else a for a in args64]
    live = live_arguments(primitive, args64)
    op = op_of(primitive)
    assert op(*args32).dtype == np.float32
    weights = random_weights(op, args64)
    _, expected = tape_gradients(weighted(op, weights), args64, live)
    _, found = tape_gradients(weighted(op, [w.astype(np.float32) for w in weights]), args32, live)
    for g32, g64 in zip(found, expected, strict=True):
        assert g32.dtype == np.float32
        np.testing.assert_allclose(g32.numpy(), g64.numpy(), rtol=2e-3, atol=1e-4)


@by_name(ELEMENTWISE)
def test_elementwise_complex(primitive):
    args = sample(primitive, SHAPES["vector"], np.complex128)
    try:
        op_of(primitive)(*args)
    except TypeError:
        with pytest.raises(TypeError):  # what NumPy does not define, Wengert does not
            op_of(primitive)(*map(wg.tensor, args))
        return
    if primitive.name in NOT_COMPLEX:
        assert NOT_COMPLEX[primitive.name]
        return
    check_derivatives(op_of(primitive), args, live_arguments(primitive, args))


SINGULAR = [pytest.param(p, at, id=f"{p.name}-{at}") for p in ELEMENTWISE for at in p.trial.singular]
LATER = {"stdtrit": needs_scipy(1, 17)}


@pytest.mark.parametrize(
    ("primitive", "point"),
    [
        pytest.param(p, at, id=f"{p.name}{at}", marks=LATER.get(p.name, ()))
        for p in ELEMENTWISE
        for at in p.trial.singular
    ],
)
def test_singular_points(primitive, point):
    args = [np.array(v) for v in point]
    _, gradients = tape_gradients(lambda *a: op_of(primitive)(*a).sum(), args, range(len(args)))
    np.testing.assert_array_equal([g.item() for g in gradients], primitive.trial.singular[point])


@by_operation(("primitive", "point"), SINGULAR)
def test_singular_points_at_second_order_in_every_mode(primitive, point):
    args = [np.float64(v) for v in point]
    live = live_arguments(primitive, args)
    for k, i in enumerate(live):
        for j in live[k:]:
            assert_modes_agree(op_of(primitive), args, i, j)


@pytest.mark.parametrize("direction", [1.0, 1j, 0.6 + 0.8j])
@by_operation(("primitive", "point"), SINGULAR)
def test_complex_singular_points_in_every_mode(primitive, point, direction):
    """Along a line through the point, the real and the imaginary part of the result."""
    try:
        with np.errstate(all="ignore"):
            op_of(primitive)(*[np.complex128(v) for v in point])
    except TypeError:
        return
    if primitive.name in ("maximum", "minimum", "fmax", "fmin", "relu"):
        assert NOT_COMPLEX[primitive.name] == ORDERED
        return
    for part in (wg.real, wg.imag):
        along = lambda s, part=part: part(op_of(primitive)(*[s * direction + complex(v) for v in point]))
        assert_modes_agree(along, [np.float64(0.0)], 0, 0)


KINKS = {
    "norm": np.linalg.norm,
    "norm of order 1": lambda x: np.linalg.norm(x, 1),
    "norm of order 3": lambda x: np.linalg.norm(x, 3),
    "largest norm": lambda x: np.linalg.norm(x, np.inf),
    "norm of a matrix": lambda x: np.linalg.norm(x[:, None] * np.ones(2)),
    "square of a norm": lambda x: np.linalg.norm(x) ** 2,
    "square of a size": lambda x: np.sum(np.abs(x) ** 2),
    "size of a size": lambda x: np.sum(np.abs(np.abs(x))),
    "angle": lambda x: np.sum(np.angle(x)),
    "sign": lambda x: np.sum(np.real(np.sign(x + 0j))),
    "standard deviation": np.std,
    "variance": np.var,
    "product": lambda x: np.real(np.prod(x)),
    "running product": lambda x: np.real(np.sum(np.cumprod(x))),
    "logsumexp": lambda x: np.real(wg.logsumexp(x)),
    "power": lambda x: np.real(np.sum(x**2 + x**3.0 + x ** (2.0 + 0.0j))),
    "hypot": lambda x: np.sum(np.hypot(np.real(x), np.imag(x))),
    "largest": lambda x: np.max(np.real(x)),
    "median": lambda x: np.median(np.real(x)),
    "clipped": lambda x: np.sum(np.clip(np.real(x), 0.0, 1.0)),
    "distance": lambda x: np.sqrt(np.sum(np.abs(x[:, None] - x) ** 2 + 1.0)),
}


@pytest.mark.parametrize("direction", [[1.0, 1.0], [1.0, 2.0], [1j, 0.6 + 0.8j]], ids=["equal", "real", "complex"])
@pytest.mark.parametrize("name", KINKS)
def test_kinks_at_second_order_in_every_mode(name, direction):
    assert_modes_agree(lambda s: KINKS[name](s * np.array(direction)), [np.float64(0.0)], 0, 0)


@by_operation(("primitive", "case"), cases_of(OTHERS))
def test_cases(primitive, case):
    args = case_arguments(case)
    op = op_of(primitive, case.params)
    live = live_arguments(primitive, args)
    for found, expected in zip(several(op(*[wg.tensor(a) for a in args])), several(op(*args)), strict=True):
        np.testing.assert_array_equal(found.numpy(), expected)
    check_derivatives(op, args, live)


@by_operation(("primitive", "case"), cases_of(OF_ANY_DTYPE))
def test_cases_in_other_dtypes(primitive, case):
    args = case_arguments(case)
    live = live_arguments(primitive, args)
    args32 = [a.astype(np.float32) if i in live else a for i, a in enumerate(args)]
    op = op_of(primitive, case.params)
    weights = random_weights(op, args32)
    _, gradients = tape_gradients(weighted(op, weights), args32, live)
    _, expected = tape_gradients(weighted(op, weights), args, live)
    for g32, g64 in zip(gradients, expected, strict=True):
        assert g32.dtype == np.float32
        np.testing.assert_allclose(g32.numpy(), g64.numpy(), rtol=1e-3, atol=1e-4)
    if primitive.name not in NOT_COMPLEX:
        rng = np.random.default_rng(1)
        args_complex = [a + 1j * rng.normal(size=np.shape(a)) if i in live else a for i, a in enumerate(args)]
        check_derivatives(op, args_complex, live)


@by_operation(
    ("primitive", "args", "params"),
    [
        *[pytest.param(p, sample(p, SHAPES["vector"]), p.trial.params, id=p.name) for p in ELEMENTWISE],
        *[
            pytest.param(p, case_arguments(c), c.params, id=f"{p.name}-{k}")
            for p in OF_ANY_DTYPE
            for k, c in enumerate(p.trial.cases)
        ],
    ],
)
def test_the_cotangent_that_leaves_an_operation_has_the_dtype_of_its_operand(primitive, args, params):
    """A leaf casts the gradient that arrives; within a computation nothing does, and float64 would double the work."""
    if primitive.name == "astype":
        return  # its purpose
    live = live_arguments(primitive, args)
    leaves = {i: wg.tensor(args[i], requires_grad=True, dtype=np.float32) for i in live}
    operands = {i: x * 1 for i, x in leaves.items()}
    dtypes = []
    for x in operands.values():
        x.register_hook(lambda t: dtypes.append(t.dtype))
    outs = several(op_of(primitive, params)(*[operands.get(i, a) for i, a in enumerate(args)]))
    wg.autograd.backward(outs, [np.ones(out.shape, np.float32) for out in outs])
    assert dtypes == [np.float32] * len(live)


@by_name(CONSTANT)
def test_no_gradient_flows(primitive):
    assert primitive.definition.reason, "an operation without a gradient says why"
    runs = [(case_arguments(c), c.params) for c in primitive.trial.cases]
    if not runs and primitive.trial.domain:
        runs = [(sample(primitive, SHAPES["broadcast"]), primitive.trial.params)]
    for args, params in runs:
        out = primitive.op(*[wg.tensor(a, requires_grad=a.dtype.kind == "f") for a in args], **params)
        assert not out.requires_grad
        np.testing.assert_array_equal(out.numpy(), primitive.op(*args, **params))


@by_name(SMOOTH)
def test_has_something_to_test(primitive):
    assert primitive.trial.domain or primitive.trial.cases
    assert primitive.definition.rules or primitive.definition.vjp

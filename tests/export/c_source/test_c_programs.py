"""Programs as users write them, with their derivatives: the numbers of C beside those of NumPy."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse
from tests.export.c_source.loading import compile_graphs, needs_compiler

import wengert as wg

pytestmark = needs_compiler

RNG = np.random.default_rng(11)


def rosenbrock(x):
    r = x[1:] - x[:-1] ** 2
    return wg.sum(100.0 * r**2 + (1.0 - x[:-1]) ** 2)


A = np.array([[1.0, 0.1], [-0.2, 0.95]])
B = np.array([[0.0], [0.1]])


def control_cost(u, start):
    """The cost of a linear system that is controlled by u, with a soft limit of the state."""

    def step(state, control):
        new = A @ state + B @ control
        return new, wg.sum(new**2) + 0.1 * wg.sum(control**2) + wg.sum(np.maximum(new - 0.8, 0.0) ** 2)

    final, costs = wg.scan(step, start, u)
    return wg.sum(costs) + 10.0 * wg.sum(final**2)


def heat(u):
    """Explicit steps of the heat equation with fixed ends, by slices."""
    for _ in range(4):
        inner = u[1:-1] + 0.1 * (u[2:] - 2.0 * u[1:-1] + u[:-2])
        u = np.concatenate([u[:1], inner, u[-1:]])
    return wg.sum(u**2)


def plate(u):
    """A stencil in two dimensions, periodic in one and with zeros around the other."""
    padded = np.pad(u, ((1, 1), (0, 0)))
    return padded[2:] + padded[:-2] + np.roll(u, 1, axis=1) + np.roll(u, -1, axis=1) - 4.0 * u


def lstm_step(weights, bias, x, state):
    hidden, cell = state
    gates = np.concatenate([x, hidden], axis=1) @ weights + bias
    i, f, g, o = np.split(gates, 4, axis=1)
    cell = wg.sigmoid(f) * cell + wg.sigmoid(i) * np.tanh(g)
    return wg.sum(wg.sigmoid(o) * np.tanh(cell))


def cross_entropy(scores, labels):
    total = wg.special.logsumexp(scores, axis=1)
    return wg.mean(total - scores[np.arange(scores.shape[0]), labels])


def attention(q, k, v):
    return wg.special.softmax(q @ k.T / np.sqrt(q.shape[1]), axis=1) @ v


def newton(x):
    """Three steps of Newton's method for a root of two equations, with the Jacobian."""

    def equations(x):
        return np.stack([x[0] ** 2 + x[1] ** 2 - 4.0, np.exp(x[0]) + x[1] - 1.0])

    for _ in range(3):
        x = x - np.linalg.solve(wg.jacobian(equations)(x), equations(x))
    return x


def pendulum(parameters, start):
    """The angle after a semi-implicit integration, as a loop."""
    gravity, damping = parameters

    def step(state, _):
        angle, velocity = state
        velocity = velocity - 0.05 * (gravity * np.sin(angle) + damping * velocity)
        angle = angle + 0.05 * velocity
        return (angle, velocity), angle

    (angle, _), path = wg.scan(step, (start[0], start[1]), None, length=20)
    return angle**2 + wg.sum(path) / 20.0


def square_root(x):
    """Heron's method until it has converged, and the number of steps."""

    def goes_on(state):
        value, _ = state
        return abs(value * value - x) > 1e-12 * x

    def step(state):
        value, count = state
        return 0.5 * (value + x / value), count + 1

    return wg.while_loop(goes_on, step, (x, 0))


def huber(x):
    return wg.cond(wg.sum(x**2) < 4.0, lambda x: 0.5 * wg.sum(x**2), lambda x: wg.sum(abs(x)) - 0.5, x)


def gaussian_process(lengthscale, x, y):
    """The negative logarithm of a marginal likelihood."""
    distance = (x[:, None] - x[None, :]) / lengthscale
    factor = np.linalg.cholesky(np.exp(-0.5 * distance**2) + 0.1 * np.eye(x.size))
    solved = wg.linalg.solve_triangular(factor, y, lower=True)
    return 0.5 * wg.sum(solved**2) + wg.sum(np.log(np.diagonal(factor)))


MATRIX = scipy.sparse.random(9, 6, density=0.4, random_state=3, format="csr")


def sparse_residual(x):
    return wg.sum((wg.sparse(MATRIX) @ x - 1.0) ** 2)


def embedding(table, indices):
    return wg.sum(np.tanh(table[indices]) ** 2)


def updates(x):
    y = x * 2.0
    y[1:3] = 0.5 * x[:2]
    y[::2] += 1.0
    return wg.sum(np.cumsum(y) * np.sort(x))


def floats(x, y):
    return wg.sum(np.sin(x) * y.astype(np.float32)), (x > 0.5) & (y % 3 == 1), y // 2 + np.argmax(x)


def draw(*shape):
    return RNG.normal(size=shape)


WORDS = np.array([1, 4, 4, 0, -1])
PROGRAMS = {
    "rosenbrock": (wg.value_and_grad(rosenbrock), draw(10)),
    "rosenbrock_hessian": (wg.hessian(rosenbrock), draw(6)),
    "rosenbrock_product": (lambda x, v: wg.jvp(wg.grad(rosenbrock), (x,), (v,)), draw(8), draw(8)),
    "control": (wg.value_and_grad(control_cost), draw(12, 1), draw(2)),
    "heat": (wg.grad(heat), draw(16)),
    "plate": (wg.jacobian(plate), draw(3, 4)),
    "lstm": (wg.grad(lstm_step, (0, 1)), draw(5, 12), draw(12), draw(4, 2), (draw(4, 3), draw(4, 3))),
    "cross_entropy": (wg.value_and_grad(cross_entropy), draw(6, 5), np.array([0, 4, 2, 2, 1, 3])),
    "attention": (wg.grad(lambda *x: wg.sum(attention(*x) ** 2), (0, 1, 2)), draw(4, 3), draw(5, 3), draw(5, 2)),
    "newton": (wg.jacobian(newton), np.array([-1.8, 0.8])),
    "pendulum": (wg.value_and_grad(pendulum), np.array([9.81, 0.3]), np.array([0.6, 0.0])),
    "pendulum_hessian": (wg.hessian(pendulum), np.array([9.81, 0.3]), np.array([0.6, 0.0])),
    "square_root": (square_root, 7.0),
    "square_root_push": (lambda x: wg.jvp(lambda x: square_root(x)[0], (x,), (1.0,)), 7.0),
    "huber_near": (wg.value_and_grad(huber), 0.1 * draw(5)),
    "huber_far": (wg.value_and_grad(huber), 10.0 * draw(5)),
    "gaussian_process": (wg.value_and_grad(gaussian_process), 0.7, draw(7), draw(7)),
    "sparse": (wg.value_and_grad(sparse_residual), draw(6)),
    "embedding": (wg.grad(embedding), draw(6, 3), WORDS),
    "updates": (wg.grad(updates), draw(6)),
    "mixed_dtypes": (floats, RNG.normal(size=(2, 4)).astype("f4"), RNG.integers(0, 9, (2, 4))),
    "einsum": (wg.grad(lambda a, b: wg.sum(np.einsum("ijk,klj->il", a, b) ** 2), (0, 1)), draw(2, 3, 4), draw(4, 5, 3)),
    "large_product": (lambda a, b: a @ b.T, draw(40, 70), draw(50, 70)),
    "batch": (wg.vmap(wg.grad(rosenbrock)), draw(3, 5)),
}


@pytest.fixture(scope="module")
def functions():
    """All programs, compiled together."""
    return compile_graphs({name: wg.trace(f, *args) for name, (f, *args) in PROGRAMS.items()})


@pytest.mark.parametrize("name", PROGRAMS)
def test_program(functions, name):
    f, *args = PROGRAMS[name]
    expected = wg.tree.leaves(f(*args))
    found = functions[name](*wg.tree.leaves(args))
    for x, y in zip(found, expected, strict=True):
        assert (x.shape, x.dtype) == (np.shape(y), np.asarray(y).dtype)
        np.testing.assert_allclose(x, y, rtol=1e-11 if x.dtype != np.float32 else 1e-5, atol=1e-12)


def test_failures_are_returned(functions):
    with pytest.raises(IndexError):
        functions["embedding"](draw(6, 3), np.array([0, 1, 6, 2, 3]))
    others = compile_graphs(
        {
            "solve": wg.trace(np.linalg.solve, draw(2, 2), draw(2)),
            "factor": wg.trace(np.linalg.cholesky, np.eye(2)),
        }
    )
    with pytest.raises(np.linalg.LinAlgError, match="Singular"):
        others["solve"](np.zeros((2, 2)), np.ones(2))
    with pytest.raises(np.linalg.LinAlgError, match="positive"):
        others["factor"](-np.eye(2))


def test_a_failure_in_a_loop_is_returned():
    def walk(table, indices):
        return wg.scan(lambda total, i: (total + table[i], total), 0.0, indices)[0]

    call = compile_graphs({"walk": wg.trace(walk, np.ones(3), np.arange(3))})["walk"]
    np.testing.assert_array_equal(call(np.ones(3), np.arange(3))[0], 3.0)
    with pytest.raises(IndexError):
        call(np.ones(3), np.array([0, 5, 0]))


def copies(x):
    y = x * 2.0
    return x, y, y, np.arange(3), 1.5, y[:0]


def choose_by_flag(x, flag):
    """A boolean that is computed, passed on to branches and loops, and stored."""
    is_large = (wg.sum(x) > 1.0) & np.any(x > 0.0)
    chosen = wg.cond(is_large, lambda x, flag: np.where(flag, x, -x), lambda x, flag: x * 2.0, x, is_large & flag)
    held, flags = wg.scan(lambda held, v: (held | (v > 0.5), held), is_large, x)
    return chosen, is_large, held, flags, np.all(flags)


def angle_named_theta(x):
    θ = np.sin(x) * 2.0
    return θ * θ + wg.sum(θ)


def not_needed(x, n):
    """Operands that operations do not need."""
    y, k = np.exp(x) * x, n * 2 + n
    return np.isnan(k) | np.isinf(k), wg.imag(y) + wg.imag(y * x), wg.sum(wg.imag(np.sinh(x)))


EDGES = {
    "not_needed": (not_needed, draw(4), np.arange(4)),
    "copies": (copies, draw(4)),
    "flags": (choose_by_flag, np.array([0.2, 0.9, 0.4]), np.bool_(True)),
    "flags_not": (choose_by_flag, np.array([-0.2, -0.9, 0.1]), np.bool_(True)),
    "theta": (angle_named_theta, draw(3)),
    "empty": (lambda x, y: (x + 1.0, np.concatenate([x, y]), wg.sum(x), x @ x), np.empty(0), draw(3)),
    "nearby": (
        lambda x, y: (np.isclose(x, y), np.isclose(x, y, equal_nan=True), np.all(np.isclose(x, y))),
        np.array([1.0, np.inf, np.nan, np.inf, 2.0, 1.0]),
        np.array([1.0 + 1e-9, np.inf, np.nan, -np.inf, 2.1, np.inf]),
    ),
    "smoothed": (wg.grad(lambda x, y: wg.sum(np.convolve(x, y, "same") ** 2), (0, 1)), draw(9), draw(3)),
    "numbers": (lambda x, n: x**n + wg.hypot(x, 2), 1.5, 3),
}


def test_edges():
    calls = compile_graphs({name: wg.trace(f, *args) for name, (f, *args) in EDGES.items()})
    for name, (f, *args) in EDGES.items():
        outs = f(*args)
        for found, expected in zip(calls[name](*args), outs if isinstance(outs, tuple) else [outs], strict=True):
            assert (found.shape, found.dtype) == (np.shape(expected), np.asarray(expected).dtype), name
            np.testing.assert_allclose(found, expected, rtol=1e-13, err_msg=name)

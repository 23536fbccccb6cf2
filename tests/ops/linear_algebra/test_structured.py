"""Structured matrices: values against SciPy and NumPy, derivatives against differences, in every mode."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
import pytest
import scipy.linalg
from tests.ops.checks import normal
from tests.oracle import check_derivatives, random_weights, weighted
from tests.test_modes import directions, gradients, push_forward, taylor_coefficients

import wengert as wg
from wengert import linalg
from wengert.linalg import block_diag, solve_banded, solve_sylvester, tensorinv, tensorsolve, toeplitz


def band(below, above, n, seed=0, leading=()):
    ab = normal((*leading, below + above + 1, n), seed)
    ab[..., above, :] += 6
    return ab


def each(f, *cores):
    """SciPy's function for stacks that broadcast, with cores of so many axes, one after the other."""

    def run(*args):
        leading = np.broadcast_shapes(*[a.shape[: a.ndim - c] for a, c in zip(args, cores, strict=True)])
        stacks = [np.broadcast_to(a, (*leading, *a.shape[a.ndim - c :])) for a, c in zip(args, cores, strict=True)]
        found = [f(*[s[index] for s in stacks]) for index in np.ndindex(leading)]
        return np.stack(found).reshape(*leading, *found[0].shape)

    return run


A, B = normal((3, 3), 1) + 4 * np.eye(3), normal((2, 2), 2) + 4 * np.eye(2)
FUNCTIONS: dict[str, tuple[Any, ...]] = {}
for _l, _u in ((1, 1), (2, 0), (0, 2), (0, 0), (1, 3), (6, 6)):
    FUNCTIONS[f"solve_banded {_l} {_u}"] = (
        lambda ab, b, pair=(_l, _u): solve_banded(pair, ab, b),
        lambda ab, b, pair=(_l, _u): scipy.linalg.solve_banded(pair, ab, b),
        (band(_l, _u, 5), normal((5, 2), 3)),
    )
FUNCTIONS |= {
    "solve_banded a vector": (
        lambda ab, b: solve_banded((1, 2), ab, b), lambda ab, b: scipy.linalg.solve_banded((1, 2), ab, b),
        (band(1, 2, 4), normal((4,), 4)),
    ),
    "solve_banded stacks": (
        lambda ab, b: solve_banded((1, 2), ab, b), each(lambda ab, b: scipy.linalg.solve_banded((1, 2), ab, b), 2, 2),
        (band(1, 2, 4, leading=(2, 1)), normal((3, 4, 2), 5)),
    ),
    "solve_sylvester": (solve_sylvester, scipy.linalg.solve_sylvester, (A, B, normal((3, 2), 6))),
    "solve_sylvester of one matrix": (lambda a, q: solve_sylvester(a, a, q), lambda a,
    q: scipy.linalg.solve_sylvester(a, a, q), (A, A)),
    "solve_sylvester stacks": (
        solve_sylvester, each(scipy.linalg.solve_sylvester, 2, 2, 2),
        (np.stack([A, A.T])[:, None], B, normal((3, 3, 2), 7)),
    ),
    "block_diag": (block_diag, scipy.linalg.block_diag,
    (normal((2, 3), 8), normal((1, 2), 9), normal((3,), 10), np.array(2.0))),
    "block_diag of one": (block_diag, scipy.linalg.block_diag, (A,)),
    "block_diag of stacks": (block_diag, each(scipy.linalg.block_diag, 2, 2, 2),
    (normal((2, 1, 2, 2), 11), A, normal((3, 1, 2), 12))),
    "toeplitz": (toeplitz, scipy.linalg.toeplitz, (normal((4,), 13),)),
    "toeplitz, tall": (toeplitz, scipy.linalg.toeplitz, (normal((4,), 13), normal((2,), 14))),
    "toeplitz, wide": (toeplitz, scipy.linalg.toeplitz, (normal((2,), 13), normal((5,), 14))),
    "toeplitz of numbers": (toeplitz, scipy.linalg.toeplitz, (np.array(2.0), np.array(3.0))),
    "toeplitz, one row": (toeplitz, scipy.linalg.toeplitz, (normal((1,), 13), normal((3,), 14))),
    "toeplitz of stacks": (toeplitz, each(scipy.linalg.toeplitz, 1, 1), (normal((2, 1, 3), 15), normal((4, 2), 16))),
    "tensorsolve": (tensorsolve, np.linalg.tensorsolve, (normal((2, 3, 3, 2), 17), normal((2, 3), 18))),
    "tensorsolve, axes": (
        lambda a, b: tensorsolve(a, b, (0, 2)), lambda a, b: np.linalg.tensorsolve(a, b, (0, 2)),
        (normal((3, 2, 2, 3), 19), normal((2, 3), 20)),
    ),
    "tensorinv": (tensorinv, np.linalg.tensorinv, (normal((2, 3, 6), 21),)),
    "tensorinv, ind": (lambda a: tensorinv(a, 1), lambda a: np.linalg.tensorinv(a, 1), (normal((4, 2, 2), 22),)),
}  # fmt: skip
every = pytest.mark.parametrize(("f", "reference", "args"), FUNCTIONS.values(), ids=FUNCTIONS)


def agree(found, expected, rtol=1e-12):
    found = found.detach().numpy() if isinstance(found, wg.Tensor) else found
    assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
    np.testing.assert_allclose(found, expected, rtol=rtol, atol=rtol)


def as_complex(args):
    return [a + 0.5j * normal(a.shape, 30 + i) for i, a in enumerate(args)]


@every
def test_values_and_derivatives(f, reference, args):
    for given in (args, as_complex(args)):
        agree(f(*given), reference(*given))
        agree(f(*map(wg.tensor, given)), reference(*given))
        check_derivatives(f, given, range(len(given)))


@every
def test_float32(f, reference, args):
    args = [a.astype(np.float32) for a in args]
    tensors = [wg.tensor(a, requires_grad=True) for a in args]
    out = f(*tensors)
    agree(out, reference(*args).astype(np.float32), rtol=1e-4)
    (out * out).sum().backward()
    assert {x.grad.dtype for x in tensors} == {np.dtype(np.float32)}


@every
def test_integers(f, reference, args):
    if reference not in (np.linalg.tensorsolve, np.linalg.tensorinv):
        args = [np.rint(3 * a).astype(np.int64) for a in args]
        agree(f(*args), reference(*args), rtol=1e-11)
        agree(f(*map(wg.tensor, args)), reference(*args), rtol=1e-11)


@every
def test_modes_agree(f, reference, args):
    g, live = weighted(lambda *a: f(*a) * f(*a), random_weights(f, args)), range(len(args))
    v, w = directions(args, live), directions(args, live, seed=3)
    slope = lambda *a: sum((c * v[i]).sum() for i, c in gradients(g, a, live).items())
    push = lambda *a: push_forward(g, a, v)[1]
    np.testing.assert_allclose(push(*args), slope(*args), rtol=1e-11, atol=1e-11)
    mixed = [push_forward(push, args, w)[1], push_forward(slope, args, w)[1]]
    mixed += [sum((c * w[i]).sum() for i, c in gradients(h, args, live).items()) for h in (push, slope)]
    np.testing.assert_allclose(mixed[1:], [mixed[0]] * 3, rtol=1e-9, atol=1e-9)
    terms = taylor_coefficients(g, args, {i: 0.1 * s for i, s in v.items()}, 4)
    line = lambda tau: g(*[a + 0.1 * tau * v[i] for i, a in enumerate(args)])
    np.testing.assert_allclose(np.polyval(terms[::-1], 0.02), line(0.02), rtol=1e-7)


@every
def test_batched_and_compiled(f, reference, args):
    stacks = [np.stack([a, 1.2 * a, a + 0.1 * normal(a.shape, 7)]) for a in args]
    agree(wg.vmap(f)(*stacks), np.stack([f(*row) for row in zip(*stacks, strict=True)]))
    agree(wg.compile(f)(*args), reference(*args))
    g = wg.grad(weighted(f, random_weights(f, args)), tuple(range(len(args))))
    expected = [np.stack(rows) for rows in zip(*[g(*row) for row in zip(*stacks, strict=True)], strict=True)]
    for found, other, one in zip(wg.vmap(g)(*stacks), expected, wg.compile(g)(*args), strict=True):
        agree(found, other, rtol=1e-10)
        agree(one, other[0], rtol=1e-10)


def test_one_argument_may_be_the_batch():
    ab, b = band(1, 1, 4), normal((3, 4), 23)
    np.testing.assert_allclose(wg.vmap(lambda b: solve_banded((1, 1), ab, b))(b), solve_banded((1, 1), ab, b.T).T)
    jacobian = wg.jacrev(lambda b: solve_banded((1, 1), ab, b))(b[0])
    np.testing.assert_allclose(jacobian @ b[0], solve_banded((1, 1), ab, b[0]))


def test_numbers_outside_the_matrix_have_no_gradient():
    g = wg.grad(lambda ab: solve_banded((1, 2), ab, np.ones(4)).sum())(band(1, 2, 4))
    outside = np.array([[1, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 1]], bool)
    np.testing.assert_array_equal(g == 0, outside)
    spoiled = band(1, 2, 4)
    spoiled[outside] = 100.0
    np.testing.assert_array_equal(wg.grad(lambda ab: solve_banded((1, 2), ab, np.ones(4)).sum())(spoiled), g)


def test_a_large_band_takes_no_matrix():
    """Of 10^10 elements, this one."""
    n = 100_000
    ab = np.stack([np.full(n, -1.0), np.full(n, 4.0), np.full(n, -1.0)])
    g = wg.grad(lambda ab, b: solve_banded((1, 1), ab, b).sum(), (0, 1))(ab, np.ones(n))
    np.testing.assert_allclose(g[1][n // 2], 0.5, rtol=1e-12)
    np.testing.assert_allclose(g[0][:, n // 2], -0.25, rtol=1e-12)


def test_systems_without_a_solution():
    with pytest.raises(np.linalg.LinAlgError, match=r"Singular matrix.*test_structured.py"):
        solve_banded((1, 1), wg.tensor(np.zeros((3, 4))), np.ones(4))
    with pytest.raises(np.linalg.LinAlgError, match=r"no unique solution.*test_structured.py"):
        solve_sylvester(wg.tensor(A), -A, A)
    with pytest.raises(np.linalg.LinAlgError, match="Singular matrix"):
        tensorinv(wg.tensor(np.zeros((2, 2))), 1)


@pytest.mark.parametrize(
    ("run", "what"),
    [
        (lambda: solve_banded((1, 1), np.ones((2, 4)), np.ones(4)), "3 diagonals"),
        (lambda: solve_banded((1, 1), np.ones((3, 4)), np.ones(3)), "do not match"),
        (lambda: solve_banded((1, 1), np.full((3, 4), np.nan), np.ones(4)), "infs or NaNs"),
        (lambda: solve_sylvester(A, B, A), "do not match"),
        (lambda: solve_sylvester(A[:2], B, A), "square"),
        (lambda: tensorsolve(np.ones((2, 3, 4)), np.ones(2)), "as many equations as unknowns"),
        (lambda: tensorinv(A, 0), "must be positive"),
    ],
)
def test_arguments_that_do_not_fit(run, what):
    with pytest.raises(ValueError, match=rf"{what}.*test_structured.py"):
        run()


def test_nothing_is_overwritten():
    ab, b = band(1, 1, 4), normal((4,), 24)
    before = ab.copy(), b.copy()
    solve_banded((1, 1), ab, b, overwrite_ab=True, overwrite_b=True)
    np.testing.assert_array_equal(ab, before[0])
    np.testing.assert_array_equal(b, before[1])


@pytest.mark.parametrize("args", [(), ([],), (np.zeros((2, 0)), A), (A, np.zeros((0, 2)), 1)])
def test_blocks_without_elements(args):
    agree(block_diag(*args), scipy.linalg.block_diag(*args))


@pytest.mark.parametrize(
    "args", [([],), ([], [1.0]), ([1.0], []), ([1, 2], [3, 4.5]), ([1j, 2.0],), ([1.0, 2.0], [0, 1j])]
)
def test_toeplitz_of_lists(args):
    agree(toeplitz(*args), scipy.linalg.toeplitz(*args))


def test_gradient_of_a_toeplitz_matrix_is_the_sum_along_each_diagonal():
    c, r, t = normal((50,), 25), normal((30,), 26), normal((50, 30), 27)
    by_c, by_r = wg.grad(lambda c, r: (toeplitz(c, r) * t).sum(), (0, 1))(c, r)
    np.testing.assert_allclose(by_c, [np.trace(t, -k) for k in range(50)])
    np.testing.assert_allclose(by_r, [0.0, *[np.trace(t, k) for k in range(1, 30)]], atol=1e-14)


def test_complex_toeplitz_without_a_row_is_hermitian():
    c = normal((3,), 28, np.complex128)
    agree(toeplitz(wg.tensor(c)), scipy.linalg.toeplitz(c))
    check_derivatives(toeplitz, [c], [0])


def test_through_numpy():
    a, b = normal((2, 3, 6), 29), normal((2, 3), 30)
    agree(np.linalg.tensorsolve(wg.tensor(a), b), np.linalg.tensorsolve(a, b))
    agree(np.linalg.tensorinv(wg.tensor(a)), np.linalg.tensorinv(a))
    theirs = [n for n, f in vars(np.linalg).items() if not n.startswith("_") and not isinstance(f, ModuleType)]
    assert [n for n in theirs if n not in ("LinAlgError", "test") and not hasattr(linalg, n)] == []

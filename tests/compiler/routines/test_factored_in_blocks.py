"""What all factorisations in blocks have in common: no LAPACK, the same bits on all threads, stacks and transposes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import wengert as wg
from wengert.compiler.machine.target import has_wide_vectors
from wengert.compiler.routines.triangular_panels import is_factored_in_blocks
from wengert.compiler.threads.pool import LIMITS
from wengert.core import machine
from wengert.core.primitive import TABLE

pytestmark = pytest.mark.skipif(not has_wide_vectors(), reason="LAPACK factors matrices where vectors are short")


class Factorization(NamedTuple):
    """An operation, what its functions are called, and LAPACK's function."""

    operation: Callable[..., Any]
    name: str
    lapack: str


@pytest.fixture(
    params=[
        Factorization(wg.linalg.cholesky, "wengert.cholesky", "dpotrf"),
        Factorization(TABLE["factored"].op, "wengert.eliminate", "dgetrf"),
    ],
    ids=lambda found: found.lapack,
)
def found(request):
    return request.param


def draw(n, stack=()):
    """Matrices that are positive definite by their lower triangles, and not symmetric."""
    return np.random.default_rng(n).standard_normal((*stack, n, n)) + 2.0 * n * np.eye(n)


def test_it_is_not_lapack_that_runs(found):
    text = wg.compile(found.operation).report(draw(100)).llvm
    assert found.name in text
    assert found.lapack not in text


def test_other_matrices_are_left_to_lapack():
    assert not is_factored_in_blocks(np.dtype(float), machine.current.max_columns_of_blocked_factorization + 1)
    assert not is_factored_in_blocks(np.dtype(float), machine.current.min_rows_of_native_factors - 1)
    assert not is_factored_in_blocks(np.dtype(complex), 100)


def test_bits_do_not_depend_on_threads(found, monkeypatch):
    x, f = draw(300), wg.compile(found.operation)
    several = f(x)
    monkeypatch.setattr(LIMITS, "threads", 1)
    np.testing.assert_array_equal(f(x), several)


def test_stacks_are_factored_one_by_one(found):
    x, f = draw(70, stack=(3,)), wg.compile(found.operation)
    for factors, one in zip(f(x), x, strict=True):
        np.testing.assert_array_equal(factors, f(one))


def test_a_transposed_matrix_is_read_as_it_is(found):
    x, f = draw(100), wg.compile(found.operation)
    np.testing.assert_array_equal(wg.compile(lambda x: found.operation(x.T))(x), f(np.ascontiguousarray(x.T)))

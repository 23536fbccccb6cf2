"""Random programs agree between NumPy, their graph, and native code: values and gradients, real and complex."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.compiler.drawn_programs import EXTENTS, ComplexDraft, Draft, assert_near, loss

import wengert as wg

fixed = settings(max_examples=60)


@st.composite
def drafts(draw: Callable, kind: type[Draft] = Draft) -> Draft:
    """Programs of 5 to 50 lines.

    Shorter ones are simpler, and so are those of operations and shapes that are listed first.
    """
    return kind(lambda n: draw(st.integers(0, n - 1)), draw(st.integers(5, 50)))


def own_error(f: Callable, expected: Any, inputs: list) -> float:
    """How much the roundings of float32 matter to NumPy itself."""
    errors = [
        np.max(np.abs(y - z), initial=0.0) / max(np.max(np.abs(z), initial=0.0), 1.0)
        for y, z in zip(expected, f(*inputs), strict=True)
    ]
    return float(max(errors))


def check(draft: Draft, dtype: type, f: Callable) -> None:
    args = [x.astype(dtype) if x.dtype.kind == draft.kind else x for x in draft.inputs]
    with np.errstate(all="ignore"):
        expected = f(*args)
        tolerance = 1e-5 if "float32" in draft.source or "complex64" in draft.source else 1e-9
        if dtype in (np.float32, np.complex64):
            tolerance = 1e-4 + 20 * own_error(f, expected, draft.inputs)
        if not tolerance < 0.1 or not all(np.all(np.isfinite(y)) for y in expected):
            return  # a program that amplifies roundings says nothing
        assert_near(wg.trace(f, *args).evaluate(*args), expected, tolerance, "graph")
        assert_near(wg.compile(f)(*args), expected, tolerance, "compiled")


@pytest.mark.parametrize("dtype", [np.float64, np.float32], ids=lambda d: d.__name__)
@fixed
@given(drafts())
def test_values(dtype, draft):
    check(draft, dtype, draft.function())


@pytest.mark.parametrize("dtype", [np.float64, np.float32], ids=lambda d: d.__name__)
@fixed
@given(drafts())
def test_gradients(dtype, draft):
    check(draft, dtype, wg.grad(loss(draft.function()), (0, 1, 2)))


@pytest.mark.parametrize("dtype", [np.complex128, np.complex64], ids=lambda d: d.__name__)
@fixed
@given(drafts(ComplexDraft))
def test_values_of_complex_programs(dtype, draft):
    check(draft, dtype, draft.function())


@pytest.mark.parametrize("dtype", [np.complex128, np.complex64], ids=lambda d: d.__name__)
@fixed
@given(drafts(ComplexDraft))
def test_gradients_of_complex_programs(dtype, draft):
    check(draft, dtype, wg.grad(loss(draft.function()), (0, 1, 2)))


@fixed
@given(drafts())
def test_values_and_gradients_of_batches(draft):
    """vmap over the whole program: one more axis in front of everything."""
    f = draft.function()
    x, y, z, i = draft.inputs
    many = np.stack([x, x + 0.25, x * 0.5])
    g = wg.vmap(wg.grad(lambda x: loss(f)(x, y, z, i)))
    with np.errstate(all="ignore"):
        expected = g(many)
        if np.all(np.isfinite(expected)):
            assert_near([wg.compile(g)(many)], [expected], 1e-5 if "float32" in draft.source else 1e-8, "compiled")


def test_drafts_reach_what_they_are_for():
    """The generator itself: over many programs every kind of operation occurs, and every class of size."""
    rng = np.random.default_rng(0)
    drawn = [Draft(lambda n: int(rng.integers(n)), 30) for _ in range(60)]
    source = "\n".join(d.source for d in drawn)
    words = """transpose reshape broadcast_to flip roll diagonal pad tri stack concatenate split repeat einsum @ outer
        where None ... ::-1 [i take_along_axis argmax cumsum sort .add( .set( keepdims=True logsumexp"""
    for word in words.split():
        assert word in source
    assert {d.size_class for d in drawn} == set(EXTENTS)
    assert all(len(d.lines) <= 30 for d in drawn)
    assert np.mean([len(d.lines) for d in drawn]) > 20


def test_a_wrong_program_is_noticed():
    rng = np.random.default_rng(1)
    draft = Draft(lambda n: int(rng.integers(n)), 20)
    right = draft.function()(*draft.inputs)
    with pytest.raises(AssertionError):
        assert_near([y * (1 + 1e-6) for y in right], right, 1e-9, "wrong")


def scattered_behind_a_split(y, i):
    """A gradient that is added at computed indices, of an array that a reshape has split."""
    part = np.reshape(y, (2, 1, 9))[1, :, 7:4:-1]
    return (part @ np.sin(part[:, i]).T).sum()


FOUND: dict[str, tuple[Callable, tuple]] = {
    "last axis of length one in a flat loop": (lambda y: np.var(y, axis=1), ((7, 33),)),
    "one number gathered": (lambda x: wg.take(np.array([3.0]), np.array([0, 0, -1])) * x, ((3,),)),
    "one number gathered at an index": (lambda x, i: wg.take(x, i % 1), ((1,), (5,))),
    "reshape of other factors": (lambda y: np.reshape(y, (2, 1, 9))[1, :, 7:4:-1], ((3, 2, 3),)),
    "scatter behind a split": (scattered_behind_a_split, ((3, 2, 3), (3,))),
    "nothing joined": (lambda x, y: np.concatenate([x, x @ y]), ((0, 4), (4, 4))),
    "nothing gathered from": (lambda x, i: x[:, i], ((0, 5), (2,))),
    "strided scatter": (lambda x: np.sin(x[::2]) * x[1::2], ((2000,),)),
    "triangle of one row": (lambda x: np.tril(x) @ np.triu(x), ((5,),)),
}


@pytest.mark.parametrize(("f", "shapes"), FOUND.values(), ids=FOUND)
def test_what_random_programs_have_found(f, shapes):
    rng = np.random.default_rng(0)
    args = [
        rng.normal(size=shapes[0]),
        *[rng.integers(0, 3, s) if len(s) == 1 else rng.normal(size=s) for s in shapes[1:]],
    ]
    np.testing.assert_allclose(wg.compile(f)(*args), f(*args), rtol=1e-12, atol=1e-12)
    gradient = wg.grad(lambda *args: (f(*args) ** 2).sum())
    np.testing.assert_allclose(wg.compile(gradient)(*args), gradient(*args), rtol=1e-11, atol=1e-11)

"""Random programs on a GPU, or its emulator, agree with NumPy: values, gradients and batches."""

from __future__ import annotations

import numpy as np
import pytest
from tests.compiler.drawn_programs import ComplexDraft, Draft, assert_near, loss
from tests.compiler.targets.devices import on_gpu

import wengert as wg


def drawn(seed: int, kind: type[Draft] = Draft) -> Draft:
    rng = np.random.default_rng(seed)
    return kind(lambda n: int(rng.integers(n)), int(rng.integers(5, 40)))


def check(f, args: list, source: str) -> None:
    with np.errstate(all="ignore"):
        expected = f(*args)
        if not all(np.all(np.isfinite(y)) for y in expected):
            return
        tolerance = 1e-5 if "float32" in source or "complex64" in source else 1e-8
        assert_near(on_gpu(f)(*args), expected, tolerance, source)


@pytest.mark.parametrize("seed", range(24))
def test_values(seed):
    draft = drawn(seed)
    check(draft.function(), draft.inputs, draft.source)


@pytest.mark.parametrize("seed", range(100, 116))
def test_gradients(seed):
    draft = drawn(seed)
    check(wg.grad(loss(draft.function()), (0, 1, 2)), draft.inputs, draft.source)


@pytest.mark.parametrize("seed", range(200, 208))
def test_complex_programs(seed):
    draft = drawn(seed, ComplexDraft)
    check(draft.function(), draft.inputs, draft.source)


@pytest.mark.parametrize("seed", range(300, 306))
def test_batches(seed):
    draft = drawn(seed)
    f, (x, y, z, i) = draft.function(), draft.inputs
    many = np.stack([x, x + 0.25, x * 0.5])
    check(lambda x: [wg.vmap(wg.grad(lambda x: loss(f)(x, y, z, i)))(x)], [many], draft.source)

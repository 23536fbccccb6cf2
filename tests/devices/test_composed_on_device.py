"""Functions that are composed of operations, as the fuzzer calls them: on a device, and without a copy to the CPU."""

from __future__ import annotations

import numpy as np
import pytest
from tools.fuzz import forms

import wengert as wg
from wengert.core.tree import leaves

GROUPS = (
    forms.ARITHMETIC, forms.METHODS, forms.SHAPES, forms.INDEXED, forms.CONTRACTIONS, forms.MATRICES, forms.SPECTRA,
    forms.SEQUENCES,
)  # fmt: skip
NAMES = dict.fromkeys("abuvwxy", "v")
SHAPES = ((4,), (3, 3), (2, 4))
ELSEWHERE = ("fit(", "within(", "(n %", "\n", "sqrtm", "logm", "sylvester")
"""Functions and blocks of the fuzzer, and operations that do not run on a GPU."""


def calls():
    """Calls in which all operands are `v`; some forms have other blanks, or pairs of them."""
    found = [f"{name}(v, axis=0)" for name in forms.REDUCTIONS]
    for form in [form for group in GROUPS for form in group if isinstance(form, str)]:
        try:
            call = form.format(**NAMES).removeprefix("v = ")
        except (KeyError, IndexError):
            continue
        if not any(word in call for word in ELSEWHERE):
            found.append(call)
    return list(dict.fromkeys(found))


def test_there_are_calls():
    assert len(calls()) > 100


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("call", calls())
def test_composed(call, cuda, host_copies):
    rng = np.random.default_rng(0)
    for shape in SHAPES:
        v = rng.uniform(0.3, 1.5, shape)
        try:
            expected = leaves(eval(call, {"np": np, "wg": wg, "v": wg.tensor(v)}))
        except (TypeError, ValueError, IndexError, np.linalg.LinAlgError):  # not for this shape
            continue
        x = wg.tensor(v, device=cuda)
        host_copies.clear()
        found = leaves(eval(call, {"np": np, "wg": wg, "v": x}))
        assert host_copies == []
        for a, b in zip(found, expected, strict=True):
            if isinstance(b, wg.Tensor):
                assert a.device == cuda
                size = np.abs if "qr" in call or "eig" in call else np.asarray  # libraries choose the signs of vectors
                np.testing.assert_allclose(size(a.cpu().numpy()), size(b.numpy()), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("update", ["multiply", "divide", "power", "max", "min"])
def test_updates_at_repeated_indices(update, cuda, host_copies):
    """All runs of equal indices at once, in order; the gradients of ties are shared."""
    rng = np.random.default_rng(1)
    x, v, i = rng.uniform(0.5, 1.5, 5), rng.uniform(0.5, 1.5, 9), np.array([0, 3, 3, 1, 3, 0, 4, 4, 4])
    v[6:8] = 1.7
    f = lambda x, v: (getattr(x.at[i], update)(v) ** 2).sum()
    expected = wg.value_and_grad(f, (0, 1))(wg.tensor(x), wg.tensor(v))
    given = wg.tensor(x, device=cuda), wg.tensor(v, device=cuda)
    host_copies.clear()
    found = wg.value_and_grad(f, (0, 1))(*given)
    assert host_copies == []
    for a, b in zip(leaves(found), leaves(expected), strict=True):
        np.testing.assert_allclose(a.cpu().numpy(), b.numpy(), rtol=1e-12)

"""Rolls, pads, slices and joins: the values of eager code, no guards in the interior, no reads outside of arrays."""

from __future__ import annotations

import ctypes
import mmap
import sys
from collections.abc import Callable

import numpy as np
import pytest
from tests.fresh_python import run_python

import wengert as wg
from wengert.compiler.nests.policy import decide
from wengert.compiler.threads import pool as threads

RNG = np.random.default_rng(0)
SHAPES = [(0,), (1,), (3,), (4,), (9,), (50,), (203,), (1, 1), (2, 5), (7, 33), (40, 24), (3, 4, 5), (6, 9, 21)]
"""Also shapes without elements, with one element, and with fewer than a vector has lanes."""


def draw_stencil(rng: np.random.Generator, shape: tuple[int, ...]) -> Callable:
    """A random sum of parts of one array that were moved, with borders."""
    ndim = len(shape)
    terms: list[Callable] = [lambda x: x]
    for _ in range(int(rng.integers(1, 4))):
        axis, shift, scale = int(rng.integers(ndim)), int(rng.integers(-9, 10)), float(rng.normal())
        n = shape[axis]
        width = [(0, 0)] * ndim
        width[axis] = (min(abs(shift), n), 0) if shift > 0 else (0, min(abs(shift), n))
        inner, lead = slice(0, n) if shift > 0 else slice(width[axis][1], None), (slice(None),) * axis
        kind = int(rng.integers(4)) if n else 0
        if kind == 0:
            terms.append(lambda x, a=axis, s=shift, c=scale: c * np.roll(x, s, a))
        elif kind == 1:  # shifted, with zeros behind
            terms.append(lambda x, w=width, i=(*lead, inner), c=scale: c * np.pad(x * x, w)[i])
        elif kind == 2:  # all axes, other edges
            mode = str(rng.choice(["edge", "wrap"]))
            terms.append(lambda x, m=mode, c=scale: c * np.pad(np.sin(x), 1, m)[(slice(1, -1),) * x.ndim])
        else:  # the first elements stay, the others are differences
            first, rest, before = (*lead, slice(0, 1)), (*lead, slice(1, None)), (*lead, slice(0, -1))
            terms.append(
                lambda x, f=first, r=rest, b=before, a=axis, c=scale: np.concatenate([x[f], c * x[r] - x[b]], axis=a)
            )
    factor = [np.sin, np.cos, np.tanh][int(rng.integers(3))]
    return lambda x: sum([term(x) for term in terms[1:]], terms[0](x)) * factor(x)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_random_stencils_have_the_values_of_eager_code(shape, dtype):
    rng = np.random.default_rng(len(shape) + 7 * sum(shape))
    tolerance = 1e-12 if dtype is np.float64 else 1e-4
    x, weights = rng.normal(size=(2, *shape)).astype(dtype)
    for _ in range(3):
        f = draw_stencil(rng, shape)
        np.testing.assert_allclose(wg.compile(f)(x), f(x), rtol=tolerance, atol=tolerance)
        loss = lambda x, f=f: (weights * f(f(x))).sum()
        expected = wg.grad(loss)(x)
        np.testing.assert_allclose(wg.compile(wg.grad(loss))(x), expected, rtol=tolerance, atol=10 * tolerance)


@pytest.mark.parametrize("shape", [(1,), (5,), (64,), (131,), (4, 3), (19, 30)], ids=str)
@pytest.mark.parametrize("shift", [0, 1, -1, 4, 64, 1000])
def test_rolls_by_any_shift_are_those_of_numpy(shape, shift):
    """Of whole numbers, complex numbers and booleans as well, forwards and backwards, along all axes at once."""
    for x in (RNG.integers(0, 99, shape), RNG.normal(size=shape) + 1j, RNG.normal(size=shape) > 0):
        axes = tuple(range(len(shape)))
        f = lambda x, axes=axes: np.roll(x, (shift,) * len(axes), axes)[::-1]
        np.testing.assert_array_equal(wg.compile(f)(x), f(x))


@pytest.mark.parametrize("length", [3, 8, 70, 1001])
@pytest.mark.parametrize("step", [2, 3, -1, -2])
def test_slices_with_steps_are_those_of_numpy(length, step):
    x = RNG.normal(size=length)
    f = lambda x: np.pad(x[::step], (3, 2)) * np.roll(np.pad(x[::step], (2, 3)), 1)
    np.testing.assert_array_equal(wg.compile(f)(x), f(x))
    loss = lambda x: np.sum(np.sin(f(x)))
    np.testing.assert_allclose(wg.compile(wg.grad(loss))(x), wg.grad(loss)(x), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("axis", [None, 0, 1])
def test_reductions_count_each_element_once(axis):
    """Of whole numbers, whose sums are exact: the vectors of the interior and those of the borders do not overlap."""
    for shape in ((40, 50), (9, 7), (33, 129)):
        x = RNG.integers(-9, 9, shape).astype(float)
        f = lambda x: np.sum(np.roll(x, 2, 0) * np.roll(x, -3, 1) + np.pad(x, 1)[1:-1, 2:], axis=axis)
        np.testing.assert_array_equal(wg.compile(f)(x), f(x))


def test_sums_do_not_depend_on_threads(monkeypatch):
    x = RNG.normal(size=300_000)
    f = lambda x: np.sum(np.roll(x, 1) * x - np.pad(x, (0, 5))[5:])
    results = []
    for count in ("1", "2", "3"):
        monkeypatch.setenv("WENGERT_NUM_THREADS", count)
        results.append(wg.compile(f)(x))
    threads.LIMITS.threads = 1
    assert results[0] == results[1] == results[2]


# The text


def innermost_bodies(text: str) -> list[str]:
    """The bodies of the loops of a kernel that contain no other loop."""
    starts = text.split("\nbody")[1:]
    return [start.split("\ndone")[0] for start in starts if "\nloop" not in start.split("\ndone")[0]]


@pytest.mark.parametrize("shape", [(400,), (30, 40), (8, 9, 40)], ids=str)
@pytest.mark.parametrize("kind", ["roll", "pad"])
def test_the_interior_has_no_guards(shape, kind):
    """One of the innermost loops reads vectors, and neither compares nor selects anything."""

    def f(x):
        if kind == "pad":
            x = np.pad(x, 1)
        return sum([np.roll(x, s, axis) for axis in range(x.ndim) for s in (1, -1)], -2.0 * x)

    report = wg.compile(f).report(RNG.normal(size=shape))
    kernel = report.llvm.split("define void @kernel.0(", 1)[1].split("\n}", 1)[0]
    plain = [body for body in innermost_bodies(kernel) if "select" not in body and "gather" not in body]
    assert any(body.count("load <") >= 1 + 2 * len(shape) for body in plain)
    assert "masked.load" not in kernel


# Memory

GUARDED = """
import ctypes, mmap, sys
import numpy as np
sys.path[:0] = {path!r}
from tests.compiler.nests.test_borders import between_guards, MOVES
import wengert as wg

for dtype in (np.float64, np.float32):
    for shape in ((6,), (77,), (9, 14), (5, 6, 11)):
        for at_end in (False, True):
            x = between_guards(np.arange(np.prod(shape), dtype=dtype).reshape(shape) % 7, at_end)
            for f in MOVES:
                np.testing.assert_array_equal(wg.compile(f)(x), f(np.array(x)))
print("inside")
"""

MOVES = [
    lambda x: np.roll(x, 1, 0) + np.roll(x, -2, -1),
    lambda x: np.pad(x, 3) * 2,
    lambda x: np.concatenate([x[:1], x[1:-1] + x[2:] - x[:-2], x[-1:]]),
    lambda x: np.concatenate([x, 2 * x[..., ::-1], x]).sum(),
    lambda x: np.roll(x, 1, -1)[..., ::2] + np.flip(x, -1)[..., ::2],
    lambda x: np.pad(x, 2)[..., 1:] * np.pad(x, 2)[..., :-1],
]


def between_guards(values: np.ndarray, at_end: bool) -> np.ndarray:
    """A copy between two pages that cannot be read: it starts where the first ends, or ends where the other starts."""
    page = mmap.PAGESIZE
    memory = mmap.mmap(-1, 3 * page)
    start = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    offset = page + (page - values.nbytes if at_end else 0)
    made = np.frombuffer(memory, values.dtype, values.size, offset).reshape(values.shape)
    made[...] = values
    protect = ctypes.CDLL(None, use_errno=True).mprotect
    protect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    for guard in (start, start + 2 * page):
        assert protect(guard, page, 0) == 0
    return made


@pytest.mark.skipif(sys.platform != "linux", reason="the guards are those of Linux")
@pytest.mark.parametrize("columns", [8, 17, 40, 64, 100])
def test_no_vector_crosses_a_border_of_inner_rows(columns):
    """Vectors overlap at the ends of a segment, and elements in between are computed one by one: none is gathered."""
    x = RNG.normal(size=(9, columns))
    roll = lambda x: np.roll(x, 1, 1) + np.roll(x, -1, 1) * np.roll(x, 1, 0)
    join = lambda x: np.concatenate([x[:, : columns // 2] * 2.0, np.sin(x[:, columns // 2 :])], axis=1)
    edge = lambda x: np.pad(x, 1)[1:-1, 2:] - np.pad(x, 1)[1:-1, :-2]
    for f in (roll, join, edge):
        compiled = wg.compile(f)
        np.testing.assert_allclose(compiled(x), f(x), rtol=1e-14)
        if columns >= 32:
            assert "gather" not in compiled.report(x).llvm


def test_reads_stay_inside_of_arrays():
    """Pages around the array cannot be read: a read outside would end the process."""
    code = GUARDED.format(path=[p for p in sys.path if p])
    done = run_python(code, check=False)
    assert done.stdout == "inside\n", done.stderr


@pytest.mark.parametrize("kinds", [(), ("lanes",), ("segments", "overlap")], ids=str)
def test_what_a_choice_ignores_is_read_inside_of_the_array_at_computed_indices_too(kinds):
    """Rows beyond the first three are zeros, whatever the loop does at their borders: they are not read."""
    rng = np.random.default_rng(0)
    x, places = rng.normal(size=(3, 40)), rng.integers(0, 40, 300)
    policy = lambda nest, machine: [d for d in decide(nest, machine) if d.kind not in kinds]
    f = lambda x: wg.zeros((1_000_000 // 300, 300)).at[:3].set(np.exp(x)[:, places])
    np.testing.assert_allclose(wg.compile(f, decide=policy)(x), f(x), rtol=1e-12)

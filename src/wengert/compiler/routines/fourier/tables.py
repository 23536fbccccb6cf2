"""Tables of roots of unity, which are computed when a program is loaded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from wengert.compiler.machine.tables import aligned_empty

TURN = 2 * np.longdouble("3.14159265358979323846264338327950288")
DTYPES: dict[str, np.dtype] = {"f64": np.dtype("f8"), "f32": np.dtype("f4")}


def roots_of_unity(k: Any, n: int) -> np.ndarray:
    """exp(-2 pi i k / n) for an array of integers."""
    return first_roots_of_unity(n, n)[np.asarray(k) % n]


def first_roots_of_unity(count: int, n: int) -> np.ndarray:
    """exp(-2 pi i k / n) for 0 <= k < count <= n, rounded once where long doubles are longer than doubles.

    In units of 1 / (8 n) turns, the angles of a root to the last multiple of a quarter of a turn, or to the next one
    if that is nearer, are every eighth number from 0, 2, 4 or 6 on. So there are at most four arcs of an eighth of a
    turn, one if 8 divides n, and the circle consists of them, mirrored.
    """
    eighths = range(-(-8 * count // n))
    bounds = [min(-(-i * n // 8), count) for i in range(len(eighths) + 1)]
    first_angles = [(8 * bounds[i] - i * n, (i + 1) * n - 8 * (bounds[i + 1] - 1))[i % 2] for i in eighths]
    starts = sorted({angle % 8 for angle in first_angles})
    arcs = dict(zip(starts, sines_of_arcs(starts, n), strict=True))
    out = np.empty(count, complex)
    for i, begin, end, angle in zip(eighths, bounds, bounds[1:], first_angles, strict=False):
        cos, sin = arcs[angle % 8][:, angle // 8 : angle // 8 + end - begin][:, :: (1, -1)[i % 2]]
        x, y = (sin, cos) if (i + 1) & 2 else (cos, sin)
        np.multiply(x, -1.0 if (i + 2) & 4 else 1.0, out=out.real[begin:end])
        np.multiply(y, 1.0 if i & 4 else -1.0, out=out.imag[begin:end])
    return out


def sines_of_arcs(starts: Sequence[int], n: int) -> np.ndarray:
    """Cosines and sines of the angles start + 8 j up to n, in units of 1 / (8 n) turns, for each start.

    An angle is the sum of two of about sqrt(n / 8) angles each. The root of the larger one, in two doubles, gets a
    small correction by the other.
    """
    step = max(int((n / 8) ** 0.5), 1)
    coarse = np.add.outer(starts, np.arange(0, n + 1, 8 * step)) * TURN / (8 * n)
    fine = np.arange(0, 8 * step, 8) * TURN / (8 * n)
    exact = [x[..., None] for x in (np.cos(coarse), np.sin(coarse))]
    cos, sin = rounded = [x.astype(float) for x in exact]
    cos_rest, sin_rest = [(x - y).astype(float) for x, y in zip(exact, rounded, strict=True)]
    sine, versine = [x.astype(float) for x in (np.sin(fine), 2 * np.sin(fine / 2) ** 2)]
    out = np.empty((len(starts), 2, coarse.shape[1], step))
    np.add(cos, cos_rest - (cos * versine + sin * sine), out=out[:, 0])
    np.add(sin, sin_rest + (cos * sine - sin * versine), out=out[:, 1])
    return out.reshape(len(starts), 2, -1)


def parts(z: np.ndarray, kind: str) -> np.ndarray:
    """Complex numbers as floats of a kind, real and imaginary parts in turn."""
    return z.astype(f"c{2 * DTYPES[kind].itemsize}").view(DTYPES[kind])


def pass_roots(radix: int, m: int, kind: str) -> np.ndarray:
    """The factors w^(p j) of a pass, for p < m and 0 < j < radix."""
    return parts(roots_of_unity(np.multiply.outer(np.arange(m), np.arange(1, radix)), radix * m), kind)


def first_roots(count: int, n: int, kind: str) -> np.ndarray:
    """The first roots of unity, interleaved."""
    return parts(first_roots_of_unity(count, n), kind)


def start_roots(rows: int, columns: int, lanes: int, kind: str) -> np.ndarray:
    """The factors between the two steps of a long transform, for the first column of each vector of columns.

    If vectors do not overlap, these are roots of a lower order, of which there are fewer.
    """
    starts = np.minimum(np.arange(0, columns, lanes), columns - lanes)
    step = lanes if columns % lanes == 0 else 1
    return parts(roots_of_unity(np.multiply.outer(starts // step, np.arange(rows)), rows * columns // step), kind)


def lane_roots(rows: int, columns: int, order: Sequence[int], parts: int, kind: str) -> np.ndarray:
    """What these are multiplied by for the columns of so many vectors, which are in this order: a block for each."""
    lanes = len(order)
    offsets = np.add.outer(np.arange(parts) * lanes, order)
    known = first_roots_of_unity(rows * parts * lanes, rows * columns)
    roots = known[np.arange(rows)[:, None] * offsets[:, None, :]]
    out = aligned_empty((parts, rows, 2, lanes), DTYPES[kind])
    out[:, :, 0], out[:, :, 1] = roots.real, roots.imag
    return out


def chirp(n: int, kind: str) -> np.ndarray:
    """exp(-pi i j^2 / n), interleaved."""
    return parts(roots_of_unity(np.arange(n, dtype=np.int64) ** 2 % (2 * n), 2 * n), kind)


def chirp_spectrum(n: int, length: int, kind: str) -> np.ndarray:
    """The transform of the conjugate chirp, periodic with a length, over that length, interleaved."""
    w = np.conj(roots_of_unity(np.arange(n, dtype=np.int64) ** 2 % (2 * n), 2 * n))
    periodic = np.zeros(length, complex)
    periodic[:n] = w
    periodic[length - n + 1 :] = w[:0:-1]
    return parts(np.fft.fft(periodic) / length, kind)

"""Tables of roots of unity, which are computed when a program is loaded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

TURN = 2 * np.longdouble("3.14159265358979323846264338327950288")
DTYPES: dict[str, np.dtype] = {"f64": np.dtype("f8"), "f32": np.dtype("f4")}


def roots_of_unity(k: Any, n: int) -> np.ndarray:
    """exp(-2 pi i k / n) for an array of integers, rounded once where long doubles are longer than doubles.

    The angle is reduced to an eighth of a turn, in units of 1 / (8 n) turns. There it is the sum of two of about
    sqrt(n) angles each. The root of the larger one, in two doubles, gets a small correction by the other.
    """
    eighths, units = np.divmod(8 * (np.asarray(k, np.int64) % n), n)
    units = np.where(eighths & 1, n - units, units)
    step = max(int(n**0.5), 1)
    coarse, fine = [TURN * np.arange(*bounds) / (8 * n) for bounds in ((0, n + 1, step), (step,))]
    exact = np.cos(coarse), np.sin(coarse)
    rounded = [x.astype(float) for x in exact]
    high, low = np.divmod(units, step)
    cos, sin = [x[high] for x in rounded]
    cos_rest, sin_rest = [(x - y).astype(float)[high] for x, y in zip(exact, rounded, strict=True)]
    sine, versine = [x.astype(float)[low] for x in (np.sin(fine), 2 * np.sin(fine / 2) ** 2)]
    x, y = cos + (cos_rest - (cos * versine + sin * sine)), sin + (sin_rest + (cos * sine - sin * versine))
    is_steep = (eighths + 1) & 2 != 0
    out = np.empty(eighths.shape, complex)
    out.real = np.where(is_steep, y, x) * np.where((eighths + 2) & 4, -1.0, 1.0)
    out.imag = np.where(is_steep, x, y) * np.where(eighths & 4, 1.0, -1.0)
    return out


def all_roots(n: int) -> np.ndarray:
    """All roots of unity exp(-2 pi i k / n). An eighth of them is computed, if they are in eighths."""
    if n % 8:
        return roots_of_unity(np.arange(n), n)
    eighth = roots_of_unity(np.arange(n // 8 + 1), n)
    cos = np.concatenate([eighth.real, -eighth.imag[-2::-1]])  # of a quarter of a turn
    sin = cos[:0:-1]
    cos = cos[:-1]
    out = np.empty(n, complex)
    out.real = np.concatenate([cos, -sin, -cos, sin])
    out.imag = np.concatenate([-sin, -cos, sin, cos])
    return out


def parts(z: np.ndarray, kind: str) -> np.ndarray:
    """Complex numbers as floats of a kind, real and imaginary parts in turn."""
    return z.astype(f"c{2 * DTYPES[kind].itemsize}").view(DTYPES[kind])


def pass_roots(radix: int, m: int, kind: str) -> np.ndarray:
    """The factors w^(p j) of a pass, for p < m and 0 < j < radix."""
    return parts(roots_of_unity(np.multiply.outer(np.arange(m), np.arange(1, radix)), radix * m), kind)


def first_roots(count: int, n: int, kind: str) -> np.ndarray:
    """The first roots of unity, interleaved."""
    return parts(roots_of_unity(np.arange(count), n), kind)


def between_roots(rows: int, columns: int, order: Sequence[int], kind: str) -> np.ndarray:
    """The factors between the two steps of a long transform, in blocks: one for each vector of columns."""
    lanes = len(order)
    starts = np.minimum(np.arange(0, columns, lanes), columns - lanes)
    column = starts[:, None] + np.asarray(order)
    z = all_roots(rows * columns)[np.arange(rows)[:, None] * column[:, None, :]]
    out = np.empty((*z.shape[:-1], 2, lanes), DTYPES[kind])
    out[..., 0, :], out[..., 1, :] = z.real, z.imag
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

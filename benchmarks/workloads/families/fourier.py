"""The energy of a spectrum: Fourier transforms of real and of complex signals."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from benchmarks.workload import Workload
from benchmarks.workloads.faces import Face, write_for_all

SIZES = {"small": 2**10, "medium": 44_100, "large": 2**18}


def real_data(n: int) -> tuple:
    """A signal, and weights of its frequencies."""
    rng = np.random.default_rng(0)
    return rng.standard_normal(n), rng.uniform(size=n // 2 + 1)


def real_loss(x: Any, weights: Any, face: Face) -> Any:
    m = face.numpy
    return m.sum(weights * m.abs(m.fft.rfft(x)) ** 2) / len(x)


def complex_data(n: int) -> tuple:
    """Real and imaginary part of a signal, and weights of its frequencies."""
    rng = np.random.default_rng(0)
    return [rng.standard_normal(n), rng.standard_normal(n)], rng.uniform(size=n)


def complex_loss(params: Any, weights: Any, face: Face) -> Any:
    m = face.numpy
    x, y = params
    return m.sum(weights * m.abs(m.fft.fft(x + 1j * y)) ** 2) / len(x)


def _flops(n: int) -> float:
    """Of two complex transforms."""
    return 2 * 5 * n * math.log2(n)


real, both = [
    Workload(
        name,
        f"the weighted energy of the spectrum of 1 024, 44 100 and 262 144 {what} numbers: value and gradient",
        data=data,
        sizes=SIZES,
        subject="wengert compiled",
        reference="wengert",
        family="complex",
        flops=flops,
    )
    for name, what, data, flops in (
        ("rfft", "real", real_data, lambda n: _flops(n) / 2),
        ("fft", "complex", complex_data, _flops),
    )
]
write_for_all(real, real_loss)
write_for_all(both, complex_loss)

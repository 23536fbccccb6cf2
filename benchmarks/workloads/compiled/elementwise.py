"""The gradient of one elementwise expression, compiled: a single fused loop, beside the same loop written in C."""

from __future__ import annotations

import ctypes
import subprocess
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np

from benchmarks.workload import Run, Workload
from benchmarks.workloads import elementwise as eager

LOOP = """
#include <math.h>
#include <stddef.h>

void gradient(size_t n, const double *restrict x, double *restrict dx) {
    for (size_t i = 0; i < n; i++) {
        double square = x[i] * x[i], sine = sin(x[i]), bell = exp(-square);
        double a = tanh(sine * x[i] + bell), b = log(1 + square);
        dx[i] = (1 - a * a) * b * (cos(x[i]) * x[i] + sine - 2 * x[i] * bell) + a * (2 * x[i]) / (1 + square);
    }
}
"""

workload = Workload(
    "elementwise-compiled",
    "tanh(sin(x) * x + exp(-x**2)) * log(1 + x**2), summed, compiled: gradient, 1 000, 100 000 and 2 000 000 doubles",
    data=eager.workload.data,
    sizes=eager.workload.sizes,
    targets={"small": {"jax": 1 / 5}, "medium": {"jax": 1 / 2.5, "c": 1.2}, "large": {"jax": 1 / 2.5}},
    subject="wengert compiled",
)


@workload.implementation("wengert compiled")
def wengert(x: np.ndarray) -> Run:
    import wengert as wg

    gradient = wg.compile(wg.grad(lambda a: eager.expression(a, np)))
    return lambda: (gradient(x),)


@workload.implementation("jax")
def jax(x: np.ndarray) -> Run:
    import jax
    import jax.numpy as jnp

    gradient = jax.jit(jax.grad(lambda a: eager.expression(a, jnp)))
    x = jnp.asarray(x)
    return lambda: (gradient(x).block_until_ready(),)


@workload.implementation("c")
def c(x: np.ndarray) -> Run:
    return in_c(x)


@workload.implementation("c-fastmath")
def c_fastmath(x: np.ndarray) -> Run:
    """With -ffast-math gcc calls the vector functions of glibc's libmvec, which have errors of up to 4 ulp.

    It does so only where sine and cosine of one number stay two calls: its pass that makes one of them keeps the loop
    scalar.
    """
    return in_c(x, "-ffast-math", "-fdisable-tree-sincos")


def in_c(x: np.ndarray, *flags: str) -> Run:
    loop = compiled_loop(*flags)

    def run() -> tuple:
        dx = np.empty_like(x)
        loop(x.size, x.ctypes.data, dx.ctypes.data)
        return (dx,)

    return run


@cache
def compiled_loop(*flags: str) -> Callable:
    """The loop as a function of a size and two addresses.

    It is mapped into the process, so that its file need not outlive this call.
    """
    with tempfile.TemporaryDirectory() as folder:
        code, library = Path(folder) / "loop.o", Path(folder) / "loop.so"
        compiling = ["gcc", "-O3", "-march=native", *flags, "-fPIC", "-c", "-x", "c", "-", "-o", str(code)]
        linking = [
            "gcc",
            "-shared",
            str(code),
            "-o",
            str(library),
            "-lm",
        ]  # without -ffast-math, which would flush subnormals everywhere
        for command in (compiling, linking):
            run = subprocess.run(command, input=LOOP, text=True, capture_output=True)
            if run.returncode:
                raise RuntimeError(f"gcc did not compile the loop: {run.stderr}")
        loop = ctypes.CDLL(str(library)).gradient
    loop.argtypes, loop.restype = (ctypes.c_size_t, ctypes.c_void_p, ctypes.c_void_p), None
    return loop


@workload.implementation("numpy")
def numpy(x: np.ndarray) -> Run:
    value_and_grad = eager.numpy(x)
    return lambda: value_and_grad()[1:]

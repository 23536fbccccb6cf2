"""Random programs from source text: the compiled program has the value and the derivatives of the eager one.

`WENGERT_DRAWN=1000` runs so many of them.
"""

from __future__ import annotations

import importlib.util
import os
import zlib

import numpy as np
import pytest
from tests.source.drawn_source import write_programs

import wengert as wg

COUNT = int(os.environ.get("WENGERT_DRAWN", "40"))
CHUNK = 10
EVERY = 20
"""So many programs are evaluated for each that is compiled to native code, batched, and differentiated forward."""


def load(path):
    spec = importlib.util.spec_from_file_location(f"drawn_{zlib.crc32(str(path).encode())}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def close(found, wanted):
    return np.allclose(np.asarray(found), np.asarray(wanted), rtol=1e-8, atol=1e-10)


def check_evaluated(f, x, v, value, gradient):
    assert close(wg.trace(f, x, v).evaluate(x, v), value), "value"
    found = wg.trace(wg.grad(f, (0, 1)), x, v).evaluate(x, v)
    assert all(map(close, found, gradient)), "gradient"


def check_native(f, x, v, value, gradient):
    compiled = wg.compile(f)
    assert close(compiled(x, v), value), "native value"
    found = wg.compile(wg.grad(f, (0, 1)))(x, v)
    assert all(map(close, found, gradient)), "native gradient"
    assert all(map(close, wg.grad(compiled, (0, 1))(x, v), gradient)), "gradient of the compiled function"
    pushed = wg.trace(lambda x, v: wg.jvp(f, (x, v), (np.float64(1.0), np.ones(5)))[1], x, v).evaluate(x, v)
    assert close(pushed, gradient[0] + gradient[1].sum()), "forward mode"
    batch = np.stack([v, v * 0.5, -v])
    each = [f(x, row) for row in batch]
    assert close(wg.vmap(compiled, (None, 0))(x, batch), each), "batch"


@pytest.mark.parametrize("start", range(0, COUNT, CHUNK))
def test_a_drawn_program_compiles_to_itself(start, tmp_path):
    path = tmp_path / f"drawn_{start}.py"
    seeds = range(start, min(start + CHUNK, COUNT))
    names = write_programs(path, seeds)
    module = load(path)
    wrong = []
    for seed, name in zip(seeds, names, strict=True):
        f = getattr(module, name)
        numbers = np.random.default_rng(seed)
        x, v = np.float64(numbers.uniform(-1, 1)), numbers.uniform(-1, 1, 5)
        value, gradient = f(x, v), wg.grad(f, (0, 1))(x, v)
        try:
            check_evaluated(f, x, v, value, gradient)
            if seed % EVERY == 0:
                check_native(f, x, v, value, gradient)
        except Exception as error:  # all that go wrong are shown together
            wrong.append(f"{name}: {type(error).__name__}: {error}")
    assert not wrong, "\n".join(wrong) + f"\nin\n{path.read_text()}"

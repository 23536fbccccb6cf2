"""Stacks of small matrices in eager code: one program for all lengths, with the numbers and errors of NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg
from wengert.compiler.call import eager_call
from wengert.core import machine

RNG = np.random.default_rng(5)
OPERATIONS = {
    "inv": lambda x, y: wg.linalg.inv(x),
    "det": lambda x, y: wg.linalg.det(x),
    "solve": wg.linalg.solve,
    "cholesky": lambda x, y: wg.linalg.cholesky(x @ wg.swapaxes(x, -1, -2)),
    "eigh": lambda x, y: wg.linalg.eigh(x + wg.swapaxes(x, -1, -2))[0],
    "qr": lambda x, y: np.abs(wg.linalg.qr(x)[1]),
    "triangular": lambda x, y: wg.linalg.solve_triangular(x, y, lower=True),
    "product": lambda x, y: x @ y,
    "transposed": lambda x, y: wg.swapaxes(x, -1, -2) @ y,
    "one matrix": lambda x, y: x @ y.reshape(-1, *y.shape[-2:])[0],
}
LAYOUTS = {
    "contiguous": lambda x: x,
    "transposed": lambda x: x.swapaxes(-1, -2).copy().swapaxes(-1, -2),
    "strided": lambda x: np.repeat(x, 2, axis=0)[::2],
    "reversed": lambda x: x[::-1].copy()[::-1],
    "unaligned": lambda x: np.frombuffer(b"0" + x.tobytes(), x.dtype, offset=1).reshape(x.shape),
}


def matrices(count, order, dtype="f8"):
    shape = (*count, order, order) if isinstance(count, tuple) else (count, order, order)
    return ((RNG.normal(size=shape) + 4.0 * np.eye(order)) / 3.0).astype(dtype)


def tensors(*arrays):
    """Values that operations of the table get."""
    return [wg.tensor(x, requires_grad=True) for x in arrays]


@pytest.fixture
def native(monkeypatch):
    """The operations that ran on blocks."""
    found, run = [], eager_call.run_blocks

    def note(primitive, operands, params):
        out = run(primitive, operands, params)
        found.extend([primitive.name] if out is not None else [])
        return out

    monkeypatch.setattr(eager_call, "run_blocks", note)
    return found


@pytest.mark.parametrize("name", OPERATIONS)
@pytest.mark.parametrize("dtype", ["f8", "f4"])
def test_values_and_gradients_are_those_of_numpy(name, dtype, native):
    for order, count in [(2, 130), (3, (4, 50)), (6, 200)]:
        x, y = tensors(matrices(count, order, dtype), matrices(count, order, dtype))
        out = OPERATIONS[name](x, y)
        (out * np.cos(np.arange(out.size)).reshape(out.shape)).sum().backward()
        assert native
        native.clear()
        with machine.using(min_matrices_of_native_stack=10**6, min_matrices_of_native_product=10**6):
            u, v = tensors(x.detach().numpy(), y.detach().numpy())
            expected = OPERATIONS[name](u, v)
            (expected * np.cos(np.arange(out.size)).reshape(out.shape)).sum().backward()
        assert not native
        tolerance = 1e-9 if dtype == "f8" else 2e-3
        assert out.dtype == expected.dtype
        for a, b in [(out, expected), (x.grad, u.grad), (y.grad, v.grad)]:
            if b is not None:
                a, b = (t.detach().numpy() if isinstance(t, wg.Tensor) else t for t in (a, b))
                np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance * np.abs(b).max())


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", ["solve", "product", "inv"])
def test_layouts(name, layout, native):
    x, y = matrices(150, 3), matrices(150, 3)
    out = OPERATIONS[name](*tensors(LAYOUTS[layout](x), LAYOUTS[layout](y)))
    assert native
    assert out.detach().numpy().tobytes() == OPERATIONS[name](*tensors(x, y)).detach().numpy().tobytes()


@pytest.mark.parametrize("name", OPERATIONS)
def test_bits_depend_on_the_matrix_alone(name):
    """Not on its place, the length of the stack, blocks, vectors or threads; and a compiled function has them, too."""
    x, y = matrices(333, 4), matrices(333, 4)
    whole = OPERATIONS[name](*tensors(x, y)).detach().numpy()
    part = OPERATIONS[name](*tensors(x[77:210], y[77:210])).detach().numpy()
    if name != "one matrix":
        assert part.tobytes() == whole[77:210].tobytes()
    for fields in ({"vector_bytes": 16, "threads": 4, "matrices_of_block": 5}, {"matrices_of_block": 1}):
        with machine.using(min_operations_per_thread=1, **fields):
            assert OPERATIONS[name](*tensors(x, y)).detach().numpy().tobytes() == whole.tobytes()


def test_errors_and_warnings_are_those_of_numpy():
    x = matrices(200, 3)
    x[150] = 0.0
    with pytest.raises(np.linalg.LinAlgError, match="Singular"):
        wg.linalg.inv(*tensors(x))
    with pytest.raises(np.linalg.LinAlgError):
        wg.linalg.cholesky(*tensors(-matrices(200, 3)))
    large = np.full((200, 3, 3), 1e200)
    with pytest.warns(RuntimeWarning, match="overflow"):
        wg.matmul(*tensors(large, large))


def test_what_has_no_blocks_is_left_to_numpy(native):
    for x, y in [
        (matrices(31, 3), matrices(31, 3)),  # short
        (matrices(200, 9), matrices(200, 9)),  # large matrices
        (matrices((2, 100), 3), matrices(100, 3)),  # other stacks
        (matrices(200, 3, "c16"), matrices(200, 3, "c16")),
        (matrices(200, 3), matrices(200, 3, "f4")),
        (matrices(200, 3)[:, :, :0], matrices(200, 3)[:, :0, :]),
    ]:
        out = (wg.tensor(x) @ wg.tensor(y)).numpy()
        np.testing.assert_allclose(out, np.matmul(x, y), rtol=1e-5, atol=1e-5)
    assert not native

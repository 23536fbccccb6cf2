"""Operands of other libraries are constants or raise an error, on either side and in every mode."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

import wengert as wg

X = np.array([1.0, 2.0, 3.0])
VECTOR = np.array([3.0, 0.5, -1.0])
MATRIX = np.array([[1.0, 2.0, 0.0], [0.0, 1.0, -1.0], [2.0, 0.0, 3.0]])


class Defers:
    """An array of another library whose operators return NotImplemented for unknown operands."""

    def __init__(self, numbers):
        self.numbers = np.asarray(numbers)

    shape = property(lambda self: self.numbers.shape)
    dtype = property(lambda self: f"other.{self.numbers.dtype}")

    def __mul__(self, other):
        return NotImplemented

    __add__ = __sub__ = __truediv__ = __pow__ = __matmul__ = __mul__


class Readable(Defers):
    """Like a PyTorch tensor: NumPy can read it, and wraps results in it."""

    __array_priority__ = 1000

    def __array__(self, dtype=None, copy=None):
        return np.array(self.numbers, dtype=dtype)

    def __array_wrap__(self, result, context=None, return_scalar=False):
        return Readable(result)


class Exported(Defers):
    """By DLPack alone."""

    def __dlpack__(self, **options):
        return self.numbers.__dlpack__(**options)

    def __dlpack_device__(self):
        return 1, 0


class OnGpu(Readable):
    def __dlpack__(self, **options):
        raise BufferError("this is on a GPU")

    def __dlpack_device__(self):
        return 2, 0


class OnGpuBeforeDlpack(Defers):
    def __array__(self, dtype=None, copy=None):
        raise TypeError("Implicit conversion to a NumPy array is not allowed.")

    @property
    def __cuda_array_interface__(self):
        return {"shape": self.numbers.shape, "typestr": "<f8", "data": (0, False), "version": 3}


class Tracked(Readable):
    requires_grad = True


class Greedy(Readable):
    """An array whose operators convert their operands."""

    def __mul__(self, other):
        return Greedy(self.numbers * np.asarray(other))

    __add__ = __sub__ = __truediv__ = __pow__ = __matmul__ = __mul__


OPERATIONS = {
    "product": lambda a, x: a * x,
    "product from the right": lambda a, x: x * a,
    "sum": lambda a, x: a + x,
    "difference": lambda a, x: x - a,
    "quotient": lambda a, x: a / x,
    "matrix product": lambda a, x: a @ x,
    "matrix product from the right": lambda a, x: x @ a,
    "ufunc": lambda a, x: np.multiply(a, x),
    "function": lambda a, x: np.dot(a, x),
    "where": lambda a, x: wg.where(x > 1.5, a, x),
    "concatenate": lambda a, x: wg.concatenate([wg.ravel(a), x]),
    "in a list": lambda a, x: wg.stack([x, wg.asarray(a) * 1.0]) if len(a.shape) == 1 else x,
    "assigned": lambda a, x: (y := x * 1.0, y.__setitem__(slice(None), wg.asarray(a).ravel()[:3]), y * x)[2],
    "made a tensor": lambda a, x: wg.tensor(a) * x,
}
MODES = {
    "tape": lambda f: wg.autograd.grad(f(x := wg.tensor(X, requires_grad=True)), x, allow_unused=True)[0],
    "grad": lambda f: wg.grad(f)(X),
    "jacfwd": lambda f: wg.jacfwd(f)(X),
    "Taylor": lambda f: [wg.jet(f, [X], [[e, e]])[1][0] for e in np.eye(3)],
    "vmap": lambda f: wg.vmap(wg.grad(f))(X[None])[0],
    "compile": lambda f: wg.compile(wg.grad(f))(X),
    "hessian": lambda f: wg.hessian(lambda x: f(x) ** 2)(X),
}


@pytest.mark.parametrize("numbers", [VECTOR, MATRIX], ids=["vector", "matrix"])
@pytest.mark.parametrize("kind", [Readable, Exported])
@pytest.mark.parametrize("operation", OPERATIONS.values(), ids=OPERATIONS)
def test_constants_by_their_numbers(operation, kind, numbers):
    for derivative in MODES.values():
        found = derivative(lambda x: operation(kind(numbers), x).sum())
        np.testing.assert_array_equal(found, derivative(lambda x: operation(numbers, x).sum()))


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        (OnGpu, "on another device than the CPU"),
        (OnGpuBeforeDlpack, "on another device than the CPU"),
        (Tracked, "gradient would be lost"),
    ],
)
@pytest.mark.parametrize("operation", OPERATIONS.values(), ids=OPERATIONS)
@pytest.mark.parametrize("derivative", MODES.values(), ids=MODES)
def test_what_is_refused(derivative, operation, kind, message):
    with pytest.raises(TypeError, match=rf"\.{kind.__name__} .*{message}") as error:
        derivative(lambda x: operation(kind(VECTOR), x).sum())
    assert "test_foreign.py:" in str(error.value)


@pytest.mark.parametrize("derivative", MODES.values(), ids=MODES)
def test_operators_that_convert_are_loud(derivative):
    with pytest.raises(wg.TrackedValueError):
        derivative(lambda x: (Greedy(VECTOR) * x).sum())
    assert np.shape(derivative(lambda x: (x * Greedy(VECTOR)).sum()))[-1] == 3


def test_what_is_not_made_of_numbers_is_refused():
    with pytest.raises(TypeError, match=r"Readable of <U1 is not an array of numbers, at .*test_foreign\.py"):
        wg.tensor(X) * Readable(np.array(["a", "b", "c"]))


def test_as_an_index():
    x = wg.tensor(X, requires_grad=True)
    np.testing.assert_array_equal(x[Readable(np.array([2, 0]))].detach(), [3.0, 1.0])
    np.testing.assert_array_equal(x[Exported(np.array([2, 0]))].detach(), [3.0, 1.0])
    np.testing.assert_array_equal(x[Readable(X > 1.5)].detach(), [2.0, 3.0])


def test_what_is_saved_is_a_copy():
    numbers = VECTOR.copy()

    class Shared(Readable):
        def __array__(self, dtype=None, copy=None):
            return numbers

    x = wg.tensor(X, requires_grad=True)
    y = (x * Shared(numbers)).sum()
    numbers[:] = 0.0
    y.backward()
    np.testing.assert_array_equal(x.grad, VECTOR)


@pytest.mark.parametrize("kind", [Readable, Exported])
def test_as_an_argument_of_a_transform(kind):
    np.testing.assert_array_equal(wg.grad(lambda x: (x * x).sum())(kind(X)), 2.0 * X)
    np.testing.assert_array_equal(wg.vmap(lambda x: x * 2.0)(kind(X)), 2.0 * X)
    f = wg.compile(lambda x, a: (x * a).sum())
    a = kind(VECTOR.copy())
    assert f(X, a) == X @ VECTOR
    a.numbers[:] = 1.0
    assert f(X, a) == X.sum()  # read at each call
    with pytest.raises(wg.TrackedValueError, match="gradient would be lost"):
        f(X, Tracked(VECTOR))


def agreement(make):
    for operation in OPERATIONS.values():
        for numbers in (VECTOR, MATRIX):
            for derivative in MODES.values():
                expected = derivative(lambda x, f=operation, a=numbers: f(a, x).sum())
                np.testing.assert_array_equal(
                    derivative(lambda x, f=operation, a=numbers: f(make(a), x).sum()), expected
                )


def test_pytorch():
    torch = pytest.importorskip("torch")
    agreement(torch.tensor)
    x = wg.tensor(X, requires_grad=True)
    for a in (torch.tensor(VECTOR, requires_grad=True), torch.tensor(2.0, requires_grad=True)):
        for operation in (lambda a: a * x, lambda a: x * a, lambda a: a + x.sum(), lambda a: np.multiply(a, x)):
            with pytest.raises(wg.TrackedValueError, match=r"torch\.Tensor that requires a gradient.*test_foreign\.py"):
                operation(a)
    assert (torch.tensor(2.0) * x.sum()).dtype == np.float64
    assert (torch.arange(3) * x).requires_grad
    with pytest.raises(TypeError, match="BFloat16"):
        torch.ones(3, dtype=torch.bfloat16) * x
    with pytest.raises(TypeError, match="another device"):
        x * torch.ones(3, device="meta")


@pytest.mark.skipif(find_spec("jax") is None, reason="JAX is not installed")
def test_jax():
    """In single precision, which has these numbers exactly.

    In a process of its own, because JAX's threads forbid others to fork.
    """
    code = "import jax.numpy; from tests.core.test_foreign import agreement; agreement(jax.numpy.asarray)"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=Path(__file__).parents[2], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_pandas():
    pandas = pytest.importorskip("pandas")
    x = wg.tensor(X, requires_grad=True)
    for a in (pandas.Series(VECTOR), pandas.DataFrame(MATRIX)):
        for operation in (lambda a, x: a * x, lambda a, x: x * a, lambda a, x: x @ a, lambda a, x: a < x):
            np.testing.assert_array_equal(operation(a, x).detach(), operation(a.to_numpy(), x).detach())
        with pytest.raises(wg.TrackedValueError, match=r"test_foreign\.py"):
            a @ x  # which pandas does itself

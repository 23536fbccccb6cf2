"""Tensors whose numbers are on a device: making them, moving them, and how they meet other values."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from tests.stand_in.library import ON_GPU

import wengert as wg
from wengert.core import native
from wengert.core.devices import DeviceArray, device_of, move

CREATED = {
    "zeros": lambda **device: wg.zeros((2, 3), **device),
    "ones": lambda **device: wg.ones(3, dtype=np.float32, **device),
    "full": lambda **device: wg.full(2, 7.0, **device),
    "eye": lambda **device: wg.eye(2, **device),
    "arange": lambda **device: wg.arange(4, **device),
    "linspace": lambda **device: wg.linspace(0.0, 1.0, 5, **device),
    "tri": lambda **device: wg.tri(3, **device),
    "hanning": lambda **device: wg.hanning(5, **device),
    "tensor": lambda **device: wg.tensor([1.0, 2.0], **device),
    "asarray": lambda **device: wg.asarray([1, 2], dtype=np.float32, **device),
    "fftfreq": lambda **device: wg.fft.fftfreq(4, 0.25, **device),
    "zeros_like": lambda **device: wg.zeros_like(wg.ones(2), **device),
    "full_like": lambda **device: wg.full_like(wg.ones(2), 3.0, **device),
    "astype": lambda **device: wg.astype(wg.ones(2), np.float32, **device),
    "from_dlpack": lambda **device: wg.from_dlpack(np.ones(2), **device),
}


@pytest.mark.parametrize("name", CREATED)
def test_creation(name, cuda):
    here, there = CREATED[name](), CREATED[name](device="cuda")
    assert (here.device, there.device) == ("cpu", cuda)
    assert isinstance(there.value, DeviceArray)
    assert there.dtype == here.dtype
    np.testing.assert_allclose(there.cpu().numpy(), here.numpy())


def test_a_leaf_of_an_array_on_a_device(xp, cuda):
    array = xp.asarray(np.array([1.0, 2.0, 3.0]))
    x = wg.tensor(array, requires_grad=True)
    (x * x).sum().backward()
    assert x.grad.device == cuda
    np.testing.assert_array_equal(x.grad.cpu().numpy(), [2.0, 4.0, 6.0])
    array[0] = 9.0  # the tensor has a copy
    assert x[0].item() == 1.0


def test_arrays_in_arrays_out(xp, cuda):
    x = xp.asarray(np.array([1.0, 2.0]))
    value, gradient = wg.value_and_grad(lambda x: np.sum(np.sin(x) * x))(x)
    assert type(value) is type(gradient) is type(x)
    assert device_of(gradient) == cuda
    np.testing.assert_allclose(move(gradient, "cpu"), np.cos([1.0, 2.0]) * [1.0, 2.0] + np.sin([1.0, 2.0]))


def test_the_first_operation_makes_a_library_known(xp):
    """Before anything else has seen an array of it."""
    from wengert.core.devices import ARRAY_CLASSES

    assert not ARRAY_CLASSES
    x = xp.asarray(np.array([0.5, 2.0]))
    np.testing.assert_allclose(move(wg.special.gammaln(x), "cpu"), wg.special.gammaln(np.array([0.5, 2.0])))
    assert type(x) in ARRAY_CLASSES


def test_gradients_flow_back_to_the_device_they_came_from(cuda):
    x = wg.tensor([1.0, 2.0], requires_grad=True)
    y = x.to("cuda")
    assert (y.device, y.to("cuda") is y, x.to("cpu") is x) == (cuda, True, True)
    (y * y).sum().cpu().backward()
    assert x.grad.device == "cpu"
    np.testing.assert_array_equal(x.grad.numpy(), [2.0, 4.0])
    pushed = wg.jvp(lambda x: x.to("cuda") ** 2, (np.array([3.0]),), (np.array([1.0]),))[1]
    np.testing.assert_array_equal(move(pushed, "cpu"), [6.0])


def test_explicit_copies(cuda, host_copies):
    x = wg.tensor([[1.0, 2.0]], device=cuda)
    assert host_copies == []
    assert x[0, 1].item() == float(x[0, 1]) == 2.0
    assert x.tolist() == [[1.0, 2.0]]
    assert bool((x > 0).all())
    assert repr(x) == f"tensor([[1., 2.]], device='{cuda}')"
    assert ON_GPU or len(host_copies) == 5


def test_indices_are_copied_to_the_device(cuda, host_copies):
    x = wg.tensor(np.arange(12.0).reshape(4, 3), requires_grad=True, device=cuda)
    rows = np.array([0, 2, 2])
    y = x[rows] * 2.0
    y = y + x[[1, 1, 3]] + x[wg.asarray(rows, device=cuda), 1][:, None]
    z = y.clone()
    z[np.array([0, 0])] = wg.tensor([[1.0], [5.0]], device=cuda)
    z.sum().backward()
    assert host_copies == []
    counted = np.zeros((4, 3))
    for k, (a, b) in enumerate(zip(rows, [1, 1, 3], strict=True)):
        if k:  # the first row was overwritten
            counted[a] += 2.0
            counted[b] += 1.0
            counted[a, 1] += 3.0
    np.testing.assert_array_equal(x.grad.cpu().numpy(), counted)
    np.testing.assert_array_equal(z.detach().cpu().numpy()[0], [5.0] * 3)


def test_assignment(cuda):
    y = wg.zeros(3, device=cuda)
    x = wg.tensor(2.0, requires_grad=True, device=cuda)
    y[1] = x * x
    y += 1.0
    assert y.detach().tolist() == [1.0, 5.0, 1.0]
    y.sum().backward()
    assert x.grad.item() == 4.0
    with wg.no_grad():
        x *= 2.0
    assert x.item() == 4.0


def test_a_constant_that_is_changed_later(xp):
    c = xp.asarray(np.array([1.0, 2.0]))
    x = wg.tensor(xp.asarray(np.ones(2)), requires_grad=True)
    y = (x * c).sum()
    c[...] = 7.0
    y.backward()
    assert x.grad.tolist() == [1.0, 2.0]


def test_copies_and_pickles(cuda):
    x = wg.tensor([1.0, 2.0], requires_grad=True, device=cuda)
    for other in (copy.deepcopy(x), pickle.loads(pickle.dumps(x)), x.detach().clone()):
        assert other.device == cuda
        assert other.tolist() == [1.0, 2.0]


def test_the_array_api_standard(cuda):
    x = wg.asarray([1.0, 2.0], device=cuda)
    assert x.to_device("cpu").device == "cpu"
    assert x.__dlpack_device__() == (2, 0)
    info = wg.__array_namespace_info__()
    assert info.default_device() == "cpu"
    assert info.devices() == ["cpu", *[f"cuda:{i}" for i in range(len(info.devices()) - 1)]]
    assert cuda in info.devices()


class OnGpu:
    """An array of another library on the device: PyTorch's or JAX's."""

    def __init__(self, numbers):
        self.on_host = numbers

    def __dlpack__(self, **_):
        return self.on_host.__dlpack__()

    def __dlpack_device__(self):
        return 2, 0


@pytest.mark.skipif(ON_GPU, reason="real arrays are read in test_peers")
def test_other_libraries(cuda):
    theirs = OnGpu(np.array([1.0, 2.0]))
    for made in (wg.asarray(theirs), wg.tensor(theirs), wg.from_dlpack(theirs)):
        assert (made.device, made.tolist()) == (cuda, [1.0, 2.0])
    x = wg.tensor([3.0, 4.0], requires_grad=True, device=cuda)
    (x * theirs).sum().backward()
    assert x.grad.tolist() == [1.0, 2.0]


@pytest.mark.skipif(not ON_GPU, reason="needs a GPU")
@pytest.mark.parametrize("peer", ["torch", "jax"])
def test_peers(peer, cuda):
    module = pytest.importorskip(peer)
    theirs = module.ones(3, device="cuda") if peer == "torch" else module.numpy.ones(3)
    x = wg.tensor(theirs, requires_grad=True)
    (x * theirs).sum().backward()
    assert x.grad.device == cuda
    if peer == "torch":
        np.testing.assert_array_equal(module.from_dlpack(x.grad).cpu().numpy(), np.ones(3))


def test_large_arrays_are_left_to_the_library(cuda, at_once, native_calls, host_copies):
    x = wg.tensor(np.linspace(0.1, 1.0, 1 << 18).reshape(512, 512), requires_grad=True, device=cuda)
    index = wg.asarray(np.arange(1 << 13) % 512, device=cuda)
    y = wg.exp(-x * x) @ x + x[index].mean(0) + wg.softmax(x, 0) + wg.sort(x, axis=0)
    (y.sum() + wg.linalg.norm(x)).backward()
    assert x.grad.device == cuda
    assert native_calls == []
    assert host_copies == []


def test_long_tapes_are_left_to_the_library(cuda, host_copies):
    native.met_large = True
    x = wg.tensor(np.ones(128), requires_grad=True, device=cuda)
    for _ in range(3):
        y = x
        for _ in range(100):
            y = wg.sin(y) * 1.01
        y.sum().backward()
    assert x.grad.device == cuda
    assert host_copies == []

"""What can go wrong with devices, and what the errors say."""

from __future__ import annotations

import numpy as np
import pytest
from tests.fresh_python import run_python
from tests.stand_in.library import LIBRARY, ON_GPU

import wengert as wg
from wengert.core import devices
from wengert.core.devices import ArrayLibrary

HERE = "test_device_errors.py"
pytestmark = pytest.mark.usefixtures("cuda")

MIXTURES = {
    "sum": lambda x, h: x + h,
    "the other way": lambda x, h: h * x,
    "where": lambda x, h: wg.where(h > 0, x, 0.0),
    "concatenate": lambda x, h: wg.concatenate([x, h]),
    "matmul": lambda x, h: x @ h,
    "solve": lambda x, h: wg.linalg.solve(wg.eye(2, device="cuda") * x, h),
    "searchsorted": lambda x, h: wg.searchsorted(x, h),
    "assignment": lambda x, h: x.at[:].set(h),
    "grad": lambda x, h: wg.grad(lambda x: np.sum(x * h))(x),
    "jvp": lambda x, h: wg.jvp(lambda x: x * h, (x,), (x,)),
    "vmap": lambda x, h: wg.vmap(lambda x, h: x * h)(x, h),
}


@pytest.mark.parametrize("host", [np.array, wg.tensor], ids=["array", "tensor"])
@pytest.mark.parametrize("name", MIXTURES)
def test_two_devices(name, host, cuda):
    x, h = wg.tensor([1.0, 2.0], device=cuda), host([3.0, 4.0])
    with pytest.raises(ValueError, match="on different devices") as raised:
        MIXTURES[name](x, h)
    assert "argument 0 on" in str(raised.value)
    assert "'cpu'" in str(raised.value)
    assert f"'{cuda}'" in str(raised.value)
    assert HERE in str(raised.value)
    assert "x.cpu()" in str(raised.value)


@pytest.mark.skipif(ON_GPU, reason="needs two GPUs")
def test_two_gpus():
    x, y = wg.ones(2, device="cuda:0"), wg.ones(2, device="cuda:1")
    assert y.device == "cuda:1"
    with pytest.raises(ValueError, match=r"argument 0 on 'cuda:0', argument 1 on 'cuda:1'"):
        x + y
    assert (x + y.to("cuda:0")).device == "cuda:0"


def test_numbers_are_on_every_device(cuda):
    x = wg.tensor([1.0, 2.0], device=cuda)
    for number in (2, 2.0, np.float64(2.0), np.array(2.0)):
        assert (number * x).tolist() == (x * number).tolist() == [2.0, 4.0]
        assert (x * number).device == cuda


def test_nothing_is_copied_to_the_cpu_without_a_word(cuda, host_copies):
    x = wg.tensor([1.0, 2.0], device=cuda)
    for convert in (np.asarray, lambda x: x.numpy(), lambda x: np.ones(2).__setitem__(slice(2), x)):
        with pytest.raises(TypeError, match=r"on the CPU, and these are on 'cuda:0'.*x\.cpu\(\)"):
            convert(x)
    assert host_copies == []


@pytest.mark.parametrize("device", ["gpu", "cuda:x", "tpu:0", 3])
def test_unknown_devices(device):
    with pytest.raises(ValueError, match=f"There is no device {device!r}, at .*{HERE}.*'cpu', or on 'cuda'"):
        wg.zeros(2, device=device)


def test_a_device_beyond_the_last():
    with pytest.raises(ValueError, match=r"There is no device 'cuda:99'.*numbered from 0"):
        wg.zeros(2, device="cuda:99")


def test_without_cupy(monkeypatch):
    monkeypatch.setitem(devices.LIBRARIES, "cuda", ArrayLibrary("cuda", *["no_cupy_here"] * 3, (2,), "cuda"))
    for ask in (
        lambda: wg.zeros(2, device="cuda"),
        lambda: wg.ones(2).to("cuda"),
        lambda: wg.tensor(1.0, device="cuda"),
    ):
        with pytest.raises(ModuleNotFoundError, match=r"needs no_cupy_here.*pip install 'wengert\[cuda\]'"):
            ask()


@pytest.mark.skipif(ON_GPU, reason="there is a GPU")
@pytest.mark.parametrize(
    ("problem", "advice"),
    [
        ("cudaErrorInsufficientDriver: CUDA driver version is insufficient for CUDA runtime version", "newer one"),
        ("cudaErrorNoDevice: no CUDA-capable device is detected", "nvidia-smi"),
        (None, "This machine has no device of kind 'cuda'"),
    ],
)
def test_without_a_gpu(problem, advice, monkeypatch):
    def count():
        if problem:
            raise RuntimeError(problem)
        return 0

    monkeypatch.setattr(LIBRARY.numpy.cuda.runtime, "getDeviceCount", count)
    with pytest.raises(RuntimeError, match=advice):
        wg.zeros(2, device="cuda")


@pytest.mark.skipif(ON_GPU, reason="the memory of a GPU is not filled in tests")
def test_out_of_memory(monkeypatch, cuda):
    x = wg.ones((2, 3), device=cuda)

    def multiply(*_, **__):
        raise LIBRARY.numpy.OutOfMemoryError("Out of memory allocating 8 bytes")

    monkeypatch.setattr(LIBRARY.numpy, "multiply", multiply, raising=False)
    with pytest.raises(MemoryError, match="Out of memory") as raised:
        x * x
    (note,) = raised.value.__notes__
    assert "multiply of shapes (2, 3) and (2, 3)" in note
    assert HERE in note
    assert "3.0 of 80.0 GiB free" in note
    assert "wg.checkpoint" in note


@pytest.mark.parametrize("dtype", [np.longdouble, np.clongdouble])
def test_unsupported_numbers(dtype, cuda):
    with pytest.raises(TypeError, match=f"An array of dtype {np.dtype(dtype)} cannot be on the device 'cuda'"):
        wg.asarray(np.ones(2, dtype), device="cuda")


def test_a_dtype_is_no_device(cuda):
    with pytest.raises(TypeError, match=r"`to` takes a device.*x\.astype"):
        wg.ones(2).to(np.float32)


def test_a_value_is_not_moved_inside_a_trace():
    with pytest.raises(TypeError, match="inside of a function that is traced"):
        wg.compile(lambda x: x.to("cuda") * 2.0)(np.ones(2))


def test_orders_of_bessel_functions(cuda):
    x = wg.tensor([1.0, 2.0], device=cuda)
    with pytest.raises(NotImplementedError, match="integer orders up to 10"):
        wg.special.jv(0.5, x)


def test_nothing_is_imported_without_a_device():
    code = (
        "import sys, wengert as wg; wg.tensor([1.0], requires_grad=True).sum().backward(); "
        "print([m for m in sys.modules if any(part in m for part in ('cupy', 'array_libraries', 'device_calls'))])"
    )
    done = run_python(code)
    assert done.stdout == "[]\n"

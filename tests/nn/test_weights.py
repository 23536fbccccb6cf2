"""Weights in files: what is written is read, by PyTorch too; and what cannot be."""

from __future__ import annotations

import numpy as np
import pytest
from tests.nn.torch_network import NETWORKS, stored_path
from tests.nn.training_parts import Net

import wengert as wg
from wengert.nn.packing import pack_state, unpack_state

pytest.importorskip("safetensors")


def test_a_module_there_and_back(tmp_path):
    model, other = Net(1), Net(2)
    wg.nn.save(tmp_path / "net.safetensors", model, {"seed": "1"})
    state = wg.nn.load(tmp_path / "net.safetensors")
    assert state.keys() == model.state_dict().keys()
    other.load_state_dict(state)
    x = np.ones((3, 2))
    assert np.array_equal(other(x).detach(), model(x).detach())
    assert wg.nn.load_metadata(tmp_path / "net.safetensors") == {"seed": "1"}
    wg.nn.save(tmp_path / "net.safetensors", state)
    assert wg.nn.load_metadata(tmp_path / "net.safetensors") == {}


@pytest.mark.parametrize("dtype", ["f4", "f8", "f2", "i8", "i4", "u1", "?", ">f4"])
def test_every_bit_survives(tmp_path, dtype):
    bits = np.random.default_rng(0).integers(0, 2 if dtype == "?" else 256, 48 * np.dtype(dtype).itemsize, np.uint8)
    array = bits.view(dtype).reshape(2, 3, 8)
    for value in (array, array.T, array[:, ::2], array[0, 0, 0], array[:0]):
        wg.nn.save(tmp_path / "x", {"value": value})
        found = wg.nn.load(tmp_path / "x")["value"]
        assert found.dtype == value.dtype.newbyteorder("=")
        assert found.shape == value.shape
        assert found.tobytes() == value.astype(found.dtype).tobytes()


def test_tensors_are_written_as_they_are(tmp_path):
    wg.nn.save(tmp_path / "x", {"t": wg.tensor([1.0, 2.0], requires_grad=True)})
    assert wg.nn.load(tmp_path / "x")["t"].tolist() == [1.0, 2.0]


@pytest.mark.parametrize(
    ("state", "metadata", "message"),
    [
        ([1.0], None, "save was given a list"),
        ({"a": "text"}, None, "'a' is a str"),
        ({"a": np.array([object()])}, None, "'a' is of dtype object"),
        ({"a": np.ones(2, complex)}, None, "'a' is of dtype complex128, which the format does not have"),
        ({"a": np.ones(2)}, {"epoch": 3}, "The metadata 'epoch' is not a string"),
    ],
)
def test_what_cannot_be_written(tmp_path, state, metadata, message):
    with pytest.raises(TypeError, match=message):
        wg.nn.save(tmp_path / "x", state, metadata)
    assert not list(tmp_path.iterdir())


def test_files_that_are_none(tmp_path):
    (tmp_path / "pickle.pt").write_bytes(b"\x80\x04N." * 20)
    with pytest.raises(ValueError, match="pickle.pt' is not a file of the safetensors format.*save_file"):
        wg.nn.load(tmp_path / "pickle.pt")
    with pytest.raises(FileNotFoundError):
        wg.nn.load(tmp_path / "nothing")


def test_a_failed_write_leaves_the_file(tmp_path, monkeypatch):
    wg.nn.save(tmp_path / "x", {"a": np.ones(2)})
    monkeypatch.setattr("safetensors.numpy.serialize_file", fail)
    with pytest.raises(OSError, match="full"):
        wg.nn.save(tmp_path / "x", {"a": np.zeros(2)})
    assert wg.nn.load(tmp_path / "x")["a"].tolist() == [1.0, 1.0]


def fail(*_, **__):
    raise OSError("the disk is full")


def test_without_the_package(tmp_path, monkeypatch):
    monkeypatch.setattr("wengert.nn.weights.import_module", lambda name: fail_to_import(name))
    with pytest.raises(ModuleNotFoundError, match=r"need the package safetensors, at .*pip install"):
        wg.nn.save(tmp_path / "x", {"a": np.ones(2)})


def fail_to_import(name):
    raise ImportError(name)


def test_packing():
    state = {"a": [1, 2.5, None, True, "s"], "t": (1, (2,)), "d": {0: np.ones(2), "b": {}}, "n": np.float64(3.0)}
    packed, arrays = pack_state(state)
    found = unpack_state(packed, arrays)
    assert found["a"] == state["a"]
    assert found["t"] == state["t"]
    assert found["d"][0].tolist() == [1.0, 1.0]
    assert found["d"]["b"] == {}
    assert type(found["n"]) is float


# PyTorch.


@pytest.fixture(scope="module", params=NETWORKS)
def name(request):
    return request.param


@pytest.fixture(scope="module")
def stored(name):
    return wg.nn.load(stored_path(name))


def weights_of(stored):
    return {name.removeprefix("model."): value for name, value in stored.items() if name.startswith("model.")}


def test_a_file_of_pytorch_gives_its_outputs(name, stored):
    model = NETWORKS[name](wg.nn).eval()
    model.load_state_dict(weights_of(stored))
    assert np.allclose(model(stored["x"]).detach(), stored["y"], rtol=1e-4, atol=1e-5)
    assert wg.nn.load_metadata(stored_path(name)) == {"format": "pt", "written by": "PyTorch"}


def test_names_and_shapes_are_those_of_pytorch(name, stored):
    state = NETWORKS[name](wg.nn).state_dict()
    assert {name: (value.shape, value.dtype) for name, value in state.items()} == {
        name: (value.shape, value.dtype) for name, value in weights_of(stored).items()
    }


def test_bfloat16_becomes_float32(stored):
    assert stored["halved"].dtype == np.float32
    assert np.allclose(stored["halved"], stored["y"], rtol=2**-8)
    assert not np.any(stored["halved"].view(np.uint32) & 0xFFFF)


def test_there_and_back_with_pytorch(tmp_path, name, stored):
    torch = pytest.importorskip("torch")
    from safetensors.torch import load_file, save_file

    model = NETWORKS[name](wg.nn).train()
    for _ in range(3):
        model(stored["x"])  # statistics change
    model.eval()
    wg.nn.save(tmp_path / "there", model)
    other = NETWORKS[name](torch.nn)
    other.load_state_dict(load_file(tmp_path / "there"))
    with torch.no_grad():
        y = other.eval()(torch.tensor(stored["x"])).numpy()
    assert np.allclose(model(stored["x"]).detach(), y, rtol=1e-4, atol=1e-5)
    save_file(other.state_dict(), tmp_path / "back")
    again = wg.nn.load(tmp_path / "back")
    assert all(np.array_equal(again[name], value) for name, value in model.state_dict().items())

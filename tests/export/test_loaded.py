"""`wg.load_exported`: exported code in Python again, without a compiler."""

from __future__ import annotations

import json
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import wengert as wg


def model(params, x, kind="square"):
    """The gradient of a small model, in a tree."""
    y = np.tanh(params["w"] @ x)
    return {"loss": (y**2).sum() if kind == "square" else y.sum(), "parts": (y, [x * 2.0, None])}


W, X = {"w": np.linspace(-1, 1, 6).reshape(2, 3)}, np.array([0.5, -1.0, 2.0])


@pytest.mark.parametrize("format", ["library", "object"])
def test_results_are_those_of_the_compiled_function(format, tmp_path):
    made = wg.export(model, W, X, path=tmp_path, format=format)
    for path in (made.file, tmp_path, str(made.file)):
        found, expected = wg.load_exported(path)(W, X), wg.compile(model)(W, X)
        assert found["loss"] == expected["loss"]
        assert type(found["loss"]) is np.float64
        np.testing.assert_array_equal(found["parts"][0], expected["parts"][0])
        np.testing.assert_array_equal(found["parts"][1][0], expected["parts"][1][0])
        assert found["parts"][1][1] is None
    assert repr(wg.load_exported(tmp_path)) == "<exported model(params['w']: f64[2,3], x: f64[3])>"


@pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed")
@pytest.mark.parametrize("format", ["c", "object"])
def test_shared_libraries_of_exports(format, tmp_path):
    made = wg.export(model, W, X, path=tmp_path, format=format)
    command = ["gcc", "-shared", "-fPIC", made.file.name, "-o", "model.so", "-lm"]
    subprocess.run(command, cwd=tmp_path, check=True)
    found = wg.load_exported(tmp_path / "model.so")(W, X)
    np.testing.assert_allclose(found["loss"], model(W, X)["loss"], rtol=1e-15)


def test_sparse_derivatives_are_matrices(tmp_path):
    f = wg.sparse_jacobian(lambda x: x[1:] ** 3 - x[:-1])
    x = np.arange(6.0)
    found = wg.load_exported(wg.export(f, x, path=tmp_path).file)(x)
    np.testing.assert_array_equal(found.toarray(), f(x).toarray())
    assert found.nnz == f(x).nnz


def test_arguments_are_converted_if_nothing_is_lost(tmp_path):
    f = wg.load_exported(wg.export(lambda x: x.sum(0), np.ones((3, 2)), path=tmp_path).file)
    np.testing.assert_array_equal(f(np.arange(6).reshape(2, 3).T), [3.0, 12.0])
    np.testing.assert_array_equal(f(np.arange(12.0).reshape(6, 2)[::2]), [12.0, 15.0])


def test_constants_must_be_those_of_the_export(tmp_path):
    f = wg.load_exported(wg.export(model, W, X, "square", path=tmp_path).file)
    assert f(W, X, "square")["loss"] == wg.compile(model)(W, X)["loss"]
    with pytest.raises(ValueError, match="was exported with 'square' as argument 2, and was given 'cube'"):
        f(W, X, "cube")


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ((W,), "takes 2 arguments, and was given 1"),
        ((W, X[:2]), r"x of model is f64\[3\], and was given f64\[2\]"),
        ((W, X + 1j), r"x of model is f64\[3\], and was given c128\[3\]"),
    ],
)
def test_wrong_arguments(args, message, tmp_path):
    f = wg.load_exported(wg.export(model, W, X, path=tmp_path).file)
    with pytest.raises(TypeError, match=message):
        f(*args)


def test_failures_are_errors(tmp_path):
    for n in (3, 20):
        f = wg.load_exported(wg.export(np.linalg.solve, np.eye(n), np.ones(n), path=tmp_path, name=f"solve{n}").file)
        np.testing.assert_array_equal(f(2 * np.eye(n), np.ones(n)), np.full(n, 0.5))
        with pytest.raises(np.linalg.LinAlgError, match=r"[Ss]ingular"):
            f(np.ones((n, n)), np.ones(n))


def test_threads_have_an_arena_each(tmp_path):
    big = np.linspace(0, 1, 4000)
    f = wg.load_exported(wg.export(wg.grad(lambda x: np.exp(np.cumsum(x)).sum()), big, path=tmp_path, name="f").file)
    assert f.arena > 0
    expected = [f(big * k) for k in range(8)]
    with ThreadPoolExecutor(4) as pool:
        for found, wanted in zip(pool.map(lambda k: f(big * (k % 8)), range(64)), expected * 8, strict=True):
            np.testing.assert_array_equal(found, wanted)


def test_code_of_other_machines_is_refused(tmp_path):
    other = wg.export(model, W, X, path=tmp_path, target="riscv64-linux")
    with pytest.raises(ValueError, match=r"is for riscv64-linux \(riscv64-unknown-linux-gnu\), and this machine is"):
        wg.load_exported(other.file)
    text = wg.export(model, W, X, path=tmp_path, format="llvm")
    with pytest.raises(ValueError, match="is llvm, which needs a compiler"):
        wg.load_exported(text.file)


def test_processors_must_have_the_instructions(tmp_path):
    made = wg.export(model, W, X, path=tmp_path)
    path = tmp_path / "model.json"
    known = json.loads(path.read_text())
    path.write_text(json.dumps(known | {"cpu": "x86-64-v9", "features": "+telepathy"}))
    with pytest.raises(ValueError, match="for processors .x86-64-v9. that have telepathy, which this one lacks"):
        wg.load_exported(made.file)


def test_files_must_belong_together(tmp_path):
    made = wg.export(model, W, X, path=tmp_path)
    made.file.write_bytes(made.file.read_bytes() + b"\0")
    with pytest.raises(ValueError, match="is not the file that model.json describes"):
        wg.load_exported(made.file)
    (tmp_path / "model.json").write_text("{}")
    with pytest.raises(ValueError, match="does not describe an export"):
        wg.load_exported(made.file)
    (tmp_path / "model.json").unlink()
    with pytest.raises(FileNotFoundError, match="no description"):
        wg.load_exported(made.file)
    with pytest.raises(ValueError, match="has 0 exports"):
        wg.load_exported(tmp_path)
    with pytest.raises(FileNotFoundError, match="There is no file"):
        wg.load_exported(tmp_path / "nothing.a")

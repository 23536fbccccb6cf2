"""Data that users have, as operands and arguments; and results of Wengert in what users do with them."""

from __future__ import annotations

import array
import json
import math
import subprocess
import sys
from decimal import Decimal
from fractions import Fraction
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from tests.fresh_python import run_python

import wengert as wg

NUMBERS = [1.0, 2.0, 3.0]


def pandas_series():
    return pytest.importorskip("pandas", reason="pandas is not installed").Series(NUMBERS)


def pandas_series_with_masks():
    return pytest.importorskip("pandas", reason="pandas is not installed").Series(NUMBERS, dtype="Float64")


def polars_series():
    return pytest.importorskip("polars", reason="polars is not installed").Series(NUMBERS)


def xarray_array():
    return pytest.importorskip("xarray", reason="xarray is not installed").DataArray(NUMBERS, dims="t")


DATA = {
    "pandas": pandas_series,
    "pandas Float64": pandas_series_with_masks,
    "polars": polars_series,
    "xarray": xarray_array,
    "array": lambda: array.array("d", NUMBERS),
    "memoryview": lambda: memoryview(array.array("d", NUMBERS)),
    "bytearray": lambda: bytearray([1, 2, 3]),
    "range": lambda: range(1, 4),
    "list": lambda: list(NUMBERS),
    "list of arrays": lambda: [np.array(n) for n in NUMBERS],
}


@pytest.mark.parametrize("make", DATA.values(), ids=DATA)
def test_data_are_operands_and_arguments(make):
    data = make()
    for read in (wg.tensor, wg.asarray):
        assert isinstance(read(data), wg.Tensor)
        np.testing.assert_array_equal(read(data), NUMBERS)
    x = wg.tensor(NUMBERS, requires_grad=True)
    (x * data).sum().backward()
    np.testing.assert_array_equal(x.grad, NUMBERS)
    assert wg.sum(data) == 6.0
    if not isinstance(data, bytearray | range | list):  # a list is a tree of numbers
        np.testing.assert_array_equal(wg.grad(lambda a: (wg.asarray(a) ** 2).sum())(data), [2.0, 4.0, 6.0])


def test_frames():
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    frame = pandas.DataFrame({"a": NUMBERS, "b": NUMBERS})
    w = wg.tensor([1.0, -2.0], requires_grad=True)
    (wg.asarray(frame) @ w).sum().backward()
    np.testing.assert_array_equal(w.grad, [6.0, 6.0])
    with pytest.raises(TypeError, match=r"A pandas\.DataFrame of object is not an array of numbers, at .*others\.py"):
        wg.asarray(frame.assign(name=["x", "y", "z"]))


@pytest.mark.parametrize("odd", [Decimal("1.5"), Fraction(1, 3)], ids=["Decimal", "Fraction"])
@pytest.mark.parametrize("wrap", [lambda v: v, lambda v: [v, v, v], lambda v: [[1.0, v]]], ids=["", "list", "nested"])
def test_numbers_that_are_objects_are_refused_by_name(odd, wrap):
    x = wg.tensor(NUMBERS, requires_grad=True)
    name = (
        rf"type \w+\.{type(odd).__name__} is not a number .* at .*test_data_of_others\.py:\d+\. Convert it first: float"
    )
    for call in (
        wg.tensor, wg.asarray, wg.sum, wg.grad(lambda v: x.sum()), lambda v: x[:1] * v, lambda v: v * x[:1],
    ):  # fmt: skip
        with pytest.raises(TypeError, match=name):
            call(wrap(odd))


@pytest.mark.parametrize("odd", ["abc", b"abc", {1.0}], ids=["str", "bytes", "set"])
def test_what_is_no_number_is_refused_by_name(odd):
    with pytest.raises(TypeError, match=rf"type {type(odd).__name__} is not a number .* at .*test_data_of_others\.py"):
        wg.tensor(NUMBERS) * odd


def test_dlpack_with_numpy_is_read_only_and_shares_memory():
    x = wg.tensor(NUMBERS)
    there = np.from_dlpack(x)
    assert not there.flags.writeable
    x += 1.0  # copies, because the memory is in use
    np.testing.assert_array_equal(there, NUMBERS)
    numbers = np.array(NUMBERS)
    numbers.flags.writeable = False
    here = wg.from_dlpack(numbers, copy=False)
    here[0] = 7.0
    np.testing.assert_array_equal(numbers, NUMBERS)


def test_dlpack_with_pytorch():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    x = wg.tensor(NUMBERS)
    there = torch.from_dlpack(x)
    there[0] = 7.0  # PyTorch has no read-only tensors
    np.testing.assert_array_equal(x, NUMBERS)
    assert torch.from_dlpack(x, copy=False).data_ptr() == x.numpy().ctypes.data
    given = torch.tensor(NUMBERS)
    np.testing.assert_array_equal(wg.from_dlpack(given), NUMBERS)
    assert wg.from_dlpack(given, copy=False).numpy().ctypes.data == given.data_ptr()
    with pytest.raises(wg.TrackedValueError, match=r"torch\.Tensor that requires a gradient.*test_data_of_others\.py"):
        wg.from_dlpack(torch.tensor(NUMBERS, requires_grad=True))
    with pytest.raises(wg.TrackedValueError, match=r"torch\.Tensor that requires a gradient.*test_data_of_others\.py"):
        wg.tensor([torch.tensor(1.0, requires_grad=True)])
    with pytest.raises(wg.TrackedValueError, match=r"test_data_of_others\.py"):
        torch.from_dlpack(wg.tensor(NUMBERS, requires_grad=True))


@pytest.mark.skipif(find_spec("jax") is None, reason="JAX is not installed")
def test_dlpack_with_jax():
    """In a process of its own, because JAX's threads forbid others to fork."""
    code = """
import jax, numpy as np, wengert as wg
jax.config.update("jax_enable_x64", True)
x = wg.tensor([1.0, 2.0, 3.0])
there = jax.dlpack.from_dlpack(x)
x += 1.0
assert there.tolist() == [1.0, 2.0, 3.0]
here = wg.from_dlpack(there, copy=False)
here += 1.0
assert there.tolist() == [1.0, 2.0, 3.0]
assert here.tolist() == [2.0, 3.0, 4.0]
"""
    done = run_python(code, check=False)
    assert done.returncode == 0, done.stderr


# What users do with results.

DRAWN = {
    "plot": lambda axes, v: axes.plot(v),
    "points": lambda axes, v: axes.scatter(v, v),
    "bars": lambda axes, v: axes.bar([0, 1, 2], v),
    "histogram": lambda axes, v: axes.hist(v),
    "image": lambda axes, v: axes.imshow(wg.ones((3, 3)) * v),
    "error bars": lambda axes, v: axes.errorbar(v, v, yerr=v),
}


@pytest.mark.parametrize("draw", DRAWN.values(), ids=DRAWN)
def test_matplotlib(draw):
    pytest.importorskip("matplotlib", reason="matplotlib is not installed").use("Agg")
    from matplotlib.figure import Figure

    axes = Figure().add_subplot()
    draw(axes, wg.tensor(NUMBERS))
    with pytest.raises((wg.TrackedValueError, wg.GradientError), match=r"at .*test_data_of_others\.py:\d+.*detach"):
        draw(axes, wg.tensor(NUMBERS, requires_grad=True))


FRAMED = {
    "Series": lambda pandas, v: pandas.Series(v),
    "DataFrame": lambda pandas, v: pandas.DataFrame({"a": v}),
    "two axes": lambda pandas, v: pandas.DataFrame(wg.ones((2, 3)) * v),
    "column": lambda pandas, v: pandas.DataFrame({"b": NUMBERS}).assign(a=v),
}


@pytest.mark.parametrize("frame", FRAMED.values(), ids=FRAMED)
def test_pandas_takes_results(frame):
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    made = frame(pandas, wg.tensor(NUMBERS))
    assert made.to_numpy().dtype == np.float64
    with pytest.raises(wg.TrackedValueError, match=r"at .*test_data_of_others\.py:\d+.*detach"):
        frame(pandas, wg.tensor(NUMBERS, requires_grad=True))


def test_xarray_holds_values_with_their_history():
    xarray = pytest.importorskip("xarray", reason="xarray is not installed")
    x = wg.tensor(NUMBERS, requires_grad=True)
    total = (xarray.DataArray(x, dims="t") ** 2).sum().data
    total.backward()
    np.testing.assert_array_equal(x.grad, [2.0, 4.0, 6.0])


def test_strings_and_json():
    x = wg.tensor(NUMBERS, requires_grad=True)
    assert json.dumps({"x": x.tolist(), "loss": x.sum().item()}) == '{"x": [1.0, 2.0, 3.0], "loss": 6.0}'
    assert f"{x.sum():.2f} {x[0]:5.1f}" == "6.00   1.0"
    plain = wg.tensor(2.0)
    assert json.dumps(float(plain)) == "2.0"
    assert f"{plain:.1f}" == "%.1f" % plain == "2.0"  # noqa: UP031  # both ways
    assert math.sqrt(wg.tensor(4.0)) == 2.0


def test_a_file_of_the_user_in_a_folder_named_like_a_library_is_the_users(tmp_path):
    folder = tmp_path / "torch"
    folder.mkdir()
    program = folder / "train.py"
    program.write_text("import wengert as wg\nfloat(wg.tensor(1.0, requires_grad=True))\n")
    root = Path(wg.__file__).parents[1]
    done = subprocess.run(
        [sys.executable, str(program)], capture_output=True, text=True, check=False, env={"PYTHONPATH": str(root)}
    )
    assert f"{program}:2" in done.stderr

"""Exported code on the machines that it is for: this one at several levels, others under QEMU, WebAssembly in Node.

Results are compared with NumPy's, and to two units in the last place where one rounding decides.
"""

from __future__ import annotations

import re

import numpy as np
import pytest
from tests.export.machines import MACHINES, run_example, skip_unless_runnable

import wengert as wg
from wengert.compiler.machine.target import compiling_for
from wengert.export.targets import TARGETS, find_target

FUNCTIONS = {
    name: getattr(np, name)
    for name in ("exp", "expm1", "log", "log1p", "sin", "cos", "tan", "arctan", "tanh", "sinh", "sqrt", "cbrt", "rint")
}


def elementwise(x, y):
    """Functions of each element, in double and in single precision, choices and integers."""
    found = {name: f(x) for name, f in FUNCTIONS.items()}
    found |= {f"single_{name}": f(y) for name, f in FUNCTIONS.items()}
    whole = (x * 10).astype(np.int64)
    found |= {"power": x**2.5, "hypot": np.hypot(x, 1.0), "chosen": np.where(x > 1.0, x, 1 / x), "less": x < 1.0}
    return found | {"quotient": whole // 3, "remainder": whole % 3, "order": np.argsort(-x)}


def rosenbrock(x):
    """Rosenbrock's function."""
    return (100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2).sum()


def newton_step(x, a):
    """A step of Newton's method for a function with a matrix."""
    f = lambda x: np.log(np.cosh(a @ x)).sum() + 0.5 * (x * x).sum()
    return x - np.linalg.solve(wg.hessian(f)(x), wg.grad(f)(x))


def oscillator(x):
    """The end of a path, with as many steps as it takes."""
    path = wg.fori_loop(0, 40, lambda i, s: s + 0.05 * wg.stack([s[1], -np.sin(s[0])]), x)
    root = wg.while_loop(lambda r: np.abs(r * r - 2.0) > 1e-12, lambda r: 0.5 * (r + 2.0 / r), x[0] + 1.0)
    return path, root


def derivatives(x, a, s):
    """Gradients, Jacobians, products, sums, loops and systems."""
    return {
        "value": rosenbrock(x),
        "gradient": wg.grad(rosenbrock)(x),
        "hessian": wg.hessian(rosenbrock)(x),
        "jacobian": wg.jacobian(lambda x: np.sin(a @ x) * x)(x),
        "product": a @ a.T,
        "step": newton_step(x, a),
        "path": oscillator(s),
        "slope": wg.jacobian(lambda s: oscillator(s)[0])(s),
        "spectrum": np.linalg.eigvalsh(a + a.T),
    }


@pytest.fixture(scope="module")
def arguments():
    rng = np.random.default_rng(2)
    x = np.concatenate([rng.uniform(0.01, 3.0, 17), [0.5, 1.0, 1e-9, 700.0]])
    return {
        elementwise: (x, np.minimum(x, 80.0).astype(np.float32)),
        derivatives: (np.linspace(-0.5, 1.5, 10), rng.normal(size=(10, 10)), np.array([0.4, 0.1])),
    }


@pytest.mark.parametrize("target", MACHINES)
def test_elementwise_functions_are_numpys_to_two_units(target, tmp_path, arguments):
    skip_unless_runnable(target)
    made = wg.export(elementwise, *arguments[elementwise], path=tmp_path, target=target, format="object")
    found, expected = run_example(made), elementwise(*arguments[elementwise])
    assert set(found) == {f"result_{name}" for name in expected}
    for name, values in expected.items():
        numbers = np.array(found[f"result_{name}"]).astype(values.dtype)
        if values.dtype.kind == "f":
            np.testing.assert_array_max_ulp(numbers, values, 2)
        else:
            np.testing.assert_array_equal(numbers, values, err_msg=name)


@pytest.mark.parametrize("target", MACHINES)
def test_derivatives_loops_and_systems(target, tmp_path, arguments):
    skip_unless_runnable(target)
    made = wg.export(derivatives, *arguments[derivatives], path=tmp_path, target=target)
    found, expected = run_example(made), derivatives(*arguments[derivatives])
    for name in ("value", "gradient", "hessian"):
        np.testing.assert_allclose(found[f"result_{name}"], np.ravel(expected[name]), rtol=1e-15, atol=1e-13)
    path, root = expected.pop("path")
    assert found["result_path_1"] == [root]
    for name, values in {**expected, "path_0": path}.items():
        np.testing.assert_allclose(found[f"result_{name}"], np.ravel(values), rtol=1e-12, atol=1e-13, err_msg=name)


@pytest.mark.parametrize("target", TARGETS)
def test_code_for_every_target(target, tmp_path):
    """Also for those that no test runs: macOS and Windows."""
    made = wg.export(wg.grad(rosenbrock), np.ones(10), path=tmp_path, target=target)
    formats = {"linux": b"\x7fELF", "macos": b"\xcf\xfa\xed\xfe", "windows": b"\x64\x86", "cortex": b"\x7fELF"}
    starts = next((start for word, start in formats.items() if word in target), b"\0asm")
    whole = made.file.read_bytes()
    assert whole.startswith(b"!<arch>\n")
    assert starts in whole
    assert b"rosenbrock" in whole


def test_one_element_at_a_time_where_there_are_no_vectors(tmp_path):
    """And vectors where there are: as wide as the target's."""
    x = np.ones(1000)
    widths_of = {"cortex-m7": 1, "riscv64-linux": 1, "wasm32": 2, "x86-64-v3-linux": 4, "x86-64-v4-linux": 8}
    for target, lanes in widths_of.items():
        text = wg.export(lambda x: x * x + 1, x, path=tmp_path, target=target, name="f", format="llvm").file.read_text()
        widths = {int(width) for width in re.findall(r"<(\d+) x double>", text)}
        assert widths == ({lanes} if lanes > 1 else set())


def test_programs_for_other_targets_leave_no_trace():
    """A compiled function is for this machine again, with caches that know the target."""
    x = np.arange(60.0).reshape(1, 1, 60)
    w = np.array([[[1.0, -2.0, 1.0]]])
    convolve = wg.compile(lambda x, w: wg.nn.functional.conv1d(x, w))
    with compiling_for(find_target("cortex-m7")):
        wg.compile(lambda x, w: wg.nn.functional.conv1d(x, w)).trace(x, w)
    np.testing.assert_array_equal(convolve(x, w), np.zeros((1, 1, 58)))

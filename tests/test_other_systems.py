"""On other systems the package imports and eager code works: what a system lacks is taken away from this one."""

from __future__ import annotations

import subprocess
import sys

import pytest

PRELUDE = """
import ctypes, os, platform, sys
import numpy as np, scipy.linalg, scipy.special  # these are of this system

class Missing:
    def __init__(self, names):
        self.names = names
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in self.names:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

def become(system, machine, missing_functions, missing_modules):
    sys.platform = system  # os.name stays: the paths of this system are those of POSIX
    platform.system = lambda: {"win32": "Windows", "darwin": "Darwin", "emscripten": "Emscripten"}.get(system, "Linux")
    platform.machine = lambda: machine
    for function in missing_functions:
        if hasattr(os, function):
            delattr(os, function)
    for module in missing_modules:
        sys.modules.pop(module, None)
    sys.meta_path.insert(0, Missing(missing_modules))
    original = ctypes.CDLL
    def CDLL(name, *args, **options):
        if system == "win32" and name is None:
            raise TypeError("expected str")
        library = original(name, *args, **options)
        if name is None:
            class Without:
                def __getattr__(self, function):
                    if function == "mallopt":
                        raise AttributeError(function)
                    return getattr(library, function)
            return Without()
        return library
    ctypes.CDLL = CDLL
"""

SYSTEMS = {
    "macOS": '"darwin", "arm64", ["sched_getaffinity"], ["llvmlite"]',
    "Windows": (
        '"win32", "AMD64", ["sched_getaffinity", "register_at_fork", "fork", "geteuid", "getuid", "getgid"], '
        '["llvmlite", "resource", "fcntl", "pwd", "grp"]'
    ),
    "WebAssembly": (
        '"emscripten", "wasm32", ["sched_getaffinity", "register_at_fork", "fork"], ["llvmlite", "resource", "fcntl", '
        '"_multiprocessing"]'
    ),
    "Linux on ARM": '"linux", "aarch64", [], ["llvmlite"]',
}

EAGER = """
import wengert as wg

p = np.linspace(0.5, 1.5, 300_000)
x = wg.tensor(p, requires_grad=True)
(np.sin(x) * np.log(x)).sum().backward()
np.testing.assert_allclose(x.grad.numpy(), np.cos(p) * np.log(p) + np.sin(p) / p, rtol=1e-9)
a = np.eye(3) * 3.0 + np.arange(9.0).reshape(3, 3) / 9.0
np.testing.assert_allclose(wg.grad(np.linalg.det)(a), np.linalg.det(a) * np.linalg.inv(a).T, rtol=1e-10)
np.testing.assert_allclose(wg.hessian(lambda v: (v**3).sum())(np.arange(3.0)), np.diag(6.0 * np.arange(3.0)))
np.testing.assert_allclose(wg.vmap(wg.linalg.sqrtm)(np.stack([np.eye(2) * 4.0] * 3)), np.stack([np.eye(2) * 2.0] * 3))
wg.jvp(np.exp, (a,), (a,)), wg.jacfwd(np.tanh)(np.ones(2)), wg.derivative(np.sin)(1.0), wg.special.gammaln(2.5)
assert "∂" in str(wg.explain(lambda x: np.sin(x) * x, 2.0))
print("done")
"""


@pytest.mark.parametrize("system", SYSTEMS)
def test_eager_code_on_other_systems(system):
    code = f"{PRELUDE}\nbecome({SYSTEMS[system]})\n{EAGER}"
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, timeout=300)
    assert (done.stdout, done.stderr) == ("done\n", "")

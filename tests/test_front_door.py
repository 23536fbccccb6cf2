"""The front door: what `wg.` offers, what editors see of it, and that a new operation is one edit."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest
from tools import stubs

import wengert as wg
from wengert.core.namespaces import public_names

ROOT = Path(__file__).parent.parent
MODULES = pytest.mark.parametrize("module", stubs.MODULES, ids=lambda m: m.__name__)


@MODULES
def test_every_public_name_resolves_and_has_one_origin(module):
    for name in module.__all__:
        assert hasattr(module, name)
    assert [name for name, count in Counter(module.__all__).items() if count > 1] == []


@MODULES
def test_families_declare_their_names_in_order(module):
    for family in getattr(module, "FAMILIES", ()):
        _, names = public_names(family)
        assert names == sorted(names), family


@MODULES
def test_lazy_names_are_in_their_modules(module):
    for name, path in getattr(module, "LAZY", {}).items():
        is_module = not path or path.endswith(".")
        found = import_module(f"wengert.{path}{name}") if is_module else getattr(import_module(f"wengert.{path}"), name)
        assert getattr(module, name) is found


@MODULES
def test_only_public_names_are_listed(module):
    extra = {"__version__"} if module is wg else set()
    assert set(dir(module)) == set(module.__all__) | extra
    assert {"core", "gather", "import_module", "modes", "ops"}.isdisjoint(dir(module))


def test_tensors_list_their_public_attributes():
    names = set(dir(wg.tensor([1.0], requires_grad=True)))
    assert {"T", "backward", "grad", "mean", "shape", "__add__"} <= names
    assert {"_changes", "extra", "level", "process_unary", "strides", "value"}.isdisjoint(names)


def test_a_name_that_does_not_exist_is_an_error():
    with pytest.raises(AttributeError, match="module 'wengert' has no attribute 'no_such_name'$"):
        _ = wg.no_such_name
    with pytest.raises(AttributeError, match="'vectorize', which is in np. .*Use wg.vmap"):
        _ = wg.vectorize


@MODULES
def test_the_stubs_are_up_to_date(module):
    assert stubs.path_of(module).read_text() == stubs.stub(module), "run `python tools/stubs.py`"


# The worked example of CONTRIBUTING.md, on a copy of the package.

CHECKS = """
import numpy as np
import wengert as wg

f, x = wg.cube, np.array([0.5, 2.0])
assert f(2.0) == 8.0 and "cube" in dir(wg) and "The cube" in f.__doc__
slope = 3 * x**2
leaf = wg.tensor(x, requires_grad=True)
f(leaf).sum().backward()
np.testing.assert_allclose(leaf.grad.numpy(), slope)
np.testing.assert_allclose(wg.jvp(f, (x,), (np.ones(2),))[1], slope)
np.testing.assert_allclose(wg.taylor(f, 2.0, 3), [8.0, 12.0, 6.0, 1.0])
np.testing.assert_allclose(wg.vmap(wg.grad(f))(x), slope)
np.testing.assert_allclose(wg.trace(f, x).evaluate(x), x**3)
np.testing.assert_allclose(wg.compile(wg.grad(lambda x: f(x).sum()))(x), slope)
np.testing.assert_allclose(wg.hessian(lambda x: f(x).sum())(x), np.diag(6 * x))
"""

COVERAGE = "import coverage; print(coverage.page()); assert not coverage.gaps()"


@pytest.fixture(scope="module")
def copy_with_an_operation(tmp_path_factory):
    """A copy of the package with the edit that CONTRIBUTING.md describes."""
    source = tmp_path_factory.mktemp("copy") / "src"
    shutil.copytree(ROOT / "src", source, ignore=shutil.ignore_patterns("__pycache__"))
    text = (ROOT / "CONTRIBUTING.md").read_text()
    section = text[text.index("## Adding an operation") :]
    path = source / "wengert" / re.search(r"`(ops/\S+\.py)`", section)[1]
    declaration = re.search(r"^cube = .*\ndescribe\(.*\n", section, re.MULTILINE)[0]
    family = path.read_text()
    assert family.count("__all__ = [") == 1
    path.write_text(family.replace("__all__ = [", '__all__ = [\n    "cube",') + f"\n{declaration}")
    return source


def run(source: Path, *command: str, cwd: Path = ROOT) -> str:
    """What Python prints, with this copy of the package."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(source), str(ROOT)])}
    done = subprocess.run([sys.executable, *command], cwd=cwd, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_a_new_operation_runs_in_every_mode(copy_with_an_operation):
    run(copy_with_an_operation, "-c", CHECKS)


def test_a_new_operation_is_in_the_table_test(copy_with_an_operation):
    report = run(copy_with_an_operation, "-m", "pytest", "tests/test_table.py", "-k", "cube", "-p", "no:cacheprovider")
    assert int(re.search(r"(\d+) passed", report)[1]) >= 6
    examples = "test_every_public_name_has_an_example or test_examples_of_operations_run"
    run(copy_with_an_operation, "-m", "pytest", "tests/test_docstrings.py", "-k", examples, "-p", "no:cacheprovider")


def test_a_new_operation_is_in_the_stub_and_on_the_page(copy_with_an_operation):
    run(copy_with_an_operation, str(ROOT / "tools" / "stubs.py"))
    stub = (copy_with_an_operation / "wengert" / "__init__.pyi").read_text()
    assert "from wengert.ops.elementwise.arithmetic import cube as cube\n" in stub
    assert "| `cube` | elementwise | rule | same rule |" in run(
        copy_with_an_operation, "-c", COVERAGE, cwd=ROOT / "docs"
    )


def test_modules_are_modules():
    assert all(isinstance(getattr(wg, name), ModuleType) for name in wg.NAMESPACES)

"""`wengert.compat.install` gives layers to programs that import their peers, and the pages on them are up to date."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from tests.fresh_python import run_python

from wengert.compat import LAYERS, install

DOCS = Path(__file__).parent.parent.parent / "docs"
PRESENT = [name for name in LAYERS if find_spec(f"wengert.compat.{name}")]


def run(code: str) -> str:
    done = run_python(code, check=False)
    assert not done.returncode, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize("name", PRESENT)
def test_an_import_of_the_peer_gives_the_layer(name):
    code = f"""
from wengert.compat import install, uninstall
install("{name}")
install("{name}")
import {name}, wengert.compat.{name} as layer
assert {name} is layer
assert layer.__name__ == layer.__spec__.name == "wengert.compat.{name}"
uninstall("{name}")
import sys
print("{name}" in sys.modules)
"""
    assert run(code) == "False"


def test_modules_of_a_layer_are_the_same_by_both_names():
    code = """
from wengert.compat import install
install("autograd")
import autograd.numpy.linalg, autograd.misc.optimizers
from autograd.misc import flatten
from autograd.misc.flatten import flatten_func
import wengert.compat.autograd.numpy.linalg as ours
from autograd.extend import primitive
print(callable(flatten), autograd.numpy.linalg is ours, primitive.__module__)
"""
    assert run(code) == "True True wengert.compat.autograd.tracer"


def test_a_module_that_the_layer_does_not_have():
    code = """
from wengert.compat import install
install("autograd")
try:
    import autograd.container_types
except ModuleNotFoundError as error:
    print(error)
"""
    assert (
        run(code)
        == "No module named 'autograd.container_types': wengert.compat.autograd is installed for it, and has none"
    )


def test_it_is_too_late_after_an_import(monkeypatch):
    monkeypatch.setitem(sys.modules, "autograd", sys)
    with pytest.raises(RuntimeError, match="before anything that imports autograd"):
        install("autograd")


def test_an_unknown_peer():
    with pytest.raises(ValueError, match="The layers are autograd, jax, torch"):
        install("tensorflow")


@pytest.mark.parametrize("name", PRESENT)
def test_the_page_is_up_to_date(name):
    code = f"import sys; sys.path.insert(0, {str(DOCS)!r}); import compat; print(compat.page({name!r}), end='')"
    assert (DOCS / f"compat_{name}.md").read_text().strip() == run(code), "run `python docs/compat.py`"


@pytest.mark.parametrize("name", PRESENT)
def test_a_name_that_the_layer_does_not_have_says_so(name):
    layer = __import__(f"wengert.compat.{name}", fromlist=["*"])
    with pytest.raises(AttributeError, match=f"{name}.no_such_name is not in wengert.compat.{name}"):
        layer.no_such_name  # noqa: B018  # the attribute is the test

"""The examples in what builds the site, and the page of errors."""

import doctest
from importlib import import_module

import pytest

pytest.importorskip("mkdocs", reason="The site needs its extra: pip install wengert[docs]")


@pytest.mark.parametrize("name", ["docstrings", "errors", "formulas", "hooks", "reference", "sources"])
def test_examples_run(name):
    module = pytest.importorskip(f"tools.site.{name}", reason="The site needs its extra: pip install wengert[docs]")
    assert doctest.testmod(module).failed == 0


def test_errors_are_read_from_the_source():
    errors = import_module("tools.site.errors")
    found = {message.what: message for part in errors.collect().values() for message in part}
    released = next(
        message for what, message in found.items() if what.startswith("The history of this value was released")
    )
    assert released.kind == "GradientError"
    assert "retain_graph=True" in released.do
    assert len(found) > 500

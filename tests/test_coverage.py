"""The page of the documentation that says what is covered is what the table says."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from wengert.core.primitive import TABLE

SCRIPT = Path(__file__).parent.parent / "docs" / "coverage.py"


def load():
    spec = importlib.util.spec_from_file_location("coverage_page", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_is_up_to_date():
    coverage = load()
    assert coverage.PAGE.read_text() == coverage.page(), "run `python docs/coverage.py`"


def test_holes_have_a_reason():
    for primitive in TABLE.values():
        assert primitive.kind != "nondifferentiable" or primitive.reason
        assert primitive.kind != "general" or primitive.jvps, f"{primitive.name} has no forward rule"

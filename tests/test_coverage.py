"""The page of the documentation that says what is covered is what the table says."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from wengert.core.primitive import TABLE

DOCS = Path(__file__).parent.parent / "docs"


def test_the_page_is_up_to_date():
    # In an interpreter of its own: other tests enter operations in the table.
    code = "import wengert, coverage; print(coverage.page(), end='')"
    page = subprocess.run([sys.executable, "-c", code], cwd=DOCS, capture_output=True, text=True, check=True).stdout
    assert (DOCS / "coverage.md").read_text() == page, "run `python docs/coverage.py`"


def test_every_operation_has_every_aspect_or_a_reason():
    code = "import coverage; print(*coverage.gaps(), sep='\\n', end='')"
    found = subprocess.run([sys.executable, "-c", code], cwd=DOCS, capture_output=True, text=True, check=True).stdout
    assert not found, "give an entry, or say why there is none: aspect.without(reason, operation)"


def test_a_gap_is_found():
    code = """
import coverage
from wengert.core.aspects import Aspect
from wengert.ops.elementwise.trigonometric import cos, sin
colour = Aspect("colour", "for this test", lambda primitive: None if primitive.kind == "elementwise" else "grey")
colour.enter("blue", sin)
colour.without("it is transparent", cos)
print(*coverage.gaps(), sep=", ")
"""
    found = (
        subprocess.run([sys.executable, "-c", code], cwd=DOCS, capture_output=True, text=True, check=True)
        .stdout.strip()
        .split(", ")
    )
    assert "colour of tan" in found
    assert not {"colour of sin", "colour of cos", "colour of sum"} & set(found)


def test_holes_have_a_reason():
    for primitive in TABLE.values():
        assert primitive.kind != "nondifferentiable" or primitive.definition.reason
        assert primitive.kind != "control" or primitive.definition.in_mode, f"{primitive.name} has no rule for modes"
        assert primitive.kind != "general" or primitive.definition.jvps, f"{primitive.name} has no forward rule"

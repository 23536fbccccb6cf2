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


def test_holes_have_a_reason():
    for primitive in TABLE.values():
        assert primitive.kind != "nondifferentiable" or primitive.reason
        assert primitive.kind != "general" or primitive.jvps, f"{primitive.name} has no forward rule"

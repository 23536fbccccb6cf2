"""The gallery: each example runs and checks its own result, and its page shows its code."""

from __future__ import annotations

import re

import pytest
from docs import gallery_pages as gallery

NAMES = sorted(path.stem for path in gallery.EXAMPLES.glob("*.py"))


@pytest.mark.parametrize("name", NAMES)
def test_example_runs(name):
    gallery.draw(name)


def test_each_example_is_shown_once():
    assert sorted(" ".join(gallery.SCIENCES.values()).split()) == NAMES
    assert len(NAMES) >= 24
    assert all((gallery.PAGES / f"{name}.png").exists() for name in NAMES)


@pytest.mark.parametrize("name", ["index", *NAMES])
def test_pages_are_up_to_date(name):
    file = f"{name}.md"
    assert (gallery.PAGES / file).read_text() == gallery.pages()[file], "run `python docs/gallery_pages.py`"


def test_rows_of_the_index_have_a_picture_and_a_text():
    rows = [line for line in gallery.index().splitlines() if line.startswith("| [<img")]
    assert len(rows) == len(NAMES)
    assert all(len(re.split(r"(?<!\\)\|", row)) == 4 for row in rows)


@pytest.mark.parametrize("name", NAMES)
def test_examples_check_their_results(name):
    code = gallery.read_example(name).code
    assert "assert" in code
    assert code.endswith("plt.show()")
    assert len(code.splitlines()) <= 75

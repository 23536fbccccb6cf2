"""The pictures of the documentation are those that the script draws, and each of them is shown."""

import re
from pathlib import Path

import pytest

pytest.importorskip("matplotlib", reason="The pictures need the extra of the site: pip install wengert[docs]")

from tools.site import pictures

DOCS = Path(__file__).parents[2] / "docs"


def words(svg):
    """What a picture says, without its numbers, which may differ in a digit between machines."""
    return sorted(set(re.findall(r"[A-Za-z]{3,}", " ".join(re.findall(r">([^<>]+)</t", svg)))))


@pytest.mark.parametrize("name", pictures.DRAWN)
def test_the_script_draws_the_picture(name):
    assert words(pictures.DRAWN[name]()) == words((pictures.FOLDER / f"{name}.svg").read_text())


def test_every_picture_is_shown():
    shown = set(re.findall(r"pictures/(\w+)\.svg", "".join(path.read_text() for path in DOCS.rglob("*.md"))))
    assert shown == set(pictures.DRAWN)
    assert {path.stem for path in pictures.FOLDER.glob("*.svg")} == shown | {"favicon"}


@pytest.mark.parametrize("name", pictures.DRAWN)
def test_pictures_follow_the_theme(name):
    assert "prefers-color-scheme: dark" in (pictures.FOLDER / f"{name}.svg").read_text()

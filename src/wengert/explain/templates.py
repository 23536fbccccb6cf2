"""Files of HTML, CSS and JavaScript that pages are put together from."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files


@cache
def read_asset(package: str, name: str) -> str:
    """The contents of a file in the folder `assets` of a package."""
    return files(package).joinpath("assets", name).read_text(encoding="utf-8")


def fill_template(text: str, parts: Mapping[str, str]) -> str:
    """A template with its parts, which are called %%NAME%% in it. What is inserted is not searched for names.

    >>> fill_template("<p>%%TEXT%%</p>", {"TEXT": "%%TEXT%%"})
    '<p>%%TEXT%%</p>'
    """
    return "".join([parts[piece] if i % 2 else piece for i, piece in enumerate(text.split("%%"))])

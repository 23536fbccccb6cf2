"""Hooks of MkDocs (`mkdocs.yml` names this file): each does one thing to the site, with a module for what is long.

Pages that are generated here are in no repository, so they cannot become outdated.
"""

from __future__ import annotations

import re
import sys
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "src")]  # MkDocs runs this file by its path

from mkdocs.config.defaults import MkDocsConfig  # noqa: E402
from mkdocs.structure.files import File, Files, InclusionLevel  # noqa: E402
from mkdocs.structure.pages import Page  # noqa: E402

from tools.site import errors, explanations, formulas, notebooks, reference, sources  # noqa: E402


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are generated, and place all pages in the navigation."""
    for path, text in {**reference.pages(), **notebooks.files(), **explanations.files()}.items():
        files.append(File.generated(config, path, content=text))
    pages = [file.src_uri for file in files.documentation_pages()]
    if config.nav is not None:
        config.nav = expand(config.nav, pages, set(paths(config.nav)))
    for path, text in sources.pages(ROOT, pages).items():  # reached by links, not by the navigation
        files.append(File.generated(config, path, content=text, inclusion=InclusionLevel.NOT_IN_NAV))
    return files


def paths(nav: Any) -> list[str]:
    """The paths in a navigation, which is made of lists and of dictionaries with titles."""
    if isinstance(nav, str):
        return [nav]
    return [path for item in (nav.values() if isinstance(nav, dict) else nav) for path in paths(item)]


def expand(nav: list[Any], pages: list[str], placed: set[str]) -> list[Any]:
    """A navigation in which each `folder/*` is replaced by the pages that it stands for, and nothing is empty.

    >>> expand(["a.md", "*", {"More": ["b/*"]}, {"None": ["c/*"]}], ["a.md", "e.md", "b/f.md"], {"a.md"})
    ['a.md', 'e.md', {'More': ['b/f.md']}]
    """
    expanded: list[Any] = []
    for item in nav:
        if isinstance(item, str) and item.endswith("*"):
            expanded += sorted(page for page in pages if stands_for(item, page, placed))
        elif isinstance(item, str) or item:
            expanded += expand_titled(item, pages, placed) if isinstance(item, dict) else [item]
    return expanded


def stands_for(pattern: str, page: str, placed: set[str]) -> bool:
    """Whether a page is placed by a pattern, and by no name or longer pattern.

    >>> [stands_for("*", page, {"a.md", "*", "b_*"}) for page in ("a.md", "b_c.md", "d.md", "e/f.md")]
    [False, False, True, False]
    """
    matches = [other for other in placed | {pattern} if fnmatch(page, other) and other.count("/") == page.count("/")]
    return page not in placed and pattern == max(matches, key=len, default=None)


def expand_titled(item: dict[str, Any], pages: list[str], placed: set[str]) -> list[dict[str, Any]]:
    """An item with a title, in a list; no item if there is nothing below the title."""
    ((title, below),) = item.items()
    if isinstance(below, str):
        return [item]
    below = expand(below, pages, placed)
    return [{title: below}] if below else []


WEIGHTS = {
    "learn/*": 4,
    "howto/*": 4,
    "start.md": 4,
    "troubleshooting.md": 4,
    "coming_from_examples.md": 3,
    "errors.md": 2,
}
"""How much more a page counts in the search than one of the reference."""
LIGHT = ("benchmarks*", "design/*")
"""Pages that few readers look for."""


def weight(path: str) -> float:
    """How much a page counts in the search.

    >>> weight("learn/cost.md"), weight("compile.md"), weight("design/tape.md")
    (4, 1, 0.3)
    """
    if any(fnmatch(path, pattern) for pattern in LIGHT):
        return 0.3
    return next((number for pattern, number in WEIGHTS.items() if fnmatch(path, pattern)), 1)


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """Links out of docs/ lead to a page with the file, sessions are highlighted, chapters link to a notebook."""
    page.meta.setdefault("search", {"boost": weight(page.file.src_uri)})
    if page.file.src_uri == "errors.md":
        markdown = f"{markdown.rpartition('The site has')[0]}{errors.tables()}"
    markdown = sources.redirect(markdown, page.file.src_uri)
    markdown = re.sub(r"^```python\n(?=>>> )", "```pycon\n", markdown, flags=re.MULTILINE)
    markdown = re.sub(r"^<BLANKLINE>$", "", markdown, flags=re.MULTILINE)
    return notebooks.add_link(markdown, page.file.src_uri)


def on_page_content(html: str, **_: Any) -> str:
    """Formulas become MathML, which browsers set by themselves."""
    return formulas.typeset(html)


def on_post_page(output: str, page: Page, config: MkDocsConfig) -> str:
    """Beside each page there is its text, as Markdown."""
    target = Path(config.site_dir, page.file.dest_uri).with_suffix(".md")
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(page.markdown or "")
    return output

"""The site builds without a warning or the network; its links, code and search work; every public name is on a page."""

import json
import re
from html.parser import HTMLParser
from urllib.parse import unquote, urlsplit

import pytest

pytest.importorskip("material", reason="The site needs its extra: pip install wengert[docs]")
pytest.importorskip("latex2mathml", reason="The site needs its extra: pip install wengert[docs]")

from tests.site.built_site import ROOT, build_site
from tools.site import reference

import wengert as wg

pytestmark = pytest.mark.together("site")  # it is built once


@pytest.fixture(scope="module")
def site(request, tmp_path_factory):
    return build_site(request, tmp_path_factory)


class Page(HTMLParser):
    """What a page links to, what it loads, its anchors, and its blocks of code."""

    def __init__(self, text):
        super().__init__()
        self.links, self.loaded, self.anchors, self.blocks = [], [], set(), 0
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        self.anchors |= {found[name] for name in ("id", "name") if found.get(name)}
        if tag == "a" and "href" in found:
            self.links.append(found["href"])
        if tag in ("script", "img", "iframe") and found.get("src"):
            self.loaded.append(found["src"])
        if tag == "link" and found.get("rel") in ("stylesheet", "icon"):
            self.loaded.append(found["href"])
        self.blocks += tag == "pre"


@pytest.fixture(scope="module")
def pages(site):
    return {path: Page(path.read_text()) for path in site.rglob("*.html") if "explanations" not in path.parts}


def test_links_lead_somewhere(site, pages):
    broken = []
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or path.name == "404.html":
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            target = target / "index.html" if target.is_dir() else target
            in_page = target in pages and parts.fragment
            if not target.exists() or (in_page and unquote(parts.fragment) not in pages[target].anchors):
                broken.append(f"{path.relative_to(site)}: {link}")
    assert broken == []


def test_nothing_is_loaded_from_elsewhere(site, pages):
    for path, page in pages.items():
        assert [url for url in page.loaded if urlsplit(url).netloc] == [], path
    for sheet in (site / "stylesheets").glob("*.css"):
        assert "url(http" not in sheet.read_text()


def test_what_is_loaded_is_there(site, pages):
    for path, page in pages.items():
        if path.name != "404.html":
            assert [url for url in page.loaded if not (path.parent / urlsplit(url).path).exists()] == [], path


def test_blocks_of_code_are_blocks_on_the_page(pages, site):
    for source in (ROOT / "docs" / "learn").glob("*.md"):
        written = len(re.findall(r"^```\w", source.read_text(), re.MULTILINE))
        assert pages[site / "learn" / f"{source.stem}.html"].blocks >= written, source.name


def test_formulas_are_set(site):
    text = (site / "learn" / "four_ways.html").read_text()
    assert "<math" in text
    assert "arithmatex" not in text


def test_search_finds_names_errors_and_chapters(site):
    index = json.loads((site / "search" / "search_index.json").read_text())["docs"]
    for words, page in {
        "binomial": "learn/cost.html",
        "sparse_hessian": "reference/",
        "released by an earlier backward": "errors.html",
        "perturbation confusion": "learn/higher_orders.html",
    }.items():
        assert any(words in entry["text"] + entry["title"] and entry["location"].startswith(page) for entry in index), (
            words
        )
    assert (site / "search" / "search_index.js").exists(), "search from a folder needs the index as a script"


def test_every_public_name_has_an_entry(site):
    written = "".join(path.read_text() for path in (site / "reference").glob("*.html"))
    for module in [wg, *reference.namespaces()]:
        missing = [name for name in reference.names(module) if f'id="{reference.anchor(module, name)}"' not in written]
        assert missing == [], module.__name__


def test_every_page_is_there_as_markdown(site, pages):
    for path in pages:
        if path.name != "404.html":
            assert path.with_suffix(".md").exists(), path.relative_to(site)


def test_navigation_has_every_page_once(site):
    navigation = re.findall(r'href="([^"#]+\.html)" class="md-nav__link"', (site / "index.html").read_text())
    course = [path for path in navigation if path.startswith("learn/") and "index" not in path]
    assert (
        len(course) == len(set(course)) == len(list((ROOT / "docs" / "learn").glob("*.md"))) - 1
    )  # the first is the section itself

"""The site in a real browser, opened from its folder: no requests, search that finds, code that is copied as code."""

import re

import pytest

pytest.importorskip("playwright.sync_api", reason="The browser tests need Playwright: pip install playwright")
from tests.contrast import LOW_CONTRAST
from tests.site.built_site import build_site
from tools.site import screenshots

pytestmark = [
    pytest.mark.skipif(
        screenshots.CHROMIUM is None, reason="The browser tests need Chromium: apt-get install chromium"
    ),
    pytest.mark.together("site"),
]


@pytest.fixture(scope="module")
def site(request, tmp_path_factory):
    return build_site(request, tmp_path_factory)


@pytest.fixture
def page(browser):
    problems: list[str] = []
    opened = browser.new_page(viewport={"width": 1280, "height": 800})
    screenshots.watch(opened, problems)
    yield opened
    opened.close()
    assert problems == []


def test_search_finds_from_a_folder(site, page):
    page.goto((site / "learn" / "cost.html").as_uri())
    page.keyboard.press("s")  # the key that opens the search
    page.keyboard.type("perturbation confusion")
    page.wait_for_selector(".md-search-result__item")
    assert "Keeping the levels apart" in page.inner_text(".md-search-result__list")


def test_the_button_copies_code_alone(site, page):
    page.goto((site / "index.html").as_uri())
    block = page.locator("pre code", has_text="wg.grad").first
    block.evaluate("element => element.setAttribute('data-md-copying', '')")
    lines = block.inner_text().split("\n")
    assert lines[0].strip() == "import numpy as np"
    assert not [line for line in lines if re.match(r">>>|\(np\.float64", line.strip())]


@pytest.mark.parametrize(
    "name", ["index", "learn/chain_rule", "howto/which_mode", "gallery/index", "reference/wg_transforms"]
)
@pytest.mark.parametrize("device", screenshots.SIZES)
def test_pages_fit_the_window(site, page, name, device):
    width, height = screenshots.SIZES[device]
    page.set_viewport_size({"width": width, "height": height})
    page.goto((site / f"{name}.html").as_uri())
    assert not page.evaluate("document.documentElement.scrollWidth > innerWidth")


@pytest.mark.parametrize("name", ["start", "learn/chain_rule"])
def test_traces_fit_a_laptop(site, page, name):
    page.goto((site / f"{name}.html").as_uri())
    blocks = page.locator("pre code", has_text="evaluation ↓")
    assert blocks.count() >= 1
    assert blocks.evaluate_all("blocks => blocks.filter((b) => b.scrollWidth > b.clientWidth).length") == 0


def test_graphs_can_be_read_on_a_phone(site, page):
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto((site / "start.html").as_uri())
    assert page.locator("img[src$='graph.svg']").bounding_box()["width"] > 600


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_contrast_is_aa(site, page, scheme):
    page.emulate_media(color_scheme=scheme)
    for name in ("index", "learn/four_ways", "howto/which_mode", "gallery/lens_design"):
        page.goto((site / f"{name}.html").as_uri())
        assert page.evaluate(LOW_CONTRAST) == [], name


def test_pictures_follow_the_button_of_the_site(site, page):
    """A picture has the colours of the page's theme, which the reader may set apart from that of the system."""
    page.emulate_media(color_scheme="light")
    page.goto((site / "learn" / "higher_orders.html").as_uri())
    picture = page.locator("img[src*='orders.svg']")
    light = picture.screenshot()
    page.click("label[title='Dark']")
    page.wait_for_selector("body[data-md-color-scheme=slate]")
    assert picture.screenshot() != light


def test_explanations_follow_the_button_of_the_site(site, page):
    page.emulate_media(color_scheme="light")
    page.goto((site / "learn" / "control_flow.html").as_uri())
    page.locator("iframe.explanation").scroll_into_view_if_needed()
    frame = page.frame_locator("iframe.explanation")
    frame.locator("html[data-theme=light]").wait_for()
    page.click("label[title='Dark']")
    frame.locator("html[data-theme=dark]").wait_for()


@pytest.mark.parametrize("device", screenshots.SIZES)
def test_pictures_of_the_gallery_can_be_seen(site, page, device):
    width, height = screenshots.SIZES[device]
    page.set_viewport_size({"width": width, "height": height})
    page.goto((site / "gallery" / "index.html").as_uri())
    boxes = [picture.bounding_box() for picture in page.locator("td img").all()]
    assert len(boxes) >= 24
    assert all(box["width"] > 250 and box["x"] + box["width"] <= width for box in boxes)


def test_answers_open_with_the_keyboard(site, page):
    page.goto((site / "learn" / "four_ways.html").as_uri())
    answer = page.locator("details").first
    assert answer.get_attribute("open") is None
    answer.locator("summary").focus()
    page.keyboard.press("Enter")
    assert answer.get_attribute("open") is not None

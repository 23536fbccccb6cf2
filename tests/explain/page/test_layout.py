"""The page of an explanation in a real browser: nothing overlaps or is cut off, and long programs stay usable."""

import itertools
import re

import pytest
from tests.explain.browsers import SIZES
from tests.explain.page.shown_pages import BACK, CASES, at, boxed, rectangles

from wengert.explain.explanation import explain


def overlapping(found, slack=0.5):
    return [
        (p, q)
        for p, q in itertools.combinations(found, 2)
        if p[0] < q[2] - slack and q[0] < p[2] - slack and p[1] < q[3] - slack and q[1] < p[3] - slack
    ]


def test_both_equations_fit_one_line(show):
    page = show("network")
    clipped = "spans => spans.filter((s) => s.scrollWidth > s.clientWidth).map((s) => s.textContent)"
    for moment in range(int(page.get_attribute("#time", "max"))):
        at(page, moment)
        assert page.locator("#equation span").evaluate_all(clipped) == []
    assert show("network", "phone").locator("#result").evaluate("e => e.scrollWidth <= e.clientWidth")


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", CASES)
def test_nothing_overlaps(show, name, size):
    page = show(name, size)
    width, height = SIZES[size]
    last = int(page.get_attribute("#time", "max"))
    for time_ in (0, 1, last // 3, 2 * last // 3, last - 1, last):
        at(page, time_)
        reach = page.evaluate("[document.documentElement.scrollWidth, document.documentElement.scrollHeight]")
        assert reach[0] == width
        assert reach[1] == height or size == "phone"  # a phone scrolls below the player
        for together in (
            ".bar, .now, .panel, .player" if size == "desktop" else ".bar, .now, .panel",
            ".bar > *",
            ".player button, #time, .speed, #count, .hint",
            ".panel-head > *",
            ".box",
        ):
            assert not overlapping(rectangles(page, together)), (time_, together)
        for left, top, right, bottom in rectangles(page, ".bar, .now, .panel, .player, .player button, .bar button"):
            assert left >= 0
            assert top >= 0
            assert right <= width
            assert bottom <= reach[1]
        assert not spilled(page), time_
        assert page.evaluate(
            "(n => n.scrollHeight <= n.clientHeight && n.scrollWidth <= n.clientWidth)(document.querySelector('.now'))"
        )


def spilled(page):
    """Texts of boxes that reach beyond their frames or into one another."""
    return page.evaluate(
        """() => [...document.querySelectorAll('.box')].flatMap(box => {
            const frame = box.querySelector('.frame:last-of-type, .frame').getBoundingClientRect();
            const texts = [...box.querySelectorAll('text')].filter(t => t.textContent);
            const spills = r => r.left < frame.left || r.right > frame.right + 1;
            const out = texts.filter(t => spills(t.getBoundingClientRect()));
            const crossed = texts.flatMap((t, i) => texts.slice(i + 1).filter(u => {
                const p = t.getBoundingClientRect(), q = u.getBoundingClientRect();
                const sameLine = Math.abs(p.bottom - q.bottom) < 3;
                return sameLine && p.left < q.right && q.left < p.right;
            }));
            return [...out, ...crossed].map(t => t.textContent);
        })"""
    )


@pytest.mark.parametrize("size", SIZES)
def test_the_result_of_the_running_example_is_never_cut_off(show, size):
    page = show("reverse", size)
    page.keyboard.press("End")
    assert (
        page.evaluate(
            "[...document.querySelectorAll('td .number, th .title')].filter(e => e.scrollWidth > e.clientWidth).length"
        )
        == 0
    )
    assert {text for text in boxed(page, "value").values() if "…" in text} == set()
    sizes = page.evaluate(
        "[...document.querySelectorAll('.box text')].map(t => parseFloat(getComputedStyle(t).fontSize) * "
        "t.getScreenCTM().a)"
    )
    assert min(sizes) >= 10.9


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", SIZES)
def test_light_and_dark_can_be_read(show, scheme, size):
    page = show("both", size, scheme)
    at(page, BACK + 7)
    assert luminance(page, "body")[1] == pytest.approx(0.93 if scheme == "light" else 0.01, abs=0.06)
    for selector in (
        "h1",
        "#phase",
        "#equation",
        "#sum",
        "td.value .number",
        "td.tangent .number",
        "td.adjoint .number",
        ".formula",
        "#count",
        ".block code",
        ".block h3",
        ".legend",
    ):
        ink, paper = luminance(page, selector)
        contrast = (max(ink, paper) + 0.05) / (min(ink, paper) + 0.05)
        assert contrast >= 4.5, selector
    page.keyboard.press("t")
    assert luminance(page, "body")[1] == pytest.approx(0.01 if scheme == "light" else 0.93, abs=0.06)
    page.click("#theme")
    assert luminance(page, "body")[1] == pytest.approx(0.93 if scheme == "light" else 0.01, abs=0.06)


def luminance(page, selector):
    """Of an element's colour, and of what is behind it."""
    return page.evaluate(
        """selector => {
            const element = document.querySelector(selector);
            let behind = element;
            const clear = e => getComputedStyle(e).backgroundColor.endsWith(', 0)');
            while (behind.parentElement && clear(behind)) behind = behind.parentElement;
            const light = text => {
                const linear = c => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
                const [r, g, b] = text.match(/[\\d.]+/g).map(c => linear(Number(c) / 255));
                return 0.2126 * r + 0.7152 * g + 0.0722 * b;
            };
            return [light(getComputedStyle(element).color), light(getComputedStyle(behind).backgroundColor)];
        }""",
        selector,
    )


def test_ten_thousand_operations_stay_usable(show):
    page = show("many")
    last = int(page.get_attribute("#time", "max"))
    assert last > 20_000
    for part in range(5):
        at(page, part * last // 5)
        assert page.locator("#body tr").count() < 60  # a step costs what it shows, not what there is
        assert page.locator(".box").count() < 10
    at(page, last // 2)
    page.locator(".box.group").first.click()
    assert page.locator("#collapse").is_visible()
    assert 6 <= page.locator(".box").count() < 12  # one step of the loop, and what it reads
    assert re.match(r"step \d+ of 2000, loop, line \d+, many", page.inner_text("#graph-note"))
    assert not overlapping(rectangles(page, ".box"))
    page.keyboard.press("End")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Escape")
    assert page.locator(".box.group").count() > 0
    page.locator(".box.group").first.focus()
    page.keyboard.press("Enter")
    assert page.locator(".box.group").count() == 0
    page.click("#collapse")
    assert page.locator(".box.group").count() > 0


def test_a_line_that_runs_again_and_again_opens_to_a_window(show):
    page = show("irregular")
    page.locator(".box.group").first.click()
    assert 24 <= page.locator(".box").count() < 80
    assert page.inner_text("#graph-note").endswith(": operations 1 to 24 of 800")
    assert not overlapping(rectangles(page, ".box"))


def test_the_table_of_a_long_program_follows_and_scrolls(show):
    page = show("many")
    at(page, 5000)
    assert page.locator("tr.current").get_attribute("data-step") == "4999"
    (row,), (room,) = rectangles(page, "tr.current"), rectangles(page, "#rows")
    assert room[1] <= row[1]
    assert row[3] <= room[3]
    page.evaluate("document.getElementById('rows').scrollTop = 0")
    page.wait_for_function("document.querySelector('#body tr[data-step=\"0\"]') !== null")


def test_hostile_names_are_only_text(browser, tmp_path):
    def f(arguments):
        (x,) = arguments.values()
        return x * len("</script><script>alert(2)</script>")

    name = "<img src=x onerror=alert(1)></script><script>alert(1)</script>"
    f.__name__ = name
    explain(f, {name: 2.0}).html(tmp_path / "hostile.html")
    page = browser.new_page()
    complaints = []
    page.on("dialog", lambda dialog: (complaints.append(dialog.message), dialog.dismiss()))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto((tmp_path / "hostile.html").as_uri())
    page.keyboard.press("End")
    page.locator(".box").first.hover()
    assert name in page.inner_text("h1")
    assert page.locator("img").count() == 0
    assert not complaints
    page.close()

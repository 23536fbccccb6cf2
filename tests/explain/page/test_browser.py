"""The page of an explanation in a real browser: what it shows at each step, by which keys and gestures, and that
nothing overlaps.
"""

import itertools
import re

import numpy as np
import pytest
from tests.explain.browsers import SIZES
from tests.explain.textbook import running

from wengert.explain.explanation import explain

BACK = 8
"""The first frame of the way back in the running example: the start, two inputs and five operations come before it."""


def network(weights, bias, x):
    data = np.linspace(0.0, 1.0, 8)
    hidden = np.tanh(weights @ x + bias) * data
    return np.sum(hidden**2)


def rounds(x):
    y = x
    for _ in range(12):
        y = np.sin(y) * x + np.cos(y)
    return y


def many(x):
    y = x
    for _ in range(2000):
        z = 1 - y
        w = 2.9 * y
        w = w * z
        y = 0.5 * w + 0.5 * y
    return y


def irregular(x):
    y = x
    for i in range(400):
        y = (np.sin(y) if i * i % 7 % 3 else np.cos(y)) * x
    return y


CASES = {
    "reverse": lambda: explain(running, 2.0, 5.0),
    "both": lambda: explain(running, 2.0, 5.0, mode="both"),
    "forward": lambda: explain(running, 2.0, 5.0, mode="forward"),
    "network": lambda: explain(network, np.ones((8, 3)), np.arange(8.0), np.arange(3.0), mode="both"),
    "rounds": lambda: explain(rounds, 0.4),
    "many": lambda: explain(many, 0.3),
    "irregular": lambda: explain(irregular, 0.4),
}


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """The file of a case, written when it is first asked for."""
    folder = tmp_path_factory.mktemp("pages")

    def path(name):
        file = folder / f"{name}.html"
        if not file.exists():
            CASES[name]().html(file)
        return file

    return path


@pytest.fixture
def show(open_page, pages):
    """Open a case at a size."""
    return lambda name, *args, **options: open_page(pages(name).as_uri(), *args, **options)


def at(page, frame):
    page.evaluate(
        "frame => { const s = document.getElementById('time'); s.value = frame; s.dispatchEvent(new Event('input')); }",
        frame,
    )


def frame(page):
    return int(page.input_value("#time"))


def numbers(page, column):
    """The numbers of a column of the table, by the names of the rows."""
    rows = page.locator("#body tr[data-step]").all()
    return {row.locator("th .title").inner_text(): row.locator(f"td.{column} .number").inner_text() for row in rows}


def boxed(page, part):
    boxes = page.locator(".box").all()
    return {box.locator(".title").text_content(): box.locator(f".{part}").text_content() for box in boxes}


def rectangles(page, selector):
    """Of what can be seen: left, top, right, bottom."""
    return page.evaluate(
        """selector => [...document.querySelectorAll(selector)]
            .filter(e => e.checkVisibility()).map(e => e.getBoundingClientRect())
            .filter(r => r.width && r.height).map(r => [r.left, r.top, r.right, r.bottom])""",
        selector,
    )


def overlapping(found, slack=0.5):
    return [
        (p, q)
        for p, q in itertools.combinations(found, 2)
        if p[0] < q[2] - slack and q[0] < p[2] - slack and p[1] < q[3] - slack and q[1] < p[3] - slack
    ]


VALUES = {"v-1": "2", "v0": "5", "v1": "0.693", "v2": "10", "v3": "-0.959", "v4": "10.693", "v5": "11.652"}
ADJOINTS = {"v-1": "5.5", "v0": "1.716", "v1": "1", "v2": "1", "v3": "-1", "v4": "1", "v5": "1"}
TANGENTS = {"v-1": "1", "v0": "0", "v1": "0.5", "v2": "5", "v3": "0", "v4": "5.5", "v5": "5.5"}


def test_values_appear_as_they_are_computed_and_go_again(show):
    page = show("reverse")
    names = list(VALUES)
    there = range(len(names) + 1)
    for key, walk in (("ArrowRight", there), ("ArrowLeft", reversed(there))):
        for known in walk:
            expected = {name: VALUES[name] if i < known else "" for i, name in enumerate(names)}
            assert numbers(page, "value") == expected
            assert boxed(page, "value") == expected
            assert set(numbers(page, "adjoint").values()) == {""}
            if known != (len(names) if key == "ArrowRight" else 0):
                page.keyboard.press(key)


def test_adjoints_arrive_term_by_term(show):
    page = show("reverse")
    page.keyboard.press("b")
    assert frame(page) == BACK
    arriving = [
        ("v5", "1"),
        ("v4", "1"),
        ("v3", "-1"),
        ("v0", "-0.284"),
        ("v1", "1"),
        ("v2", "1"),
        ("v-1", "5"),
        ("v0", "1.716"),
        ("v-1", "5.5"),
    ]
    known = dict.fromkeys(VALUES, "")
    for name, total in arriving:
        known[name] = total
        assert numbers(page, "adjoint") == known
        assert {n: t.rpartition(" ")[2] for n, t in boxed(page, "adjoint").items()} == known
        page.keyboard.press("ArrowRight")
    assert known == ADJOINTS
    assert page.inner_text("#equation") == "∂running/∂x1 = 5.5, ∂running/∂x2 = 1.716"


def test_the_sum_over_paths_is_shown_where_it_happens(show):
    page = show("reverse")
    at(page, BACK + 3)
    assert page.inner_text("#equation") == "v̄0 = v̄3 · cos v0 = -1 · cos 5 = -0.284"
    assert page.inner_text("#sum") == "path 1 of 2"
    assert page.locator("tr[data-step='1'] .paths").inner_text() == "1/2"
    assert page.locator(".box[data-step='1'] .pip.in").count() == 1
    at(page, BACK + 7)
    assert page.inner_text("#equation") == "v̄0 gains v̄2 · v-1 = 1 · 2 = 2"
    assert page.inner_text("#sum") == "v̄0 = -0.284 + 2 = 1.716 · path 2 of 2"
    assert page.locator("tr[data-step='1'] td.adjoint .numbers").inner_text() == "-0.284 + 2 ="
    assert page.locator(".box[data-step='1'] .pip.in").count() == 2


def test_tangents_are_computed_along_with_values(show):
    page = show("forward")
    at(page, 3)
    assert [numbers(page, c)["v2"] for c in ("value", "tangent")] == ["", ""]
    page.keyboard.press("ArrowRight")
    at(page, 5)
    assert [numbers(page, c)["v3"] for c in ("value", "tangent")] == ["-0.959", "0"]
    assert page.inner_text("#sum") == "v̇3 = v̇0 · cos v0 = 0 · cos 5 = 0"
    page.keyboard.press("End")
    assert numbers(page, "value") == VALUES
    assert numbers(page, "tangent") == TANGENTS
    assert page.locator("th.adjoint").count() == 0


def test_both_sweeps_run_at_the_same_time(show):
    page = show("both")
    assert page.locator("#legend span").all_inner_texts() == ["input", "tangent", "adjoint"]
    at(page, BACK - 1)
    assert numbers(page, "value") == VALUES
    assert set(numbers(page, "tangent").values()) == set(numbers(page, "adjoint").values()) == {""}
    at(page, BACK + 2)  # downward to v1, and upward from v5 to v3
    assert page.inner_text("#phase") == "Both sweeps"
    assert page.inner_text("#equation .tangent") == "v̇1 = v̇-1 / v-1 = 1 / 2 = 0.5"
    assert page.inner_text("#equation .adjoint") == "v̄3 = v̄5 · (-1) = 1 · (-1) = -1"
    assert page.locator(".box.moves").get_attribute("data-step") == "2"
    assert page.locator(".box.receives").get_attribute("data-step") == "4"
    assert page.locator(".edge.lit.forward").count() == page.locator(".edge.lit.back").count() == 1
    assert page.locator("tr.moves").get_attribute("data-step") == "2"
    assert [name for name, number in numbers(page, "tangent").items() if number] == ["v-1", "v0", "v1"]
    assert [name for name, number in numbers(page, "adjoint").items() if number] == ["v3", "v4", "v5"]
    page.keyboard.press("End")
    assert numbers(page, "tangent") == boxed(page, "tangent") == TANGENTS
    assert numbers(page, "adjoint") == boxed(page, "adjoint") == ADJOINTS


def test_both_equations_fit_one_line(show):
    page = show("network")
    clipped = "spans => spans.filter((s) => s.scrollWidth > s.clientWidth).map((s) => s.textContent)"
    for moment in range(int(page.get_attribute("#time", "max"))):
        at(page, moment)
        assert page.locator("#equation span").evaluate_all(clipped) == []
    assert show("network", "phone").locator("#result").evaluate("e => e.scrollWidth <= e.clientWidth")


def test_a_sweep_that_is_longer_goes_on_alone(show_html):
    page = show_html(explain(lambda x, unused: 2.0 * x, 1.0, 3.0, mode="both"))
    at(page, int(page.get_attribute("#time", "max")) - 1)
    assert page.inner_text("#equation").strip() == "v̇1 = v̇-1 · 2 = 1 · 2 = 2"
    assert page.inner_text("#words") == "Down: v1 changes at the rate 2."
    assert page.locator(".box.moves").get_attribute("data-step") == "2"


@pytest.mark.parametrize("size", SIZES)
def test_the_current_operation_is_marked_in_graph_table_and_program(show, size):
    page = show("reverse", size)
    marks = {
        1: "x1",
        3: "np.log(x1)",
        4: "x1 * x2",
        5: "np.sin(x2)",
        6: "np.log(x1) + x1 * x2",
        BACK + 3: "np.sin(x2)",
        BACK + 7: "x1 * x2",
    }
    for time_, text in marks.items():
        at(page, time_)
        step = time_ - 1 if time_ < BACK else {BACK + 3: 4, BACK + 7: 3}[time_]
        assert page.locator(".box.current").get_attribute("data-step") == str(step)
        assert page.locator("tr.current").get_attribute("data-step") == str(step)
        assert page.locator("tr.current").get_attribute("aria-current") == "step"
        assert page.inner_text("mark") == text
        assert page.locator(".edge.lit").count() == (0 if time_ == 1 else 1 if time_ >= BACK or step in (2, 4) else 2)
    assert page.locator(".box.receives").get_attribute("data-step") == "1"
    assert page.locator(".label").text_content() == "× 2"


def test_keys(show):
    page = show("reverse")
    last = int(page.get_attribute("#time", "max"))
    for key, expected in [
        ("ArrowRight", 1),
        ("ArrowRight", 2),
        ("ArrowLeft", 1),
        ("End", last),
        ("ArrowRight", last),
        ("b", BACK),
        ("Home", 0),
        ("ArrowLeft", 0),
    ]:
        page.keyboard.press(key)
        assert frame(page) == expected, key
    assert page.locator(".hint kbd").first.is_visible()
    page.keyboard.press("?")
    assert page.locator("#keys").is_visible()
    page.keyboard.press("Escape")
    assert not page.locator("#keys").is_visible()


def test_keys_work_wherever_the_focus_is(show):
    page = show("reverse")
    for focused in ("#time", "#rows", "#listing", "#theme", "#play"):
        at(page, 3)
        page.focus(focused)
        page.keyboard.press("ArrowRight")
        assert frame(page) == 4, focused


def test_space_plays_to_the_end_and_pauses(show):
    page = show("reverse")
    page.select_option("#speed", "16")
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("Space")
    assert page.get_attribute("#play", "aria-label") == "Pause"
    page.wait_for_function("document.getElementById('time').value === document.getElementById('time').max")
    assert page.get_attribute("#play", "aria-label") == "Play"
    page.select_option("#speed", "0.5")
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("Space")
    page.keyboard.press("Space")
    assert page.get_attribute("#play", "aria-label") == "Play"
    assert frame(page) < 3


@pytest.mark.parametrize("size", SIZES)
def test_buttons_and_drag(show, size):
    page = show("both", size)
    last = int(page.get_attribute("#time", "max"))
    for button, expected in [("next", 1), ("next", 2), ("previous", 1), ("last", last), ("first", 0)]:
        page.click(f"#{button}")
        assert frame(page) == expected
    box = page.locator("#time").bounding_box()
    middle = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + 8, middle)
    page.mouse.down()
    seen = []
    for part in (0.25, 0.5, 0.75, 1.0):
        page.mouse.move(box["x"] + part * box["width"] - 2, middle, steps=4)
        seen.append(frame(page))
    page.mouse.up()
    assert seen == sorted(seen)
    assert 0 < seen[0] < seen[1] < seen[2] < seen[3] == last
    assert numbers(page, "adjoint")["v0" if size == "desktop" else "v-1"] in ("1.716", "5.5")


def test_hover_and_focus_show_the_local_derivative(show):
    page = show("reverse")
    at(page, 5)
    edge = page.locator('.hit[aria-label="Edge from v0 to v3"]')
    page.mouse.move(*middle_of(edge))
    assert page.inner_text("#tip").splitlines()[0] == "∂v3/∂v0 = 0.284"
    page.mouse.move(5, 5)
    assert not page.locator("#tip").is_visible()
    page.keyboard.press("End")
    page.locator("#zoom-fit").focus()
    page.keyboard.press("Tab")
    assert page.locator(".hit:focus").count() == 1
    assert page.inner_text("#tip").startswith("∂")
    page.locator(".box[data-step='1']").hover()
    assert "v̄0 = v̄3 · cos v0 + v̄2 · v-1 = -0.284 + 2 = 1.716" in page.inner_text("#tip")


def middle_of(edge):
    """The point halfway along a curve."""
    return edge.evaluate(
        """path => {
            const at = path.getPointAtLength(path.getTotalLength() / 2).matrixTransform(path.getScreenCTM());
            return [at.x, at.y];
        }"""
    )


def test_tap_shows_the_local_derivative(show):
    page = show("reverse", "phone", has_touch=True, is_mobile=True)
    at(page, 8)
    page.locator(".box[data-step='3']").tap()
    assert "∂v2/∂v-1 = 5" in page.inner_text("#tip").splitlines()
    ((left, top, right, bottom),) = rectangles(page, "#tip")
    assert left >= 0
    assert top >= 0
    assert right <= 390
    assert bottom <= 844


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


def test_what_happens_is_announced_unless_it_plays(show):
    page = show("reverse")
    assert page.get_attribute("#equation", "aria-live") == "polite"
    page.click("#play")
    assert page.get_attribute("#equation", "aria-live") == "off"
    page.click("#play")
    assert page.get_attribute("#equation", "aria-live") == "polite"
    assert page.locator("h1, h2, main, header, footer, table, th[scope=col], th[scope=row]").count() > 10

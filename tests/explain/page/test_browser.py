"""The page of an explanation in a real browser: what it shows at each step, by which keys and gestures."""

import pytest
from tests.explain.browsers import SIZES
from tests.explain.page.shown_pages import BACK, at, boxed, numbers, rectangles

from wengert.explain.explanation import explain


def frame(page):
    return int(page.input_value("#time"))


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


def test_what_happens_is_announced_unless_it_plays(show):
    page = show("reverse")
    assert page.get_attribute("#equation", "aria-live") == "polite"
    page.click("#play")
    assert page.get_attribute("#equation", "aria-live") == "off"
    page.click("#play")
    assert page.get_attribute("#equation", "aria-live") == "polite"
    assert page.locator("h1, h2, main, header, footer, table, th[scope=col], th[scope=row]").count() > 10

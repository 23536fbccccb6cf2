"""`wengert play` in a browser: the formula is edited, errors keep the picture, dragged inputs are kept."""

import threading

import pytest

from wengert.explain.play.server import PlayServer


@pytest.fixture
def play(open_page):
    """Serve a formula and open its page."""
    started = []

    def opened(formula, size="desktop", **values):
        server = PlayServer({"formula": formula, "values": values, "mode": "reverse"})
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        started.append((server, thread))
        page = open_page(server.address, size, ready="iframe:not(.waiting)")
        return page, page.frame_locator("iframe:not(.waiting)")

    yield opened
    for server, thread in started:
        server.shutdown()
        server.server_close()
        thread.join()


def test_editing_the_formula_changes_the_picture(play):
    page, inner = play("ln(x1) + x1*x2 - sin(x2)", x1=2.0, x2=5.0)
    inner.locator("#result", has_text="= 11.652").wait_for()
    page.fill("#formula", "x1 * x2")
    inner.locator("#result", has_text="= 10").wait_for()
    page.select_option("#mode", "hvp")
    inner.locator("#name", has_text="∇f").wait_for()


def test_a_formula_that_does_not_parse_keeps_the_picture_and_points(play):
    page, inner = play("x1 * x2", x1=2.0, x2=5.0)
    inner.locator("#result", has_text="= 10").wait_for()
    page.fill("#formula", "x1 * sinn(x2)")
    page.locator("#problem").wait_for()
    assert page.inner_text("#problem").splitlines()[0].rstrip() == "     ^^^^"
    assert "no function 'sinn'" in page.inner_text("#problem")
    assert page.get_attribute("#formula", "aria-invalid") == "true"
    assert inner.locator("#result").inner_text() == "= 10"
    page.fill("#formula", "x1 * sin(x2)")
    page.locator("#problem").wait_for(state="hidden")
    inner.locator("#result", has_text="-1.918").wait_for()


def test_the_picture_of_a_formula_is_shown_if_the_next_one_is_wrong_before_it_is_there(play):
    page, inner = play("x1 * x2", x1=2.0, x2=5.0)
    page.evaluate(
        """() => {
            for (const text of ["x1 + x2", "x1 +"]) {
                document.getElementById("formula").value = text;
                document.getElementById("mode").dispatchEvent(new Event("change"));
            }
        }"""
    )
    page.locator("#problem").wait_for()
    inner.locator("#result", has_text="= 7").wait_for()
    assert page.locator("#problem").is_visible()


def test_a_formula_with_html_is_shown_as_text(play):
    page, inner = play("x", x=2.0)
    inner.locator("#result", has_text="= 2").wait_for()
    page.fill("#formula", "<img src=x onerror=alert(1)>")
    page.locator("#problem").wait_for()
    assert page.locator("#problem img").count() == 0


def test_dragged_inputs_are_kept(play):
    page, inner = play("x * y", x=2.0, y=3.0)
    inner.get_by_role("spinbutton", name="x", exact=True).fill("4")
    inner.locator("#result", has_text="= 12").wait_for()
    page.fill("#formula", "x * y + 1")
    inner.locator("#result", has_text="= 13").wait_for()

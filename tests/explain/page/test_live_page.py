"""The page that lives: inputs that are dragged, arrays that are seen, search, links, pictures, costs and words."""

import re
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest
from tests.contrast import LOW_CONTRAST
from tests.explain.browsers import SIZES
from tests.explain.page.shown_pages import at, numbers
from tests.explain.textbook import running

import wengert as wg
from wengert.explain.explanation import explain
from wengert.explain.tables.numbers import format_number, format_value

DATA = np.linspace(-1.0, 1.0, 6).reshape(3, 2)


def branching(x):
    y = x * x
    if y > 3.0:
        y = np.sin(y)
    return y * x


def layer(w, b):
    h = np.tanh(DATA @ w + b)
    return np.sum(h, axis=0) @ h[0]


def set_input(page, name, value):
    page.get_by_role("spinbutton", name=name, exact=True).fill(str(value))


def drag(page, index, part):
    """Drag the thumb of a slider to a part of its length."""
    box = page.locator("#inputs-list input[type=range]").nth(index).bounding_box()
    middle = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + box["width"] / 2, middle)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * part, middle, steps=6)
    page.mouse.up()


@pytest.mark.parametrize("size", ["desktop", "phone"])
def test_dragging_an_input_recomputes_everything(show_html, size):
    page = show_html(explain(running, 2.0, 5.0, mode="both"), size)
    page.keyboard.press("End")
    curve = page.get_attribute("#plot .curve", "d")
    tangent = page.get_attribute("#plot .slope", "d")
    drag(page, 0, 0.7)
    x = float(page.get_by_role("spinbutton", name="x1", exact=True).input_value())
    assert 2.5 < x < 5.0
    expected = explain(running, x, 5.0, mode="both")
    assert page.inner_text("#result") == f"= {format_number(expected.steps[-1].value)}"
    assert page.get_attribute("#plot .curve", "d") == curve
    assert page.get_attribute("#plot .slope", "d") != tangent
    assert f"slope {format_number(5.0 + 1 / x)}" in page.inner_text("#plot-note") or size == "phone"
    for column, of in (("value", expected.recording.values), ("adjoint", expected.adjoints.values)):
        for title, number in numbers(page, column).items():
            node = next(step.node for step in expected.steps if step.label == title)
            assert number == format_value(of[node])
    boxes = page.locator(".box .value").all_text_contents()
    assert boxes == [format_value(step.value) for step in expected.steps]
    page.click("#reset")
    assert page.inner_text("#result") == "= 11.652"
    assert page.locator("#reset").is_hidden()


def test_formulas_in_numbers_follow_the_inputs(show_html):
    page = show_html(explain(running, 2.0, 5.0))
    set_input(page, "x1", 3)
    set_input(page, "x2", -1)
    at(page, 4)
    assert page.inner_text("#equation") == "v2 = v-1 × v0 = 3 × (-1) = -3"
    at(page, 7)
    assert page.inner_text("#equation") == "v5 = v4 - v3 = -1.901 - (-0.841) = -1.060"
    page.keyboard.press("b")
    assert page.locator(".label").count() == 0
    at(page, 11)
    assert page.locator(".label").text_content() == f"× {format_number(np.cos(-1.0))}"


def test_arrow_keys_move_a_slider_by_steps(show_html):
    page = show_html(explain(running, 2.0, 5.0))
    page.locator("#inputs-list input[type=range]").first.focus()
    page.keyboard.press("ArrowRight")
    assert page.get_by_role("spinbutton", name="x1", exact=True).input_value() == "2.02"
    assert int(page.input_value("#time")) == 0


def test_a_path_that_would_change_is_announced(show_html):
    page = show_html(explain(branching, 2.0))
    assert page.locator("#path").is_hidden()
    set_input(page, "x", 1.5)
    line = branching.__code__.co_firstlineno + 2
    assert f"another path (line {line})" in page.inner_text("#path")
    set_input(page, "x", 1.9)
    assert page.locator("#path").is_hidden()


def test_a_loop_that_would_run_longer_is_announced(show_html):
    def doubling(x):
        y = x
        while y < 100.0:
            y = y * 2.0
        return y

    page = show_html(explain(doubling, 3.0))
    set_input(page, "x", 7.0)
    assert "another path" in page.inner_text("#path")


def test_arrays_recompute_and_are_drawn(show_html):
    w, b = np.array([[0.3, -0.4], [0.5, 0.9]]), np.zeros(2)
    page = show_html(explain(layer, w, b))
    page.keyboard.press("End")
    assert page.locator("#inputs-list .input-row").count() == 6
    set_input(page, "w[0, 1]", 2)
    w[0, 1] = 2.0
    expected = explain(layer, w, b)
    assert page.inner_text("#result") == f"= {format_number(expected.steps[-1].value)}"
    gradient = expected.adjoints.values[expected.inputs[0].node]
    page.locator("tr[data-step='0'] td.adjoint .heat").click()
    shown = [float(text) for text in page.locator("#numbers-body td").all_inner_texts()]
    np.testing.assert_allclose(shown, gradient.ravel(), rtol=1e-2, atol=1e-3)
    assert page.inner_text("#numbers-title") == "grad_w, shape 2×2"
    page.keyboard.press("Escape")
    assert not page.locator("#numbers").is_visible()


def test_shapes_and_captured_arrays_are_named(show_html):
    page = show_html(explain(layer, np.ones((2, 2)), np.zeros(2)))
    at(page, 3)
    assert page.inner_text("#equation").startswith("v1 = DATA w")
    assert "DATA of shape 3 by 2 and w of shape 2 by 2" in page.get_attribute("#sketch svg", "aria-label")
    assert page.locator("#sketch .inner").count() == 2
    assert "3×2" in page.locator(".box.data").text_content()
    titles = page.locator("#body .title").all_inner_texts()
    sums = titles.index("v4") if "v4" in titles else 5
    at(page, sums + 1)
    assert page.locator("#sketch .hatch").count() > 0


def test_inputs_that_are_not_finite_can_be_changed(show_html):
    page = show_html(explain(lambda x, y: np.exp(-x) * y, np.inf, np.nan))
    page.keyboard.press("End")
    assert page.inner_text("#result") == "= nan"
    set_input(page, "x", 0)
    set_input(page, "y", 3)
    assert page.inner_text("#result") == "= 3"


def test_a_function_that_cannot_be_recomputed_says_why_and_plays(show_html):
    page = show_html(explain(lambda a: np.linalg.det(wg.linalg.inv(a)), np.eye(3) * 2.0))
    assert "cannot be changed here" in page.inner_text("#inputs-list")
    page.keyboard.press("End")
    assert page.inner_text("#result") == "= 0.125"


def test_a_large_function_says_why_it_is_not_recomputed(show_html):
    def long(x):
        for _ in range(600):
            x = np.sin(x) * 1.5
        return x

    page = show_html(explain(long, 0.3))
    assert "more than 1,000 operations" in page.inner_text("#inputs-list")
    page.keyboard.press("ArrowRight")
    assert page.input_value("#time") == "1"


def test_search_goes_from_hit_to_hit(show_html):
    page = show_html(explain(running, 2.0, 5.0))
    page.keyboard.press("/")
    page.keyboard.type("sin")
    assert page.inner_text("#search-note") == "1 of 5"  # all of its line
    page.locator("#search").fill("sin v0")
    assert page.inner_text("#search-note") == "1 of 1"
    assert page.input_value("#time") == "5"
    page.locator("#search").fill("v4")
    first = page.input_value("#time")
    page.keyboard.press("Enter")
    assert page.inner_text("#search-note") == "2 of 2"
    assert page.input_value("#time") > first
    page.locator("#search").fill("cosh")
    assert page.inner_text("#search-note") == "nothing found"
    page.keyboard.press("Escape")
    assert page.inner_text("#search-note") == ""


def test_a_link_opens_a_step_with_its_inputs(show_html):
    explanation = explain(running, 2.0, 5.0)
    page = show_html(explanation)
    set_input(page, "x1", 3)
    at(page, 6)
    page.click("#share summary")
    page.click("#copy-link")
    page.wait_for_function("document.getElementById('share-note').textContent !== ''")
    address = page.evaluate("location.hash")
    assert address == "#step=6&inputs=3%3B5"
    again = show_html(explanation, query=address)
    assert again.input_value("#time") == "6"
    assert again.get_by_role("spinbutton", name="x1", exact=True).input_value() == "3"
    broken = show_html(explanation, query="#step=six&inputs=1,2;x")
    assert broken.input_value("#time") == "0"
    assert broken.inner_text("#result") == "= 11.652"


@pytest.mark.parametrize(("button", "moments"), [("#save-picture", 0), ("#save-film", 18)])
def test_pictures_stand_alone(show_html, tmp_path, button, moments):
    page = show_html(explain(running, 2.0, 5.0))
    at(page, 9)
    page.click("#share summary")
    with page.expect_download() as download:
        page.click(button)
    file = tmp_path / "picture.svg"
    download.value.save_as(file)
    root = ET.parse(file).getroot()
    text = file.read_text()
    assert root.tag.endswith("svg")
    assert text.count('<g class="m"') == moments
    assert "v̄4" in "".join(root.itertext())
    assert not re.search(r"https?://(?!www\.w3\.org)", text)
    assert page.input_value("#time") == "9"
    assert file.stat().st_size < 500_000


def test_a_page_offers_html_that_embeds_it(show_html):
    page = show_html(explain(running, 2.0, 5.0))
    page.evaluate("navigator.clipboard.writeText = (text) => { window.copied = text; return Promise.resolve(); }")
    page.click("#share summary")
    page.click("#copy-frame")
    assert re.fullmatch(
        r'<iframe src="\S+\.html\?embed" title="[^"]+" width="100%" height="600"></iframe>', page.evaluate("copied")
    )


def test_embedded_pages_show_graph_and_inputs_only(show_html):
    page = show_html(explain(running, 2.0, 5.0), query="?embed")
    assert not page.locator(".bar").is_visible()
    assert not page.locator("#table-panel").is_visible()
    assert page.locator("#graph-panel").is_visible()
    assert page.locator("#inputs-panel").is_visible()
    assert page.locator("#play").is_visible()


def test_embedded_pages_take_the_theme_of_the_page_around_them(show_html):
    page = show_html(explain(running, 2.0, 5.0), query="?embed")
    paper = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(paper)
    page.evaluate("postMessage({ wengert: 'theme', theme: 'dark' }, '*')")
    page.wait_for_selector("html[data-theme=dark]")
    assert page.evaluate(paper) != light


@pytest.mark.parametrize("size", ["desktop", "phone"])
def test_tangents_and_adjoints_of_arrays_stand_together(show_html, size):
    page = show_html(explain(layer, np.ones((2, 2)), np.zeros(2), mode="both"), size)
    page.keyboard.press("End")
    for name in ("value", "tangent", "adjoint"):
        assert page.locator(f".box[data-step='0'] .heat-map.{name} image").get_attribute("href").startswith("data:")
    spilled = page.evaluate(
        """() => {
            const right = (e) => e.getBoundingClientRect().right;
            const texts = [...document.querySelectorAll('.box .heat-map:not([hidden]) text')];
            const cells = [...document.querySelectorAll('td .heat')];
            return texts.filter((e) => right(e) > right(e.closest('.box').querySelector('.frame')))
                .concat(cells.filter((e) => e.scrollWidth > e.clientWidth)).map((e) => e.textContent);
        }"""
    )
    assert spilled == []


def test_both_derivatives_are_shown_where_there_is_little_space(show_html):
    page = show_html(explain(lambda x: np.sin(1234.567 * x), 0.12345, mode="both"))
    page.keyboard.press("End")
    both = [page.locator(f".box[data-step='1'] .{name}").text_content() for name in ("tangent", "adjoint")]
    assert both == ["1200", "-0.04"]


def test_costs_grow_while_it_plays(show_html):
    page = show_html(explain(layer, np.ones((2, 2)), np.zeros(2)))
    last = int(page.get_attribute("#time", "max"))
    spent, held = [], []
    for time in range(last + 1):
        at(page, time)
        spent.append(sum([int(text.replace(",", "")) for text in page.locator("#flops dd").all_inner_texts()]))
        held.append(page.evaluate("parseFloat(document.getElementById('held-bar').style.width)"))
    assert spent == sorted(spent)
    assert spent[0] == 0 < spent[last // 2] < spent[-1]
    assert held[0] == held[-1] == 0
    assert max(held) == 100


@pytest.mark.parametrize("size", SIZES)
def test_each_sweep_has_its_own_count(show_html, size):
    page = show_html(explain(running, 2.0, 5.0, mode="both"), size)
    assert page.locator("#held").is_visible()
    count = lambda: [int(text) for text in page.locator("#flops dd").all_inner_texts()]
    assert page.locator("#flops dt").all_inner_texts() == ["values", "tangents", "adjoints"]
    at(page, 7)
    assert count() == [5, 0, 0]
    page.keyboard.press("End")
    values, tangents, adjoints = count()
    assert values == 5 < tangents
    assert values == 5 < adjoints
    page.set_viewport_size({"width": 1024, "height": 700})
    assert page.locator("#flops").is_visible()
    assert page.evaluate("(e => e.scrollWidth <= e.clientWidth)(document.querySelector('.player'))")


@pytest.mark.parametrize("mode", ["reverse", "forward", "both", "hvp"])
def test_every_step_has_a_sentence(show_html, mode):
    page = show_html(explain(running, 2.0, 5.0, mode=mode))
    seen = set()
    for time in range(int(page.get_attribute("#time", "max")) + 1):
        at(page, time)
        sentence = page.inner_text("#words")
        assert sentence.endswith(".")
        seen.add(sentence)
    assert len(seen) > 6
    phrase = "is a cosine, computed from v0" if mode == "hvp" else "is a natural logarithm, computed from v-1"
    assert any(phrase in sentence for sentence in seen)


def test_a_hessian_vector_product_is_forward_over_reverse(show_html):
    page = show_html(explain(running, 2.0, 5.0, mode="hvp", seed=(1.0, 0.5)))
    page.keyboard.press("End")
    shown = page.inner_text("#equation")
    second = np.array([[-0.25, 1.0], [1.0, np.sin(5.0)]]) @ [1.0, 0.5]
    for number in second:
        assert format_number(number) in shown
    set_input(page, "x1", 1)
    assert format_number(-1.0 + 0.5) in page.inner_text("#equation")


def test_loops_offer_their_checkpoint_schedule(show_html):
    def looped(x):
        for _ in range(8):
            x = np.sin(x) + 1.0
        return x

    page = show_html(explain(looped, 0.5))
    page.click("#show-schedule")
    assert page.locator("#schedule-picture").is_visible()
    assert page.evaluate("document.getElementById('schedule-picture').naturalWidth") > 100
    page.keyboard.press("Escape")
    assert not show_html(explain(running, 2.0, 5.0)).locator("#show-schedule").is_visible()


def test_a_large_graph_has_a_map(show_html):
    def wide(x):
        return sum(np.sin(x * k) for k in range(1, 40))

    page = show_html(explain(wide, 0.5))
    assert page.locator(".minimap").is_visible()
    before = page.get_attribute(".minimap .in-view", "x"), page.get_attribute(".minimap .in-view", "y")
    box = page.locator(".minimap").bounding_box()
    page.mouse.click(box["x"] + box["width"] - 6, box["y"] + box["height"] - 6)
    assert (page.get_attribute(".minimap .in-view", "x"), page.get_attribute(".minimap .in-view", "y")) != before


def test_twenty_thousand_operations_open_and_are_small(show_html, tmp_path):
    def many(x):
        y = x
        for _ in range(3334):
            z = 1 - y
            w = 2.9 * y
            w = w * z
            y = 0.5 * w + 0.5 * y
        return y

    page = show_html(explain(many, 0.3))
    assert (tmp_path / "page.html").stat().st_size < 3e6
    page.locator(".box.group").click()
    assert "step 1 of 3334" in page.inner_text("#graph-note")
    page.keyboard.press("Escape")
    assert page.locator(".box.group").count() == 1
    page.locator("#search").fill("y[2000]")
    assert "1 of" in page.inner_text("#search-note")


def test_layers_of_a_network_are_folded_by_module(show_html):
    widths = [3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19]  # no two layers are alike: not a loop
    parts = [(wg.nn.Linear(n, n + 1), wg.nn.LayerNorm(n + 1), wg.nn.Tanh()) for n in widths]
    model = wg.nn.Sequential(*[part for layer in parts for part in layer])
    page = show_html(explain(lambda x: wg.sum(model(x) ** 2), np.ones((2, 3))))
    headings = page.locator(".box.group .title").all_text_contents()
    assert any("Linear" in heading for heading in headings)


def test_names_and_strings_with_html_are_shown_as_text(show_html):
    space = {"np": np}
    exec("def f(x):\n    note = '<img src=x onerror=alert(1)></script>'\n    return np.sin(x) * len(note)", space)
    space["f"].__name__ = "<b onmouseover=alert(1)>f</b>"
    page = show_html(explain(space["f"], {"<i>a</i>": 1.0}["<i>a</i>"]))
    assert page.inner_text("#name").startswith("<b onmouseover=alert(1)>f</b>(")
    assert page.locator("#name b").count() == 0

    def g(params):
        return params["<svg onload=alert(2)>"] ** 2

    page = show_html(explain(g, {"<svg onload=alert(2)>": 3.0}))
    assert "<svg onload=alert(2)>" in page.inner_text("#inputs-list")
    page.click("#share summary")
    with page.expect_download() as download:
        page.click("#save-film")
    assert "<svg onload" not in Path(download.value.path()).read_text()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", ["desktop", "phone"])
def test_contrast_is_aa(show_html, scheme, size):
    page = show_html(explain(layer, np.ones((2, 2)), np.zeros(2), mode="both"), size, scheme)
    last = int(page.get_attribute("#time", "max"))
    for time in (0, 3, last // 2, last - 2, last):
        at(page, time)
        assert page.evaluate(LOW_CONTRAST) == []


def test_everything_that_can_be_clicked_can_be_reached_by_keyboard(show_html):
    page = show_html(explain(layer, np.ones((2, 2)), np.zeros(2)))
    page.keyboard.press("End")
    wanted = page.evaluate(
        """() => [...document.querySelectorAll('button, input, select, summary, .box, .hit')]
            .filter((e) => e.checkVisibility() && !e.disabled).map((e, i) => (e.dataset.probe = i, String(i)))"""
    )
    page.evaluate("document.body.focus()")
    reached = set()
    for _ in range(len(wanted) + 20):
        page.keyboard.press("Tab")
        probe = page.evaluate("document.activeElement?.dataset?.probe")
        if probe is not None:
            reached.add(probe)
    assert set(wanted) <= reached
    unnamed = page.evaluate(
        """() => [...document.querySelectorAll('button, input, select, summary')].filter((e) => e.checkVisibility())
            .filter((e) => !(e.getAttribute('aria-label') || e.textContent.trim() || e.labels?.length))
            .map((e) => e.id)"""
    )
    assert unnamed == []

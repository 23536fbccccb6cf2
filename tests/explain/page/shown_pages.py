"""Pages of explanations for tests in a browser."""

import numpy as np
import pytest
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


@pytest.fixture(scope="session")
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

"""Write the pictures of the page: a film for the head of the README, and screenshots for the documentation.

`python docs/explorer.py` needs Playwright and Chromium. The film is the page's own ("Share", "Save a film").
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import wengert as wg
from wengert.explain.explanation import Explanation

HERE = Path(__file__).parent
DESKTOP, PHONE = (1280, 720), (390, 844)
LARGEST = 500_000
"""The most bytes of the film."""


def f(x1, x2):
    return np.log(x1) + x1 * x2 - np.sin(x2)


X = np.random.default_rng(0).normal(size=(8, 2))
y = np.sin(X[:, 0])


def loss(W1, b1, W2):
    h = np.tanh(X @ W1 + b1)
    p = h @ W2
    r = p - y
    return np.dot(r, r) / 8


def explain_loss() -> Explanation:
    rng = np.random.default_rng(1)
    return wg.explain(loss, rng.normal(size=(2, 4)), np.zeros(4), rng.normal(size=4))


def save_film(page: Any) -> None:
    """The film of the page, as the button saves it."""
    page.click("#share summary")
    with page.expect_download() as download:
        page.click("#save-film")
    path = HERE / "film.svg"
    download.value.save_as(path)
    if path.stat().st_size > LARGEST:
        raise SystemExit(f"{path} has {path.stat().st_size} bytes")


def drag_first_input(page: Any) -> None:
    """The first input, dragged to the right, at the end of the run."""
    page.keyboard.press("End")
    box = page.locator("#inputs-list input[type=range]").first.bounding_box()
    middle = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + box["width"] / 2, middle)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.66, middle, steps=5)
    page.mouse.up()
    page.mouse.move(0, 0)


def go_back(steps: int) -> Callable[[Any], None]:
    """Some steps of the backward pass."""

    def script(page: Any) -> None:
        page.keyboard.press("b")
        for _ in range(steps):
            page.keyboard.press("ArrowRight")

    return script


def main() -> None:
    from playwright.sync_api import sync_playwright

    wanted: list[tuple[str, Explanation, tuple[int, int], str, Callable[[Any], None]]] = [
        ("explorer.png", wg.explain(f, 2.0, 5.0), DESKTOP, "light", drag_first_input),
        ("explorer-dark.png", wg.explain(f, 2.0, 5.0, mode="both"), DESKTOP, "dark", go_back(6)),
        ("explorer-arrays.png", explain_loss(), DESKTOP, "light", go_back(6)),
        ("explorer-phone.png", wg.explain(f, 2.0, 5.0), PHONE, "dark", go_back(6)),
        ("", wg.explain(f, 2.0, 5.0), (1100, 900), "light", save_film),
    ]
    with sync_playwright() as driver, tempfile.TemporaryDirectory() as folder:
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=["--headless", "--no-sandbox"])
        for name, explanation, (width, height), scheme, script in wanted:
            context = browser.new_context(
                viewport={"width": width, "height": height}, color_scheme=scheme, reduced_motion="reduce"
            )
            page = context.new_page()
            file = Path(folder) / "page.html"
            explanation.html(file)
            page.goto(file.as_uri())
            page.wait_for_selector("html[data-ready]")
            script(page)
            page.wait_for_timeout(200)
            if name:
                page.screenshot(path=HERE / name)
            context.close()
        browser.close()


if __name__ == "__main__":
    main()

"""Photograph the site: `python -m tools.site.screenshots FOLDER [PAGE ...]`, after `make docs`.

Each page is taken on a desktop and a phone, in light and dark colours, from the files, without a server. The script
fails if a page asks the network for anything, writes an error to the console, or scrolls sideways on a phone.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

SITE = Path(__file__).parents[2] / "build" / "site"
PAGES = (
    "index",
    "start",
    "learn/index",
    "learn/four_ways",
    "learn/chain_rule",
    "learn/jacobians",
    "howto/which_mode",
    "gallery/index",
    "errors",
)
SIZES = {"desktop": (1280, 800), "phone": (390, 844)}
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


def watch(page: Page, problems: list[str]) -> None:
    """Note what a page should not do."""
    page.on("request", lambda r: problems.append(f"request: {r.url}") if r.url.startswith("http") else None)
    page.on("console", lambda m: problems.append(f"console: {m.text}") if m.type == "error" else None)
    page.on("pageerror", lambda error: problems.append(f"error: {error}"))


def photograph(folder: Path, names: tuple[str, ...]) -> list[str]:
    """Take the pictures; returns the problems."""
    problems: list[str] = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        for device, (width, height) in SIZES.items():
            for scheme in ("light", "dark"):
                page = browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)  # type: ignore[arg-type]
                watch(page, problems)
                for name in names:
                    page.goto((SITE / f"{name}.html").as_uri())
                    page.wait_for_timeout(300)
                    page.screenshot(path=folder / f"{name.replace('/', '-')}-{device}-{scheme}.png")
                    if page.evaluate("document.documentElement.scrollWidth > innerWidth"):
                        problems.append(f"{name} scrolls sideways on a {device}")
                page.close()
        browser.close()
    return problems


if __name__ == "__main__":
    folder, *named = sys.argv[1:]
    Path(folder).mkdir(parents=True, exist_ok=True)
    sys.exit("\n".join(photograph(Path(folder), tuple(named) or PAGES)) or None)

"""Pages in a real browser: nothing may be complained about, or asked of a network."""

import shutil

import pytest

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip
SIZES = {"desktop": (1280, 720), "phone": (390, 844)}


@pytest.fixture(scope="session")
def browser():
    """Chromium; tests that need it are skipped where there is none."""
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="The browser tests need Playwright: pip install playwright"
    )
    if CHROMIUM is None:
        pytest.skip("The browser tests need Chromium: apt-get install chromium")
    with playwright.sync_playwright() as driver:
        running = driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield running
        running.close()


@pytest.fixture
def open_page(browser):
    """Open an address at a size; requests may go to its own server only."""
    contexts, complaints = [], []

    def opened(address, size="desktop", scheme="light", ready="html[data-ready]", **options):
        width, height = SIZES[size]
        context = browser.new_context(
            viewport={"width": width, "height": height}, color_scheme=scheme, reduced_motion="reduce", **options
        )
        context.set_default_timeout(120_000)  # for slow machines
        contexts.append(context)
        page = context.new_page()
        origin = address.split("?")[0] if address.startswith("http") else "file:"
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("dialog", lambda dialog: (complaints.append(dialog.message), dialog.dismiss()))
        page.on(
            "request",
            lambda request: (
                None
                if request.url.startswith((origin, "data:", "blob:", "about:srcdoc"))
                else complaints.append(request.url)
            ),
        )
        page.goto(address)
        page.wait_for_selector(ready)
        return page

    yield opened
    for context in contexts:
        context.close()
    assert not complaints


@pytest.fixture
def show_html(open_page, tmp_path):
    """Open the page of an explanation; `query` follows its address."""

    def shown(explanation, *args, query="", **options):
        file = tmp_path / "page.html"
        explanation.html(file)
        return open_page(f"{file.as_uri()}{query}", *args, **options)

    return shown

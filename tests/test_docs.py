"""The code that people read runs: every Python block of README and docs, in order, one namespace per page."""

from __future__ import annotations

import doctest
import re
import subprocess
import sys
import tomllib
from itertools import product
from pathlib import Path

import pytest

from wengert.core.aspects import ASPECTS
from wengert.core.devices import LIBRARIES
from wengert.core.primitive import TABLE

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
FOLDERS = ("src", "tests", "tools", "docs", "benchmarks", "examples")
LINK = re.compile(r"\]\((?!https?://|#)([^)#]+)")


def blocks(page: Path) -> list[str]:
    return BLOCK.findall(page.read_text())


@pytest.fixture
def table():
    """The pages enter operations in the table, and what layers need of them; afterwards all is as it was."""
    before = dict(TABLE)
    yield
    added = [primitive for name, primitive in TABLE.items() if name not in before]
    for aspect, primitive in product(ASPECTS.values(), added):
        aspect.entries.pop(primitive, None)
    TABLE.clear()
    TABLE.update(before)


@pytest.fixture
def gpu(cuda, monkeypatch):
    """Where there is no GPU, the page about GPUs runs on the stand-in for CuPy."""
    monkeypatch.setitem(sys.modules, "cupy", LIBRARIES["cuda"].numpy)


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
@pytest.mark.usefixtures("table")
def test_code_runs(page, request):
    if page.name == "gpu.md":
        request.getfixturevalue("gpu")
    namespace = {"__name__": "page"}
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE, verbose=False)
    for number, block in enumerate(blocks(page)):
        if re.search(r"^>>> ", block, re.MULTILINE):
            test = doctest.DocTestParser().get_doctest(block, namespace, f"{page.name}, block {number}", str(page), 0)
            report: list[str] = []
            runner.run(test, out=report.append, clear_globs=False)
            assert not report, "".join(report)
            namespace = test.globs
        else:
            exec(compile(block, f"{page.name}, block {number}", "exec"), namespace)


def test_there_is_code_to_run():
    assert len(blocks(ROOT / "README.md")) >= 3


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_links_lead_somewhere(page):
    for target in LINK.findall(BLOCK.sub("", page.read_text())):
        assert (page.parent / target).exists(), f"{page.name} links to {target}"


@pytest.mark.parametrize("example", sorted((ROOT / "examples").glob("*.py")), ids=lambda p: p.name)
def test_examples_run(example):
    done = subprocess.run([sys.executable, str(example)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout


def test_running_example_shows_the_textbook_numbers():
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples" / "running_example.py")], capture_output=True, text=True, check=True
    )
    for number in ("11.652", "5.500", "1.716"):
        assert number in done.stdout


@pytest.mark.parametrize(
    "page", [ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs" / "design").glob("*.md"))], ids=lambda p: p.name
)
def test_files_that_are_named_exist(page):
    files = [f"/{path.relative_to(ROOT)}" for folder in FOLDERS for path in (ROOT / folder).rglob("*.py")]
    named = re.findall(r"`((?:\w+/)*\w+\.py)`", page.read_text())
    assert [name for name in named if not any(file.endswith(f"/{name}") for file in files)] == []


def test_extras_are_listed():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    listed = re.findall(r"^\| `wengert\[(\w+)\]`", (ROOT / "docs" / "platforms.md").read_text(), re.MULTILINE)
    assert sorted(listed) == sorted(extras.keys() - {"dev"})

"""Notebooks of the course, made from its chapters: text, code, and the results that the chapters show."""

from __future__ import annotations

import doctest
import posixpath
import re
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path

import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

COURSE = Path(__file__).parents[2] / "docs" / "learn"
BLOCK = re.compile(r"^```python\n(.*?)^```\n?", re.MULTILINE | re.DOTALL)
PICTURE = re.compile(r"\]\(\.\./pictures/(\w+\.svg)\)")


def chapters() -> list[Path]:
    """The chapters that become notebooks, in no particular order: all that have code."""
    return sorted(path for path in COURSE.glob("*.md") if BLOCK.search(path.read_text()))


def notebook(chapter: Path) -> nbformat.NotebookNode:
    """The notebook of a chapter."""
    pieces = BLOCK.split(chapter.read_text())
    cells = []
    for text, code in zip(pieces[::2], [*pieces[1::2], ""], strict=True):
        if text.strip():
            cells.append(text_cell(text.strip()))
        cells += code_cells(code)
    for number, cell in enumerate(cells):
        cell["id"] = f"{chapter.stem}-{number}"  # the same in each build
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    return new_notebook(cells=cells, metadata=kernel)


def text_cell(text: str) -> nbformat.NotebookNode:
    """A cell of text that needs no other file: pictures are inside, and frames say how to make what they show."""
    text = re.sub(r"\]\((\w+)\.md", r"](\1.ipynb", text)  # other chapters
    text = re.sub(
        r"<iframe.*?</iframe>", "(The site shows a page here. `wg.explain(f, 2.0, 5.0)` makes such pages.)", text
    )
    pictures = PICTURE.findall(text)
    cell = new_markdown_cell(PICTURE.sub(r"](attachment:\1)", text))
    if pictures:
        encode = lambda name: b64encode((COURSE.parent / "pictures" / name).read_bytes()).decode()
        cell["attachments"] = {name: {"image/svg+xml": encode(name)} for name in pictures}
    return cell


def code_cells(code: str) -> Iterator[nbformat.NotebookNode]:
    """The cells of a block: a program is one, and a session ends one at each result."""
    if ">>> " not in code:
        if code.strip():
            yield new_code_cell(code.strip())
        return
    lines: list[str] = []
    for example in doctest.DocTestParser().get_examples(code):
        lines.append(example.source.rstrip())
        if example.want or example.exc_msg:
            yield result_cell("\n".join(lines), example)
            lines = []
    if lines:
        yield new_code_cell("\n".join(lines))


def result_cell(source: str, example: doctest.Example) -> nbformat.NotebookNode:
    """A cell with the result that the chapter shows; one that raises an error says so to nbclient."""
    text = example.want.replace("<BLANKLINE>", "")
    if example.exc_msg is not None:
        return new_code_cell(source, metadata={"tags": ["raises-exception"]})
    return new_code_cell(source, outputs=[new_output("stream", name="stdout", text=text)])


def files() -> dict[str, str]:
    """The notebooks, by their paths on the site."""
    return {f"notebooks/{path.stem}.ipynb": nbformat.writes(notebook(path)) + "\n" for path in chapters()}


def add_link(markdown: str, page: str) -> str:
    """A chapter's text, with a link to its notebook below the title."""
    folder, name = posixpath.split(page)
    if folder != "learn" or not (COURSE / name).exists() or not BLOCK.search(markdown.replace("```pycon", "```python")):
        return markdown
    title, _, rest = markdown.partition("\n")
    link = f"[Open as a notebook](../notebooks/{name.removesuffix('.md')}.ipynb){{ download }}"
    return f"{title}\n\n{link} · run it with `jupyter lab`\n{rest}"

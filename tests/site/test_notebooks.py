"""The notebooks of the course run in a kernel, from the first cell to the last."""

import doctest
import re
import sys

import pytest

for name in ("ipykernel", "nbclient", "nbformat"):
    pytest.importorskip(name, reason="Notebooks need the extra of the site: pip install wengert[docs]")

import nbclient  # noqa: E402  # after what skips it
import nbformat  # noqa: E402  # after what skips it
from tools.site import notebooks  # noqa: E402  # after what skips it


def test_a_session_becomes_cells_with_results():
    first, second = notebooks.code_cells(
        ">>> x = 1\n>>> x + 1\n2\n>>> 1 / 0\nTraceback (most recent call last):\nZeroDivisionError: division by zero\n"
    )
    assert (first.source, first.outputs[0].text) == ("x = 1\nx + 1", "2\n")
    assert second.metadata.tags == ["raises-exception"]


@pytest.mark.parametrize("chapter", notebooks.chapters(), ids=lambda path: path.stem)
def test_notebooks_are_valid_and_have_all_examples(chapter):
    notebook = notebooks.notebook(chapter)
    nbformat.validate(notebook)
    examples = [doctest.DocTestParser().get_examples(block) for block in notebooks.BLOCK.findall(chapter.read_text())]
    sources = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "code")
    assert all(example.source.rstrip() in sources for block in examples for example in block)
    text = "".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    assert not re.search(r"\]\(\.\./pictures|<iframe", text), "a notebook needs no other file"
    assert set(re.findall(r"attachment:([\w.]+)", text)) == {
        n for cell in notebook.cells for n in cell.get("attachments", ())
    }


def test_notebooks_run(monkeypatch, tmp_path):
    """All chapters in one kernel, which takes seconds to start; names are removed between them."""
    monkeypatch.setenv("PYTHONPATH", ":".join(sys.path))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    cells = []
    for chapter in notebooks.chapters():
        cells += [nbformat.v4.new_code_cell("%reset -f"), *notebooks.notebook(chapter).cells]
    notebook = nbformat.v4.new_notebook(cells=cells)
    nbclient.NotebookClient(notebook, timeout=600, kernel_name="python3").execute()
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert len(code) > 100
    assert all(cell.execution_count for cell in code)

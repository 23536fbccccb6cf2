"""An explanation in a notebook: the page in a frame of its own, which exported notebooks keep."""

from __future__ import annotations

import html

from wengert.explain.explanation import Explanation, writes
from wengert.explain.page.document import write_page
from wengert.explain.tables.html_tables import write_fragment

HEIGHT = 640
"""Of the frame, in pixels."""
LARGEST = 2_000_000
"""The most characters of a page that is put into a notebook."""


@writes("notebook")
def write_notebook(explanation: Explanation) -> str:
    """The page in a frame, and the tables below it, folded: for readers that remove frames, and for printing.

    A page that would make the notebook too large is left out; then the tables are shown.
    """
    page, tables = write_page(explanation), write_fragment(explanation)
    if len(page) > LARGEST:
        return f"{tables}\n<p>The page is large: <code>explanation.html(path)</code> writes it to a file.</p>"
    frame = (
        f'<iframe srcdoc="{html.escape(page)}" sandbox="allow-scripts allow-downloads" '
        'title="How the derivative is computed" '
        f'style="width: 100%; height: {HEIGHT}px; border: 1px solid #8884; border-radius: 8px"></iframe>'
    )
    return f"{frame}\n<details><summary>As a table</summary>\n{tables}\n</details>"

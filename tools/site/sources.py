"""Files of the repository that the documentation links to, as pages with highlighted code.

In the repository, `../examples/training/digits_mlp.py` leads to the file. On the site, it leads to a page of it.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path

LINK = re.compile(r"\]\(((?:\.\./)+[^)#\s]+)((?:#[^)]*)?)\)")
LANGUAGES = {".py": "python", ".md": "markdown", ".yml": "yaml", ".toml": "toml"}


def outside(target: str, page: str) -> str | None:
    """The path in the repository that a link leads to, if that is outside docs/.

    >>> outside("../examples/f.py", "training.md"), outside("../training.md", "design/README.md")
    ('examples/f.py', None)
    """
    path = posixpath.normpath(posixpath.join("docs", posixpath.dirname(page), target))
    return None if path.startswith("docs/") else path


def page_of(path: str) -> str:
    """The page that shows a file."""
    return f"source/{path}.md"


def redirect(markdown: str, page: str) -> str:
    """A page's text, with links to pages of files."""

    def lead(match: re.Match[str]) -> str:
        path = outside(match[1], page)
        return match[0] if path is None else f"]({posixpath.relpath(page_of(path), posixpath.dirname(page) or '.')})"

    return LINK.sub(lead, markdown)


def pages(root: Path, documentation: list[str]) -> dict[str, str]:
    """A page for each file outside docs/ that a page of the documentation links to."""
    found: set[str] = set()
    for page in documentation:
        source = root / "docs" / page
        if source.exists():
            links = (outside(match[1], page) for match in LINK.finditer(source.read_text()))
            found.update(filter(None, links))
    return {page_of(path): show(root / path, path) for path in sorted(found) if (root / path).exists()}


def show(file: Path, path: str) -> str:
    """The text of a page that shows a file, or the names of what is in a folder."""
    if file.is_dir():
        text, language = "".join(f"{inside.name}\n" for inside in sorted(file.iterdir())), "text"
    else:
        text, language = file.read_text(), LANGUAGES.get(file.suffix, "text")
    return f'---\nsearch:\n  exclude: true\n---\n\n# {path}\n\n`````{language} linenums="1"\n{text}`````\n'

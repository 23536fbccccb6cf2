"""Docstrings as Markdown: an extension of Griffe, which reads the source for mkdocstrings."""

from __future__ import annotations

from typing import Any

from griffe import Extension, Function, Object


def fence_examples(doc: str) -> str:
    """A docstring whose examples are blocks of code.

    >>> fence_examples("One.\\n\\n>>> 1\\n1").splitlines()
    ['One.', '', '```pycon', '>>> 1', '1', '```']
    """
    parts = doc.rstrip().split("\n\n")
    return "\n\n".join(f"```pycon\n{part}\n```" if part.lstrip().startswith(">>> ") else part for part in parts)


class Examples(Extension):
    """Puts the examples of all docstrings into blocks, and leaves out the parameter for keywords of other systems."""

    def on_object(self, *, obj: Object, **_: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = fence_examples(obj.docstring.value)
        if isinstance(obj, Function) and "foreign" in obj.parameters:
            del obj.parameters["foreign"]

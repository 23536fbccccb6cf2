"""The formats that write traces as tables. Importing this module registers them with `Explanation`."""

from wengert.explain.tables import latex, markdown, notebook, plain_text

__all__ = ["latex", "markdown", "notebook", "plain_text"]

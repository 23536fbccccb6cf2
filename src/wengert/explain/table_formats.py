"""The formats that write traces as tables. Importing this module registers them with `Explanation`."""

from wengert.explain.tables import latex, markdown, plain_text

__all__ = ["latex", "markdown", "plain_text"]

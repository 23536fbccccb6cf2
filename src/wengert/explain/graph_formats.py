"""The formats that draw the graph. Importing this module registers them with `Explanation`."""

from wengert.explain.page import document, notebook
from wengert.explain.pictures import dot, png, svg

__all__ = ["document", "dot", "notebook", "png", "svg"]

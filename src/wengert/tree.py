"""`wg.tree`: nested tuples, lists, dicts, dataclasses and registered containers, with arrays as leaves.

All transforms take and return trees.
"""

from wengert.core.namespaces import gather_names, name_functions

FAMILIES = ("core.tree", "structure.flat_tree")

__all__ = gather_names(globals(), FAMILIES)

__getattr__, __dir__ = name_functions(globals())

# Written by tools/stubs.py.

from wengert.core.tree import flatten as flatten
from wengert.core.tree import leaves as leaves
from wengert.core.tree import map as map
from wengert.core.tree import register as register
from wengert.core.tree import structure as structure
from wengert.core.tree import unflatten as unflatten
from wengert.structure.flat_tree import ravel as ravel

__all__: list[str]

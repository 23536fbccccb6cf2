"""Machine code: the target, the translation, the disk cache, and the layout of Python's objects."""

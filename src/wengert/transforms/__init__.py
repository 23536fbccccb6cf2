"""Transforms, functions of functions: `grad`, `jvp`, `vmap`, `trace`.

Each run has its own level, so transforms nest in any order.
"""

"""Functions of functions: what users call to differentiate.

Each run of one has a level of its own, so they nest in any mix.
"""

"""Convolutions by direct loops: results, and the cotangents of signals and filters."""

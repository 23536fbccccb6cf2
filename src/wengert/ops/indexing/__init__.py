"""Subscripts, and functions that read or write at indices."""

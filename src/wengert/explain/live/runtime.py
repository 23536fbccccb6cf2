"""The JavaScript files that recomputed programs call."""

from __future__ import annotations

from wengert.explain.templates import read_asset

RUNTIME = (
    "arrays.js",
    "elements.js",
    "quadrature.js",
    "gamma.js",
    "error.js",
    "integrals.js",
    "bessel.js",
    "incomplete.js",
)
"""In the order in which they use each other."""


def runtime() -> str:
    """The source of all of them."""
    return "\n".join([read_asset(__package__, name) for name in RUNTIME])

"""Formulas between dollar signs, as MathML: no script, and no font from elsewhere."""

from __future__ import annotations

import html as entities
import re

from latex2mathml.converter import convert

FORMULA = re.compile(r'<(span|div) class="arithmatex">\\([(\[])(.*?)\\[)\]]</\1>', re.DOTALL)

SPACED = re.compile(r"(\\(?:ln|log|sin|cos|tanh|exp))(?=\s*[a-z(])")
"""Functions whose argument follows: browsers set no space of their own."""
DISPLAY = {"(": "inline", "[": "block"}


def typeset(html: str) -> str:
    r"""A page's HTML, with MathML in place of LaTeX.

    >>> "<mi>x</mi>" in typeset(r'<span class="arithmatex">\(x\)</span>')
    True
    """
    return FORMULA.sub(lambda m: convert(SPACED.sub(r"\1\\,", entities.unescape(m[3])), display=DISPLAY[m[2]]), html)

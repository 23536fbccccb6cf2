"""Formulas between dollar signs, as MathML: no script, and no font from elsewhere."""

from __future__ import annotations

import html as entities
import re

from latex2mathml.converter import convert

FORMULA = re.compile(r'<(span|div) class="arithmatex">\\([(\[])(.*?)\\[)\]]</\1>([.,:;?)]*)', re.DOTALL)
"""A formula, and the punctuation that must stay on its line."""

SPACED = re.compile(r"(\\(?:ln|log|sin|cos|tanh|exp))(?=\s*[a-z(])")
"""Functions whose argument follows: browsers set no space of their own."""
DISPLAY = {"(": "inline", "[": "block"}


def typeset(html: str) -> str:
    r"""A page's HTML, with MathML in place of LaTeX.

    >>> "<mi>x</mi>" in typeset(r'<span class="arithmatex">\(x\)</span>')
    True
    >>> typeset(r'<span class="arithmatex">\(x\)</span>, and').endswith("</math>,</span> and")
    True
    """
    return FORMULA.sub(lambda m: keep_together(write_mathml(m[3], DISPLAY[m[2]]), m[4]), html)


def write_mathml(latex: str, display: str) -> str:
    return convert(SPACED.sub(r"\1\\,", entities.unescape(latex)), display=display)


def keep_together(formula: str, punctuation: str) -> str:
    """A formula with what follows it: browsers would break the line between them."""
    return f'<span class="formula">{formula}{punctuation}</span>' if punctuation else formula

"""The two ways to set mathematics: in one line of plain text, and in LaTeX."""

from __future__ import annotations

import math
import re
from string import ascii_letters
from typing import Any

from wengert.core.spec import Spec
from wengert.graph.notation import ATOM, PRODUCT, Fence, Infix, NamedFunction, PrefixFunction, notation, write_key
from wengert.ops.indexing.key import Index

GREEK = {
    "alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "epsilon": "ε", "zeta": "ζ", "eta": "η",
    "theta": "θ", "kappa": "κ", "lambda": "λ", "mu": "μ", "nu": "ν", "xi": "ξ", "pi": "π", "rho": "ρ",
    "sigma": "σ", "tau": "τ", "phi": "φ", "chi": "χ", "psi": "ψ", "omega": "ω", "Gamma": "Γ", "Delta": "Δ",
    "Theta": "Θ", "Lambda": "Λ", "Sigma": "Σ", "Phi": "Φ", "Psi": "Ψ", "Omega": "Ω",
}  # fmt: skip
SUBSCRIPTS = str.maketrans("0123456789,+-", "₀₁₂₃₄₅₆₇₈₉,₊₋")
SUPERSCRIPTS = str.maketrans("0123456789−-+nixyT", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁻⁺ⁿⁱˣʸᵀ")
MARKS = "0123456789₀₁₂₃₄₅₆₇₈₉⁰¹²³⁴⁵⁶⁷⁸⁹⁻ⁿⁱˣʸᵀ"
LETTERS = f"{ascii_letters}{''.join(GREEK.values())}_"
RAISABLE = frozenset("0123456789−-+nixy")
KNOWN = {math.pi: ("π", r"\pi"), math.log(2.0): ("ln 2", r"\ln 2"), math.log(10.0): ("ln 10", r"\ln 10")}


def parts_of(name: str) -> tuple[str, list[str]]:
    """A name as a letter or word and its indices: `x1` is x with 1, `params['w']` is params with w."""
    pieces = re.findall(r"[^\W\d_]+|\d+", name)
    return (pieces[0], pieces[1:]) if pieces else (name, [])


class Typesetter:
    """What plain text and LaTeX share."""

    stacks = False
    minus = "−"
    space = "  "
    elementwise = "⊙"

    def pick(self, pair: tuple[str, str]) -> str:
        """One of a pair: for plain text, for LaTeX."""
        raise NotImplementedError  # each kind defines it

    def symbol(self, found: Infix | PrefixFunction | NamedFunction) -> str:
        """The sign or name of an operation."""
        return self.pick((found.plain, found.latex))

    def number(self, value: float) -> tuple[str, int]:
        """A number that is not negative, and how tightly it binds.

        More than six digits are cut off, and marked as such.
        """
        if isinstance(value, float) and value in KNOWN:
            text = self.pick(KNOWN[value])
            return text, ATOM if " " not in text else PRODUCT
        if isinstance(value, bool):
            return self.word(str(value).lower()), ATOM
        if isinstance(value, float) and not math.isfinite(value):
            return self.pick(("∞", r"\infty")) if value > 0 else self.word("NaN"), ATOM
        if isinstance(value, int) or value.is_integer() and value < 1e6:
            return str(int(value)), ATOM
        mantissa, _, exponent = f"{value:.6g}".partition("e")
        cut = "" if float(f"{value:.6g}") == value else self.pick(("…", r"\ldots"))
        if not exponent:
            return f"{mantissa}{cut}", ATOM
        ten = self.superscript("10", f"{self.minus if exponent.startswith('-') else ''}{int(exponent.lstrip('+-'))}")
        return (
            ten if mantissa == "1" and not cut else f"{mantissa}{cut} {self.pick(('·', chr(92) + 'cdot'))} {ten}",
            PRODUCT,
        )

    def word(self, text: str) -> str:
        """A name of several letters."""
        raise NotImplementedError  # each kind defines it

    def operator(self, name: str) -> str:
        """The name of a function."""
        return self.word(name)

    def parentheses(self, text: str) -> str:
        """In parentheses."""
        raise NotImplementedError  # each kind defines it

    def superscript(self, base: str, exponent: str) -> str:
        """A power."""
        raise NotImplementedError  # each kind defines it

    def fraction(self, above: str, below: str) -> str:
        """A fraction, in styles that stack."""
        raise NotImplementedError  # each kind defines it

    def transpose(self, text: str) -> str:
        """A transposed matrix."""
        return self.superscript(text, "T")

    def vector(self, elements: list[str]) -> str:
        """A short vector, written out."""
        return self.parentheses(", ".join(elements))


class Plain(Typesetter):
    """One line of text, with the symbols of Unicode.

    `words` are the names of more than one letter that were written.
    """

    def __init__(self) -> None:
        self.words = {found.plain for found in map(notation.of, notation) if isinstance(found, PrefixFunction)}

    def pick(self, pair: tuple[str, str]) -> str:
        return pair[0]

    def name(self, name: str, index: int | None) -> str:
        """A name with its indices."""
        base, indices = parts_of(name)
        text = GREEK.get(base, base)
        own = [*indices, *([str(index)] if index is not None else [])]
        if not all(i.isdigit() for i in own):
            return self.word(f"{text}_{'_'.join(own)}")
        return (self.word(text) if len(text) > 1 else text) + ",".join(own).translate(SUBSCRIPTS)

    def word(self, text: str) -> str:
        self.words.add(text.rstrip(MARKS))
        return text

    def code(self, text: str) -> str:
        """Python source."""
        return text

    def parentheses(self, text: str) -> str:
        return f"({text})"

    def superscript(self, base: str, exponent: str) -> str:
        if exponent == "T":
            return f"{base}ᵀ"
        if set(exponent) <= RAISABLE and base[-1] not in "⁰¹²³⁴⁵⁶⁷⁸⁹":
            return f"{base}{exponent.translate(SUPERSCRIPTS)}"
        return f"{base}^{exponent}" if re.fullmatch(r"[\w.]+", exponent) else f"{base}^({exponent})"

    def subscript(self, base: str, index: str) -> str:
        """A value with an index."""
        return f"{base}{index.translate(SUBSCRIPTS)}"

    def juxtapose(self, left: str, right: str) -> str:
        """A product without a sign.

        Words are kept apart; a coefficient or a letter stands right before its factor.
        """
        if right[0].isdigit():
            return f"{left}·{right}"
        bare = left.rstrip(MARKS)
        before, after = bare[len(bare.rstrip(LETTERS)) :], right[: len(right) - len(right.lstrip(LETTERS))]
        if before in self.words and right[0] == "(":
            return f"{left}·{right}"
        joined = before + after if bare == left else ""
        words = before in self.words or after in self.words or joined in self.words
        if words or left[-1] == ")" and right[0] != "(" or right[0] in "Σ∏√|‖":
            return f"{left} {right}"
        return f"{left}{right}"

    def root(self, inside: str, bare: bool) -> str:
        """A square root; `bare` says that it needs no parentheses."""
        return f"√{inside}" if bare else f"√({inside})"

    def exponential(self, writer: Any, arg: Any) -> Any:
        """An exponential function."""
        return writer.function("exp", arg)

    def fence(self, fence: Fence, inside: str) -> str:
        """A value between two signs."""
        return f"{fence.before}{inside}{fence.after}"

    def conjugate(self, text: str) -> str:
        """A complex conjugate."""
        return f"{text}*"

    def index(self, text: str, key: Index, arrays: list[str]) -> str:
        """Elements of an array."""
        return f"{text}[{write_key(key, arrays).rstrip(',')}]"

    def at(self, text: str, index: str) -> str:
        """A value at a step of a loop."""
        return f"{text}[{index}]"

    def phrase(self, text: str) -> str:
        """A word of the language between formulas."""
        return text

    def cases(self, condition: str, x: str, y: str) -> str:
        """A definition by cases."""
        return f"{{{x} if {condition}, else {y}}}"

    def array(self, spec: Spec) -> str:
        """An array that is too large to be shown."""
        return f"constant({spec!r})"


class Latex(Typesetter):
    """LaTeX's mathematics mode."""

    stacks = True
    minus = "-"
    space = r" \quad "
    elementwise = r"\odot"

    def pick(self, pair: tuple[str, str]) -> str:
        return pair[1]

    def name(self, name: str, index: int | None) -> str:
        base, indices = parts_of(name)
        text = f"\\{base}" if base in GREEK else base if len(base) == 1 else self.word(base)
        own = [*indices, *([str(index)] if index is not None else [])]
        marked = [i if len(i) == 1 or i.isdigit() else self.word(i) for i in own]
        return f"{text}_{{{','.join(marked)}}}" if own else text

    def word(self, text: str) -> str:
        return f"\\mathrm{{{self.code(text)}}}"

    def code(self, text: str) -> str:
        return re.sub(r"([_#%&${}])", r"\\\1", text)

    def parentheses(self, text: str) -> str:
        tall = r"\frac" in text or r"\sum" in text or r"\prod" in text or r"\left" in text
        return f"\\left({text}\\right)" if tall else f"({text})"

    def superscript(self, base: str, exponent: str) -> str:
        return f"{base}^{{{exponent}}}"

    def subscript(self, base: str, index: str) -> str:
        return f"{base}_{{{index}}}" if index else base

    def juxtapose(self, left: str, right: str) -> str:
        if right[0].isdigit() or left[-1].isdigit() and right.startswith(r"\frac"):
            return f"{left} \\cdot {right}"
        apart = (
            right.startswith(r"\mathrm") or left.endswith(r"\ldots") or re.search(r"\\mathrm{\w+}(_{[^{}]*})?$", left)
        )
        return f"{left} \\, {right}" if apart else f"{left} {right}"

    def fraction(self, above: str, below: str) -> str:
        return f"\\frac{{{above}}}{{{below}}}"

    def root(self, inside: str, bare: bool) -> str:  # noqa: ARG002  # a root sign in LaTeX needs no parentheses
        return f"\\sqrt{{{inside}}}"

    def exponential(self, writer: Any, arg: Any) -> Any:
        tall = r"\frac" in arg.text or r"\sum" in arg.text
        return writer.function(r"\exp", arg) if tall else writer.power(type(arg)("e"), writer.with_sign(arg))

    def fence(self, fence: Fence, inside: str) -> str:
        return f"{fence.latex_before}{inside}{fence.latex_after}"

    def conjugate(self, text: str) -> str:
        return f"\\overline{{{text}}}"

    def index(self, text: str, key: Index, arrays: list[str]) -> str:
        inside = self.code(write_key(key, arrays).rstrip(",")) if not arrays else write_key(key, arrays)
        inside = inside.replace("...", r"\ldots").replace("None", r"\ast")
        return f"({text})_{{{inside}}}" if "_{" in text and not text.startswith("(") else f"{text}_{{{inside}}}"

    def at(self, text: str, index: str) -> str:
        return f"{text}^{{({index})}}"

    def phrase(self, text: str) -> str:
        return f"\\text{{{text}}}"

    def cases(self, condition: str, x: str, y: str) -> str:
        return f"\\begin{{cases}}{x} & {condition} \\\\ {y} & \\text{{otherwise}}\\end{{cases}}"

    def array(self, spec: Spec) -> str:
        extents = "\\times ".join(map(str, spec.shape))
        return f"\\mathrm{{const}}_{{{extents}}}" if spec.shape else "\\mathrm{const}"


Style = Plain | Latex

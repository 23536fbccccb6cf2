"""Run the examples of the gallery: write their pictures and pages to `docs/gallery/`.

`python docs/gallery_pages.py`, or with the names of some examples. An example is a script in `examples/gallery/` whose
docstring has a title and a paragraph, and that ends with `plt.show()`.
"""

from __future__ import annotations

import ast
import runpy
import sys
from pathlib import Path
from typing import NamedTuple

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

ROOT = Path(__file__).parent.parent
EXAMPLES = ROOT / "examples" / "gallery"
PAGES = ROOT / "docs" / "gallery"
SCIENCES = {
    "Physics": "double_pendulum figure_eight brachistochrone lens_design string_source taylor_pendulum",
    "Mathematics": "newton_fractal mandelbrot lyapunov",
    "Chemistry": "lennard_jones water_vibrations reaction_rates",
    "Statistics": "laplace_logistic gaussian_process hamiltonian_monte_carlo survival",
    "Biology": "epidemic",
    "Robotics": "robot_arm cart_pole pose_graph",
    "Engineering": "truss deblurring",
    "Finance": "black_scholes implied_volatility portfolio",
    "Machine learning": "spirals digits_map",
}
STYLE = {"font.size": 9, "savefig.dpi": 100, "savefig.bbox": "tight", "figure.constrained_layout.use": False}


class Example(NamedTuple):
    """What an example says of itself, and its code without that."""

    name: str
    title: str
    text: str
    code: str


def read_example(name: str) -> Example:
    source = (EXAMPLES / f"{name}.py").read_text()
    tree = ast.parse(source)
    title, _, text = (ast.get_docstring(tree) or "").partition("\n")
    code = "\n".join(source.splitlines()[tree.body[0].end_lineno :]).strip()
    return Example(name, title.rstrip("."), text.strip().replace("\n", " "), code)


def draw(name: str, path: Path | None = None) -> None:
    """Run an example, and write its picture to a file, if there is one."""
    shown = plt.show
    plt.show = lambda: path and plt.savefig(path)
    try:
        with plt.rc_context(STYLE):
            runpy.run_path(str(EXAMPLES / f"{name}.py"))
    finally:
        plt.show = shown
        plt.close("all")


def page(example: Example) -> str:
    source = f"[examples/gallery/{example.name}.py](../../examples/gallery/{example.name}.py)"
    picture = f"![{example.title}]({example.name}.png)"
    return (
        f"# {example.title}\n\n{example.text}\n\n{picture}\n\nThe whole program, {source}:\n\n"
        f"```py\n{example.code}\n```\n"
    )


def index() -> str:
    lines = [
        "# Gallery",
        "",
        "Short programs from the sciences that use derivatives. Each is complete, and run by the tests.",
    ]
    for science, names in SCIENCES.items():
        lines += ["", f"## {science}", "", "| | |", "|---|---|"]
        for example in map(read_example, names.split()):
            picture = f'<img src="{example.name}.png" alt="" width="360">'
            heading = f"[**{example.title}**]({example.name}.md){'' if example.title.endswith('?') else '.'}"
            text = example.text.replace("|", r"\|")  # a bar would end the cell
            lines.append(f"| [{picture}]({example.name}.md) | {heading} {text} |")
    return "\n".join(lines) + "\n"


def pages() -> dict[str, str]:
    """The contents of all pages, by their file names."""
    names = " ".join(SCIENCES.values()).split()
    return {"index.md": index()} | {f"{name}.md": page(read_example(name)) for name in names}


if __name__ == "__main__":
    PAGES.mkdir(exist_ok=True)
    for name, text in pages().items():
        (PAGES / name).write_text(text)
    for name in sys.argv[1:] or " ".join(SCIENCES.values()).split():
        draw(name, PAGES / f"{name}.png")

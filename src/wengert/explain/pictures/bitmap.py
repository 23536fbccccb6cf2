"""The graph of an explanation as PNG: the SVG, drawn by resvg."""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from pathlib import Path

from wengert.explain.explanation import Explanation
from wengert.explain.pictures.grouping import Grouping
from wengert.explain.pictures.picture import SANS, svg

PROBE = (
    f'<svg xmlns="http://www.w3.org/2000/svg" width="24" height="24"><style>text{{{{font-family:{SANS}}}}}</style>'
    '<text x="2" y="20" font-size="20">{}</text></svg>'
)
"""A letter in the typefaces of the pictures."""


def png(
    explanation: Explanation, path: Path | str, edges: bool = False, groups: Grouping = None, scale: float = 2.0
) -> None:
    """Draw the graph into a file; `scale` is the number of pixels for one of the SVG's."""
    Path(path).write_bytes(bitmap(svg(explanation, edges, groups), scale))


def bitmap(picture: str, scale: float = 2.0) -> bytes:
    """An SVG as the bytes of a PNG file."""
    if not scale > 0:
        raise ValueError(
            f"png: scale={scale}. It is the number of pixels for one of the picture's, so give a number above 0, such "
            f"as 2."
        )
    try:
        from resvg_py import svg_to_bytes
    except ImportError as error:
        raise ModuleNotFoundError(
            "A PNG needs the library resvg-py, which is not installed. Run `pip install wengert[viz]`, or write an SVG "
            "with .svg(path)."
        ) from error
    return bytes(svg_to_bytes(svg_string=picture, zoom=scale, font_dirs=fonts()))


@cache
def fonts() -> list[str]:
    """Folders with typefaces, beside those that the system has: Matplotlib's, where the system has none."""
    from resvg_py import svg_to_bytes

    def draws(folders: list[str]) -> bool:
        with_text, without = [svg_to_bytes(svg_string=PROBE.format(text), font_dirs=folders) for text in ("M", "")]
        return with_text != without

    if draws([]):
        return []
    found = find_spec("matplotlib")
    folders = [str(Path(found.origin).parent / "mpl-data" / "fonts" / "ttf")] if found and found.origin else []
    if folders and draws(folders):
        return folders
    raise RuntimeError(
        "A PNG needs a typeface, and none that it knows is here. Install one, such as DejaVu Sans, or write an SVG "
        "with .svg(path)."
    )

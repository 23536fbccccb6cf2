"""The graph of an explanation as PNG: the SVG, rendered by resvg."""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from pathlib import Path

from wengert.core.errors import user_error
from wengert.explain.explanation import Explanation, writes
from wengert.explain.pictures.grouping import Grouping
from wengert.explain.pictures.svg import SANS, write_svg

PROBE = (
    f'<svg xmlns="http://www.w3.org/2000/svg" width="24" height="24"><style>text{{{{font-family:{SANS}}}}}</style>'
    '<text x="2" y="20" font-size="20">{}</text></svg>'
)
"""A letter in the fonts of the pictures."""


@writes("png")
def write_png(explanation: Explanation, edges: bool = False, groups: Grouping = None, scale: float = 2.0) -> bytes:
    """The bytes of a PNG file. `scale` is the number of pixels for one pixel of the SVG."""
    if not scale > 0:
        raise user_error(ValueError, f"png: scale={scale}", "Pass a number above 0, such as 2.")
    try:
        from resvg_py import svg_to_bytes
    except ImportError as error:
        raise user_error(
            ModuleNotFoundError,
            "A PNG needs the library resvg-py, which is not installed",
            "Run `pip install wengert[viz]`, or write an SVG with .svg(path).",
        ) from error
    picture = write_svg(explanation, edges, groups)
    return bytes(svg_to_bytes(svg_string=picture, zoom=scale, font_dirs=font_folders()))


@cache
def font_folders() -> list[str]:
    """Folders with fonts beside those of the system: Matplotlib's, if the system has none."""
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
    raise user_error(
        RuntimeError,
        "A PNG needs a font, and none was found",
        "Install one, such as DejaVu Sans, or write an SVG with .svg(path).",
    )

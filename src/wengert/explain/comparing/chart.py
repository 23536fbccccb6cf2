"""Curves over logarithmic axes, as SVG in light or dark colours, and in characters for a terminal."""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

WIDTH, HEIGHT = 760, 470
LEFT, RIGHT, TOP, BOTTOM = 78, 24, 92, 62
COLOURS = (("#2457c5", "#8ab4ff"), ("#0a7d50", "#5fd3a2"), ("#b65c00", "#ffb561"), ("#8a2da5", "#e29bf5"))
"""For each curve, in the light and the dark theme."""
DASHES = ("", "7 4", "", "2 4")
MARKS = "fbci"


Scale = Callable[[float], float]
"""From a number to its coordinate in the picture."""


class Curve(NamedTuple):
    """Points with positive coordinates, by increasing x."""

    name: str
    points: list[tuple[float, float]]

    @property
    def lowest(self) -> tuple[float, float]:
        return min(self.points, key=lambda point: point[1])


class Chart(NamedTuple):
    """Curves with a title and labels of the axes."""

    title: str
    x_label: str
    y_label: str
    curves: Sequence[Curve]
    notes: tuple[str, str] = ("", "")
    """Texts at the left and at the right end."""

    def decades(self) -> tuple[int, int, int, int]:
        """The powers of ten around all points: lowest and highest of x, and of y."""
        points = [point for curve in self.curves for point in curve.points] or [(0.1, 0.1), (1.0, 1.0)]
        xs, ys = zip(*points, strict=True)
        low, high = (lambda v: math.floor(math.log10(min(v)) + 1e-9)), (lambda v: math.ceil(math.log10(max(v)) - 1e-9))
        left, right, bottom, top = low(xs), high(xs), low(ys), high(ys)
        return left, max(right, left + 1), bottom, max(top, bottom + 1)

    def svg(self) -> str:
        left, right, bottom, top = self.decades()
        across = lambda x: LEFT + (WIDTH - LEFT - RIGHT) * (math.log10(x) - left) / (right - left)
        down = lambda y: HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * (math.log10(y) - bottom) / (top - bottom)
        parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" '
            f'class="wg-chart" role="img" aria-label="{html.escape(self.title)}">',
            f"<style>{chart_style(len(self.curves))}</style>",
            f'<rect class="wg-ground" x="0" y="0" width="{WIDTH}" height="{HEIGHT}" rx="6"/>',
            f'<text class="wg-title" x="{LEFT}" y="28">{html.escape(self.title)}</text>',
        ]
        for power in ticks(left, right, 9):
            x = across(10.0**power)
            parts.append(f'<line class="wg-grid" x1="{x:.1f}" y1="{TOP}" x2="{x:.1f}" y2="{HEIGHT - BOTTOM}"/>')
            parts.append(
                f'<text class="wg-tick" x="{x:.1f}" y="{HEIGHT - BOTTOM + 20}" '
                f'text-anchor="middle">{power_of_ten(power)}</text>'
            )
        for power in ticks(bottom, top, 8):
            y = down(10.0**power)
            parts.append(f'<line class="wg-grid" x1="{LEFT}" y1="{y:.1f}" x2="{WIDTH - RIGHT}" y2="{y:.1f}"/>')
            parts.append(
                f'<text class="wg-tick" x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{power_of_ten(power)}</text>'
            )
        frame = f'x="{LEFT}" y="{TOP}" width="{WIDTH - LEFT - RIGHT}" height="{HEIGHT - TOP - BOTTOM}"'
        parts.append(f'<rect class="wg-frame" {frame}/>')
        middle = LEFT + (WIDTH - LEFT - RIGHT) / 2, TOP + (HEIGHT - TOP - BOTTOM) / 2
        parts.append(
            f'<text class="wg-label" x="{middle[0]}" y="{HEIGHT - 16}" '
            f'text-anchor="middle">{html.escape(self.x_label)}</text>'
        )
        parts.append(
            f'<text class="wg-label" x="22" y="{middle[1]}" text-anchor="middle" '
            f'transform="rotate(-90 22 {middle[1]})">{html.escape(self.y_label)}</text>'
        )
        for anchor, x, note in zip(("start", "end"), (LEFT + 10, WIDTH - RIGHT - 10), self.notes, strict=True):
            parts.append(
                f'<text class="wg-note" x="{x}" y="{middle[1] + 70:.0f}" '
                f'text-anchor="{anchor}">{html.escape(note)}</text>'
            )
        for i, curve in enumerate(self.curves):
            parts += self.draw_curve(i, curve, across, down)
        return "\n".join([*parts, "</svg>"])

    def draw_curve(self, i: int, curve: Curve, across: Scale, down: Scale) -> list[str]:
        """One curve, its lowest point, and its line of the legend."""
        dash = f' stroke-dasharray="{DASHES[i % len(DASHES)]}"' if DASHES[i % len(DASHES)] else ""
        points = " ".join(f"{across(x):.1f},{down(y):.1f}" for x, y in curve.points)
        column, row = divmod(i, 2)
        x, y = LEFT + 340 * column, 52 + 20 * row
        if curve.points:
            best = f"{curve.name}: {curve.lowest[1]:.1e} at h = {curve.lowest[0]:.0e}"
        else:
            best = f"{curve.name}: none"
        parts = [
            f'<line class="wg-curve wg-c{i}"{dash} x1="{x}" y1="{y - 4}" x2="{x + 26}" y2="{y - 4}"/>',
            f'<text class="wg-tick" x="{x + 34}" y="{y}">{html.escape(best)}</text>',
        ]
        if curve.points:
            at = curve.lowest
            parts.append(f'<polyline class="wg-curve wg-c{i}"{dash} points="{points}"/>')
            parts.append(f'<circle class="wg-best wg-c{i}" cx="{across(at[0]):.1f}" cy="{down(at[1]):.1f}" r="4.5"/>')
        return parts

    def terminal(self, width: int = 66, height: int = 18) -> str:
        """The curves in characters. Where curves meet, the first one is shown."""
        left, right, bottom, top = self.decades()
        grid = [[" "] * width for _ in range(height)]
        for i, curve in enumerate(self.curves):
            for x, y in curve.points:
                column = round((width - 1) * (math.log10(x) - left) / (right - left))
                row = round((height - 1) * (top - math.log10(y)) / (top - bottom))
                if grid[row][column] == " ":
                    grid[row][column] = MARKS[i % len(MARKS)]
        shown = {
            round((height - 1) * (top - power) / (top - bottom)): power for power in ticks(bottom, top, height // 3)
        }
        lines = [self.title]
        for row, cells in enumerate(grid):
            label = f"1e{shown[row]:+03d}" if row in shown else ""
            lines.append(f"{label:>6} {'+' if row in shown else '|'}{''.join(cells).rstrip()}")
        axis, labels = ["-"] * width, [" "] * (width + 4)
        for power in ticks(left, right, width // 12):
            column = round((width - 1) * (power - left) / (right - left))
            axis[column] = "+"
            labels[column : column + 5] = f"1e{power:+03d}"
        lines += [f"{'':>6} +{''.join(axis)}", f"{'':>6}{''.join(labels).rstrip()}   {self.x_label}"]
        legend = [f"{MARKS[i % len(MARKS)]} {curve.name}" for i, curve in enumerate(self.curves) if curve.points]
        return "\n".join([*lines, f"{'':>7}{self.y_label}: {', '.join(legend)}"])


def ticks(low: int, high: int, most: int) -> list[int]:
    """Equally spaced powers of ten: at most `most`, and at least two."""
    every = max(1, math.ceil((high - low) / max(1, most)))
    return list(range(low + (-low) % every, high + 1, every)) or [low, high]


def power_of_ten(power: int) -> str:
    """A power of ten with its exponent raised."""
    return f'10<tspan dy="-6" font-size="9">{"−" if power < 0 else ""}{abs(power)}</tspan>'


def chart_style(curves: int) -> str:
    """The style sheet, with the colours of both themes."""
    base = (
        ".wg-chart{font-family:system-ui,sans-serif;max-width:100%;height:auto}.wg-title{font-size:16px;font-weight:600}"
        ".wg-tick{font-size:12.5px}.wg-label{font-size:14px}.wg-note{font-size:13px;font-style:italic}"
        ".wg-curve{fill:none;stroke-width:2.2;stroke-linejoin:round}.wg-best{stroke:none}.wg-frame{fill:none}"
    )
    return base + ground_rules(curves, 0) + f"@media (prefers-color-scheme: dark){{{ground_rules(curves, 1)}}}"


def ground_rules(curves: int, dark: int) -> str:
    """The rules with the colours of one theme."""
    paper, ink, faint, line = (
        ("#ffffff", "#1b1f24", "#57606a", "#e1e4e8"),
        ("#14171c", "#e8eaed", "#a9b1bb", "#333a44"),
    )[dark]
    rules = f".wg-ground{{fill:{paper}}}.wg-title,.wg-label{{fill:{ink}}}.wg-tick,.wg-note{{fill:{faint}}}"
    rules += f".wg-grid{{stroke:{line};stroke-width:1}}.wg-frame{{stroke:{faint};stroke-width:1}}"
    for i in range(curves):
        colour = COLOURS[i % len(COLOURS)][dark]
        rules += f".wg-curve.wg-c{i}{{stroke:{colour}}}.wg-best.wg-c{i}{{fill:{colour}}}"
    return rules

"""The checkpoint schedule of a loop: which states are kept, which steps run again, in which order it goes back.

It follows the same rule as the backward pass of `wg.checkpoint_loop` (`control/snapshots.py`).
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal, NamedTuple

from wengert.control.snapshots import next_snapshot
from wengert.core.errors import user_error
from wengert.explain.explanation import save

__all__ = ["checkpoint_schedule"]

ROOM, ROW, LEFT, TOP = 15.0, 7.0, 46.0, 54.0
"""Pixels of a step, of an action, and of the margins."""
SECONDS = 0.09
"""How long an action of the animation takes."""
PALETTE = {
    "run": "#1d5fd1",
    "keep": "#0f766e",
    "back": "#b0480c",
    "ink": "#1b2230",
    "rule": "#c3cad4",
    "panel": "#ffffff",
}
DARK = {"run": "#82b0ff", "keep": "#4fd1c0", "back": "#ffac6b", "ink": "#e8ebf1", "rule": "#434b5c", "panel": "#1a1e26"}


class Action(NamedTuple):
    """One thing that is done: run a step, keep the state before a step, or go back over a step.

    `held` is the number of states in memory afterwards.
    """

    kind: Literal["run", "keep", "back"]
    step: int
    held: int


class CheckpointSchedule:
    """The actions of a forward pass and a backward pass over `n` steps, with at most `snapshots` states kept."""

    def __init__(self, n: int, snapshots: int):
        self.n, self.snapshots, self.actions = n, snapshots, plan_actions(n, snapshots)

    @property
    def runs(self) -> int:
        """How often a step runs, over all steps. Going back over a step runs it once more, with what its rules need."""
        return sum([action.kind != "keep" for action in self.actions])

    @property
    def most_held(self) -> int:
        """The most states in memory at one time."""
        return max([action.held for action in self.actions])

    def __repr__(self) -> str:
        return (
            f"{self.n} steps with {self.snapshots} snapshots: {self.runs} runs of a step instead of {self.n}, "
            f"{self.most_held} states in memory instead of {self.n}"
        )

    def svg(self, path: Path | str | None = None) -> str:
        """The schedule as an animation: steps from left to right, time from top to bottom."""
        return save(draw_schedule(self), path)

    def _repr_html_(self) -> str:
        return self.svg()


def checkpoint_schedule(n: int, snapshots: int | None = None) -> CheckpointSchedule:
    """The schedule by which `wg.checkpoint_loop` goes back over a loop of `n` steps. It prints, and is an animation.

    >>> checkpoint_schedule(10, 3)
    10 steps with 3 snapshots: 35 runs of a step instead of 10, 4 states in memory instead of 10
    """
    if n < 1 or (snapshots is not None and snapshots < 1):
        raise user_error(ValueError, f"checkpoint_schedule needs n >= 1 and snapshots >= 1, not {n} and {snapshots}")
    return CheckpointSchedule(n, snapshots or max(1, n.bit_length()))


def plan_actions(n: int, snapshots: int) -> list[Action]:
    """The forward pass, which keeps the first state only; then for each step from the last, what restores its state.

    Where there is room for all states, the forward pass keeps them.
    """
    if snapshots >= n:
        kept = [Action(kind, i, i + 1) for i in range(n) for kind in ("keep", "run")]
        return [*kept, *[Action("back", i, i) for i in reversed(range(n))]]
    actions = [Action("keep", 0, 1), *[Action("run", i, 1) for i in range(n)]]
    stack = [0]
    for end in range(n, 0, -1):
        while end - stack[-1] > 1:
            begin = stack[-1]
            middle = begin + next_snapshot(end - begin, snapshots - len(stack) + 1)
            actions += [Action("run", i, len(stack)) for i in range(begin, middle)]
            stack.append(middle)
            actions.append(Action("keep", middle, len(stack)))
        stack.pop()
        actions.append(Action("back", end - 1, len(stack)))
    return actions


def draw_schedule(schedule: CheckpointSchedule) -> str:
    """Lines of runs to the right, of the backward pass to the left, and dots for the states that are kept."""
    n, actions = schedule.n, schedule.actions
    wide, high = max(LEFT + n * ROOM + 90.0, LEFT + 330.0), TOP + len(actions) * ROW + 34.0
    marks = []
    for i, action in enumerate(actions):
        x, y = LEFT + action.step * ROOM, TOP + i * ROW
        if action.kind == "keep":
            marks.append(f'<circle class="keep" cx="{x:g}" cy="{y + ROW / 2:g}" r="4"/>')
        else:
            ends = (x, x + ROOM) if action.kind == "run" else (x + ROOM, x)
            marks.append(f'<path class="{action.kind}" d="M{ends[0]:g} {y:g}L{ends[1]:g} {y + ROW:g}"/>')
        marks.append(
            f'<rect class="held" x="{LEFT + n * ROOM + 18:g}" y="{y:g}" width="{action.held * 6}" height="{ROW:g}"/>'
        )
    bottom, seconds = high - 34.0, len(actions) * SECONDS
    grid = [f'<path class="rule" d="M{LEFT + i * ROOM:g} {TOP:g}V{bottom:g}"/>' for i in range(n + 1)]
    words = [
        (LEFT, 20, "title", f"{n} steps, {schedule.snapshots} snapshots"),
        (LEFT, 40, "run", "run a step →"),
        (LEFT + 92, 40, "back", "← go back over it"),
        (LEFT + 206, 40, "keep", "● keep a state"),
        (LEFT + n * ROOM + 18, 20, "ink", "held"),
        (LEFT, bottom + 22, "ink", f"{schedule.runs} runs instead of {n}; {schedule.most_held} states instead of {n}"),
    ]
    texts = [f'<text class="{kind}" x="{x:g}" y="{y:g}">{text}</text>' for x, y, kind, text in words]
    grow = (
        f'<animate attributeName="height" values="0;{high:g};{high:g}" keyTimes="0;0.9;1" '
        f'dur="{seconds / 0.9:.1f}s" repeatCount="indefinite"/>'
    )
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide:g} {high:g}" width="{wide:g}" '
            f'height="{high:g}" role="img" aria-label="{schedule!r}">',
            f"<style>{style_sheet()}</style>",
            f'<clipPath id="so-far"><rect y="{TOP - 5:g}" width="{wide:g}" height="{high:g}">{grow}</rect></clipPath>',
            f'<rect class="panel" width="{wide:g}" height="{high:g}" rx="10"/>',
            *grid,
            f'<g clip-path="url(#so-far)">{"".join(marks)}</g>',
            *texts,
            "</svg>",
        ]
    )


def style_sheet() -> str:
    """Colours that light and dark pages choose between."""

    def rules(colours: dict[str, str]) -> str:
        return (
            f".panel{{fill:{colours['panel']}}}.rule{{stroke:{colours['rule']};stroke-width:.6}}"
            f".run{{stroke:{colours['run']}}}.back{{stroke:{colours['back']}}}.keep{{fill:{colours['keep']}}}"
            f".held{{fill:{colours['keep']};opacity:.45}}text{{fill:{colours['ink']};stroke:none}}"
            f"text.run{{fill:{colours['run']};stroke:none}}text.back{{fill:{colours['back']};stroke:none}}"
            f"text.keep{{fill:{colours['keep']}}}"
        )

    return (
        "path{fill:none;stroke-width:2}text{font:12px system-ui,sans-serif}.title{font-weight:600;font-size:14px}"
        f"{rules(PALETTE)}@media (prefers-color-scheme:dark){{{rules(DARK)}}}"
    )

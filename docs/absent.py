"""Write docs/numpy.md: what NumPy has and Wengert does not have, and why. `python docs/absent.py` writes the page."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from wengert.core.absent import FUNCTIONS, METHODS, Absence, absent

PAGE = Path(__file__).with_name("numpy.md")

INTRODUCTION = """# What NumPy has and Wengert does not have

This page is generated from the two namespaces (`python docs/absent.py`, with NumPy {version}). Of {all} public names of `np`, {have} are in
`wg` under the same name; all of `np.linalg` is in `wg.linalg`, and all of `np.fft` in `wg.fft`. Plain NumPy code runs on values: `np.f(x)`
is `wg.f(x)`. The tables below list the other names, with the reason and what to use instead. Using one of them raises an error that says
the same:

```python
>>> import wengert as wg
>>> wg.vectorize
Traceback (most recent call last):
    ...
AttributeError: module 'wengert' has no attribute 'vectorize', which is in np. NumPy would call it on plain numbers, one by one, and the derivative would be lost. Use wg.vmap(f), which runs it on all at once.

```

`wg.trace` has another meaning: it shows a function as a graph. The trace of a matrix is `np.trace(x)`, `x.trace()` or `wg.linalg.trace(x)`.
Functions that create an array (`wg.zeros`, `wg.linspace`, `wg.hanning` ...) return tensors. No function accepts an array for `out=`.

"""  # noqa: E501  # the message of an error is one line

HEAD = "| what | why it is not here | instead | names |\n|---|---|---|---|\n"


def public() -> list[str]:
    """The public names of NumPy; `core` is what it was once made of, not for use."""
    return sorted({name for name in np.__all__ if not name.startswith("_")} - {"core"})


def rows(groups: Sequence[Absence], owner: object) -> str:
    """A row for each reason, with the names that this NumPy has."""
    return HEAD + "".join(
        row(group, [name for name in group.names.split() if hasattr(owner, name)]) for group in groups
    )


def row(group: Absence, names: list[str]) -> str:
    instead = group.instead.format(name=names[0] if len(names) == 1 else "name")
    return f"| {group.title} | {group.reason} | {instead} | {', '.join(f'`{name}`' for name in sorted(names))} |\n"


def page() -> str:
    names = public()
    version = ".".join(np.__version__.split(".")[:2])
    have = len(set(names) - set(absent("np")))
    return (
        INTRODUCTION.format(version=version, all=len(names), have=have)
        + "## Functions and types\n\n"
        + rows(FUNCTIONS, np)
        + "\n## Methods and attributes of arrays\n\n"
        + rows(METHODS, np.ndarray)
    )


if __name__ == "__main__":
    PAGE.write_text(page())

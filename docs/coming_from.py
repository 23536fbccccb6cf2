"""Write docs/coming_from.md: names and keywords of other systems (`python docs/coming_from.py`)."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import wengert as wg
from wengert.core import jax_names, torch_names
from wengert.core.absent import PEERS, Ways
from wengert.core.foreign_keywords import KEYWORDS

PAGE = Path(__file__).with_name("coming_from.md")

INTRODUCTION = """# Coming from PyTorch, JAX, autograd, SymPy or CasADi

This page is generated from the tables that errors are made of (`python docs/coming_from.py`). Names are those of NumPy, where NumPy has one.
A name or keyword of another system raises an error that names Wengert's:

```python
>>> import wengert as wg
>>> x = wg.tensor([[1.0, 2.0], [3.0, 4.0]])
>>> wg.cat
Traceback (most recent call last):
    ...
AttributeError: module 'wengert' has no attribute 'cat'. For torch.cat, use wg.concatenate(xs, axis=0).
>>> x.unsqueeze(0)
Traceback (most recent call last):
    ...
AttributeError: 'Tensor' object has no attribute 'unsqueeze'. For torch.Tensor.unsqueeze, use wg.expand_dims(x, axis), or x[:, None].
>>> x.sum(dim=0)
Traceback (most recent call last):
    ...
TypeError: sum() got an unexpected keyword argument 'dim', at ... It is a keyword of torch. Use axis.
>>> x.size(0)
Traceback (most recent call last):
    ...
TypeError: 'int' object is not callable: x.size is the number of elements, as in NumPy, at ... Instead of torch's x.size(0), write x.shape[0], and instead of x.size(), x.shape.

```

Whole programs of PyTorch, JAX and autograd need no edits with `wengert.compat`.

## What has the same name and another meaning

| | PyTorch | here, as in NumPy |
|---|---|---|
| default dtype | float32 | float64 |
| `x.size` | a method, `x.size(0)` | the number of elements; `x.shape[0]` |
| `x.transpose(0, 1)` | exchanges two axes | the order of all axes; `x.swapaxes(0, 1)` exchanges two |
| `x.repeat(2, 3)` | repeats the array | repeats elements; `wg.tile(x, (2, 3))` repeats the array |
| `x.std()`, `x.var()` | divides by n - 1 | divides by n; `x.std(ddof=1)` divides by n - 1 |
| `x.max(1)`, `x.min(1)`, `x.sort()` | values and indices | values; `x.argmax(1)`, `wg.argsort(x)` for indices. `x.sort()` sorts in place |
| `wg.split(x, 2)` | parts of length 2 | two parts |
| `x.numpy()` | shares memory | is read-only |
| `x.flatten(1)` | keeps the first axis | an error; `x.reshape(len(x), -1)` |
| ties of `max`, `abs` at 0 | depends on the function | ties share equally; `abs'(0) = 0` |

| | JAX | here |
|---|---|---|
| default dtype | float32 | float64 |
| `wg.grad(f)(x)` | JAX arrays | NumPy in, NumPy out |
| `x[0] = 1.0` | an error | works, and is differentiable; `x.at[0].set(1.0)` too |
| indices out of bounds | clamped | an error, as in NumPy |

"""  # noqa: E501  # tables, and the message of an error is one line

TITLES = {"torch": "PyTorch", "jax": "JAX", "autograd": "autograd", "sympy": "SymPy", "casadi": "CasADi"}


def here(namespace: str) -> Any:
    """Where users look for the names of a namespace."""
    place = next(place for place, peers in PEERS.items() if namespace in peers)
    return wg.ones((2, 2)) if place == "values" else import_module(place)


def cell(text: str) -> str:
    return text.replace("|", "\\|")


def rows(title: str, ways: Ways, owner: Any) -> str:
    """A row for each way; names that share one are together."""
    names: dict[str, list[str]] = {}
    for name, way in ways.items():
        if not hasattr(owner, name):
            names.setdefault(way, []).append(name)
    if not names:
        return ""
    lines = [f"| {', '.join(f'`{name}`' for name in group)} | {cell(way)} |\n" for way, group in names.items()]
    return f"\n### {title}\n\n| name | here |\n|---|---|\n{''.join(lines)}"


def page() -> str:
    parts = [INTRODUCTION, "## Keywords\n\n| keyword | of | here |\n|---|---|---|\n"]
    parts += [f"| `{name}` | {known.peers} | {cell(known.instead)} |\n" for name, known in KEYWORDS.items()]
    for namespace, groups in (torch_names.TABLES | jax_names.TABLES).items():
        system, _, rest = namespace.partition(".")
        parts.append(f"\n## {TITLES[system]}{rest and f': `{namespace}`'}\n")
        parts += [rows(title, ways, here(namespace)) for title, ways in groups.items()]
    return "".join(parts)


if __name__ == "__main__":
    PAGE.write_text(page())

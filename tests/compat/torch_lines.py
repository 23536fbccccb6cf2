"""Lines of PyTorch code, in lines/torch.txt, that run on PyTorch and on the layer from the same text.

The last part of a line, after the last `; `, is its result. `python tests/compat/torch_lines.py` stores PyTorch's.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

STORED = Path(__file__).parent / "results" / "torch_lines.json"

LINES = [
    line
    for line in (Path(__file__).parent / "lines" / "torch.txt").read_text().splitlines()
    if line and not line.startswith("# ")
]


def inputs(torch: Any) -> dict[str, Any]:
    """The tensors that lines use."""
    rng = np.random.default_rng(0)
    a = rng.normal(size=(4, 4))
    smooth = {
        "x": rng.normal(size=(3, 4)), "y": rng.normal(size=(3, 4)), "p": rng.uniform(0.5, 2, (3, 4)),
        "u": rng.uniform(-0.9, 0.9, (3, 4)), "v": rng.normal(size=4), "w": rng.normal(size=4), "m": a + 3 * np.eye(4),
        "s": a @ a.T + np.eye(4), "b": rng.normal(size=(2, 3, 4)), "c": rng.normal(size=(2, 4, 5)), "n": np.array(1.5),
    }  # fmt: skip
    fixed = {
        "f": rng.normal(size=(3, 4)).astype(np.float32), "i": np.array([[0, 2], [1, 3], [3, 0]]),
        "k": rng.integers(0, 4, (3, 4)), "t": rng.random((3, 4)) < 0.5,
        "z": rng.normal(size=(3, 4)) + 1j * rng.normal(size=(3, 4)),
    }  # fmt: skip
    made = {name: torch.tensor(value, requires_grad=True) for name, value in smooth.items()}
    return made | {name: torch.tensor(value) for name, value in fixed.items()}


def leaves(result: Any) -> list[Any]:
    """The tensors and numbers of a result."""
    if isinstance(result, tuple | list):
        return [leaf for part in result for leaf in leaves(part)]
    return [result]


def describe(torch: Any, leaf: Any) -> Any:
    """A tensor as its type, shape and numbers; anything else as a string or number."""
    if isinstance(leaf, torch.Tensor):
        numbers = leaf.detach().numpy()
        pair = np.stack([numbers.real, numbers.imag], -1) if numbers.dtype.kind == "c" else numbers
        return [str(leaf.dtype).removeprefix("torch."), list(leaf.shape), pair.ravel().tolist()]
    return leaf if isinstance(leaf, bool | int | float | None) else str(leaf).removeprefix("torch.")


def run_line(torch: Any, line: str) -> dict[str, Any]:
    """The result of a line, and the gradients of the sum of its squares."""
    given = inputs(torch)
    names = {"torch": torch, "np": np, **given}
    *statements, last = line.split("; ")
    exec("\n".join(statements), names)
    parts = leaves(eval(last, names))
    found: dict[str, Any] = {"value": [describe(torch, part) for part in parts]}
    live = [part for part in parts if isinstance(part, torch.Tensor) and part.requires_grad and part.numel()]
    if live:
        sum((part.abs() ** 2).sum() for part in live).backward()
        found["grad"] = {
            name: given[name].grad.numpy().ravel().tolist()
            for name in given
            if given[name].is_leaf and given[name].grad is not None
        }
    return found


def main() -> None:
    import torch

    STORED.write_text(json.dumps({line: run_line(torch, line) for line in LINES}) + "\n")


if __name__ == "__main__":
    main()

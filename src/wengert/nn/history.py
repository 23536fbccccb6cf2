"""The loss and the metrics of each epoch: as lists, as a table, and as a picture."""

from __future__ import annotations

import os
from importlib import import_module
from typing import Any

from wengert.core.errors import user_error

VALIDATION = "val_"
"""The beginning of the names of numbers that are measured on the validation data."""


class History(dict[str, list[float]]):
    """A list for each number, with an element for each epoch: `loss`, `val_loss`, metrics, `seconds`.

    >>> history = History()
    >>> history.add({"loss": 0.5, "val_loss": 0.6})
    >>> history.add({"loss": 0.25, "val_loss": 0.5})
    >>> history["loss"], history.best("val_loss")
    ([0.5, 0.25], 2)
    >>> print(history)
    epoch  loss  val_loss
        1   0.5       0.6
        2  0.25       0.5
    """

    def add(self, numbers: dict[str, float]) -> None:
        """Append the numbers of an epoch."""
        for name, value in numbers.items():
            self.setdefault(name, []).append(value)

    @property
    def epochs(self) -> int:
        """The number of epochs."""
        return max(map(len, self.values()), default=0)

    def best(self, name: str, mode: str = "min") -> int:
        """The epoch, counted from 1, in which a number was smallest, or largest (`mode="max"`)."""
        values = self[name]
        return values.index(min(values) if mode == "min" else max(values)) + 1

    def __repr__(self) -> str:
        return f"<History of {self.epochs} epochs: {', '.join(self)}>"

    def __str__(self) -> str:
        columns = [["epoch", *map(str, range(1, self.epochs + 1))]]
        columns += [[name, *[f"{value:.4g}" for value in values]] for name, values in self.items()]
        widths = [max(map(len, column)) for column in columns]
        return "\n".join(
            "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True))
            for row in zip(*columns, strict=True)
        )

    def plot(self, path: str | os.PathLike[str] | None = None, log: bool = False) -> Any:
        """A figure of Matplotlib: a panel for the loss and one for each metric, with training and validation.

        It is written to a file if there is a path; `log` gives the loss a logarithmic axis.
        """
        try:
            figure_type = import_module("matplotlib.figure").Figure
        except ImportError as error:
            raise user_error(
                ModuleNotFoundError,
                "A plot needs Matplotlib",
                'Install it: python -m pip install "wengert[nn]", or python -m pip install matplotlib.',
            ) from error
        names = [name for name in self if name != "seconds" and name.removeprefix(VALIDATION) == name]
        figure = figure_type(figsize=(4.2 * max(len(names), 1), 3.2), layout="constrained")
        for axes, name in zip(figure.subplots(1, len(names), squeeze=False)[0], names, strict=True):
            for label, key in (("training", name), ("validation", VALIDATION + name)):
                if key in self:
                    axes.plot(range(1, len(self[key]) + 1), self[key], label=label)
            axes.set(xlabel="epoch", ylabel=name.replace("_", " "))
            if log and name == "loss":
                axes.set_yscale("log")
            axes.legend(frameon=False)
        if path is not None:
            figure.savefig(path, dpi=120)
        return figure

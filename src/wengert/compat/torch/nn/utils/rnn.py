"""`torch.nn.utils.rnn`: sequences of different lengths in one tensor."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import wengert as wg
from wengert.compat.differences import without
from wengert.compat.torch.differences import ABSENT
from wengert.compat.torch.values import layered, plain

__all__ = ["pad_sequence", "unpad_sequence"]


@layered
def pad_sequence(
    sequences: Iterable[Any], batch_first: bool = False, padding_value: float = 0.0, padding_side: str = "right"
) -> Any:
    """Sequences as one tensor, (T, N, ...) or with `batch_first` (N, T, ...), padded to the longest.

    >>> import wengert.compat.torch as torch
    >>> pad_sequence([torch.ones(1), torch.ones(3)], batch_first=True).tolist()
    [[1.0, 0.0, 0.0], [1.0, 1.0, 1.0]]
    """
    parts = [plain(x) for x in sequences]
    longest = max(x.shape[0] for x in parts)
    rows = []
    for x in parts:
        missing = longest - x.shape[0]
        width = (0, missing) if padding_side == "right" else (missing, 0)
        rows.append(wg.pad(x, [width] + [(0, 0)] * (x.ndim - 1), constant_values=padding_value))
    return wg.stack(rows, axis=0 if batch_first else 1)


def unpad_sequence(padded_sequences: Any, lengths: Any, batch_first: bool = False) -> list[Any]:
    """The sequences of a padded tensor."""
    rows = padded_sequences if batch_first else padded_sequences.transpose(0, 1)
    return [row[: int(n)] for row, n in zip(rows, lengths, strict=True)]


__getattr__ = without(__name__, ABSENT)

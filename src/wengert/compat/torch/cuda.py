"""`torch.cuda`: there is no GPU, and programs that ask are told so."""

from __future__ import annotations

from wengert.compat.differences import without
from wengert.compat.torch.differences import ABSENT

__all__ = ["device_count", "empty_cache", "is_available", "manual_seed", "manual_seed_all", "synchronize"]

__getattr__ = without(__name__, ABSENT)


def is_available() -> bool:
    """False."""
    return False


def device_count() -> int:
    """0."""
    return 0


def manual_seed(seed: int) -> None:
    """Nothing to do: there is no generator on a GPU."""


manual_seed_all = manual_seed


def empty_cache() -> None:
    """Nothing to do."""


def synchronize(device: object = None) -> None:
    """Nothing to wait for."""

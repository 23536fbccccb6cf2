"""`torch.autograd.graph`: what happens to values that are saved for the backward pass."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wengert.autograd import saved_tensors_hooks as engine_hooks
from wengert.compat.differences import without
from wengert.compat.torch.differences import ABSENT
from wengert.compat.torch.values import hand_in, plain

__all__ = ["saved_tensors_hooks"]

__getattr__ = without(__name__, ABSENT)


class saved_tensors_hooks(engine_hooks):
    """In this block, `pack_hook` makes of each saved tensor what is kept, and `unpack_hook` makes a tensor of it."""

    def __init__(self, pack_hook: Callable[[Any], Any], unpack_hook: Callable[[Any], Any]):
        super().__init__(lambda x: pack_hook(hand_in(x)), lambda kept: plain(unpack_hook(kept)))

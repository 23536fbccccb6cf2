"""`torch.utils.checkpoint`: values that are computed again in the backward pass, by `wg.checkpoint`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from wengert.compat.torch.values import adopt, inward, plain
from wengert.control import checkpoint as engine

__all__ = ["checkpoint", "checkpoint_sequential"]


def checkpoint(
    function: Callable[..., Any],
    *args: Any,
    use_reentrant: bool | None = None,
    preserve_rng_state: bool = True,
    determinism_check: str = "default",
    debug: bool = False,
    **kwargs: Any,
) -> Any:
    """`function(*args)`, of which only the arguments are kept for the backward pass, which calls it again."""
    return adopt(engine.checkpoint(inward(function))(*plain(args), **plain(kwargs)))


def checkpoint_sequential(
    functions: Sequence[Callable[..., Any]],
    segments: int,
    input: Any,
    use_reentrant: bool | None = None,
    preserve_rng_state: bool = True,
) -> Any:
    """Functions, or a `Sequential`, one after the other, in `segments` checkpointed segments."""
    return adopt(engine.checkpoint_sequential([inward(f) for f in functions], segments, plain(input)))

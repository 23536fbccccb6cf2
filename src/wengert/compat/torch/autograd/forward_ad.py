"""`torch.autograd.forward_ad`: tensors with tangents, inside a `dual_level`."""

from __future__ import annotations

from typing import Any, NamedTuple

from wengert.compat.torch.values import adopt, hand_out, plain
from wengert.core.errors import user_error
from wengert.core.levels import is_own, new_level
from wengert.modes.forward import Dual

__all__ = ["UnpackedDualTensor", "dual_level", "enter_dual_level", "exit_dual_level", "make_dual", "unpack_dual"]

LEVELS: list[int] = []
"""The levels that are open."""


class UnpackedDualTensor(NamedTuple):
    """A tensor, and its tangent or None."""

    primal: Any
    tangent: Any


class dual_level:
    """A block in which tensors may have tangents.

    >>> import wengert.compat.torch as torch
    >>> with dual_level():
    ...     x = make_dual(torch.tensor(3.0), torch.tensor(1.0))
    ...     unpack_dual(x * x).tangent
    tensor(6.)
    """

    def __enter__(self) -> int:
        return enter_dual_level()

    def __exit__(self, *exc: Any) -> None:
        exit_dual_level()


def enter_dual_level() -> int:
    """Open a level."""
    if LEVELS:
        raise user_error(RuntimeError, "A dual_level inside another", "Nest torch.func.jvp instead.")
    LEVELS.append(new_level())
    return 0


def exit_dual_level(*, level: int | None = None) -> None:
    """Close the level."""
    LEVELS.pop()


def make_dual(tensor: Any, tangent: Any, *, level: int | None = None) -> Any:
    """A tensor with a tangent."""
    if not LEVELS:
        raise user_error(RuntimeError, "make_dual outside of a level", "Write `with fwAD.dual_level():` around it.")
    if tensor.shape != tangent.shape:
        raise user_error(RuntimeError, f"A tangent of shape {tangent.shape} for a tensor of shape {tensor.shape}")
    return adopt(Dual(plain(tensor), plain(tangent), LEVELS[-1]))


def unpack_dual(tensor: Any, *, level: int | None = None) -> UnpackedDualTensor:
    """A tensor without its tangent, and the tangent."""
    if not LEVELS or not is_own(tensor, Dual, LEVELS[-1]):
        return UnpackedDualTensor(tensor, None)
    return UnpackedDualTensor(hand_out(tensor.value), hand_out(tensor.tangent))

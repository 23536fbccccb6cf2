"""What layers have in common: how they differ from their peers, and which names they do not have.

Each layer has a module `differences.py` of its own with `DIFFERENCES` and `ABSENT`. `docs/compat.py` makes pages of
them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, NoReturn


class Difference(NamedTuple):
    """Something that the peer does one way and the layer another."""

    what: str
    peer: str
    here: str


def without(module: str, absent: Mapping[str, str]) -> Callable[[str], Any]:
    """The `__getattr__` of a module of a layer: it raises an error that names the alternative.

    `absent` has the alternatives by the name in the peer, such as "torch.nn.Bilinear".

    >>> without("wengert.compat.torch.nn", {"torch.nn.Bilinear": "torch.einsum"})("Bilinear")
    Traceback (most recent call last):
        ...
    AttributeError: torch.nn.Bilinear is not in wengert.compat.torch. Use torch.einsum.
    """
    name_in_peer = module.removeprefix("wengert.compat.")
    layer = name_in_peer.partition(".")[0]

    def refuse(name: str) -> NoReturn:
        instead = absent.get(f"{name_in_peer}.{name}")
        raise AttributeError(
            f"{name_in_peer}.{name} is not in wengert.compat.{layer}." + (f" Use {instead}." if instead else ""),
            name=name,
        )

    return refuse

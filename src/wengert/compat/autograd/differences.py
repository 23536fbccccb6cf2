"""How the layer differs from autograd, and which names it does not have."""

from wengert.compat.differences import Difference

PEER = "autograd"

DIFFERENCES: list[Difference] = []

ABSENT: dict[str, str] = {}

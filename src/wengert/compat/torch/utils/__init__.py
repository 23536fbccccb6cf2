"""`torch.utils`: data and checkpoints."""

from wengert.compat.differences import without
from wengert.compat.torch.differences import ABSENT
from wengert.compat.torch.utils import checkpoint as checkpoint
from wengert.compat.torch.utils import data as data

__all__ = ["checkpoint", "data"]

__getattr__ = without(__name__, ABSENT)

"""`torch.optim.lr_scheduler`: the schedules of `wg.optim`, which have PyTorch's names and arguments."""

from wengert.compat.differences import without
from wengert.compat.torch.differences import ABSENT
from wengert.optim import lr_scheduler as engine
from wengert.optim.lr_scheduler import *  # noqa: F403  # they are those

__all__ = list(engine.__all__)

__getattr__ = without(__name__, ABSENT)

"""`torch.optim`: the optimisers of `wg.optim`, which have PyTorch's formulas."""

from wengert.compat.differences import without
from wengert.compat.torch.differences import ABSENT
from wengert.compat.torch.optim import lr_scheduler, methods, swa_utils
from wengert.compat.torch.optim.methods import *  # noqa: F403  # the public names of this namespace
from wengert.compat.torch.optim.optimizer import Optimizer

__all__ = ["Optimizer", "lr_scheduler", "swa_utils", *methods.__all__]

__getattr__ = without(__name__, ABSENT)

"""`torch.optim`: the optimisers of `wg.optim`, which have PyTorch's formulas."""

from wengert.compat.differences import without
from wengert.compat.torch.differences import ABSENT
from wengert.compat.torch.optim import lr_scheduler as lr_scheduler
from wengert.compat.torch.optim import swa_utils as swa_utils
from wengert.compat.torch.optim.optimizer import Optimizer as Optimizer
from wengert.core.namespaces import gather_names

FAMILIES = ("compat.torch.optim.methods",)
"""The modules whose public names are here."""

__all__ = ["Optimizer", "lr_scheduler", "swa_utils", *gather_names(globals(), FAMILIES)]

__getattr__ = without(__name__, ABSENT)

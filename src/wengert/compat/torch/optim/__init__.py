"""`torch.optim`: the optimisers of `wg.optim`, which have PyTorch's formulas."""

from wengert.compat.differences import without
from wengert.compat.torch.differences import ABSENT
from wengert.compat.torch.optim import lr_scheduler as lr_scheduler
from wengert.compat.torch.optim import swa_utils as swa_utils
from wengert.core.namespaces import gather_names

FAMILIES = ("compat.torch.optim.methods", "compat.torch.optim.optimizer: Optimizer")
"""The modules whose public names are here."""

__all__ = ["lr_scheduler", "swa_utils", *gather_names(globals(), FAMILIES)]

__getattr__ = without(__name__, ABSENT)

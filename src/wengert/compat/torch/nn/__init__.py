"""`torch.nn`: modules, layers and losses. They run the modules of `wg.nn`, with PyTorch's conventions."""

from wengert.compat.differences import without
from wengert.compat.torch.differences import ABSENT
from wengert.compat.torch.nn import functional as functional
from wengert.compat.torch.nn import init as init
from wengert.compat.torch.nn import parameter as parameter
from wengert.compat.torch.nn import utils as utils
from wengert.compat.torch.nn.module import Module as Module
from wengert.compat.torch.nn.parameter import Buffer as Buffer
from wengert.compat.torch.nn.parameter import Parameter as Parameter
from wengert.core.namespaces import gather_names

FAMILIES = (
    "compat.torch.nn.containers",
    "compat.torch.nn.layers",
    "compat.torch.nn.module",
)
"""The modules whose public names are here."""

__all__ = ["Buffer", "Parameter", "functional", "init", "parameter", "utils", *gather_names(globals(), FAMILIES)]

__getattr__ = without(__name__, ABSENT)

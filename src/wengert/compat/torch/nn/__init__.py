"""`torch.nn`: modules, layers and losses. They run the modules of `wg.nn`, with PyTorch's conventions."""

from wengert.compat.differences import without
from wengert.compat.torch.differences import ABSENT
from wengert.compat.torch.nn import containers, functional, init, layers, parameter, utils
from wengert.compat.torch.nn.containers import *  # noqa: F403  # the public names of this namespace
from wengert.compat.torch.nn.layers import *  # noqa: F403  # the same
from wengert.compat.torch.nn.module import Module
from wengert.compat.torch.nn.parameter import Buffer, Parameter

__all__ = [
    "Buffer", "Module", "Parameter", "functional", "init", "parameter", "utils", *containers.__all__, *layers.__all__,
]  # fmt: skip

__getattr__ = without(__name__, ABSENT)

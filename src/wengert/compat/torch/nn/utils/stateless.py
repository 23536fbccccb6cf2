"""`torch.nn.utils.stateless`: modules as functions of their parameters."""

from wengert.compat.torch.module_calls import functional_call

__all__ = ["functional_call"]

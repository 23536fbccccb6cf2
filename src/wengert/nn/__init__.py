"""Models: modules with parameters, layers, losses, and how they are trained."""

from wengert.nn.clipping import clip_grad_norm_, clip_grad_value_
from wengert.nn.module import Module, Parameter

__all__ = ["Module", "Parameter", "clip_grad_norm_", "clip_grad_value_"]

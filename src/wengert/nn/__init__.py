"""Models: modules with parameters, layers, losses, and how they are trained."""

from wengert.nn.module import Module, Parameter

__all__ = ["Module", "Parameter"]

"""The spaces of arrays: `autograd.numpy.numpy_vspaces`."""

from wengert.compat.autograd.differences import ABSENT
from wengert.compat.autograd.spaces import VSpace
from wengert.compat.differences import without

__all__ = ["ArrayVSpace", "ComplexArrayVSpace"]

__getattr__ = without(__name__, ABSENT)

ArrayVSpace = ComplexArrayVSpace = VSpace

"""`wg.signal`: convolution and correlation in any number of dimensions, by the names of `scipy.signal`."""

from wengert.core.namespaces import gather_names, name_functions

FAMILIES = ("ops.signal.convolution", "ops.signal.filtering", "ops.signal.windows")

__all__ = gather_names(globals(), FAMILIES)

__getattr__, __dir__ = name_functions(globals())

"""`wg.signal`: convolution and correlation in any number of dimensions, with channels or without, by the names of
`scipy.signal`.
"""

from wengert.core.namespaces import gather

FAMILIES = ("ops.signal.convolution", "ops.signal.filtering")

__all__ = gather(globals(), FAMILIES)


def __dir__() -> list[str]:
    return __all__

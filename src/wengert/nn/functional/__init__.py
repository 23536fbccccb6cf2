"""`wg.nn.functional`: layers and losses as functions of arrays, by the names and with the arguments of PyTorch."""

from wengert.core.namespaces import gather_names

FAMILIES = (
    "nn.functional.classification",
    "nn.functional.ctc",
    "nn.functional.distances",
)

__all__ = gather_names(globals(), FAMILIES)


def __dir__() -> list[str]:
    return __all__

"""`wg.nn.functional`: layers and losses as functions of arrays, by the names and with the arguments of PyTorch."""

from wengert.core.namespaces import gather_names

FAMILIES = (
    "nn.functional.activations",
    "nn.functional.affine",
    "nn.functional.attention",
    "nn.functional.classification",
    "nn.functional.convolution",
    "nn.functional.ctc",
    "nn.functional.distances",
    "nn.functional.normalization",
    "nn.functional.pooling",
)

__all__ = gather_names(globals(), FAMILIES)


def __dir__() -> list[str]:
    return __all__

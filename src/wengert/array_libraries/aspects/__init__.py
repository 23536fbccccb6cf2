"""How operations run on the arrays of a GPU, one file for each family: the aspect `device_call`."""

from wengert.array_libraries.aspects import (
    bessel,
    elementwise,
    indexing,
    linalg,
    reductions,
    samples,
    shape,
    signal,
    special,
)

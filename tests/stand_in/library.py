"""A stand-in for CuPy, for machines without a GPU: arrays that follow NumPy's protocols as CuPy's do.

`arrays` has the functions of `cupy`, and `scipy` those of `cupyx.scipy`, as far as CuPy has them. Their numbers are in
the memory of the CPU, but NumPy cannot see them: each copy to NumPy is counted (`HOST_COPIES`).

`LIBRARY` is registered in the same way as CuPy: `LIBRARIES["cuda"] = LIBRARY`. Its programs run on the
emulator of GPUs. With `WENGERT_TEST_DEVICE=cuda` the tests run on CuPy instead.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from wengert.core import devices
from wengert.core.spec import PLAIN

LIBRARY = devices.ArrayLibrary(
    "cuda", "tests.stand_in.arrays", "tests.stand_in.scipy", "tests.compiler.targets.emulator", (2,), "cuda"
)
ON_GPU = os.environ.get("WENGERT_TEST_DEVICE") == "cuda"


@contextmanager
def registered() -> Iterator[None]:
    """A context in which the stand-in is the library of the kind "cuda", unless that is on a GPU."""
    before = devices.LIBRARIES["cuda"]
    if not ON_GPU:
        devices.LIBRARIES["cuda"] = LIBRARY
    try:
        yield
    finally:
        devices.LIBRARIES["cuda"] = before
        for cls in list(devices.ARRAY_CLASSES):
            del devices.ARRAY_CLASSES[cls]
            PLAIN.discard(cls)

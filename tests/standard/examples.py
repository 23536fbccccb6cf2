"""Arguments with which each function of the standard can be called: positional ones, and those given by keyword."""

from __future__ import annotations

import numpy as np
from tests.standard.calls import FUNCTIONS, accepts, sample

x = sample("float64")
y = sample("float64", seed=1)
square = sample("float64", (3, 3)) + 3 * np.eye(3)
definite = square @ square.T
signal = sample("complex128", (4, 6))
float64, int64 = np.dtype("float64"), np.dtype("int64")

EXAMPLES: dict[str, tuple] = {
    "arange": (3,),
    "asarray": ([[1, 2], [3, 4]],),
    "astype": (x, np.dtype("float32")),
    "broadcast_arrays": (x, y[0]),
    "broadcast_to": (x[0], (4, 3)),
    "can_cast": (np.dtype("int8"), int64),
    "clip": (x, -0.3, 0.4),
    "concat": ([x, y],),
    "cross": (x, y),
    "cumulative_prod": (x[0],),
    "cumulative_sum": (x[0],),
    "diff": (x,),
    "empty": ((2, 3),),
    "expand_dims": (x, 1),
    "eye": (3,),
    "finfo": (float64,),
    "from_dlpack": (x,),
    "full": ((2, 3), 4.0),
    "full_like": (x, 4.0),
    "iinfo": (int64,),
    "isdtype": (float64, "real floating"),
    "linspace": (0.0, 1.0, 5),
    "matmul": (x, square),
    "meshgrid": (x[0], y[1]),
    "moveaxis": (x, 0, 1),
    "ones": ((2, 3),),
    "permute_dims": (x, (1, 0)),
    "repeat": (x, 2),
    "reshape": (x, (3, 2)),
    "result_type": (x, np.dtype("float32")),
    "roll": (x, 1),
    "searchsorted": (np.sort(x[0]), y),
    "squeeze": (x[None], 0),
    "stack": ([x, y],),
    "take": (x[0], np.array([2, 0, 0])),
    "take_along_axis": (x, np.array([[2, 0], [1, 1]])),
    "tensordot": (sample("float64", (2, 3, 4)), sample("float64", (3, 4, 2))),
    "tile": (x, (2, 1, 2)),
    "vecdot": (x, y),
    "where": (x > 0, x, y),
    "zeros": ((2, 3),),
    "linalg.cholesky": (definite,),
    "linalg.cross": (x, y),
    "linalg.matmul": (x, square),
    "linalg.matrix_power": (square, 3),
    "linalg.outer": (x[0], y[1]),
    "linalg.solve": (square, sample("float64", (3, 2))),
    "linalg.tensordot": (sample("float64", (2, 3, 4)), sample("float64", (3, 4, 2))),
    "linalg.vecdot": (x, y),
    "fft.fftfreq": (5,),
    "fft.rfftfreq": (5,),
}
EXAMPLES |= {f"linalg.{name}": (square,) for name in ("det", "inv", "slogdet")}
EXAMPLES |= {f"linalg.{name}": (definite,) for name in ("eigh", "eigvalsh")}
EXAMPLES |= {f"fft.{name}": (signal.real,) for name in ("rfft", "rfftn", "ihfft")}
EXAMPLES |= {name: (signal,) for name in FUNCTIONS if name.startswith("fft.") and name not in EXAMPLES}


def guess(name: str) -> tuple:
    """Arguments for a function of one array or of two, of the first dtype that the standard allows."""
    for dtype in ("float64", "int64", "bool", "complex128"):
        numbers = sample(dtype)
        for args in ((numbers,), (numbers, sample(dtype, seed=1))):
            if accepts(name, *args):
                return args
    raise LookupError(f"no example for {name}")


for name in FUNCTIONS:
    if name not in EXAMPLES:
        EXAMPLES[name] = guess(name)

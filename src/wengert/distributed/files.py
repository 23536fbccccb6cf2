"""Files of arrays, read row by row where they are: by the worker, when it needs them."""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

from wengert.core.errors import user_error
from wengert.core.spec import Spec


class RowReader:
    """A reader: some rows of a file."""

    def __init__(self, file: Any, start: int, stop: int):
        self.file, self.start, self.stop = file, start, stop

    def __call__(self) -> Any:
        return self.file.read(self.start, self.stop)


def cut_rows(length: int, rows: int) -> list[tuple[int, int]]:
    """The first and last row of each shard.

    >>> cut_rows(5, 2)
    [(0, 2), (2, 4), (4, 5)]
    """
    return [(a, min(a + rows, length)) for a in range(0, length, rows)] or [(0, 0)]


class ArrayFile:
    """A file with one array, whose first axis counts the rows; `spec` is that of the array."""

    def __init__(self, name: str, spec: Spec):
        self.name, self.length, self.spec = name, spec.shape[0], spec

    def cuts(self, rows: int) -> list[tuple[int, int]]:
        """The shards, as the first and last row of each."""
        return cut_rows(self.length, rows)

    def specs(self, rows: int) -> Spec:
        """The spec of so many rows."""
        return Spec((rows, *self.spec.shape[1:]), self.spec.dtype)


class NpyFile(ArrayFile):
    """A `.npy` file. A shard is mapped to memory while a program runs on it, and takes none afterwards."""

    def __init__(self, path: str):
        array = np.load(path, mmap_mode="r", allow_pickle=False)
        if not array.ndim or not array.flags.c_contiguous:
            raise user_error(
                ValueError,
                f"{path!r} has an array {'with its first axis innermost' if array.ndim else 'without axes'}",
                "np.save writes rows of an array that is C-contiguous: np.ascontiguousarray(x).",
            )
        super().__init__(os.path.basename(path), Spec.of(array))
        self.path, self.offset = path, int(array.offset)

    def read(self, start: int, stop: int) -> np.ndarray:
        """Some rows."""
        spec = self.specs(stop - start)
        if not spec.size:
            return np.empty(spec.shape, spec.dtype)
        return np.memmap(self.path, spec.dtype, "r", self.offset + start * self.specs(1).nbytes, spec.shape)


class ZarrFile(ArrayFile):
    """An array of Zarr's; a shard is one or several of its chunks along the first axis."""

    def __init__(self, array: Any, name: str = ""):
        self.array, name = array, name or getattr(array, "name", None) or "array"
        if not array.ndim:
            raise user_error(ValueError, f"{name!r} has an array without axes")
        super().__init__(name, Spec(tuple(array.shape), np.dtype(array.dtype)))

    def cuts(self, rows: int) -> list[tuple[int, int]]:
        """The shards, of whole chunks."""
        chunk = max(1, self.array.chunks[0])
        return super().cuts(max(chunk, rows // chunk * chunk))

    def read(self, start: int, stop: int) -> np.ndarray:
        """Some rows."""
        return np.asarray(self.array[start:stop])


def open_zarr(path: str) -> ZarrFile:
    """The array of Zarr's in a folder."""
    return ZarrFile(import_module("zarr").open_array(path, mode="r"), os.path.basename(path.rstrip(os.sep)))


class ParquetFile:
    """A Parquet file: a shard is one or several of its row groups, a dict of columns."""

    spec = None

    def __init__(self, path: str):
        self.path, self.name = path, os.path.basename(path)
        file = import_module("pyarrow.parquet").ParquetFile(path)
        groups = [file.metadata.row_group(i).num_rows for i in range(file.num_row_groups)]
        self.bounds = [0, *np.cumsum(groups).tolist()]
        self.length = self.bounds[-1]
        self.dtypes = {field.name: np.dtype(field.type.to_pandas_dtype()) for field in file.schema_arrow}
        wrong = [name for name, dtype in self.dtypes.items() if dtype.kind not in "biuf"]
        if wrong:
            raise user_error(
                TypeError,
                f"The columns {wrong} of {path!r} are no numbers",
                "Write a file without them, or read it in a function.",
            )

    def cuts(self, rows: int | None) -> list[tuple[int, int]]:
        """The shards: row groups, joined while they have at most so many rows together."""
        found: list[tuple[int, int]] = []
        for a, b in zip(self.bounds[:-1], self.bounds[1:], strict=True):
            if found and rows is not None and b - found[-1][0] <= rows:
                found[-1] = found[-1][0], b
            else:
                found.append((a, b))
        return found or [(0, 0)]

    def specs(self, rows: int) -> dict[str, Spec]:
        """The specs of so many rows of each column."""
        return {name: Spec((rows,), dtype) for name, dtype in self.dtypes.items()}

    def read(self, start: int, stop: int) -> dict[str, np.ndarray]:
        """Some row groups."""
        groups = range(self.bounds.index(start), self.bounds.index(stop)) if stop > start else range(0)
        table = import_module("pyarrow.parquet").ParquetFile(self.path).read_row_groups(list(groups))
        return {name: table.column(name).to_numpy().astype(dtype, copy=False) for name, dtype in self.dtypes.items()}


READERS: dict[str, Callable[[str], Any]] = {".npy": NpyFile, ".zarr": open_zarr, ".parquet": ParquetFile}
"""The files that can be read, by the endings of their names."""

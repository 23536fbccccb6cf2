"""Sorting, counting and drawing."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.array_libraries.aspects.indexing import refuse_host
from wengert.core.device_calls import device_call
from wengert.core.devices import ArrayLibrary
from wengert.core.errors import user_error
from wengert.ops.samples import counter_words, draws
from wengert.ops.samples.histograms import _bin_edges, _histogram, _order
from wengert.ops.samples.sorting import _argpartition, _searchsorted, order_of_partition


@device_call(_argpartition)
def argpartition_on_device(library: ArrayLibrary, x: Any, kth: Any, axis: int, kind: str) -> Any:
    """The order of a partition, from a sorted copy: CuPy's partition takes other arguments."""
    return order_of_partition(x, library.numpy.sort(x, axis), kth, axis)


@device_call(_searchsorted)
def searchsorted_on_device(library: ArrayLibrary, x: Any, y: Any, **params: Any) -> Any:
    """A number is copied to the device: CuPy takes those of Python only."""
    xp = library.numpy
    refuse_host(x)
    refuse_host(y)
    return xp.searchsorted(x, y if np.ndim(y) else xp.asarray(y), **params)


@device_call(_bin_edges)
def bin_edges_on_device(library: ArrayLibrary, x: Any, bins: Any, range: Any) -> Any:
    """The edges of so many bins."""
    if isinstance(bins, str):
        raise user_error(ValueError, f"Bins by the rule {bins!r} are not computed on a GPU", "Pass a number of bins.")
    return library.numpy.histogram(_order(x), bins, range)[1]


@device_call(_histogram)
def histogram_on_device(library: ArrayLibrary, x: Any, y: Any) -> Any:
    """The counts in bins with these edges."""
    return library.numpy.histogram(_order(x), y)[0]


device_call.without(
    "generators have their states on the CPU; move what they draw with x.to(device)",
    counter_words.random_words, counter_words.random_uniform, counter_words.random_normal, counter_words.multiply_high,
)  # fmt: skip
device_call.without("binomial counts are computed by SciPy, on the CPU", draws.counts)

"""`sum` and `mean`: a function of parameters and a shard becomes a function of the parameters alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import update_wrapper
from typing import Any

import numpy as np

from wengert.control.bodies import close_function, share_captured
from wengert.control.values import match_given
from wengert.core import tree
from wengert.core.errors import GradientError, TrackedValueError, user_error
from wengert.core.primitive import as_operand
from wengert.core.spec import Spec
from wengert.distributed.execution import shard_layout
from wengert.distributed.operation import DISTRIBUTED_SUM, operands_first
from wengert.distributed.shards import RunOptions, ShardLayout, Shards
from wengert.distributed.sources import find_shards
from wengert.graph.graph import Graph
from wengert.modes import recording
from wengert.modes.forward import zeros_like
from wengert.ops.elementwise.choices import where
from wengert.source.reading import read_function
from wengert.transforms.transformed_function import function_name

TRANSFERS = (None, "float32")


def sum(
    f: Callable[..., Any],
    data: Any,
    *,
    rows: int | None = None,
    persist: bool | None = None,
    transfer: str | None = None,
    retries: int = 0,
    timeout: float | None = None,
    progress: Any = False,
) -> DistributedSum:
    """The function `loss(params)` that is the sum of `f(params, shard)` over the shards of the data.

    It runs on the current cluster (`wg.distributed.local`, or any `dask.distributed.Client`); if there is none, in this
    process. It is one operation: it can be differentiated, batched and compiled, and its derivatives are sums over the
    same shards. `f` is traced once for each kind of shard and runs as compiled code. What it returns may be a tree of
    arrays; it may take several parameters, the shard being the last argument.

    `data` is a list of shards (arrays, trees of arrays, functions without arguments that make a shard, file names,
    delayed objects or futures of Dask's), one Dask array or bag, a `.npy`, `.zarr` or `.parquet` file, or a tuple or
    dict of these, cut alike. Arrays and files are cut along their first axis, into shards of `rows` rows. With
    `persist`, shards that are read or made stay in memory; by default, those from files do not.

    Partial results are added in an order that depends on the shards only, so the same bits come from any cluster. With
    transfer="float32", arrays among partial results travel in single precision. A task that fails is run again
    `retries` times; after `timeout` seconds a call is given up. `progress` shows a line.

    >>> data = [np.array([1.0, 2.0]), np.array([3.0])]
    >>> loss = sum(lambda w, x: ((w - x) ** 2).sum(), data)
    >>> loss(2.0)
    np.float64(2.0)
    >>> from wengert.transforms.gradients import grad
    >>> grad(loss)(1.0)
    np.float64(-6.0)
    """
    return DistributedSum(f, find_shards(data, rows, persist), make_options(transfer, retries, timeout, progress))


def mean(
    f: Callable[..., Any],
    data: Any,
    *,
    weights: Callable[[Any], Any] | None = None,
    rows: int | None = None,
    persist: bool | None = None,
    transfer: str | None = None,
    retries: int = 0,
    timeout: float | None = None,
    progress: Any = False,
) -> DistributedMean:
    """The function `loss(params)` that is the weighted mean of `f(params, shard)` over the shards of the data.

    `weights(shard)` is the weight of a shard, by default its number of rows; a shard without weight does not count. All
    else is as for `sum`.

    >>> data = [np.array([1.0, 2.0]), np.array([6.0])]
    >>> mean(lambda w, x: w * x.mean(), data)(1.0)
    np.float64(3.0)
    """
    options = make_options(transfer, retries, timeout, progress)
    return DistributedMean(f, find_shards(data, rows, persist), options, weights)


def make_options(transfer: Any, retries: Any, timeout: Any, progress: Any) -> RunOptions:
    """The options of a sum, if they are valid."""
    if transfer not in TRANSFERS:
        raise user_error(ValueError, f"transfer={transfer!r}", "It is None or 'float32'.")
    if not isinstance(retries, int) or retries < 0:
        raise user_error(ValueError, f"retries={retries!r}", "It is a number of times, 0 or more.")
    if timeout is not None and not timeout > 0:
        raise user_error(ValueError, f"timeout={timeout!r}", "It is a number of seconds, or None.")
    return RunOptions(transfer, retries, timeout, progress)


class DistributedSum:
    """A function of parameters that is a sum over shards."""

    def __init__(self, f: Callable[..., Any], shards: Shards, options: RunOptions):
        if not callable(f):
            raise user_error(TypeError, f"A sum is that of a function, and was given a {type(f).__name__}")
        update_wrapper(self, f, updated=())
        self.f, self.shards, self.options = f, shards, options
        self.known: dict[Any, tuple[tree.Structure, tuple[Graph, ...]]] = {}

    def __call__(self, *params: Any) -> Any:
        leaves, structure = tree.flatten(params)
        leaves = [as_operand(x) for x in leaves]
        layout = shard_layout(self.shards)
        key = structure, tuple(map(Spec.of, leaves))
        found = self.known.get(key)
        captured: list[Any] = []
        if found is None:
            result, bodies, captured = self.trace(leaves, structure, layout)
            if not captured:  # else the values are found again
                self.known[key] = result, bodies
        else:
            result, bodies = found
        outs = DISTRIBUTED_SUM.op(*leaves, *captured, bodies=bodies, shards=self.shards, options=self.options)
        return tree.map(lambda y: match_given(y, params), self.finish(tree.unflatten(result, outs)))

    def trace(
        self, leaves: Sequence[Any], structure: tree.Structure, layout: ShardLayout
    ) -> tuple[tree.Structure, tuple[Graph, ...], list[Any]]:
        """The structure of the result, a body for each kind of shard, and the values that the function captured."""
        results: list[tree.Structure] = []

        def flat(symbols: list[Any]) -> list[Any]:
            params = tree.unflatten(structure, symbols[: len(leaves)])
            outs, result = tree.flatten(self.evaluate(params, tree.unflatten(layout.structure, symbols[len(leaves) :])))
            results.append(result)
            return [as_addend(y) for y in outs]

        shard = tree.unflatten(layout.structure, [0] * len(layout.kinds[0]))
        names = tree.leaf_names(self.f, tree.structure(((*tree.unflatten(structure, leaves), shard), {})))
        closed = []
        for kind in layout.kinds:
            try:
                with recording.override(reader=read_function):
                    closed.append(close_function(flat, [*map(Spec.of, leaves), *kind], "a distributed sum", names))
            except (TrackedValueError, GradientError) as error:
                error.add_note("The function of a distributed sum runs as compiled code, so it must be traceable.")
                raise
        for i, (body, _) in enumerate(closed):
            check_results(results[0], results[i], closed[0].body, body)
        captured, bodies = share_captured(closed)
        arrays = len(layout.kinds[0])
        return results[0], tuple([operands_first(body, len(leaves), arrays) for body in bodies]), captured

    def evaluate(self, params: tuple[Any, ...], shard: Any) -> Any:
        """What is added up, for one shard."""
        return recording.as_read(self.f)(*params, shard)

    def finish(self, total: Any) -> Any:
        """The result of a call, for what was added up."""
        return total

    def __repr__(self) -> str:
        return f"<sum of {function_name(self.f).strip('()')} over {len(self.shards)} shards>"


class DistributedMean(DistributedSum):
    """A function of parameters that is a weighted mean over shards: a sum of products with weights, and of weights."""

    def __init__(
        self, f: Callable[..., Any], shards: Shards, options: RunOptions, weights: Callable[[Any], Any] | None = None
    ):
        super().__init__(f, shards, options)
        self.weights = weights

    def evaluate(self, params: tuple[Any, ...], shard: Any) -> Any:
        value = super().evaluate(params, shard)
        if self.weights is not None:
            weight = self.weights(shard)
            if np.shape(weight):
                raise user_error(TypeError, f"The weight of a shard has shape {np.shape(weight)}", "Return one number.")
            return tree.map(lambda y: where(weight == 0, 0.0, weight * y), value), weight * 1.0
        rows = number_of_rows(shard)
        return tree.map(lambda y: y * float(rows) if rows else zeros_like(as_operand(y * 1.0)), value), float(rows)

    def finish(self, total: Any) -> Any:
        sums, weight = total
        return tree.map(lambda y: y / weight, sums)

    def __repr__(self) -> str:
        return super().__repr__().replace("<sum", "<mean", 1)


def number_of_rows(shard: Any) -> int:
    """The length of the first axis of the arrays of a shard."""
    lengths = {leaf.shape[0] for leaf in tree.leaves(shard) if leaf.ndim}
    if len(lengths) != 1:
        raise user_error(
            ValueError,
            f"The arrays of a shard have {'different lengths' if lengths else 'no axes'}",
            "Say what a shard weighs: weights=lambda shard: ...",
        )
    return int(next(iter(lengths)))


def as_addend(y: Any) -> Any:
    """A result of the function that can be added: booleans are counted."""
    y = as_operand(y)
    if y.dtype.kind not in "biufc":
        raise user_error(TypeError, f"The function of a distributed sum returned {y.dtype}", "Return numbers.")
    return y.astype(np.int64) if y.dtype.kind == "b" else y


def check_results(first: tree.Structure, result: tree.Structure, example: Graph, body: Graph) -> None:
    """Raise an error if the function returns something else for another kind of shard."""
    specs, others = ([node.spec for node in graph.outputs] for graph in (example, body))
    if result != first or specs != others:
        raise user_error(
            TypeError,
            f"The function returns {first!r} {specs} for one shard, and {result!r} {others} for another",
            "What is added must not depend on the number of rows: sum over them.",
        )

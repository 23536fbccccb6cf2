"""Sums over shards on a cluster of processes: logistic regression beside dask-glm, scaling, and the overhead of a call.

`python -m benchmarks --distributed` measures with 20 million rows, `--distributed 2000000` with fewer.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks.reports.figure import Figure

ROWS, COLUMNS = 20_000_000, 20
SHARD = 250_000
"""Rows of a file: 40 MB."""
MEMORY = "1GB"
"""Of each worker; the files of 20 million rows have 3.4 GB."""
TOLERANCE = 1e-4
"""The largest element of the gradient at which both end, over the number of rows."""
CALLS = 100


def logistic_loss(w: Any, shard: Any) -> Any:
    x, y = shard
    z = x @ w
    return (np.logaddexp(0.0, z) - y * z).sum()


def write_files(folder: Path, rows: int) -> list[tuple[str, str]]:
    """Write the data, a pair of files for each shard."""
    names, truth = [], np.linspace(-1.0, 1.0, COLUMNS)
    for i, start in enumerate(range(0, rows, SHARD)):
        rng = np.random.default_rng(i)
        x = rng.standard_normal((min(SHARD, rows - start), COLUMNS))
        y = (rng.random(len(x)) < 1.0 / (1.0 + np.exp(-x @ truth))).astype(float)
        names.append((str(folder / f"x{i:03}.npy"), str(folder / f"y{i:03}.npy")))
        for name, array in zip(names[-1], (x, y), strict=True):
            np.save(name, array)
    return names


def fit(files: Sequence[tuple[str, str]], rows: int) -> np.ndarray:
    """The solution by Wengert."""
    import wengert as wg

    options = {"gtol": TOLERANCE * rows}
    loss = wg.distributed.sum(logistic_loss, list(files))
    solution: np.ndarray = wg.optimize.minimize(loss, np.zeros(COLUMNS), method="L-BFGS-B", options=options).x
    return solution


def fit_by_dask_glm(files: Sequence[tuple[str, str]], rows: int) -> np.ndarray:
    """The solution by dask-glm, which calls the same L-BFGS of SciPy's."""
    import dask.array as da
    from dask import delayed
    from dask_glm.algorithms import lbfgs

    lengths = [min(SHARD, rows - start) for start in range(0, rows, SHARD)]
    load = delayed(np.load)
    x = da.concatenate(
        [da.from_delayed(load(a), (n, COLUMNS), float) for (a, _), n in zip(files, lengths, strict=True)]
    )
    y = da.concatenate([da.from_delayed(load(b), (n,), float) for (_, b), n in zip(files, lengths, strict=True)])
    solution: np.ndarray = lbfgs(x, y, regularizer=None, tol=TOLERANCE * rows, normalize=False)
    return solution


def seconds(run: Callable[[], Any]) -> tuple[float, Any]:
    """The time of a call, and its result."""
    start = perf_counter()
    result = run()
    return perf_counter() - start, result


def fit_figures(files: Sequence[tuple[str, str]], rows: int) -> list[Figure]:
    """The time to the solution on two workers, beside that of dask-glm."""
    import wengert as wg

    with wg.distributed.local(workers=2, memory=MEMORY):
        ours, solution = seconds(lambda: fit(files, rows))
        figures = [Figure(f"logistic regression, {rows:,} rows: L-BFGS on two workers", ours, "s")]
        try:
            theirs, other = seconds(lambda: fit_by_dask_glm(files, rows))
        except ImportError as error:
            print(f"dask-glm is left out: {error}. pip install --no-deps dask-glm multipledispatch sparse")
            return figures
    assert np.abs(solution - other).max() < 1e-2, (solution, other)
    return [
        *figures,
        Figure("the same by dask-glm", theirs, "s"),
        Figure("time beside dask-glm's", ours / theirs, "", 0.3),
    ]


def scaling_of_workers(files: Sequence[tuple[str, str]]) -> list[Figure]:
    """The rate of gradients on two workers over that on one, each with one thread."""
    import wengert as wg

    gradient = wg.value_and_grad(wg.distributed.sum(logistic_loss, list(files)))
    times = {}
    for workers in (1, 2):
        with wg.distributed.local(workers=workers, memory=MEMORY):
            gradient(np.zeros(COLUMNS))
            times[workers] = median([seconds(lambda: gradient(np.zeros(COLUMNS)))[0] for _ in range(5)])
    return [
        *[Figure(f"gradient on {workers} worker{'s' * (workers > 1)}", t, "s") for workers, t in times.items()],
        Figure("rate on two workers over that on one", times[1] / times[2], "", 1.7, is_least=True),
    ]


def nothing(*_: Any) -> None:
    """An empty task."""


def overhead_figures() -> list[Figure]:
    """The time of a gradient with eight shards of nothing, beside Dask's for the same graph of empty tasks."""
    import wengert as wg

    gradient = wg.value_and_grad(wg.distributed.sum(lambda w, x: (w * x).sum(), [np.empty(0)] * 8))
    ours, theirs = [], []
    with wg.distributed.local(workers=2) as client:
        gradient(1.0)
        kept = [client.submit(nothing, i) for i in range(9)]

        def dask_call() -> Any:
            token = uuid.uuid4().hex
            graph: dict[Any, Any] = {f"given-{token}": (nothing, 1.0)}
            graph |= {(f"shard-{token}", i): (nothing, kept[8], f"given-{token}", kept[i]) for i in range(8)}
            graph[f"add-{token}"] = (nothing, *[(f"shard-{token}", i) for i in range(8)])
            return client.get(graph, f"add-{token}")

        for _ in range(CALLS):
            ours.append(seconds(lambda: gradient(1.0))[0])
            theirs.append(seconds(dask_call)[0])
    return [
        Figure("gradient with eight shards of nothing", median(ours), "s"),
        Figure("the same graph of empty tasks", median(theirs), "s"),
        Figure("overhead beside Dask's", median(ours) / median(theirs), "", 3.0),
    ]


def distributed_figures(rows: int = ROWS) -> list[Figure]:
    """Sums over shards on a cluster of processes, beside dask-glm."""
    logging.getLogger("distributed").setLevel(logging.ERROR)
    figures = overhead_figures()
    with TemporaryDirectory() as folder:
        files = write_files(Path(folder), rows)
        return [*figures, *fit_figures(files, rows), *scaling_of_workers(files)]

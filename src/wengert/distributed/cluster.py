"""Sums over shards on a cluster of Dask's.

A call is one graph of Dask's: the parameters, a task for each shard, and the tasks that add partial results. Dask moves
the parameters once to each worker, and partial results from worker to worker; it runs a task again whose worker has
gone. Programs, and shards that stay in memory, are futures that outlive a call.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from typing import Any

import distributed
import numpy as np
from dask.delayed import delayed
from distributed.scheduler import KilledWorker

from wengert.core import tree
from wengert.core.errors import user_error
from wengert.core.spec import Spec
from wengert.distributed.programs import ShardProgram
from wengert.distributed.progress import CountLine
from wengert.distributed.reduction import Partial, add_partials, fan_in_of, round_partial, tree_levels
from wengert.distributed.shards import Contents, RunOptions, ShardLayout, Shards, check_arrays, load_shard, naming_shard

ATTEMPTS = 5
"""How often a call is begun again because data that only workers had were lost with them."""
LARGE_ARRAYS = 1 << 20
"""Bytes from which arrays go to workers directly. Smaller ones go with a task, which can be run again."""
UNUSABLE = ("cancelled", "lost", "error")
LOAD, SHARD = "wengert-load", "wengert-shard"
"""The first parts of the keys of tasks that load shards, and that run programs on them; Dask's dashboard shows them."""


class Operands:
    """The parameters of a call as one value on a worker."""

    def __init__(self, arrays: Sequence[np.ndarray]):
        self.arrays = list(arrays)

    def __sizeof__(self) -> int:
        return sum([x.nbytes for x in self.arrays])


def as_it_is(x: Any) -> Any:
    """The argument: a task that makes data known to a cluster."""
    return x


def all_contents(loaded: Sequence[tuple[Contents, list[np.ndarray]]]) -> list[Contents]:
    """What shards consist of."""
    return [contents for contents, _ in loaded]


class evaluate_shard:  # a function that travels
    """Runs a program on a shard: one that is in memory, or one that `pieces` read."""

    def __init__(
        self, name: str, structure: tree.Structure, specs: Sequence[Spec], transfer: str | None, pieces: Sequence[Any]
    ):
        self.name, self.structure, self.specs = name, structure, specs
        self.transfer, self.pieces = transfer, pieces

    def __call__(self, program: ShardProgram, operands: Operands, loaded: Any = None) -> Partial:
        contents, arrays = loaded or load_shard(self.name, self.structure)(*self.pieces)
        with naming_shard(self.name):
            results = program(operands.arrays, check_arrays(self.name, contents, arrays, self.specs))
        return round_partial(results, self.transfer)


class add_group:  # a function that travels
    """Adds partial results."""

    def __init__(self, transfer: str | None):
        self.transfer = transfer

    def __call__(self, *partials: Partial) -> Partial:
        return add_partials(partials, self.transfer)


def placement_on(client: Any, shards: Shards) -> Placement:
    """The shards on a cluster: where they are since the last call, if that was on the same one."""
    with shards.lock:
        if shards.placement is None or shards.placement.client is not client:
            shards.placement = Placement(client, shards)
        found: Placement = shards.placement
    return found


class Placement:
    """What a cluster has of the shards: those that stay in memory, and the programs that ran on them."""

    def __init__(self, client: Any, shards: Shards):
        self.client, self.shards = client, shards
        self.futures: dict[int, Any] = {}
        self.programs: dict[str, Any] = {}

    def place(self, indices: Sequence[int]) -> None:
        """Have the cluster load shards that are not, or no longer, in its memory."""
        missing = [i for i in indices if i not in self.futures or self.futures[i].status in UNUSABLE]
        if not missing:
            return
        arrays = [
            a
            for i in missing
            for a in self.shards.shards[i].pieces
            if isinstance(a, np.ndarray) and a.nbytes >= LARGE_ARRAYS
        ]
        if arrays:
            self.client.wait_for_workers(1)  # which may be starting again
        sent = dict(zip(map(id, arrays), self.client.scatter(arrays, hash=False), strict=True)) if arrays else {}
        tasks = []
        for i in missing:
            name, pieces, _ = self.shards.shards[i]
            load = delayed(load_shard(name, self.shards.structure), pure=False, traverse=False)
            tasks.append(load(*[sent.get(id(a), a) for a in pieces], dask_key_name=f"{LOAD}-{uuid.uuid4().hex}"))
        self.futures |= dict(zip(missing, self.client.compute(tasks), strict=True))

    def program(self, program: ShardProgram) -> Any:
        """A program on the cluster."""
        known = self.programs.get(program.name)
        if known is None or known.status in UNUSABLE:
            known = self.client.submit(as_it_is, program, key=f"wengert-program-{program.name}")
            self.programs[program.name] = known
        return known

    def describe(self, indices: Sequence[int]) -> list[Contents]:
        """What these shards consist of, as the workers find it."""

        def begin() -> Any:
            self.place(indices)
            return self.client.submit(all_contents, [self.futures[i] for i in indices], pure=False)

        found: list[Contents] = self.finish(begin, RunOptions())
        for i in indices:
            if not self.shards.stays(i):
                del self.futures[i]
        return found

    def run(
        self, operands: Sequence[np.ndarray], programs: Sequence[ShardProgram], layout: ShardLayout, options: RunOptions
    ) -> Partial:
        """The sums of the results of the programs, one of which there is for each kind of shard."""
        with CountLine(len(self.shards), options.progress) as line:
            call = ClusterCall(self, operands, programs, layout, options, line)
            found: Partial = self.finish(call.begin, options)
        return found

    def finish(self, begin: Callable[[], Any], options: RunOptions) -> Any:
        """The result of the future that `begin` gives; begun again if data were lost that only one worker had."""
        for attempt in range(ATTEMPTS):
            future = None
            try:
                future = begin()
                return future.result(timeout=options.timeout)
            except (distributed.CancelledError, distributed.comm.CommClosedError):
                if attempt == ATTEMPTS - 1:
                    raise
            except KilledWorker as error:
                raise self.killed_error(error) from error
            except TimeoutError as error:
                if future is None or future.done():  # the error of a shard
                    raise
                raise self.late_error(options) from error
            finally:
                if future is not None and not future.done():
                    self.client.cancel([future], force=True)
        raise AssertionError("the last attempt returns or raises")

    def killed_error(self, error: KilledWorker) -> RuntimeError:
        """The error for a task whose workers have died, one after the other."""
        where = self.name_of(error.task)
        return user_error(
            RuntimeError,
            f"{error.allowed_failures + 1} workers died while they worked on {where}, or on others that they had",
            "They may have run out of memory: use smaller shards, or workers with more. Their logs say more.",
        )

    def late_error(self, options: RunOptions) -> TimeoutError:
        """The error for a call that takes too long, with the shards that are not done."""
        running = {self.name_of(key): worker for worker, keys in self.client.processing().items() for key in keys}
        late = ", ".join([f"{name} (on {worker})" for name, worker in list(running.items())[:5]]) or "no shard"
        more = f" and {len(running) - 5} more" if len(running) > 5 else ""
        return user_error(
            TimeoutError,
            f"The sum was not done after {options.timeout} s; at work: {late}{more}",
            "Raise timeout=, or use smaller shards or more workers.",
        )

    def name_of(self, key: Any) -> str:
        """A task in words: the name of its shard, if it has one."""
        if isinstance(key, tuple) and str(key[0]).startswith(SHARD) and key[1] < len(self.shards):
            return f"shard {self.shards.shards[key[1]].name!r}"
        loading = [i for i, future in self.futures.items() if future.key == key]
        return f"shard {self.shards.shards[loading[0]].name!r}" if loading else f"the task {key!r}"


class ClusterCall:
    """One run of programs on all shards."""

    def __init__(
        self,
        placement: Placement,
        operands: Sequence[np.ndarray],
        programs: Sequence[ShardProgram],
        layout: ShardLayout,
        options: RunOptions,
        line: CountLine,
    ):
        self.placement, self.client, self.shards = placement, placement.client, placement.shards
        self.operands, self.programs, self.layout = Operands(operands), programs, layout
        self.options, self.line = options, line

    def begin(self) -> Any:
        """Send the graph of the call; the future of its result."""
        graph, root = self.make_graph(uuid.uuid4().hex)
        if self.line.live is None:
            return self.client.get(graph, root, sync=False, retries=self.options.retries)
        shards = [key for key in graph if isinstance(key, tuple) and key[0].startswith(SHARD)]
        first, *others = self.client.get(graph, [root, *shards], sync=False, retries=self.options.retries)
        for future in others:
            future.add_done_callback(lambda future: self.line.advance())
        return first

    def make_graph(self, token: str) -> tuple[dict[Any, Any], Any]:
        """The graph of the call, and the key of its result."""
        shards, transfer = self.shards, self.options.transfer
        programs = [self.placement.program(program) for program in self.programs]
        self.placement.place([i for i in range(len(shards)) if shards.stays(i)])
        graph: dict[Any, Any] = {}
        operands: Any = f"wengert-operands-{token}"
        if sum([x.nbytes for x in self.operands.arrays]) < LARGE_ARRAYS:
            graph[operands] = (as_it_is, self.operands)
        else:
            self.client.wait_for_workers(1)
            operands = self.client.scatter(self.operands, broadcast=True, hash=False)
        keys: list[Any] = [(f"{SHARD}-{token}", i) for i in range(len(shards))]
        for i, key in enumerate(keys):
            name, pieces, _ = shards.shards[i]
            loaded = [self.placement.futures[i]] if shards.stays(i) else []
            task = evaluate_shard(name, shards.structure, self.layout.specs(i), transfer, () if loaded else pieces)
            graph[key] = (task, programs[self.layout.kind_of[i]], operands, *loaded)
        for level, groups in enumerate(tree_levels(len(shards), fan_in_of(self.programs[0].outputs))):
            above: list[Any] = []
            for j, group in enumerate(groups):
                if len(group) == 1:
                    above.append(keys[group[0]])
                    continue
                above.append((f"wengert-add-{token}", level, j))
                graph[above[-1]] = (add_group(transfer), *[keys[i] for i in group])
            keys = above
        return graph, keys[0]

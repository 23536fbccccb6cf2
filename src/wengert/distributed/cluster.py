"""Sums over shards on a cluster of Dask's.

A call is one graph of Dask's: the parameters, a task for each shard, and the tasks that add partial results. Where
there are many shards that are read anew, a task works on all shards of a subtree of the additions, because a task costs
the scheduler about a millisecond. Dask moves the parameters once to each worker, and partial results from worker to
worker; it runs a task again whose worker has gone. Programs, and shards that stay in memory, are futures that outlive a
call.
"""

from __future__ import annotations

import functools
import uuid
from collections.abc import Callable, Sequence
from itertools import zip_longest
from typing import Any, NamedTuple

import distributed
import numpy as np
from dask.delayed import delayed
from distributed.scheduler import KilledWorker

from wengert.core import machine, tree
from wengert.core.errors import user_error
from wengert.core.spec import Spec
from wengert.distributed.programs import ShardProgram
from wengert.distributed.progress import CountLine
from wengert.distributed.reduction import Partial, TreeSum, fan_in_of, is_large, round_partial, tree_levels
from wengert.distributed.shards import Contents, RunOptions, ShardLayout, Shards, check_arrays, load_shard, naming_shard

UNUSABLE = ("cancelled", "lost", "error")
LOAD, SHARD = "wengert-load", "wengert-shard"
"""The first parts of the keys of tasks that load shards, and that run programs on them; Dask's dashboard shows them."""


class PartOfCall:
    """What is made for one call. Dask names a graph by what it consists of, and need not hash this."""

    def __dask_tokenize__(self) -> int:
        return id(self)


class Operands(PartOfCall):
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


class PlannedShard(NamedTuple):
    """A shard of a task: how it is read unless it is in memory, what it must be, and which program runs on it."""

    name: str
    pieces: Sequence[Any]
    specs: Sequence[Spec]
    program: int


class evaluate_shards(PartOfCall):  # a function that travels
    """Runs programs on neighbouring shards, one after the other, and adds their results."""

    def __init__(self, shards: Sequence[PlannedShard], structure: tree.Structure, fan_in: int, transfer: str | None):
        self.shards, self.structure, self.fan_in, self.transfer = shards, structure, fan_in, transfer

    def __call__(self, programs: Sequence[ShardProgram], operands: Operands, *in_memory: Any) -> Partial:
        total = TreeSum(self.fan_in, self.transfer)
        for shard, loaded in zip_longest(self.shards, in_memory):
            contents, arrays = loaded or load_shard(shard.name, self.structure)(*shard.pieces)
            with naming_shard(shard.name):
                found = check_arrays(shard.name, contents, arrays, shard.specs)
                results = programs[shard.program](operands.arrays, found)
            total.add(round_partial(results, self.transfer))
        return total.total()


class add_group(PartOfCall):  # a function that travels
    """Adds partial results, in the order of the tree."""

    def __init__(self, fan_in: int, transfer: str | None):
        self.fan_in, self.transfer = fan_in, transfer

    def __call__(self, *partials: Partial) -> Partial:
        total = TreeSum(self.fan_in, self.transfer)
        for partial in partials:
            total.add(partial)
        return total.total()


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
            if isinstance(a, np.ndarray) and a.nbytes >= machine.current.min_bytes_sent_to_workers
        ]
        sent = dict(zip(map(id, arrays), self.send(arrays), strict=True)) if arrays else {}
        tasks = []
        for i in missing:
            name, pieces, _ = self.shards.shards[i]
            load = delayed(load_shard(name, self.shards.structure), pure=False, traverse=False)
            tasks.append(load(*[sent.get(id(a), a) for a in pieces], dask_key_name=f"{LOAD}-{uuid.uuid4().hex}"))
        self.futures |= dict(zip(missing, self.client.compute(tasks), strict=True))

    def send(self, data: Any, *, broadcast: bool = False) -> Any:
        """Data in the memory of workers: sent again if one dies meanwhile, for which Dask has several errors."""
        for attempt in range(machine.current.max_attempts_of_cluster_call):
            self.client.wait_for_workers(1)  # which may be starting again
            try:
                return self.client.scatter(data, broadcast=broadcast, hash=False)
            except (KeyError, OSError):  # the worker is unknown by now, cannot be reached, or closed the connection
                if attempt == machine.current.max_attempts_of_cluster_call - 1:
                    raise
        raise AssertionError("the last attempt returns or raises")

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
        for attempt in range(machine.current.max_attempts_of_cluster_call):
            future = None
            try:
                future = begin()
                return future.result(timeout=options.timeout)
            except (distributed.CancelledError, distributed.comm.CommClosedError):
                if attempt == machine.current.max_attempts_of_cluster_call - 1:
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
        working = {self.name_of(key): worker for worker, keys in self.client.processing().items() for key in keys}
        running = {name: worker for name, worker in working.items() if name.startswith("shard")} or working
        late = ", ".join([f"{name} (on {worker})" for name, worker in list(running.items())[:5]]) or "no shard"
        more = f" and {len(running) - 5} more" if len(running) > 5 else ""
        return user_error(
            TimeoutError,
            f"The sum was not done after {options.timeout} s; at work: {late}{more}",
            "Raise timeout=, or use smaller shards or more workers.",
        )

    def name_of(self, key: Any) -> str:
        """A task in words: the name of its shard, if it has one."""
        if isinstance(key, tuple) and str(key[0]).startswith(SHARD) and key[2] <= len(self.shards):
            first, last = self.shards.shards[key[1]].name, self.shards.shards[key[2] - 1].name
            return f"shard {first!r}" if first == last else f"shards {first!r} to {last!r}"
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
        tasks = [key for key in graph if isinstance(key, tuple) and key[0].startswith(SHARD)]
        first, *others = self.client.get(graph, [root, *tasks], sync=False, retries=self.options.retries)
        for future, (_, *bounds) in zip(others, tasks, strict=True):
            future.add_done_callback(functools.partial(self.advance, range(*bounds)))
        return first

    def advance(self, shards: range, future: Any) -> None:
        """Show that shards are done, if they are: a future may also be cancelled."""
        if future.status == "finished":
            self.line.advance(shards)

    def shards_of_task(self, fan_in: int) -> int:
        """How many shards a task works on: one, or all of a subtree, if there are many that are read anew."""
        count, size = len(self.shards), 1
        if count < fan_in * machine.current.min_tasks_per_thread or any(map(self.shards.stays, range(count))):
            return size
        threads = max(sum(self.client.nthreads().values()), 1)
        while count >= size * fan_in * machine.current.min_tasks_per_thread * threads:
            size *= fan_in
        return size

    def make_graph(self, token: str) -> tuple[dict[Any, Any], Any]:
        """The graph of the call, and the key of its result."""
        shards, transfer = self.shards, self.options.transfer
        programs = [self.placement.program(program) for program in self.programs]
        self.placement.place([i for i in range(len(shards)) if shards.stays(i)])
        graph: dict[Any, Any] = {}
        operands: Any = self.operands
        nbytes = sum([x.nbytes for x in self.operands.arrays])
        if machine.current.max_bytes_sent_with_each_task < nbytes < machine.current.min_bytes_sent_to_workers:
            operands = f"wengert-operands-{token}"
            graph[operands] = (as_it_is, self.operands)
        elif nbytes >= machine.current.min_bytes_sent_to_workers:
            operands = self.placement.send(self.operands, broadcast=True)
        outputs = self.programs[0].outputs
        fan_in = fan_in_of(outputs)
        size = self.shards_of_task(fan_in)
        starts = range(0, len(shards), size)
        keys: list[Any] = [(f"{SHARD}-{token}", i, min(i + size, len(shards))) for i in starts]
        for key in keys:
            indices = range(*key[1:])
            in_memory = [self.placement.futures[i] for i in indices if shards.stays(i)]
            kinds = list(dict.fromkeys([self.layout.kind_of[i] for i in indices]))
            planned = [self.plan_shard(i, kinds) for i in indices]
            task = evaluate_shards(planned, shards.structure, fan_in, transfer)
            graph[key] = (task, [programs[kind] for kind in kinds], operands, *in_memory)
        added = fan_in if is_large(outputs) else fan_in * fan_in  # small results of two levels in one task
        for level, groups in enumerate(tree_levels(len(keys), added)):
            above: list[Any] = []
            for j, group in enumerate(groups):
                if len(group) == 1:
                    above.append(keys[group[0]])
                    continue
                above.append((f"wengert-add-{token}", level, j))
                graph[above[-1]] = (add_group(fan_in, transfer), *[keys[i] for i in group])
            keys = above
        return graph, keys[0]

    def plan_shard(self, i: int, kinds: Sequence[int]) -> PlannedShard:
        """What a task needs to know of a shard, whose programs are those of these kinds."""
        name, pieces, _ = self.shards.shards[i]
        read = () if self.shards.stays(i) else pieces
        return PlannedShard(name, read, self.layout.specs(i), kinds.index(self.layout.kind_of[i]))

"""Sums on a cluster of two processes: the same bits as in this process, whatever happens to the workers."""

from __future__ import annotations

import io
import logging
import os
import pickle
import signal
import threading
import time

import numpy as np
import pytest
from rich.console import Console
from tests.distributed.kills import count_results, kill_worker, worker_pids
from tests.distributed.shard_losses import (
    DyingShard,
    LongShard,
    SlowShard,
    bits,
    make_data,
    residuals,
    squares,
    wrong_shard,
)

import wengert as wg
from wengert.core import machine
from wengert.distributed.programs import shard_program
from wengert.distributed.progress import CountLine

distributed = pytest.importorskip("distributed")
from wengert.distributed.cluster import ClusterCall  # noqa: E402  # which needs it

DATA = make_data((5, 4, 0, 7, 5, 5, 5, 5, 5, 3))
W = np.array([0.3, -0.7, 1.1])

pytestmark = pytest.mark.filterwarnings("ignore:.*:ResourceWarning", "ignore:.*:DeprecationWarning")


@pytest.fixture(scope="module")
def client():
    for name in ("distributed", "distributed.worker", "distributed.nanny"):
        logging.getLogger(name).setLevel(logging.CRITICAL)  # workers are killed on purpose
    with wg.distributed.local(workers=2, memory=0) as client:
        yield client


@pytest.fixture
def alone(client):
    """Runs a function without the cluster."""

    def run(f, *args):
        kept = distributed.client._global_clients.copy()
        distributed.client._global_clients.clear()
        try:
            return f(*args)
        finally:
            distributed.client._global_clients.update(kept)

    return run


def same(found, right):
    assert [bits(x) for x in wg.tree.leaves(found)] == [bits(x) for x in wg.tree.leaves(right)]


@pytest.mark.parametrize(
    "transform",
    [
        lambda f: f,
        wg.value_and_grad,
        lambda f: wg.compile(wg.value_and_grad(f)),
        lambda f: lambda w: wg.jvp(wg.grad(f), (w,), (w,)),
        wg.hessian,
        lambda f: lambda w: wg.vmap(wg.grad(f))(np.stack([w, 2.0 * w])),
    ],
    ids=["value", "value_and_grad", "compiled", "hvp", "hessian", "vmap"],
)
def test_the_bits_are_those_of_this_process(client, alone, transform):
    run = transform(wg.distributed.sum(squares, DATA))
    same(run(W), alone(run, W))


@pytest.mark.parametrize("method", ["L-BFGS-B", "Newton-CG"])
def test_searches_make_the_same_steps(client, alone, method):
    loss, points = wg.distributed.sum(squares, DATA), ([], [])
    for run, seen in zip((lambda f: f(), alone), points, strict=True):
        run(lambda: wg.optimize.minimize(loss, np.zeros(3), method=method, callback=lambda x: seen.append(x)))  # noqa: B023  # called here
    assert len(points[0]) > 3
    same(points[0], points[1])


def test_least_squares(client, alone):
    loss = wg.distributed.sum(lambda w, shard: shard[0].T @ residuals(w, shard), DATA)
    search = lambda: wg.optimize.least_squares(loss, np.zeros(3)).x
    same(search(), alone(search))


def test_files_are_read_by_the_workers(client, alone, tmp_path):
    x, y = (np.concatenate(parts) for parts in zip(*DATA, strict=True))
    np.save(tmp_path / "x.npy", x)
    np.save(tmp_path / "y.npy", y)
    loss = wg.grad(wg.distributed.sum(squares, (tmp_path / "x.npy", tmp_path / "y.npy"), rows=9))
    same(loss(W), alone(loss, W))


@pytest.mark.parametrize(
    ("count", "transfer", "tasks"), [(64, None, 8), (71, "float32", 9), (600, None, 10), (63, None, 63)]
)
def test_many_shards_that_are_read_share_tasks(client, alone, tmp_path, count, transfer, tasks):
    """The bits are those of the tree over single shards, and shards, errors and progress keep their numbers."""
    x = np.random.default_rng(count).standard_normal((count * 3, 4))
    x[:, 3] = 0.0
    np.save(tmp_path / "x.npy", x)
    function = lambda w, x: (np.sin(x[:, :3] @ w) + 1.0 / (w[0] - x[:, 3])).sum()
    lines = io.StringIO()
    loss = wg.distributed.sum(function, tmp_path / "x.npy", rows=3, transfer=transfer)
    same(wg.value_and_grad(loss)(W), alone(wg.value_and_grad(loss), W))
    graph, _ = call_of(loss, W).make_graph("test")
    assert sum(key[0] == "wengert-shard-test" for key in graph) == tasks
    shown = wg.distributed.sum(function, tmp_path / "x.npy", rows=3, progress=Console(file=lines, width=80))
    shown(W)
    assert f"{count} of {count} shards" in lines.getvalue()
    placement = loss.shards.placement
    names = [placement.name_of(key) for key in graph if key[0] == "wengert-shard-test"]
    assert names[0].startswith("shards 'x.npy rows 0 to 3' to" if tasks < count else "shard 'x.npy rows 0 to 3'")
    assert names[-1].endswith(f"'x.npy rows {3 * count - 3} to {3 * count}'")


def test_collections_of_dask(client, alone):
    da, bag = pytest.importorskip("dask.array"), pytest.importorskip("dask.bag")
    x, y = (np.concatenate(parts) for parts in zip(*DATA, strict=True))
    blocks = wg.distributed.sum(squares, (da.from_array(x, chunks=(9, 2)), da.from_array(y, chunks=9)))
    same(blocks(W), alone(wg.distributed.sum(squares, (x, y), rows=9), W))
    same(blocks(W), blocks(W))
    samples = bag.from_sequence(list(zip(x, y, strict=True)), npartitions=4)
    assert wg.distributed.sum(squares, samples)(W) == pytest.approx(squares(W, (x, y)), rel=1e-13)
    kept = client.scatter([np.ones(3), np.ones(4)])
    assert wg.distributed.sum(lambda w, s: w * s.sum(), kept)(2.0) == 14.0


def test_shards_stay_on_the_workers(client, tmp_path):
    loss = wg.distributed.sum(squares, [SlowShard(tmp_path, i) for i in range(4)])
    for _ in range(3):
        wg.grad(loss)(W)
    assert len(list(tmp_path.iterdir())) == 4


def test_large_parameters_and_results(client, alone):
    w = np.linspace(-1.0, 1.0, 200_000)
    loss = wg.distributed.sum(lambda w, x: (np.sin(w * x[0]) * x[1]).sum(), [np.array([k, 2.0]) for k in range(5)])
    same(wg.value_and_grad(loss)(w), alone(wg.value_and_grad(loss), w))
    rounded = wg.distributed.sum(loss.f, [np.array([k, 2.0]) for k in range(5)], transfer="float32")
    same(wg.value_and_grad(rounded)(w), alone(wg.value_and_grad(rounded), w))


def test_a_worker_is_killed_in_the_middle_of_a_call(client, alone, tmp_path):
    data = [SlowShard(tmp_path, i, 0.3) for i in range(6)]
    loss = wg.value_and_grad(wg.distributed.sum(squares, data, persist=False))
    right = alone(loss, W)
    timer = threading.Timer(0.4, kill_worker, (client,))
    timer.start()
    same(loss(W), right)
    timer.join()


def test_calls_while_workers_die_and_join(client, alone):
    with machine.using(min_bytes_sent_to_workers=100):  # only workers have the shards
        client.cluster.scale(3)
        assert count_results(client, alone, calls=8, every=4) == (8, 1)
        client.cluster.scale(2)
        assert count_results(client, alone, calls=2, every=3) == (2, 1)


def test_arrays_are_sent_again_if_a_worker_dies_meanwhile(client, alone, monkeypatch):
    with machine.using(min_bytes_sent_to_workers=1):  # shards and parameters are sent directly
        unreachable = OSError("no worker can be reached")
        errors = [unreachable, distributed.comm.CommClosedError(), KeyError("tcp://127.0.0.1:1")]
        send = client.scatter

        def scatter(data, **options):
            if errors:
                raise errors.pop()
            return send(data, **options)

        monkeypatch.setattr(client, "scatter", scatter)
        loss = wg.grad(wg.distributed.sum(squares, DATA))
        right = alone(loss, W)
        same(loss(W), right)
        assert not errors
        errors.extend([unreachable] * 5)
        with pytest.raises(OSError, match="no worker can be reached"):
            wg.distributed.sum(squares, DATA)(W)


def test_a_worker_that_ends_before_the_cluster_heard_of_it(client):
    client.cluster._update_worker_status("remove", "tcp://127.0.0.1:1")  # what the scheduler reports then
    assert worker_pids(client)


def test_a_worker_that_is_slow(client, alone, tmp_path):
    loss = wg.grad(wg.distributed.sum(squares, [SlowShard(tmp_path, i) for i in range(4)], persist=False))
    right = alone(loss, W)
    pid = worker_pids(client)[0]
    os.kill(pid, signal.SIGSTOP)
    timer = threading.Timer(1.0, os.kill, (pid, signal.SIGCONT))
    timer.start()
    same(loss(W), right)
    timer.join()


def test_a_shard_that_always_kills_its_worker_is_named(client, tmp_path):
    allow = lambda count: client.run_on_scheduler(
        lambda dask_scheduler: setattr(dask_scheduler, "allowed_failures", count)
    )
    allow(1)
    with pytest.raises(RuntimeError, match=r"2 workers died while they worked on shard 'data\[0\]'.*out of memory"):
        wg.distributed.sum(squares, [DyingShard(tmp_path, 1)])(W)
    allow(3)
    client.wait_for_workers(2, timeout=300)


def test_errors_name_the_shard(client):
    with pytest.raises(ValueError, match="the disk is on fire") as caught:
        wg.distributed.sum(squares, [lambda: make_data()[0], wrong_shard])(W)
    assert "This happened in shard 'wrong_shard'." in caught.value.__notes__
    matrices = wg.distributed.sum(lambda w, x: w * wg.linalg.inv(x).sum(), [np.eye(2)[None], np.zeros((1, 2, 2))])
    with pytest.raises(np.linalg.LinAlgError) as failed:
        matrices(1.0)
    assert "This happened in shard 'data[1]'." in failed.value.__notes__


def test_a_call_that_takes_too_long_names_what_it_waits_for(client, tmp_path):
    data = [SlowShard(tmp_path, i) for i in range(2)]
    loss = wg.distributed.sum(squares, data, persist=False)
    loss(W)  # as long as it takes
    loss.options = loss.options._replace(timeout=2.0)
    for shard in data:
        shard.seconds = 5.0
    with pytest.raises(TimeoutError, match=r"not done after 2.0 s; at work: shard 'data\[.\]' \(on tcp"):
        loss(W)
    wait_until_idle(client)


def test_ctrl_c_cancels_the_work(client, tmp_path):
    data = [SlowShard(tmp_path, i) for i in range(8)]
    loss = wg.compile(wg.grad(wg.distributed.sum(squares, data, persist=False)))
    loss(W)
    for shard in data:
        shard.seconds = 1.0
    before = len(list(tmp_path.iterdir()))
    timer = threading.Timer(0.5, signal.pthread_kill, (threading.main_thread().ident, signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        loss(W)
    timer.join()
    wait_until_idle(client)
    assert len(list(tmp_path.iterdir())) - before < 8  # those that had not begun never do
    for shard in data:
        shard.seconds = 0.0
    assert np.isfinite(loss(W)).all()


def wait_until_idle(client):
    for _ in range(2_000):
        if not any(client.processing().values()):
            return
        time.sleep(0.05)
    raise AssertionError(client.processing())


def test_other_versions_on_a_worker(client, monkeypatch):
    loss = wg.distributed.sum(lambda w, x: w * x.sum() + 4321.0, [np.ones(3)])
    monkeypatch.setattr("wengert.distributed.programs.own_versions", lambda: ("0.0.1", "0", "0"))
    with pytest.raises(RuntimeError, match=r"The worker at tcp://.* has wengert .* \(there: 0.0.1\).*same versions"):
        loss(1.0)


def test_a_shard_of_another_shape(client, tmp_path):
    np.save(tmp_path / "x.npy", np.ones((4, 2)))
    loss = wg.distributed.sum(lambda w, x: w * x.sum(), [tmp_path / "x.npy"])
    assert loss(1.0) == 8.0
    np.save(tmp_path / "x.npy", np.ones((2, 2)))
    with pytest.raises(ValueError, match=r"mmap|size") as caught:
        loss(1.0)
    assert "This happened in shard 'x.npy rows 0 to 4'." in caught.value.__notes__
    growing = SlowShard(tmp_path, 3)
    loss = wg.distributed.sum(squares, [growing], persist=False)
    loss(W)
    growing.i = 4  # whose first shard has the same rows
    loss(W)
    growing.__class__ = LongShard
    with pytest.raises(TypeError, match="Data must not change"):
        loss(W)


def test_progress_counts_each_shard_once():
    lines = io.StringIO()
    with CountLine(8, Console(file=lines, width=80)) as line:
        line.advance(range(6))
        line.advance(range(4, 7))  # of a call that was begun again
        assert len(line.done) == 7
    line.advance([7])  # later than the result
    assert lines.getvalue() == "8 of 8 shards\n"


def test_progress(client):
    console = Console(file=io.StringIO(), width=80)
    wg.distributed.sum(squares, DATA, progress=console)(W)
    assert "10 of 10 shards" in console.file.getvalue()


def call_of(loss, *operands):
    """A call of a sum on the cluster where it ran last."""
    programs = [shard_program(body) for _, bodies in loss.known.values() for body in bodies]
    shards = loss.shards
    line = CountLine(len(shards), False)
    return ClusterCall(shards.placement, operands, programs, shards.layout, loss.options, line)


@pytest.mark.parametrize("size", [1000, 200_000])
def test_parameters_are_sent_once(client, size):
    loss = wg.distributed.sum(lambda w, x: (w * x).sum(), [np.float64(k) for k in range(50)])
    loss(np.ones(size))
    graph, _ = call_of(loss, np.ones(size)).make_graph("test")
    tasks = {key: task for key, task in graph.items() if key[0] == "wengert-shard-test"}
    assert len(tasks) == 50
    assert len({id(task[2]) for task in tasks.values()}) == 1  # a key of the graph, or a future
    assert max(len(pickle.dumps(task[0])) for task in tasks.values()) < 1000


def test_an_address_where_nobody_listens():
    with (
        pytest.raises(ConnectionError, match="No scheduler of Dask's answers at 'tcp://127.0.0.1:1'"),
        wg.distributed.connect("tcp://127.0.0.1:1", timeout=0.5),
    ):
        pass


def test_a_client_by_its_address(client):
    with wg.distributed.connect(client.scheduler.address) as other:
        assert wg.distributed.sum(lambda w, x: w * x.sum(), [np.ones(3)])(2.0) == 6.0
        assert other.status == "running"


@pytest.mark.parametrize("options", [{"workers": 0}, {"workers": True}, {"workers": 2, "threads": 0}])
def test_bad_numbers_of_workers(options):
    with pytest.raises(ValueError, match="workers="), wg.distributed.local(**options):
        pass

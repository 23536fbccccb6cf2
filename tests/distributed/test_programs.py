"""Bodies as programs that travel: pickled graphs, compiled where they run."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from tests.fresh_python import run_python

import wengert as wg
from wengert.control.bodies import trace_body
from wengert.core.kinds import elementwise
from wengert.core.primitive import TABLE
from wengert.core.spec import Spec
from wengert.distributed import programs
from wengert.distributed.programs import ShardProgram, one_blas_thread

ROW = Spec((3,), np.dtype(float))


def make_program(f=lambda x: [np.sin(x[0]) * x[1]]):
    return ShardProgram(trace_body(f, [ROW, ROW]))


def test_a_program_travels_as_a_graph():
    program = pickle.loads(pickle.dumps(make_program()))
    assert b"ELF" not in program.data
    x, y = np.arange(3.0), np.ones(3)
    np.testing.assert_allclose(program([x], [y])[0], np.sin(x))


def test_a_program_is_compiled_once():
    programs.compile_program.cache_clear()
    program = make_program()
    for _ in range(3):
        pickle.loads(pickle.dumps(program))([np.ones(3)], [np.ones(3)])
    assert programs.compile_program.cache_info().misses == 1


def test_other_versions_are_an_error():
    program = make_program()
    program.versions = ("0.0.1", *program.versions[1:])
    with pytest.raises(RuntimeError, match=r"The worker at this process has wengert .* \(there: 0.0.1\)"):
        program([np.ones(3)], [np.ones(3)])


def test_an_operation_that_is_not_known_is_an_error():
    strange = elementwise("strange_operation", lambda x: x + 1.0, lambda t: t)
    try:
        program = make_program(lambda x: [strange(x[0]) * x[1]])
    finally:
        del TABLE["strange_operation"]
    with pytest.raises(RuntimeError, match="'strange_operation' of the user's is not known"):
        program([np.ones(3)], [np.ones(3)])


def test_libraries_are_looked_for_once_where_nothing_can_limit_them(monkeypatch):
    asked: list[str] = []
    monkeypatch.setattr(programs, "find_spec", lambda name: asked.append(name))
    block = programs.OneBlasThread()
    for _ in range(3):
        with block:
            pass
    assert asked == ["threadpoolctl"]


def test_blas_has_one_thread_in_programs():
    threadpoolctl = pytest.importorskip("threadpoolctl")
    threads = lambda: {i["num_threads"] for i in threadpoolctl.threadpool_info() if i["user_api"] == "blas"}
    before = threads()
    with one_blas_thread, one_blas_thread:
        assert threads() == {1}
    assert threads() == before


def test_libraries_that_are_loaded_later_have_one_thread_too():
    pytest.importorskip("threadpoolctl")
    code = """
import threadpoolctl, numpy as np
from wengert.distributed.programs import one_blas_thread
with one_blas_thread:
    pass
import scipy.linalg.blas
with one_blas_thread:
    print([i["num_threads"] for i in threadpoolctl.threadpool_info() if i["user_api"] == "blas"])
"""
    run = run_python(code)
    assert set(run.stdout.strip("[]\n ").split(", ")) == {"1"}


def test_without_dask_sums_run_in_this_process():
    code = """
import sys
for name in ("dask", "distributed", "threadpoolctl", "zarr", "pyarrow"):
    sys.modules[name] = None
import numpy as np
import wengert as wg
loss = wg.distributed.sum(lambda w, x: ((w - x) ** 2).sum(), np.arange(10.0), rows=3)
print(wg.optimize.minimize(loss, 0.0).x.round(6))
try:
    wg.distributed.local(2).__enter__()
except ImportError as error:
    print(error)
"""
    done = run_python(code).stdout
    assert done.startswith("4.5\nA cluster needs Dask, which is not installed")
    assert "pip install wengert[distributed]" in done


def test_dask_is_imported_only_for_a_cluster():
    code = "import sys, wengert as wg; wg.distributed.sum(lambda w, x: w, [1.0])(2.0); print('dask' in sys.modules)"
    assert run_python(code).stdout == "False\n"


def test_the_front_door_knows_the_names():
    assert {"sum", "mean", "local", "connect"} <= set(dir(wg.distributed))

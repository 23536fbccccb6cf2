"""For all tests: random numbers, folders for programs and bytecode, devices, and what tests of eager calls share."""

from __future__ import annotations

import gc
import signal
import sys
from zlib import crc32

import pytest
from hypothesis import HealthCheck, settings
from tests.control.trials import add_trials
from tests.random_numbers import start_streams
from tests.stand_in.device_array import HOST_COPIES
from tests.stand_in.library import registered

from wengert.core import devices, machine, native

pytest_plugins = ["tests.cli.commands", "tests.explain.browsers", "tests.explain.page.shown_pages"]
"""Fixtures of tests of commands, and in a browser."""
add_trials()
signal.signal(signal.SIGINT, signal.default_int_handler)  # a process in the background of a shell ignores it
slow = [HealthCheck.too_slow, HealthCheck.data_too_large]
settings.register_profile("random", deadline=None, suppress_health_check=slow)
settings.register_profile("fixed", settings.get_profile("random"), derandomize=True, database=None)
settings.load_profile("fixed")  # the same examples each time; new ones with --hypothesis-profile=random


def pytest_collection_finish():
    """Tens of thousands of tests with their arguments stay to the end: garbage collections need not visit them."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    """What a test draws does not depend on the tests before it; fixtures draw from the same stream, before the test.

    Large arrays have been met before in half of the tests, whichever ran first.
    """
    native.met_large = crc32(item.nodeid.encode()) % 2 == 0
    if isinstance(item, pytest.Function):  # no example in a docstring
        start_streams(item.module.__name__, item.nodeid)


@pytest.fixture(scope="session", autouse=True)
def session_folders(request, tmp_path_factory):
    """One folder for all processes of a session, so that none compiles what another one has compiled.

    Where Python is told to write no bytecode, to keep folders clean, each process that a test starts would compile the
    whole package: that takes as long as the rest of its start.
    """
    folder = tmp_path_factory.getbasetemp()
    folder = folder.parent if hasattr(request.config, "workerinput") else folder
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WENGERT_CACHE_DIR", str(folder / "compiled"))
        if sys.dont_write_bytecode:
            patch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
            patch.setenv("PYTHONPYCACHEPREFIX", str(folder / "bytecode"))
        yield


@pytest.fixture
def at_once():
    """Kernels and programs are compiled at the first large call, and calls are large from few elements on."""
    sizes = {
        "min_elements_of_native_wide_function": 1 << 13,
        "min_elements_of_native_rows": 1 << 13,
        "min_elements_of_native_sum": 1 << 16,
        "min_elements_of_native_stack": 1 << 12,
        "min_indices_of_native_addition": 1 << 12,
    }
    with machine.using(nanoseconds_before_kernel=0, **sizes):
        yield


@pytest.fixture
def native_calls(monkeypatch):
    """The operations that are asked for native code, and whether they had some."""
    asked = []
    run = native.run_natively

    def ask(primitive, *rest):
        found = run(primitive, *rest)
        asked.append((primitive.name, found is not None))
        return found

    monkeypatch.setattr(native, "run_natively", ask)
    return asked


@pytest.fixture
def cuda():
    """The name of a GPU, or of the device of the stand-in; afterwards its library is not known any more."""
    with registered():
        yield "cuda:0"


@pytest.fixture
def xp(cuda):
    """The module with the functions of NumPy on that device."""
    return devices.LIBRARIES["cuda"].numpy


@pytest.fixture
def host_copies():
    """The copies to the CPU so far, which only the stand-in counts."""
    HOST_COPIES.clear()
    return HOST_COPIES

"""For all tests: folders of the session for programs and bytecode, and what tests of large eager calls share."""

from __future__ import annotations

import gc
import sys

import pytest
from tests.control.trials import add_trials

from wengert.core import native

add_trials()


def pytest_collection_finish():
    """Tens of thousands of tests with their arguments stay to the end: garbage collections need not visit them."""
    gc.collect()
    gc.freeze()


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
def at_once(monkeypatch):
    """Kernels and programs are compiled at the first large call."""
    monkeypatch.setattr(native, "PAYS", 0)


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

"""For all tests: compiled programs are kept in a folder of the session's own, never in the user's."""

from __future__ import annotations

import gc

import pytest
from tests.control.trials import add_trials

add_trials()


def pytest_collection_finish():
    """Tens of thousands of tests with their arguments stay to the end: garbage collections need not visit them."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def cache_folder(request, tmp_path_factory):
    """One folder for all processes of a session, so that none compiles what another one has compiled."""
    folder = tmp_path_factory.getbasetemp()
    folder = folder.parent if hasattr(request.config, "workerinput") else folder
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WENGERT_CACHE_DIR", str(folder / "compiled"))
        yield

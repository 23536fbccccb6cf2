"""For all tests: compiled programs are kept in a folder of the session's own, never in the user's."""

from __future__ import annotations

import pytest
from tests.control.trials import add_trials

add_trials()


@pytest.fixture(scope="session", autouse=True)
def cache_folder(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WENGERT_CACHE_DIR", str(tmp_path_factory.mktemp("compiled")))
        yield

"""What tests of large eager calls share."""

from __future__ import annotations

import pytest

from wengert.core import native


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

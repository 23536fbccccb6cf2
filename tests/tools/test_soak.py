"""The soak reports growing memory, differences, errors, hangs and processes that end; its parts run."""

from __future__ import annotations

import pytest
from tests.tools.soak_parts import Differs, Ends, Fails, Fine, Hangs, Leaks
from tools.soak.parts import PARTS
from tools.soak.workers import soak, table


@pytest.fixture(scope="module")
def workers():
    found = soak([Fine, Leaks, Differs, Fails, Hangs, Ends], minutes=0.04, rounds=2, limit=10.0)
    return {worker.name: worker for worker in found}


def test_nothing_is_reported_where_nothing_is_wrong(workers):
    fine = workers["Fine"]
    assert fine.done > 5
    assert not fine.wrong
    assert len(fine.memory) == 3


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("Leaks", "MB more after"),
        ("Differs", "one is not two"),
        ("Fails", "KeyError: 'lost'"),
        ("Hangs", "no answer"),
        ("Ends", "ended with status 3"),
    ],
)
def test_what_is_wrong_is_reported(workers, name, message):
    assert any(message in text for text in workers[name].wrong)


def test_the_table_counts(workers):
    lines = {line.split("|")[1].strip(): line for line in table(list(workers.values())).splitlines()}
    assert workers["Hangs"].hangs == workers["Ends"].ends == 2
    assert lines["Hangs"].endswith("| 2 | 2 | 0 |")
    assert lines["Ends"].endswith("| 2 | 0 | 2 |")


@pytest.mark.parametrize("kind", [part for part in PARTS if part.__name__ in ("Compilations", "Training")])
def test_a_step_of_a_part(kind):
    assert kind().step() is None

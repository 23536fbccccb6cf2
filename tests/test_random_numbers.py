"""What a test draws is a function of its name."""

from __future__ import annotations

import sys
from types import ModuleType

import numpy as np
import pytest
from tests.compiler.call import taped_programs
from tests.random_numbers import generators_of, start_streams
from tests.sampling import each

RNG = np.random.default_rng(3)
AT_IMPORT = RNG.normal(size=3)
DRAWN: dict[str, list[float]] = {}


@pytest.mark.parametrize("number", range(3))
def test_an_item_draws_numbers_of_its_own(number, request):
    first = RNG.normal(size=3).tolist()
    assert not np.isin(first, AT_IMPORT).any()
    assert first not in DRAWN.values()
    DRAWN[request.node.nodeid] = first
    start_streams(__name__, request.node.nodeid)
    assert RNG.normal(size=3).tolist() == first


@each("word", ["a", "b", "a"])
def test_cases_draw_numbers_of_their_own(word):
    first = RNG.normal(size=3).tolist()
    assert DRAWN.setdefault(word, first) == first
    assert all(numbers != first for other, numbers in DRAWN.items() if other != word)


def test_generators_of_modules_whose_functions_are_imported_are_found(monkeypatch):
    borrowing = ModuleType("tests.borrowing")
    borrowing.function = taped_programs.softmax_loss
    monkeypatch.setitem(sys.modules, "tests.borrowing", borrowing)
    assert generators_of("tests.borrowing") == (taped_programs.RNG,)

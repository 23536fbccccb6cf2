"""The registry of forms: every method of Graph that asks it has a function, and passes are loaded on demand."""

from __future__ import annotations

import numpy as np
import pytest
from tests.fresh_python import run_python

from wengert.graph.forms import FORMS, MODULES, find_form
from wengert.graph.graph import Graph
from wengert.transforms.tracing import trace


@pytest.mark.parametrize("name", [*FORMS, *MODULES])
def test_every_form_is_a_method_of_graph(name):
    assert callable(getattr(Graph, name))
    assert name.startswith("__") or getattr(Graph, name).__doc__
    assert callable(find_form(name))


def test_passes_are_loaded_when_they_are_needed():
    code = (
        "import sys, wengert as wg; graph = wg.trace(lambda x: x * 1.0, 2.0); name = 'wengert.graph.passes'; "
        "print(name in sys.modules); graph.optimize(); print(name in sys.modules)"
    )
    run = run_python(code)
    assert run.stdout.split() == ["False", "True"]


def test_constants_that_are_not_written_out_are_passed_by_keyword():
    table = np.arange(100.0)
    source = trace(lambda x: x * table, np.ones(100)).python("scaled")
    assert source.name == "scaled"
    assert len(source.constants) == 1
    np.testing.assert_array_equal(source.function()(np.full(100, 2.0)), 2.0 * table)

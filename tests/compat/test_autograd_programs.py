"""Programs written for autograd have the same results on `wengert.compat.autograd`."""

from __future__ import annotations

import pytest
from tests.compat.run_programs import is_installed, run_in_process, stored_results
from tests.compat.swapped_programs import check_program, compare, names_of

pytestmark = pytest.mark.together("programs of autograd")  # they run in one process


@pytest.mark.parametrize("name", names_of("autograd"))
def test_a_program_has_the_results_of_autograd(name):
    check_program("autograd", name)


def test_there_are_as_many_programs_as_autograd_has_examples():
    assert len(names_of("autograd")) >= 31


@pytest.mark.skipif(not is_installed("autograd"), reason="autograd is not installed")
def test_stored_results_are_those_of_autograd():
    found = run_in_process("autograd", on_peer=True, names=["rosenbrock"])
    assert set(stored_results("autograd")) == set(names_of("autograd"))
    compare(found["rosenbrock"], stored_results("autograd")["rosenbrock"], 1e-10, "rosenbrock")


def test_a_wrong_result_is_found():
    with pytest.raises(AssertionError):
        compare({"x": [1.0, 2.0]}, {"x": [1.0, 2.0001]}, 1e-10, "x")
    with pytest.raises(AssertionError):
        compare({"x": [[1.0], "a"]}, {"x": [[1.0], "b"]}, 1e-10, "x")

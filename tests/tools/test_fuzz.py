"""The fuzzer: some of its programs, that programs are functions of their seeds, and that it finds what is wrong."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from tools.fuzz.__main__ import main
from tools.fuzz.differences import slope
from tools.fuzz.forms import AUXILIARIES
from tools.fuzz.generate import generate
from tools.fuzz.large import check_large, generate_large
from tools.fuzz.machines import check_machines, generate_for_machines
from tools.fuzz.oracles import Difference, check_by_differences, check_compiled, check_eager, examine
from tools.fuzz.programs import Input, Program, Statement
from tools.fuzz.schedules import check_schedules, generate_for_schedules
from tools.fuzz.shrink import shrink
from tools.fuzz.statements import CASES, CONSTANT, ELEMENTWISE, UNKNOWN_SHAPE

from wengert.compiler.forms.lowering import lowering, on_floats
from wengert.compiler.kernels.scatters import ScatterWriter
from wengert.compiler.nests import legality
from wengert.core.primitive import TABLE, restore_axes
from wengert.core.rule_calls import caller


@pytest.mark.parametrize("block", range(5))
def test_some_programs(block):
    for index in range(6 * block, 6 * block + 6):
        program = generate(12, index)
        assert not examine(program, Counter()), program.script("tests")


@pytest.mark.parametrize("index", range(4))
def test_programs_that_assign_to_what_they_capture(index):
    program = generate(12, index, state=True)
    assert "global c0" in program.source
    assert not examine(program, Counter()), program.script("tests")


def test_some_programs_on_shrunken_machines():
    for index in range(5):
        program = generate_for_machines(12, index)
        assert not examine(program, Counter(), [check_machines]), program.script("tests")


def test_some_programs_with_random_decisions():
    counts = Counter()
    for index in range(8):
        program = generate_for_schedules(12, index)
        assert not examine(program, counts, [check_schedules]), program.script("tests")
    assert counts["references, bit by bit"] > 0


def test_it_finds_a_rule_that_allows_too_much(monkeypatch):
    """Lanes along a reduced axis would add terms in another order."""
    is_long = lambda nest, new, others: None if new.amount <= nest.domain[new.axis] else "its axis is short"
    monkeypatch.setitem(legality.RULES, "lanes", is_long)
    programs = (generate_for_schedules(12, index) for index in range(20))
    assert any(examine(program, Counter(), [check_schedules]) for program in programs)


def test_a_large_program():
    program = generate_large(12, 3)
    assert max(i.values[0].size for i in program.inputs) >= 10_000
    assert not examine(program, Counter(), [check_large]), program.script("tests")


def test_it_finds_a_race_and_the_machine_that_has_it(monkeypatch):
    """A thread that adds rows outside of its range is found, and fields that do not matter are dropped."""
    monkeypatch.setenv("WENGERT_CACHE_DIR", "off")
    monkeypatch.setattr(ScatterWriter, "is_in_range", lambda self, unit: unit >= unit)
    rng = np.random.default_rng(3)
    texts = ["v0 = np.tanh(x0 @ k0)", "v1 = v0[k1] * v0[k2]"]
    program = Program(
        (0, 8),
        [Input("x0", [rng.normal(size=(12, 3))] * 3)],
        constants={"k0": rng.normal(size=(3, 16)), "k1": rng.integers(0, 12, 40), "k2": rng.integers(0, 12, 40)},
        statements=[Statement("test", f"v{k}", text) for k, text in enumerate(texts)],
        result="total(v1)",
        records=tuple(
            {"threads": count, "looks_before_sleep": 9}
            | {"min_operations_per_thread": 1, "min_operations_to_wake": 1, "cycles_of_row_in_range": 0}
            for count in (1, 2)
        ),
    )
    found = examine(program, Counter(), [check_machines])
    assert found
    small, found = shrink(program, found)
    assert [record["threads"] for record in small.records] == [2]
    assert "looks_before_sleep" not in found[0].message
    assert "machine.using(threads=2, " in small.script("")


def test_a_program_is_a_function_of_its_seed():
    assert generate(3, 14).script("") == generate(3, 14).script("")
    assert len({generate(3, k).source for k in range(20)}) == 20


def test_a_printed_program_runs_by_itself():
    program = generate(12, 2)
    names: dict = {}
    exec(program.script("tests"), names)
    np.testing.assert_array_equal(names["f"](*names["point1"]), program.load()[0](*program.at(1)))


def test_programs_use_the_whole_table():
    made = {p.name for p in [*ELEMENTWISE, *CASES, *CONSTANT]} | {*UNKNOWN_SHAPE, "stop_gradient", "complement"}
    bits = {"bitwise_and", "bitwise_or", "bitwise_xor", "invert", "left_shift", "right_shift"}
    assert made | bits == set(TABLE)
    assert all(any(sign in form for form in AUXILIARIES) for sign in ("n &", "n |", "n ^", "~n", "n <<", "n >>"))


def sines(extra: str = "") -> Program:
    """A program that takes a sine, on its way."""
    values = [np.array([0.3, 0.8]) + k for k in range(3)]
    texts = ["v0 = np.cos(x0) * 2.0", "v1 = np.sin(v0 + x0)", "v2 = v1 * x0 + 1.0" + extra]
    return Program(
        (0, 0),
        [Input("x0", values)],
        statements=[Statement("test", f"v{k}", text) for k, text in enumerate(texts)],
        result="total(v2)",
    )


def test_it_finds_nothing_where_nothing_is_wrong():
    counts: Counter[str] = Counter()
    assert examine(sines(), counts) == []
    assert counts["comparisons"] > 15
    assert counts["too near a kink"] == 0


def wrong(rule):
    return [caller(rule, TABLE["sin"].wanted, restore_axes)]


def test_it_finds_a_wrong_rule(monkeypatch):
    """A rule that is wrong in every mode is seen by differences alone."""
    monkeypatch.setattr(TABLE["sin"], "pulls", wrong(lambda t, x: t * np.cos(x) * 1.01))
    monkeypatch.setattr(TABLE["sin"], "pushes", wrong(lambda t, x: t * np.cos(x) * 1.01))
    found = examine(sines(), Counter(), [check_by_differences])
    assert found
    assert found[0].check == "differences"


def test_it_finds_modes_that_disagree(monkeypatch):
    monkeypatch.setattr(TABLE["sin"], "pushes", wrong(lambda t, x: t * np.cos(x) * 1.01))
    found = examine(sines(), Counter(), [check_eager])
    assert "forward" in {difference.check for difference in found}


def test_it_finds_wrong_native_code(monkeypatch):
    monkeypatch.setenv("WENGERT_CACHE_DIR", "off")
    monkeypatch.setitem(lowering.entries, TABLE["deg2rad"], on_floats(lambda x: x))
    assert "compiled" in examine(sines(" + np.deg2rad(v1)"), Counter(), [check_compiled])[0].check


def test_it_finds_an_error(monkeypatch):
    def broken(t, x):
        raise KeyError("lost")

    monkeypatch.setattr(TABLE["sin"], "pulls", wrong(broken))
    assert "KeyError: 'lost'" in examine(sines(), Counter())[0].message


def test_what_it_finds_is_made_small(monkeypatch):
    monkeypatch.setattr(TABLE["sin"], "pushes", wrong(lambda t, x: t * np.cos(x) * 1.01))
    program = sines()
    small, found = shrink(program, examine(program, Counter()))
    assert found[0].check == "forward"
    assert [s.target for s in small.statements] == ["v0", "v1"]
    assert small.result == "total(v1)"


@pytest.mark.parametrize(
    ("phi", "expected"),
    [(np.sin, 1.0), (lambda t: np.exp(3 * t), 3.0), (lambda t: abs(t - 1e-4) + t, 0.0), (lambda t: 5.0, 0.0)],
)
def test_slopes_by_differences(phi, expected):
    found, error = slope(phi)
    assert error < 1e-8
    assert abs(found - expected) < 1e-8


@pytest.mark.parametrize(
    "phi", [abs, lambda t: max(t, 0.0), np.floor, lambda t: np.sqrt(abs(t)), lambda t: float(t > 0)]
)
def test_kinks_and_jumps_have_no_slope(phi):
    assert slope(phi).error > 1e-4


def test_command(monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["fuzz", "--seed", "12", "--programs", "2", "--start", "5"])
    assert main() == 0
    assert "2 programs, 0 with differences" in capsys.readouterr().out
    monkeypatch.setattr("sys.argv", ["fuzz", "--seed", "12", "--programs", "1", "--start", "5", "--no-shrink"])
    found = [Difference("tape", "one is not two")]
    monkeypatch.setattr("tools.fuzz.work.examine", lambda program, counts, checks: found)
    assert main() == 1
    out = capsys.readouterr().out
    assert "one is not two" in out
    assert "def f(" in out

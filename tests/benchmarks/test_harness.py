"""The harness compares before it times, takes turns, and leaves out what is not installed.

Needs Wengert and NumPy only.
"""

from __future__ import annotations

import json
import platform

import numpy as np
import pytest
from benchmarks import runner, tables
from benchmarks.__main__ import main
from benchmarks.agreement import DisagreementError, check
from benchmarks.runner import Measurement, measure
from benchmarks.systems import SYSTEMS, System
from benchmarks.timing import best_of_rounds
from benchmarks.workload import Workload
from benchmarks.workloads import WORKLOADS


def squares(**targets: float) -> Workload:
    """The sum of squares, and its gradient."""
    made = Workload(
        "squares", "the sum of squares", lambda n: (np.arange(1.0, n + 1),), {"small": 3}, {"small": targets}
    )

    @made.implementation("numpy")
    def by_hand(x):
        return lambda: ((x * x).sum(), 2 * x)

    @made.implementation("wengert")
    def by_tape(x):
        import wengert as wg

        def run():
            a = wg.tensor(x, requires_grad=True)
            y = (a * a).sum()
            y.backward()
            return y, a.grad

        return run

    return made


@pytest.mark.parametrize("name", WORKLOADS)
def test_wengert_agrees_with_numpy_on_every_workload(name):
    workload = WORKLOADS[name]
    size = next(iter(workload.sizes))
    check(name, runner.observed(workload, size, "wengert"), runner.observed(workload, size, "numpy"))


@pytest.mark.parametrize("name", WORKLOADS)
def test_every_workload_is_written_for_every_system(name):
    assert set(WORKLOADS[name].implementations) == set(SYSTEMS)
    assert set(WORKLOADS[name].targets) <= set(WORKLOADS[name].sizes)


def test_measure_gives_times_and_ratios():
    measured = measure(squares(numpy=1e6), "small", ["numpy"], rounds=2, block=1e-4)
    assert set(measured.seconds) == {"wengert", "numpy"}
    assert all(t > 0 for t in measured.seconds.values())
    assert measured.ratio("numpy") == measured.seconds["wengert"] / measured.seconds["numpy"]
    assert measured.targets == {"numpy": 1e6}
    assert tables.figures_of([measured])[0].met


def test_a_disagreement_is_an_error_and_nothing_is_timed(monkeypatch):
    workload = squares()
    workload.implementation("wengert")(lambda x: lambda: (np.float64(14.0), 3 * x))
    monkeypatch.setattr(runner, "best_of_rounds", lambda *_: pytest.fail("timed"))
    monkeypatch.setitem(SYSTEMS, "wengert", System("wengert", "Wengert"))
    with pytest.raises(DisagreementError, match="Result 1 of Wengert on squares"):
        measure(workload, "small", ["numpy"], rounds=1)


@pytest.mark.parametrize(
    "wrong",
    [np.ones(3) + 1e-6, np.ones(3, np.float32), np.ones((3, 1)), np.full(3, np.nan)],
    ids=["value", "dtype", "shape", "nan"],
)
def test_check_can_fail(wrong):
    check("right", [np.ones(3) + 1e-14], [np.ones(3)])
    with pytest.raises(DisagreementError):
        check("wrong", [wrong], [np.ones(3)])
    with pytest.raises(DisagreementError):
        check("too many", [np.ones(3)] * 2, [np.ones(3)])


def test_a_gradient_that_piles_up_is_seen():
    import wengert as wg

    workload = squares()

    @workload.implementation("wengert")
    def forgets_to_clear(x):
        a = wg.tensor(x, requires_grad=True)

        def run():
            y = (a * a).sum()
            y.backward()
            return y, a.grad

        return run

    with pytest.raises(DisagreementError):
        measure(workload, "small", [], rounds=1)


def test_a_system_that_is_not_installed_is_left_out(monkeypatch, capsys):
    monkeypatch.setitem(SYSTEMS, "torch", System("no_such_module_at_all", "PyTorch"))
    workload = squares()
    workload.implementation("torch")(lambda x: pytest.fail("ran"))
    measured = measure(workload, "small", ["torch", "numpy"], rounds=1, block=1e-4)
    assert measured.missing == ("torch",)
    assert "torch" not in measured.seconds
    assert main(["--workload", "rosenbrock", "--peers", "torch", "--rounds", "1"]) == 0
    assert "PyTorch is not installed" in capsys.readouterr().out


def test_functions_take_turns_and_each_begins_a_round():
    calls: list[str] = []
    best_of_rounds({name: lambda name=name: calls.append(name) for name in "ab"}, rounds=2, block=0.0, rest=0.0)
    assert "".join(calls) == "aa" + "bb" + "aa" + "bb" + "bb" + "aa"  # calibration, then a and b, then b and a


def test_json_names_no_host(tmp_path):
    out = tmp_path / "out.json"
    assert main(["--workload", "chain", "--peers", "numpy", "--rounds", "1", "--json", str(out)]) == 0
    written = json.loads(out.read_text())
    assert set(written) == {"machine", "versions", "workloads", "reports"}
    assert platform.node() not in out.read_text().split('"')
    [chain] = written["workloads"]
    assert chain["ratios"]["numpy"] == pytest.approx(chain["seconds"]["wengert"] / chain["seconds"]["numpy"])


def test_markdown_keeps_what_stands_around_it(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(f"before\n{tables.BEGIN}\nold\n{tables.END}\nafter\n")
    measured = Measurement("chain", "small", {"wengert": 1e-3, "numpy": 2e-3}, {"numpy": 0.4})
    tables.write_markdown(page, [measured], tables.tables([measured], {}))
    text = page.read_text()
    assert text.startswith("before\n")
    assert text.endswith("after\n")
    assert "old" not in text
    assert "| chain | 100 | 1 ms | 2 ms (0.50) |" in text
    assert "| at most 0.4 | not met |" in text
    tables.write_markdown(page, [measured], tables.tables([measured], {}))
    assert page.read_text() == text


@pytest.mark.parametrize(
    ("value", "unit", "text"), [(2e-6, "s", "2 µs"), (3.0, "s", "3 s"), (1234, "B", "1.23 kB"), (0.5, "", "0.5")]
)
def test_quantities_have_a_suitable_unit(value, unit, text):
    assert tables.quantity(value, unit) == text

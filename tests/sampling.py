"""What `make test` leaves to `make test-all`: a sample of large cross products and of slow tests, new for each commit.

Plain `pytest` runs everything. `pytest --sample=SEED` runs a sample that is a function of SEED. `make test` gives it
the hash of the commit that is checked out, so that the sample rotates and a failure can be repeated: the first line of
the output names the seed, and `make test SAMPLE=SEED` takes it.

Nothing need be written in a test:

- Of a test with several parameters the sample has at least one item for each value of each parameter. Of a hundred
  operations and seven dtypes it has a hundred items, with all dtypes among them.
- A test function may take `SECONDS` of processor time. Of one that takes longer, the sample has as many items as fit;
  one that is a single long item is in every `RARELY`-th sample or more often. `tests/costs.txt` lists what functions
  take; one that is not listed is quick. `pytest --costs` measures them and writes the file.

`@pytest.mark.seconds(5)` lets a test take longer in a sample, and `@pytest.mark.every_item` is for one of which nothing
is ever left out. `@pytest.mark.together("name")` is for tests that share what is expensive to set up: they are in a
sample together or not at all. `pytestmark` in a file gives a mark to all its tests.

`@each` and `@by_operation` take the place of `@pytest.mark.parametrize` where there are hundreds of quick cases, as an
item has a cost of its own: one item runs several cases, and the message of a failure names the case.
"""

from __future__ import annotations

import datetime
import inspect
import math
import os
import subprocess
from collections.abc import Callable, Iterable, Sequence
from functools import update_wrapper
from hashlib import blake2b
from pathlib import Path
from typing import Any

import pytest
from tests.random_numbers import start_streams
from tools import import_graph

ROOT = Path(__file__).parent.parent
COSTS = Path(__file__).parent / "costs.txt"
SECONDS = 0.15
"""Processor time of one test function in a sample."""
RARELY = 8
"""A slow test that cannot be divided is in one of so many samples."""
QUICK = 0.2
"""Seconds; what takes less is not listed in `costs.txt`."""

Case = tuple[str, Sequence[Any]]
"""The id and the values of a case."""
CASES = "cases_of_item"
PARAMETERS = type(pytest.param())


def each(names: str | Sequence[str], cases: Iterable[Any], ids: Iterable[str] | None = None) -> Callable[..., Any]:
    """A decorator as `pytest.mark.parametrize`, but one item runs the test for all cases."""
    return run_cases(names, {"each": name_cases(cases, ids)})


def by_operation(
    names: str | Sequence[str], cases: Iterable[Any], ids: Iterable[str] | None = None
) -> Callable[..., Any]:
    """A decorator as `pytest.mark.parametrize`, but with one item for each operation.

    The id of a case is the name of its operation, and perhaps a hyphen and what tells it from others of the operation.
    """
    groups: dict[str, list[Case]] = {}
    for case in name_cases(cases, ids):
        groups.setdefault(case[0].split("-")[0], []).append(case)
    return run_cases(names, groups)


def name_cases(cases: Iterable[Any], ids: Iterable[str] | None) -> list[Case]:
    found = [case if isinstance(case, PARAMETERS) else pytest.param(case) for case in cases]
    words = [case.id or case.values for case in found] if ids is None else ids
    return [(str(word), case.values) for word, case in zip(words, found, strict=True)]


def run_cases(names: str | Sequence[str], groups: dict[str, list[Case]]) -> Callable[..., Any]:
    names = [name.strip() for name in names.split(",")] if isinstance(names, str) else names

    def decorate(test: Callable[..., None]) -> Any:
        def run(*args: Any, **fixtures: Any) -> None:
            cases, skipped = fixtures.pop(CASES), []
            for word, values in cases:
                start_streams(test.__module__, f"{test.__qualname__} {word}")
                try:
                    test(*args, **fixtures, **dict(zip(names, values, strict=True)))
                except pytest.skip.Exception as reason:
                    skipped.append(reason)
                except BaseException as error:
                    error.add_note(f"in the case {word} of {test.__name__}")
                    raise
            if len(skipped) == len(cases):
                raise skipped[0]

        update_wrapper(run, test)
        kept = [p for p in inspect.signature(test).parameters.values() if p.name not in names]
        cases = inspect.Parameter(CASES, inspect.Parameter.KEYWORD_ONLY)
        run.__signature__ = inspect.Signature([*kept, cases])  # type: ignore[attr-defined]
        return pytest.mark.parametrize(CASES, groups.values(), ids=groups)(run)

    return decorate


def name_commit() -> str:
    """The commit that is checked out, or the day where there is no checkout."""
    command = ["git", "-C", str(ROOT), "rev-parse", "--short=12", "HEAD"]
    try:
        found = subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
    except OSError:  # no git
        found = ""
    return found or datetime.date.today().isoformat()


def draw(seed: str, name: str) -> float:
    """A number between 0 and 1 that looks random and is a function of the seed and the name."""
    return int.from_bytes(blake2b(f"{seed} {name}".encode(), digest_size=7).digest()) / 2**56


def parameters_of(item: pytest.Item) -> dict[str, Any]:
    callspec = getattr(item, "callspec", None)
    return callspec.params if callspec else {}


def cover_values(items: Sequence[pytest.Item]) -> list[pytest.Item]:
    """Of a cross product of parameters, items with all values of each; of others, all items."""
    values = [{(name, id(value)) for name, value in parameters_of(item).items()} for item in items]
    different = {pair for value in values for pair in value}
    if any(sum(name == other for other, _ in different) == len(items) for name in parameters_of(items[0])):
        return list(items)  # a parameter tells them all apart
    chosen, seen = [], set[tuple[str, int]]()
    for item, value in zip(items, values, strict=True):
        if not value <= seen:
            seen |= value
            chosen.append(item)
    return chosen


def cut_cases(items: Sequence[pytest.Item], share: float, seed: str) -> float:
    """Let items run a share of their cases, and one at least; return the share of all cases that are left."""
    before = after = 0
    for item in items:
        cases = sorted(parameters_of(item)[CASES], key=lambda case: draw(seed, f"{item.nodeid} {case[0]}"))
        left = cases[: max(1, int(len(cases) * share + draw(seed, item.nodeid)))]
        before, after = before + len(cases), after + len(left)
        parameters_of(item)[CASES] = left
    return after / before


def choose(items: Sequence[pytest.Item], seconds: float, seed: str) -> list[pytest.Item]:
    """The sample of the items of one test function, which takes so many seconds."""
    mark = items[0].get_closest_marker("seconds")
    share = min(1.0, (mark.args[0] if mark else SECONDS) / seconds) if seconds else 1.0
    if items[0].get_closest_marker("every_item") or items[0].get_closest_marker("together"):
        return list(items)
    if len(items) == 1 and CASES not in parameters_of(items[0]):
        return list(items) if draw(seed, items[0].nodeid) < max(share, 1 / RARELY) else []
    items = sorted(items, key=lambda item: draw(seed, item.nodeid))
    if CASES in parameters_of(items[0]):
        share /= cut_cases(items, share, seed)
    else:
        items, before = cover_values(items), len(items)
        share *= before / len(items)
    return items[: math.ceil(len(items) * min(1.0, share))]


def function_of(nodeid: str) -> str:
    """The name of the function of an item, without its parameters."""
    return nodeid.split("[")[0]


def choose_functions(items: Sequence[pytest.Item], seed: str) -> list[pytest.Item]:
    """The sample of all items."""
    costs, functions = read_costs(), dict[str, list[pytest.Item]]()
    for item in items:
        mark = item.get_closest_marker("together")
        if not mark or draw(seed, mark.args[0]) < 1 / RARELY:
            functions.setdefault(function_of(item.nodeid), []).append(item)
    chosen = {item for name, group in functions.items() for item in choose(group, costs.get(name, 0.0), seed)}
    return [item for item in items if item in chosen]


def read_costs() -> dict[str, float]:
    """Processor seconds of each test function that is not quick."""
    lines = COSTS.read_text().splitlines() if COSTS.exists() else []
    return {name: float(seconds) for seconds, name in (line.split(maxsplit=1) for line in lines)}


def write_costs(costs: dict[str, float]) -> None:
    """Keep what is known of functions that did not run."""
    known = {name: seconds for name, seconds in read_costs().items() if (ROOT / name.split("::")[0]).exists()}
    listed = {name: seconds for name, seconds in (known | costs).items() if seconds >= QUICK}
    COSTS.write_text("".join(f"{seconds:.1f} {name}\n" for name, seconds in sorted(listed.items())))


class Sample:
    """The plugin that deselects what is not in the sample of a seed."""

    def __init__(self, seed: str) -> None:
        self.seed = seed

    def pytest_sessionstart(self, session: pytest.Session) -> None:
        """Say which sample runs, also where `-q` leaves out the header; workers have no terminal."""
        terminal = session.config.pluginmanager.get_plugin("terminalreporter")
        if terminal:
            again = f"make test SAMPLE={self.seed}"
            terminal.write_line(f"sample {self.seed} of the tests; to repeat it: {again}; all tests: make test-all")

    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        chosen = choose_functions(items, self.seed)
        kept = set(chosen)
        config.hook.pytest_deselected(items=[item for item in items if item not in kept])
        items[:] = chosen


class Changed:
    """The plugin that collects only files that depend on what changed since a commit."""

    def __init__(self, base: str) -> None:
        self.chosen = import_graph.select(import_graph.changed_files("HEAD~1" if base == "1" else base))

    def pytest_ignore_collect(self, collection_path: Path) -> bool | None:
        return True if collection_path.suffix == ".py" and collection_path not in self.chosen else None

    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        if exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED:
            session.exitstatus = pytest.ExitCode.OK  # no test depends on the change


class Measurement:
    """The plugin that measures the processor time of each test function, with that of the processes that it starts."""

    def __init__(self) -> None:
        self.costs: dict[str, float] = {}
        self.last = 0.0

    @staticmethod
    def processor_time() -> float:
        times = os.times()
        return times.user + times.system + times.children_user + times.children_system

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self) -> Any:
        self.last = self.processor_time()
        return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self) -> Any:
        report = yield
        now = self.processor_time()
        report.user_properties.append(("seconds", now - self.last))
        self.last = now
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        name = function_of(report.nodeid)
        seconds = [float(str(value)) for key, value in report.user_properties if key == "seconds"]
        self.costs[name] = self.costs.get(name, 0.0) + seconds[-1]

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if not hasattr(session.config, "workerinput"):
            write_costs(self.costs)


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("sample")
    group.addoption("--sample", metavar="SEED", help="run a sample; SEED is any word, `commit` the hash of this commit")
    group.addoption("--changed", metavar="BASE", help="run what depends on changes since BASE; 1 is the commit before")
    group.addoption("--costs", action="store_true", help="measure what tests take, and write tests/costs.txt")


def pytest_configure(config: pytest.Config) -> None:
    for line in (
        "every_item: nothing of this test is left out of a sample",
        "seconds(s): the processor time that this test may take in a sample",
        "together(name): tests that are in a sample together or not at all",
    ):
        config.addinivalue_line("markers", line)
    if config.getoption("--sample") == "commit":
        config.option.sample = name_commit()  # workers are given the options of the first process
    if config.getoption("--sample"):
        config.pluginmanager.register(Sample(config.getoption("--sample")), "sample")
    if config.getoption("--changed"):
        config.pluginmanager.register(Changed(config.getoption("--changed")), "changed")
    if config.getoption("--costs"):
        config.pluginmanager.register(Measurement(), "measurement")

"""A sample of the tests has all values of parameters and rotates; the graph of imports finds what depends on a change;
mutations change code, and nothing that only people read.
"""

from __future__ import annotations

import ast
from itertools import product
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.sampling import CASES, SECONDS, by_operation, choose, draw, each
from tools import import_graph, mutations

MANY = [f"operation {k}" for k in range(30)]


def items(params: list[dict[str, Any]], **marks: Any) -> list[Any]:
    mark = lambda name: SimpleNamespace(args=[marks[name]]) if name in marks else None
    return [
        SimpleNamespace(nodeid=f"test[{k}]", get_closest_marker=mark, callspec=SimpleNamespace(params=p))
        for k, p in enumerate(params)
    ]


def numbers(chosen: list[Any]) -> list[int]:
    return sorted(int(item.nodeid[5:-1]) for item in chosen)


def test_a_sample_has_every_value_of_every_parameter():
    cross = [{"operation": name, "dtype": dtype} for name, dtype in product(MANY, ("f4", "f8", "i8"))]
    chosen = [item.callspec.params for item in choose(items(cross), 0.0, "a")]
    assert {p["operation"] for p in chosen} == {*MANY}
    assert {p["dtype"] for p in chosen} == {"f4", "f8", "i8"}
    assert len(chosen) <= len(MANY) + 3
    assert len(choose(items(cross, every_item=True), 0.0, "a")) == len(cross)
    assert len(choose(items([{"operation": name} for name in MANY]), 0.0, "a")) == len(MANY)


def test_a_slow_test_is_cut_and_samples_rotate():
    slow = [{"operation": name} for name in MANY]
    chosen = [numbers(choose(items(slow), 10 * SECONDS, seed)) for seed in "abcdefghijklmnopqrstuvwxyz"]
    assert {len(sample) for sample in chosen} == {3}
    assert chosen[0] == numbers(choose(items(slow), 10 * SECONDS, "a"))
    assert len({number for sample in chosen for number in sample}) > 25
    assert len(choose(items(slow, seconds=5 * SECONDS), 10 * SECONDS, "a")) == 15
    alone = [choose(items([{}]), 100 * SECONDS, str(seed)) for seed in range(100)]
    assert 10 <= sum(map(len, alone)) <= 35


def test_cases_are_cut_before_operations_are():
    groups = lambda: items([{CASES: [(f"{name}-{k}", (k,)) for k in range(10)]} for name in MANY])
    chosen = choose(groups(), 5 * SECONDS, "a")
    assert numbers(chosen) == [*range(30)]
    assert 40 <= sum(len(item.callspec.params[CASES]) for item in chosen) <= 80
    assert len(choose(groups(), 100 * SECONDS, "a")) == 3
    assert 0.0 <= draw("a", "b") < 1.0


def test_one_item_runs_all_cases_and_names_the_one_that_fails():
    @by_operation(("x", "y"), [pytest.param(x, 1, id=f"{name}-{x}") for name in ("sin", "cos") for x in (0, 1)])
    def check(x, y):
        assert x + y < 2

    (mark,) = check.pytestmark
    assert list(mark.kwargs["ids"]) == ["sin", "cos"]
    sine = next(iter(mark.args[1]))
    check(**{CASES: sine[:1]})
    with pytest.raises(AssertionError) as caught:
        check(**{CASES: sine})
    assert caught.value.__notes__ == ["in the case sin-1 of check"]
    seen = []

    @each("x", [1, 2])
    def collect(x):
        seen.append(x)

    collect(**{CASES: next(iter(collect.pytestmark[0].args[1]))})
    assert seen == [1, 2]


def test_tests_that_depend_on_a_change():
    select = lambda path: {str(test.relative_to(import_graph.ROOT)) for test in import_graph.select([path])}
    integrate = select("src/wengert/integrate/__init__.py")
    assert {"tests/integrate/test_ode.py", "tests/test_layers.py"} <= integrate
    assert not integrate & {"tests/stats/test_continuous_distributions.py", "tests/graph/test_text.py"}
    assert {"tests/test_table.py", "tests/nn/test_losses.py"} <= select("src/wengert/ops/elementwise/trigonometric.py")
    assert "tests/compiler/forms/test_affine.py" in select("src/wengert/compiler/forms/lowering.py")  # by wg.compile
    assert select("tests/oracle.py") >= {"tests/test_table.py", "tests/test_modes.py"}
    assert "tests/compat/test_torch_lines.py" in select("tests/compat/lines/torch.txt")
    assert len(select("tests/conftest.py")) == len(import_graph.tests())
    assert select("CHANGELOG.md") == set()


def test_mutations_are_code_that_can_be_parsed(tmp_path):
    path = Path("src/wengert/ops/elementwise/arithmetic.py")
    target = tmp_path / path
    target.parent.mkdir(parents=True)
    text = (mutations.ROOT / path).read_text()
    found = list(mutations.mutations_of(path))
    assert len({type(ast.parse(m.before).body[0]) for m in found if ":=" not in m.before}) >= 1
    for mutation in found[::10]:
        target.write_text(text)
        mutation.apply(tmp_path)
        assert ast.dump(ast.parse(target.read_text())) != ast.dump(ast.parse(text))
    assert mutations.draw(3, 1) == mutations.draw(3, 1) != mutations.draw(3, 2)


def test_probes_compute_what_the_code_computes(tmp_path):
    path = Path("src/wengert/core/facts.py")
    target = tmp_path / path
    target.parent.mkdir(parents=True)
    lines = ["def f(x, y):", "    if not x > 2:", "        y += 3", "    return [y, -x if x else 7]", ""]
    parts = [(2, 7, 16, "not x > 2", "(x > 2)"), (3, 8, 14, "y += 3", "pass"), (4, 15, 17, "-x", "(x)")]
    target.write_text("\n".join(lines))
    for number, part in enumerate(parts):
        mutations.Mutation(path, *part).probe(number).apply(tmp_path)
    noted: list[int] = []
    names: dict[str, Any] = {"__builtins__": {"__import__": lambda name: SimpleNamespace(note=noted.append)}}
    exec(target.read_text(), names)
    assert names["f"](1, 5) == [8, -1]
    assert noted == [0, 1, 2]
    assert names["f"](0, 5) == [8, 7]
    assert names["f"](3, 5) == [5, -3]
    assert noted == [0, 1, 2, 0, 1, 0, 2]

"""One word for one thing: a top-level name is defined in at most two modules. See docs/design/words.md."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from pathlib import Path

import numpy as np

import wengert as wg

SOURCES = Path(__file__).parent.parent / "src" / "wengert"
WORKLOADS = re.compile(
    r"\b(circuits?|CNOT|cross.?entropy|diffusion|embeddings?|Gaussian process|Greeks|heat equation|Hessian|Kalman|"
    r"likelihoods?|LSTM|mixtures?|n bodies|neural|option pricing|pendulum|perceptron|quantum|qubits?|recurrent|"
    r"regressions?|Rosenbrock|training|transformers?|wave equation)\b",
    re.IGNORECASE,
)
"""What users compute, by the words of their fields. Names of operations, such as softmax, are not among them."""
SHARED = {
    "__getattr__": "PEP 562 has modules define it",
    "run_in_mode": "each mode has a module that runs loops, which is imported when it is needed",
}
"""Names that more than two modules define, with a reason."""


def definitions() -> dict[str, list[str]]:
    """The modules that define each function and class; the names of a layer for another system are that system's."""
    found = defaultdict(list)
    for path in sorted(SOURCES.rglob("*.py")):
        if path.is_relative_to(SOURCES / "compat"):
            continue
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                found[node.name].append(str(path.relative_to(SOURCES)))
    return found


def is_public(name: str) -> bool:
    """Names of NumPy and of the public interface: each family, and the code that lowers or prints it, may use them."""
    return any(hasattr(space, name) for space in (wg, wg.autograd, wg.linalg, wg.numeric, wg.nn, wg.nn.functional, np))


def test_a_name_has_one_home_or_two():
    crowded = {
        name: homes
        for name, homes in definitions().items()
        if len(homes) > 2 and not is_public(name) and name not in SHARED
    }
    assert not crowded


def test_no_two_files_are_easily_confused():
    """`index` and `indices`, `context` and `contexts` side by side tell a reader nothing."""
    for folder in {path.parent for path in SOURCES.rglob("*.py")}:
        stems = sorted(path.stem for path in folder.glob("*.py"))
        for a in stems:
            plural = {a + "s", a + "es", a.removesuffix("x") + "ices", a.removesuffix("y") + "ies"}
            assert not plural & set(stems), f"{folder}: {a} and {plural & set(stems)}"


def test_files_of_tests_have_names_of_their_own():
    """Each is imported by its name alone, in the order in which processes happen to come to it.

    The programs of `compat/programs` are run by their paths.
    """
    names = [path.name for path in Path(__file__).parent.rglob("*.py") if "programs" not in path.parts]
    assert not [name for name in set(names) if names.count(name) > 1]


def test_modules_of_the_compiler_name_no_workload():
    """What they do is for all programs with the same structure, so the docstring describes the structure."""
    found = []
    for path in sorted((SOURCES / "compiler").rglob("*.py")):
        docstring = ast.get_docstring(ast.parse(path.read_text())) or ""
        found += [f"{path.relative_to(SOURCES)}: {word[0]}" for word in WORKLOADS.finditer(docstring)]
    assert not found
    assert WORKLOADS.search("One step of the heat equation."), "the test can fail"

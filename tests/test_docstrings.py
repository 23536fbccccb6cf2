"""Every public name has a docstring with an example that runs, and every public method a docstring."""

from __future__ import annotations

import doctest
import inspect
from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from types import FunctionType, ModuleType
from typing import Any

import numpy as np
from tests.sampling import by_operation
from tools import stubs

import wengert as wg
from wengert.core.array import INTERNALS
from wengert.explain.explanation import Explanation

NAMESPACES = [wg, *[getattr(wg, name) for name in dir(wg) if isinstance(getattr(wg, name), ModuleType)]]


def public_objects() -> dict[str, Any]:
    """Functions, operations, classes and distributions of the package, each by one of its names."""
    found: dict[int, tuple[str, Any]] = {}
    for namespace in NAMESPACES:
        prefix = namespace.__name__.replace("wengert", "wg").replace("transforms.", "")
        for name in getattr(namespace, "__all__", ()):
            value = getattr(namespace, name)
            earlier = found.get(id(value), ("", None))[0].rpartition(".")[2]
            if is_of_the_package(value) and earlier != getattr(value, "__name__", name):
                found[id(value)] = (f"{prefix}.{name}", value)
    return dict(found.values())


def is_of_the_package(value: Any) -> bool:
    module = getattr(value, "__module__", None) or ""
    return callable(value) and not isinstance(value, ModuleType) and module.startswith("wengert")


OBJECTS = public_objects()
CLASSES = {name: value for name, value in OBJECTS.items() if isinstance(value, type)} | {"Explanation": Explanation}
OTHERS = [name for name, value in OBJECTS.items() if not isinstance(value, FunctionType | type)]


def by_namespace(names: Iterable[str]) -> Callable[..., Any]:
    """One item for the names of each namespace."""
    names = list(names)
    return by_operation("name", names, ids=[f"{name.rpartition('.')[0]}-{name}" for name in names])


def families() -> dict[str, ModuleType]:
    """The modules that the functions of the front door come from."""
    found: dict[str, ModuleType] = {}
    for module in stubs.MODULES:
        prefix = module.__name__.replace("wengert", "wg")
        found |= {f"{prefix}.{name}": import_module(path) for name, path in stubs.origins(module).items() if path}
    return found


FAMILIES = families()
MADE = [
    name
    for name, value in OBJECTS.items()
    if name in FAMILIES and isinstance(value, FunctionType) and value.__globals__ is not vars(FAMILIES[name])
]


@by_namespace(OBJECTS)
def test_every_public_name_has_an_example(name):
    value = OBJECTS[name]
    doc = inspect.getdoc(value) or ""
    assert doc, f"{name} has no docstring"
    is_exception = isinstance(value, type) and issubclass(value, Exception)
    assert ">>> " in doc or is_exception, f"{name} has no example"


def run_examples(value: Any, name: str, module: ModuleType) -> None:
    finder, runner = doctest.DocTestFinder(recurse=False), doctest.DocTestRunner()
    for test in finder.find(value, name, module=False, globs={**vars(module), "np": np, "wg": wg}):
        assert test.examples
        report: list[str] = []
        runner.run(test, out=report.append)
        assert not report, "".join(report)


@by_namespace(MADE)
def test_examples_of_operations_run(name):
    """`--doctest-modules` does not find those of functions that a function of another module made."""
    run_examples(OBJECTS[name], name, FAMILIES[name])


def test_operations_are_among_them():
    assert {"wg.sin", "wg.matmul", "wg.special.erfc", "wg.hanning"} <= set(MADE)


@by_namespace(OTHERS)
def test_examples_of_distributions_run(name):
    """An instance has the docstring of its class, whose examples `--doctest-modules` runs."""
    assert OBJECTS[name].__doc__ == type(OBJECTS[name]).__doc__


def public_methods(cls: type) -> Iterator[tuple[str, Any]]:
    """The methods and properties that a class defines or inherits within the package."""
    hidden = INTERNALS if issubclass(cls, wg.Array) else ()
    own = {name for base in cls.__mro__ if base.__module__.startswith("wengert") for name in vars(base)}
    for name, value in inspect.getmembers(cls):
        if name in own and name not in hidden and (callable(value) or isinstance(value, property)):
            yield name, value


@by_namespace(CLASSES)
def test_public_methods_have_docstrings(name):
    cls = CLASSES[name]
    bare = [method for method, value in public_methods(cls) if not (method.startswith("_") or inspect.getdoc(value))]
    assert not bare

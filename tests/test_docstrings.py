"""Every public name has a docstring with an example that runs, and every public method a docstring."""

from __future__ import annotations

import doctest
import inspect
from collections.abc import Iterator
from importlib import import_module
from types import FunctionType, ModuleType
from typing import Any

import numpy as np
import pytest

import wengert as wg

NAMESPACES = [wg, *[getattr(wg, name) for name in dir(wg) if isinstance(getattr(wg, name), ModuleType)]]


def public_objects() -> dict[str, Any]:
    """What users call, by its first name: functions, operations, classes and distributions of the package itself."""
    found: dict[int, tuple[str, Any]] = {}
    for namespace in NAMESPACES:
        prefix = namespace.__name__.replace("wengert", "wg").replace("transforms.", "")
        for name in getattr(namespace, "__all__", ()):
            value = getattr(namespace, name)
            if is_own(value):
                found.setdefault(id(value), (f"{prefix}.{name}", value))
    return dict(found.values())


def is_own(value: Any) -> bool:
    module = getattr(value, "__module__", None) or ""
    return callable(value) and not isinstance(value, ModuleType) and module.startswith("wengert")


def public_methods(cls: type) -> Iterator[tuple[str, Any]]:
    for name, value in inspect.getmembers(cls):
        if not name.startswith("_") and (callable(value) or isinstance(value, property)):
            yield name, value


OBJECTS = public_objects()
CLASSES = {name: value for name, value in OBJECTS.items() if isinstance(value, type)}

WITHOUT_EXAMPLE: set[str] = set()
WITHOUT_DOCSTRING: set[str] = set()


@pytest.mark.parametrize("name", OBJECTS)
def test_every_public_name_has_an_example(name):
    doc = OBJECTS[name].__doc__ or ""
    assert doc.strip(), f"{name} has no docstring"
    assert ">>> " in doc or name in WITHOUT_EXAMPLE, f"{name} has no example"


def examples(name: str) -> list[doctest.DocTest]:
    """The examples of an object that `--doctest-modules` does not find, because it is no function or class."""
    value = OBJECTS[name]
    if isinstance(value, FunctionType | type) and not hasattr(value, "primitive"):
        return []
    names = {key: item for family in families() if hasattr(family, "__dict__") for key, item in vars(family).items()}
    return doctest.DocTestFinder(recurse=False).find(value, name, globs={**names, "np": np, "wg": wg})


def families() -> list[ModuleType]:
    return NAMESPACES


@pytest.mark.parametrize("name", [name for name in OBJECTS if examples(name)])
def test_examples_run(name):
    for test in examples(name):
        report: list[str] = []
        doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(test, out=report.append)
        assert not report, "".join(report)


@pytest.mark.parametrize("name", CLASSES)
def test_public_methods_have_docstrings(name):
    bare = [f"{name}.{method}" for method, value in public_methods(CLASSES[name]) if not inspect.getdoc(value)]
    assert set(bare) <= WITHOUT_DOCSTRING

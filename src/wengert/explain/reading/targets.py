"""The function of a command, as a formula or in a file, and its arguments, as numbers, lists or files."""

from __future__ import annotations

import ast
import importlib.util
import inspect
import json
import keyword
import math
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from wengert.core import tree
from wengert.explain.reading.expressions import expression
from wengert.explain.reading.tokens import ExpressionError, normalize_name
from wengert.explain.reading.vocabulary import suggestion

FILE = re.compile(r"(?P<path>.+\.py)(?P<function>:.*)?", re.DOTALL)
ASSIGNMENT = re.compile(r"\s*(?P<name>[^\W\d]\w*)\s*=(?!=)\s*(?P<value>.*?)\s*", re.DOTALL)

DEEPEST = 64
"""The most lists and dictionaries inside each other: the most axes of a NumPy array."""


class UsageError(ValueError):
    """A command that makes no sense; the user has to write something else."""


class Target(NamedTuple):
    """A function and its positional arguments."""

    function: Callable
    names: list[str]
    arguments: list[Any]


def read_target(function: str, given: Iterable[str]) -> Target:
    """The function `x**2` or `model.py:loss`, at arguments such as `x=2` or `w=[1, 2], b=0.5`.

    >>> f, names, arguments = read_target("w[0]*x + w[1]", ["x=2", "w=[3, 4]"])
    >>> names, float(f(*arguments))
    (['x', 'w'], 10.0)
    """
    values = {name: read_value(name, text) for name, text in parse_assignments(given).items()}
    match = FILE.fullmatch(function.strip())
    if match is None:
        return Target(
            expression(function, list(values)), list(values), [numeric_argument(name, x) for name, x in values.items()]
        )
    return bind_arguments(load_function(Path(match["path"]), (match["function"] or ":")[1:]), values)


def parse_assignments(given: Iterable[str]) -> dict[str, str]:
    """Names and values, as strings.

    >>> parse_assignments(["w=[1, 2], b=0.5", "c = 3"])
    {'w': '[1, 2]', 'b': '0.5', 'c': '3'}
    """
    found: dict[str, str] = {}
    for text in given:
        for part in split_arguments(text):
            match = ASSIGNMENT.fullmatch(part)
            if match is None or not match["value"]:
                raise UsageError(
                    f"{part.strip()!r} is not an argument. Arguments are written name=value: x=2, w=[1,2] or "
                    f"w=@weights.npy."
                )
            name = normalize_name(match["name"])
            if keyword.iskeyword(name) or not name.isidentifier() or name == "__debug__":
                raise UsageError(f"{name!r} cannot be the name of a variable in Python. Call it something else.")
            if name in found:
                raise UsageError(f"{name} is given twice.")
            found[name] = match["value"]
    return found


def split_arguments(text: str) -> list[str]:
    """The parts between commas, except for commas in brackets and strings."""
    parts, start, depth, is_text = [], 0, 0, False
    for i, character in enumerate(text):
        is_text ^= character == '"'
        depth += not is_text and (character in "([{") - (character in ")]}")
        if character == "," and depth == 0 and not is_text:
            parts.append(text[start:i])
            start = i + 1
    return [*parts, text[start:]]


def read_value(name: str, text: str) -> Any:
    """A value: JSON, a formula without variables, or the name of a NumPy file."""
    if text.startswith("@") or text.endswith(".npy"):
        path = Path(text.removeprefix("@"))
        try:
            return np.load(path, allow_pickle=False)[()]
        except (OSError, ValueError, AttributeError, EOFError) as error:
            reason = (
                "There is no such file."
                if not path.exists()
                else "It is not an array in NumPy's format, as np.save writes it."
            )
            raise UsageError(f"{name}: {path} cannot be read. {reason}") from error
    try:
        found = json.loads(text, parse_int=parse_integer, parse_float=parse_float)
    except json.JSONDecodeError:
        pass
    except RecursionError:
        raise UsageError(f"The value of {name} is nested too deeply.") from None
    except OverflowError as error:
        raise UsageError(f"The value of {name}: {error}") from None
    else:
        if nesting(found) > DEEPEST:
            raise UsageError(f"The value of {name} is nested deeper than {DEEPEST} levels.")
        return arrays_from_json(name, found)
    try:
        with np.errstate(all="ignore"):
            return expression(text, [])()
    except ExpressionError as error:
        raise ExpressionError(f"The value of {name}: {error.message}", error.text, error.at, error.width) from None
    except (ValueError, TypeError) as error:
        raise UsageError(f"The value of {name}, {text}, cannot be computed: {error}") from error


def parse_float(digits: str) -> float:
    """A float, which must not overflow."""
    if math.isinf(number := float(digits)):
        length = len(digits.lstrip("-"))
        raise OverflowError(
            f"{digits if length < 20 else f'an integer of {length} digits'} is larger than any floating-point number."
        )
    return number


def parse_integer(digits: str) -> int:
    """An integer that a float can represent; Python itself parses only a few thousand digits."""
    parse_float(digits)
    return int(digits)


def nesting(found: Any) -> int:
    """The depth of nested lists and dictionaries.

    >>> nesting({"a": [[1, 2], 3]})
    3
    """
    levels, row = -1, [found]
    while row:
        levels += 1
        row = [child for x in row if isinstance(x, list | dict) for child in (x if isinstance(x, list) else x.values())]
    return levels


def arrays_from_json(name: str, found: Any) -> Any:
    """JSON, with lists of numbers as arrays."""
    if isinstance(found, dict):
        return {key: arrays_from_json(name, child) for key, child in found.items()}
    if not isinstance(found, list):
        return found
    if any(isinstance(leaf, str | dict | bool) or leaf is None for leaf in flatten_lists(found)):
        return [arrays_from_json(name, child) for child in found]
    try:
        return np.array(found, float)
    except (ValueError, OverflowError) as error:
        raise UsageError(f"The rows of {name} have different lengths.") from error


def flatten_lists(found: list) -> list:
    """The elements of nested lists."""
    open_lists, contents = [found], list[Any]()
    while open_lists:
        for child in open_lists.pop():
            (open_lists if isinstance(child, list) else contents).append(child)
    return contents


def numeric_argument(name: str, x: Any) -> Any:
    """An argument of a formula, as floating-point numbers."""
    if isinstance(x, bool | str | dict | list) or x is None or np.asarray(x).dtype.kind not in "biufc":
        raise UsageError(f"{name} is a {type(x).__name__}. In formulas, values are numbers and lists of numbers.")
    return x if np.asarray(x).dtype.kind in "fc" else np.asarray(x, float)[()]


def load_function(path: Path, name: str) -> Callable:
    """A function of a Python file, which is imported."""
    if not path.is_file():
        raise UsageError(f"There is no file {path}.")
    if not name:
        raise UsageError(f"Which function of {path}? Write {path}:name. {functions_in_file(path, '')}".rstrip())
    module_name = path.stem if path.stem.isidentifier() and path.stem not in sys.modules else f"{path.stem} (file)"
    spec = importlib.util.spec_from_file_location(module_name, path)
    assert spec is not None, "the path ends in .py"
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    folder = str(path.resolve().parent)
    sys.modules[module_name] = module
    sys.path.insert(0, folder)
    try:
        spec.loader.exec_module(module)
    except SystemExit as error:
        raise RuntimeError(
            f"{path} ended the program while it was imported; put that under if __name__ == '__main__'."
        ) from error
    finally:
        sys.path.remove(folder)
    found: Any = module
    for part in name.split("."):
        found = getattr(found, part, None)
    if not callable(found):
        raise UsageError(f"{path} has no function {name!r}. {functions_in_file(path, name)}".rstrip())
    return found


def functions_in_file(path: Path, name: str) -> str:
    """A hint: functions of a file with a similar name, or all of them."""
    try:
        names = [node.name for node in ast.parse(path.read_bytes()).body if isinstance(node, ast.FunctionDef)]
    except (SyntaxError, ValueError):
        return ""
    return suggestion(name, names).strip() or (f"It has {', '.join(names)}." if names else "")


def bind_arguments(function: Callable, values: dict[str, Any]) -> Target:
    """A function with named arguments.

    Booleans, strings and integers that the function declares as such are fixed, all others vary.
    """
    title = getattr(function, "__name__", "The function")
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError) as error:
        raise UsageError(f"{title} does not say which parameters it has. Write a function around it.") from error
    parameters = signature.parameters
    takes_more = any(p.kind is p.VAR_KEYWORD for p in parameters.values())
    named = {name: p for name, p in parameters.items() if p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)}
    for name in values:
        if name not in named and not takes_more:
            known = suggestion(name, named) or f" It has {', '.join(named) or 'none'}."
            raise UsageError(f"{title} has no parameter {name!r}.{known}")
    missing = [name for name, p in named.items() if p.default is p.empty and name not in values]
    if missing:
        raise UsageError(
            f"{title} needs a value for {' and '.join(missing)}: {' '.join(f'{name}=1.0' for name in missing)}."
        )
    order = [*[name for name in named if name in values], *[name for name in values if name not in named]]
    arguments = {
        name: values[name] if is_integer(parameters.get(name)) else tree.map(to_float, values[name]) for name in order
    }
    fixed = {name: x for name, x in arguments.items() if not varies(x)}
    varying = [name for name in order if name not in fixed]
    if not varying:
        raise UsageError(f"{title} has no argument that could vary. Give one as a number: x=1.0.")
    plain = [name for name, p in named.items() if p.kind is not p.KEYWORD_ONLY]
    call = (
        function
        if not fixed and varying == plain[: len(varying)]
        else fix_arguments(function, signature, varying, fixed)
    )
    return Target(call, varying, [arguments[name] for name in varying])


def is_integer(parameter: inspect.Parameter | None) -> bool:
    """Whether a parameter is an integer, by its annotation or its default."""
    return parameter is not None and (parameter.annotation in (int, "int") or type(parameter.default) is int)


def to_float(x: Any) -> Any:
    """An integer as a float; others as they are."""
    return float(x) if type(x) is int else x


def varies(x: Any) -> bool:
    """Whether a derivative can be taken with respect to some part of an argument."""
    return any(isinstance(leaf, float | complex | np.ndarray | np.generic) for leaf in tree.leaves(x))


def fix_arguments(
    function: Callable, signature: inspect.Signature, varying: Sequence[str], fixed: dict[str, Any]
) -> Callable:
    """The function of the arguments that vary, by position and with their names."""
    kinds = {name: p.kind for name, p in signature.parameters.items()}

    def partial(*values: Any) -> Any:
        given = fixed | dict(zip(varying, values, strict=True))
        positional = []
        for name, kind in kinds.items():
            if name not in given or kind not in (
                inspect.Parameter.POSITIONAL_ONLY,
                inspect.Parameter.POSITIONAL_OR_KEYWORD,
            ):
                break
            positional.append(given.pop(name))
        return function(*positional, **given)

    partial.__name__ = getattr(function, "__name__", "f")
    partial.__wrapped__ = function  # type: ignore[attr-defined]  # inspect finds the source there
    partial.__signature__ = inspect.Signature(  # type: ignore[attr-defined]  # inspect looks for it
        [inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in varying]
    )
    return partial

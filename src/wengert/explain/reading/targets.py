"""What a command is about, from words: a function, as a formula or in a file, and its arguments, as numbers, lists or
files.
"""

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
from wengert.explain.reading.tokens import ExpressionError, normalized
from wengert.explain.reading.vocabulary import suggestion

FILE = re.compile(r"(?P<path>.+\.py)(?P<function>:.*)?", re.DOTALL)
ASSIGNMENT = re.compile(r"\s*(?P<name>[^\W\d]\w*)\s*=(?!=)\s*(?P<value>.*?)\s*", re.DOTALL)

DEEPEST = 64
"""Lists and dictionaries that may be inside each other: as many as NumPy's arrays have axes."""


class UsageError(ValueError):
    """Words that do not make sense together; the user has to write something else."""


class Target(NamedTuple):
    """A function and the arguments to call it with, all of them by position."""

    function: Callable
    names: list[str]
    arguments: list[Any]


def target(function: str, given: Iterable[str]) -> Target:
    """The function `x**2` or `model.py:loss`, at arguments such as `x=2` or `w=[1, 2], b=0.5`.

    >>> f, names, arguments = target("w[0]*x + w[1]", ["x=2", "w=[3, 4]"])
    >>> names, float(f(*arguments))
    (['x', 'w'], 10.0)
    """
    values = {name: value(name, text) for name, text in assignments(given).items()}
    match = FILE.fullmatch(function.strip())
    if match is None:
        return Target(
            expression(function, list(values)), list(values), [numeric(name, x) for name, x in values.items()]
        )
    return bound(loaded(Path(match["path"]), (match["function"] or ":")[1:]), values)


def assignments(given: Iterable[str]) -> dict[str, str]:
    """Names and values, still as text.

    >>> assignments(["w=[1, 2], b=0.5", "c = 3"])
    {'w': '[1, 2]', 'b': '0.5', 'c': '3'}
    """
    found: dict[str, str] = {}
    for text in given:
        for part in separated(text):
            match = ASSIGNMENT.fullmatch(part)
            if match is None or not match["value"]:
                raise UsageError(
                    f"{part.strip()!r} is not an argument. Arguments are written name=value: x=2, w=[1,2] or "
                    f"w=@weights.npy."
                )
            name = normalized(match["name"])
            if keyword.iskeyword(name) or not name.isidentifier() or name == "__debug__":
                raise UsageError(f"{name!r} cannot be the name of a variable in Python. Call it something else.")
            if name in found:
                raise UsageError(f"{name} is given twice.")
            found[name] = match["value"]
    return found


def separated(text: str) -> list[str]:
    """The parts between the commas that are in no bracket and in no text."""
    parts, start, depth, is_text = [], 0, 0, False
    for i, character in enumerate(text):
        is_text ^= character == '"'
        depth += not is_text and (character in "([{") - (character in ")]}")
        if character == "," and depth == 0 and not is_text:
            parts.append(text[start:i])
            start = i + 1
    return [*parts, text[start:]]


def value(name: str, text: str) -> Any:
    """A value as it is written: JSON, a formula without variables, or the name of a file of NumPy's."""
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
        found = json.loads(text, parse_int=integer, parse_float=real)
    except json.JSONDecodeError:
        pass
    except RecursionError:
        raise UsageError(f"The value of {name} is nested too deeply.") from None
    except OverflowError as error:
        raise UsageError(f"The value of {name}: {error}") from None
    else:
        if nesting(found) > DEEPEST:
            raise UsageError(f"The value of {name} is nested deeper than {DEEPEST} levels.")
        return leaves(name, found)
    try:
        with np.errstate(all="ignore"):
            return expression(text, [])()
    except ExpressionError as error:
        raise ExpressionError(f"The value of {name}: {error.message}", error.text, error.at, error.width) from None
    except (ValueError, TypeError) as error:
        raise UsageError(f"The value of {name}, {text}, cannot be computed: {error}") from error


def real(digits: str) -> float:
    """A number that is not too large for floating-point numbers."""
    if math.isinf(number := float(digits)):
        length = len(digits.lstrip("-"))
        raise OverflowError(
            f"{digits if length < 20 else f'an integer of {length} digits'} is larger than any floating-point number."
        )
    return number


def integer(digits: str) -> int:
    """An integer that a floating-point number can be; Python by itself reads no more than some thousand digits."""
    real(digits)
    return int(digits)


def nesting(found: Any) -> int:
    """How many lists and dictionaries are inside each other.

    >>> nesting({"a": [[1, 2], 3]})
    3
    """
    levels, row = -1, [found]
    while row:
        levels += 1
        row = [child for x in row if isinstance(x, list | dict) for child in (x if isinstance(x, list) else x.values())]
    return levels


def leaves(name: str, found: Any) -> Any:
    """JSON with arrays for its lists of numbers."""
    if isinstance(found, dict):
        return {key: leaves(name, child) for key, child in found.items()}
    if not isinstance(found, list):
        return found
    if any(isinstance(leaf, str | dict | bool) or leaf is None for leaf in flat(found)):
        return [leaves(name, child) for child in found]
    try:
        return np.array(found, float)
    except (ValueError, OverflowError) as error:
        raise UsageError(f"The rows of {name} have different lengths.") from error


def flat(found: list) -> list:
    """What nested lists contain."""
    open_lists, contents = [found], list[Any]()
    while open_lists:
        for child in open_lists.pop():
            (open_lists if isinstance(child, list) else contents).append(child)
    return contents


def numeric(name: str, x: Any) -> Any:
    """An argument of a formula: floating-point numbers."""
    if isinstance(x, bool | str | dict | list) or x is None or np.asarray(x).dtype.kind not in "biufc":
        raise UsageError(f"{name} is a {type(x).__name__}. In formulas, values are numbers and lists of numbers.")
    return x if np.asarray(x).dtype.kind in "fc" else np.asarray(x, float)[()]


def loaded(path: Path, name: str) -> Callable:
    """A function of a Python file, which is run as if it were imported."""
    if not path.is_file():
        raise UsageError(f"There is no file {path}.")
    if not name:
        raise UsageError(f"Which function of {path}? Write {path}:name. {offered(path, '')}".rstrip())
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
        raise UsageError(f"{path} has no function {name!r}. {offered(path, name)}".rstrip())
    return found


def offered(path: Path, name: str) -> str:
    """What a file has, or what of it has almost this name."""
    try:
        names = [node.name for node in ast.parse(path.read_bytes()).body if isinstance(node, ast.FunctionDef)]
    except (SyntaxError, ValueError):
        return ""
    return suggestion(name, names).strip() or (f"It has {', '.join(names)}." if names else "")


def bound(function: Callable, values: dict[str, Any]) -> Target:
    """A function at named arguments.

    Truth values, texts and integers that the function declares as such are fixed, all else varies.
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
        name: values[name] if is_integer(parameters.get(name)) else tree.map(floating, values[name]) for name in order
    }
    fixed = {name: x for name, x in arguments.items() if not varies(x)}
    varying = [name for name in order if name not in fixed]
    if not varying:
        raise UsageError(f"{title} has no argument that could vary. Give one as a number: x=1.0.")
    plain = [name for name, p in named.items() if p.kind is not p.KEYWORD_ONLY]
    call = (
        function if not fixed and varying == plain[: len(varying)] else with_fixed(function, signature, varying, fixed)
    )
    return Target(call, varying, [arguments[name] for name in varying])


def is_integer(parameter: inspect.Parameter | None) -> bool:
    """Whether a parameter is declared, or has a default, that makes it an integer."""
    return parameter is not None and (parameter.annotation in (int, "int") or type(parameter.default) is int)


def floating(x: Any) -> Any:
    return float(x) if type(x) is int else x


def varies(x: Any) -> bool:
    """Whether a derivative could be taken in some part of an argument."""
    return any(isinstance(leaf, float | complex | np.ndarray | np.generic) for leaf in tree.flatten(x)[0])


def with_fixed(
    function: Callable, signature: inspect.Signature, varying: Sequence[str], fixed: dict[str, Any]
) -> Callable:
    """The function of the arguments that vary, by position, under their names."""
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
    partial.__wrapped__ = function  # type: ignore[attr-defined]  # where inspect finds the source
    partial.__signature__ = inspect.Signature(  # type: ignore[attr-defined]  # what inspect looks for
        [inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in varying]
    )
    return partial

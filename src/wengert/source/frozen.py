"""Calls whose results a trace freezes: random numbers, clocks and files of Python.

A function that is traced runs once, and its program in every call. What `np.random.normal()` or `time.time()` returns
is a constant of the program, so rewritten functions warn where they call these, with the user's line.
"""

from __future__ import annotations

import builtins
import datetime
import functools
import os
import pathlib
import random
import time
import types
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.core.errors import FrozenValueWarning, user_frame
from wengert.modes import recording
from wengert.source.memory import is_imported

DRAW = "Draw with wg.random.counter_rng, which programs continue, or outside, and pass the numbers as an argument."
READ = "Call it outside, and pass its result as an argument."

CLOCK_NAMES = ("time", "perf_counter", "monotonic", "process_time", "thread_time")
CLOCKS = [getattr(time, name + unit) for name in CLOCK_NAMES for unit in ("", "_ns") if hasattr(time, name + unit)]
READERS = [builtins.open, builtins.input, np.load, np.loadtxt, np.genfromtxt, np.fromfile]
ADVICE: dict[Any, str] = {os.urandom: DRAW, **dict.fromkeys([*CLOCKS, *READERS], READ)}
"""What to do instead of calling a function."""

NAMES = {
    "secrets": ("token_bytes", "token_hex", "token_urlsafe", "randbelow"),
    "uuid": ("uuid1", "uuid4", "uuid6", "uuid7", "getnode"),
}
"""Functions that draw, by their modules, which take long to import."""

SETTERS = ("seed", "setstate", "getstate", "set_state", "get_state", "jumped")
"""Methods of generators that do not draw."""


def watch_call(f: Any) -> Callable[..., Any] | None:
    """A function that calls f, and warns if a trace freezes the result; None if a trace can call f as it is."""
    owner, generators = getattr(f, "__self__", None), generator_types()
    if isinstance(f, type) and issubclass(f, generators):
        return functools.partial(make_generator, f)
    if isinstance(owner, generators):
        return functools.partial(draw, f)
    if is_imported() and f is np.random.default_rng:
        return functools.partial(make_generator, f)
    advice = advice_for(f, owner)
    return None if advice is None else functools.partial(call_frozen, f, advice)


def advice_for(f: Any, owner: Any) -> str | None:
    """What to do instead of calling a function that reads a clock, a file or a source of random bits."""
    if isinstance(f, types.BuiltinFunctionType | types.FunctionType) and f in ADVICE:
        return ADVICE[f]
    name = getattr(f, "__name__", "")
    if isinstance(f, types.FunctionType):
        return DRAW if name in NAMES.get(f.__module__, ()) else None
    if isinstance(owner, type) and issubclass(owner, datetime.date):
        return READ if name in ("now", "utcnow", "today") else None
    if isinstance(owner, pathlib.PurePath):
        return READ if name in ("read_text", "read_bytes", "open") else None
    if name == "rvs" and type(owner).__module__.startswith("scipy.stats"):
        return DRAW
    return None


def generator_types() -> tuple[type, ...]:
    """The classes of generators: Python's, and those of NumPy if they are imported."""
    if not is_imported():
        return (random.Random,)
    return random.Random, np.random.Generator, np.random.RandomState, np.random.BitGenerator


def call_frozen(f: Any, advice: str, *args: Any, **kwargs: Any) -> Any:
    """Call a function, and warn unless it writes a file, or draws from a generator that it is given."""
    modes = [kwargs.get("mode"), *args[:2]] if getattr(f, "__name__", "") == "open" else []
    is_written = any(isinstance(mode, str) and mode and set(mode) <= set("wax+bt") for mode in modes)
    if not is_written and kwargs.get("random_state") is None:
        warn(f, advice)
    return f(*args, **kwargs)


def draw(f: Any, *args: Any, **kwargs: Any) -> Any:
    """Call a method of a generator, and warn unless the function that is traced made the generator from a seed."""
    if is_seeded(f.__self__):
        found = f(*args, **kwargs)
        note_seeded(found)
        return found
    if f.__name__ not in SETTERS:
        warn(f, DRAW)
    return f(*args, **kwargs)


def make_generator(f: Any, *args: Any, **kwargs: Any) -> Any:
    """Make a generator, and warn if it is not made from a seed; one that is made from another one is like that one."""
    found = f(*args, **kwargs)
    given = [x for x in (*args, *kwargs.values()) if x is not None]
    if not given or isinstance(found, random.SystemRandom):
        warn(f, "Give it a seed, or: " + DRAW)
        note_seeded(found)  # one warning is enough
    elif all(is_seeded(x) for x in given if isinstance(x, generator_types())):
        note_seeded(found)
    return found


def outer_trace() -> Any:
    """The trace of the function that users trace, if any: branches and steps have traces inside it."""
    trace = recording.current_trace()
    while trace is not None and trace.parent is not None:
        trace = trace.parent
    return trace


def is_seeded(generator: Any) -> bool:
    """Whether the function that is being traced has made a generator."""
    trace = outer_trace()
    return trace is not None and id(generator) in trace.seeded


def note_seeded(made: Any) -> None:
    """Note the generators that a function has made."""
    trace = outer_trace()
    for x in made if isinstance(made, list) else [made]:
        if trace is not None and isinstance(x, generator_types()):
            parts = [x, x.bit_generator] if is_imported() and isinstance(x, np.random.Generator) else [x]
            trace.seeded.update({id(part): part for part in parts})  # which keeps them alive


def warn(f: Any, advice: str) -> None:
    """Warn that the result of a call is a constant of the program, once for each line."""
    frame, trace = user_frame(), outer_trace()
    if frame is None or trace is None:
        return
    filename, line = frame.f_code.co_filename, frame.f_lineno
    if (filename, line, f) in trace.warned:
        return
    trace.warned.add((filename, line, f))
    warnings.warn_explicit(
        f"{qualified_name(f)} is called in a function that is traced, at {filename}:{line}: it runs once, and its "
        f"result is the same in every call of the program. {advice}",
        FrozenValueWarning,
        filename,
        line,
        registry=frame.f_globals.setdefault("__warningregistry__", {}),
    )


def qualified_name(f: Any) -> str:
    """A function as users write it: `np.random.normal`, `time.time`, `Generator.normal`."""
    owner, name = getattr(f, "__self__", None), getattr(f, "__name__", type(f).__name__)
    if owner is not None and not isinstance(owner, types.ModuleType):
        for module in (random, *([np.random] if is_imported() else [])):
            if getattr(getattr(module, name, None), "__self__", None) is owner:
                return f"{module.__name__}.{name}"
        return f"{owner.__name__ if isinstance(owner, type) else type(owner).__name__}.{name}"
    module_name = {"posix": "os", "nt": "os"}.get(f.__module__, f.__module__)
    return name if module_name in ("builtins", "_io", "io") else f"{module_name}.{name}"

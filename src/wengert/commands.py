"""The commands of `wengert`: explain, play, grad, compare, why, export, info."""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import sys
from contextlib import suppress
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

import wengert as wg
from wengert.core import tree
from wengert.core.json_text import write_json
from wengert.core.parallel import num_threads
from wengert.explain.comparing.compare import compare
from wengert.explain.explanation import Explanation, explain
from wengert.explain.reading.expressions import expression
from wengert.explain.reading.targets import (
    FILE,
    Target,
    UsageError,
    numeric_argument,
    parse_assignments,
    read_target,
    read_value,
)
from wengert.explain.tables.plain_text import WIDTH, write_text
from wengert.explain.why.nan import why_nan
from wengert.explain.why.zero import why_zero
from wengert.terminal import is_colored, naming_file, note, show

EXTRAS = ("igraph", "sympy")
"""Optional packages."""


def find_target(given: argparse.Namespace) -> Target:
    """The function and its arguments."""
    return read_target(given.function.strip(), [*given.values, *given.at])


def run_explain(given: argparse.Namespace) -> None:
    """Show how a derivative is computed, and write the formats that were asked for."""
    function, names, arguments = find_target(given)
    seed: Any = seed_directions(given.seed, names, arguments) if given.seed else None
    if given.seed and given.mode == "both":
        seed = seed, None
    with np.errstate(all="ignore"):
        explanation = explain(function, *arguments, mode=given.mode, seed=seed)
        if "-" not in given.formats.values():
            width = shutil.get_terminal_size().columns if sys.stdout.isatty() else WIDTH
            show(write_text(explanation, is_colored(sys.stdout), width))
        for name, path in given.formats.items():
            write_format(explanation, name, path, given.edges)
    if given.open:
        open_browser(Path(given.formats["html"]).resolve().as_uri())


def open_browser(address: str) -> None:
    """Show an address in a browser, or say that there is none."""
    import webbrowser

    if not webbrowser.open(address):
        note(f"No browser was found. Open {address} yourself.")


def run_play(given: argparse.Namespace) -> None:
    """Serve the page of a formula, until the user interrupts."""
    from wengert.explain.play.server import PlayServer

    formula = given.function.strip()
    if FILE.fullmatch(formula):
        raise UsageError("play takes a formula. For a function in a file: wengert explain FILE:FUNCTION --html --open")
    values = {name: read_value(name, text) for name, text in parse_assignments([*given.values, *given.at]).items()}
    numbers = {name: np.asarray(numeric_argument(name, value), float).tolist() for name, value in values.items()}
    start = {"formula": formula, "values": numbers, "mode": given.mode}
    try:
        server = PlayServer(start, given.port)
    except (OSError, OverflowError) as error:
        raise UsageError(f"The port {given.port} cannot be used: {error}. Leave out --port for a free one.") from error
    with server:
        show(server.address)
        note("Only this machine can reach it, with this token. Ctrl-C ends it.")
        if not given.no_browser:
            open_browser(server.address)
        with suppress(KeyboardInterrupt):
            server.serve_forever()


def write_format(explanation: Explanation, name: str, path: str, edges: bool) -> None:
    """Write one format of an explanation to a file, or `-` for the terminal."""
    options = {"edges": edges} if name in ("svg", "png", "dot") else {}
    text = None if name == "png" else getattr(explanation, name)(**options)
    if text is not None and path == "-":
        show(text)
        return
    with naming_file(path):
        if text is None:
            explanation.png(path, **options)
        else:
            Path(path).write_text(text, encoding="utf-8")
    note(f"{path} written")


def seed_directions(text: str, names: list[str], arguments: list[Any]) -> tuple:
    """The tangents of the arguments, from `x2=1`; zero for those that are not named."""
    seeds = {name: read_value(name, part) for name, part in parse_assignments([text]).items()}
    for name in seeds:
        if name not in names:
            raise UsageError(f"--seed: there is no argument {name!r}. The arguments are {', '.join(names)}.")
    zeros = [tree.map(lambda x: np.zeros(np.shape(x)), x) for x in arguments]
    directions = [
        tree.map(lambda x: np.asarray(x, float), seeds[name]) if name in seeds else x
        for name, x in zip(names, zeros, strict=True)
    ]
    for name, seed, x in zip(names, directions, zeros, strict=True):
        if tree.map(np.shape, seed) != tree.map(np.shape, x):
            raise UsageError(f"--seed: {name} has the shape {np.shape(x)}, and its seed {np.shape(seed)}.")
    return tuple(directions)


def run_grad(given: argparse.Namespace) -> None:
    """Show the value and the gradient, or the Jacobian of several results."""
    function, _, arguments = find_target(given)
    smooth = tuple(
        i for i, x in enumerate(arguments) if all(np.asarray(leaf).dtype.kind in "fc" for leaf in tree.leaves(x))
    )
    if not smooth:
        raise UsageError("No argument is a floating-point number.")
    with np.errstate(all="ignore"):
        value = function(*arguments)
        if np.shape(value) == ():
            value, slopes = wg.value_and_grad(function, argnums=smooth)(*arguments)
        else:
            slopes = wg.jacobian(function, argnums=smooth)(*arguments)
    titles = iter(tree.leaf_names(function, tree.structure((tuple(arguments), {}))))
    names = [[next(titles) for _ in tree.leaves(x)] for x in arguments]
    gradients = {
        name: np.asarray(leaf)
        for i, slope in zip(smooth, slopes, strict=True)
        for name, leaf in zip(names[i], tree.leaves(slope), strict=True)
    }
    if given.json:
        lists = {name: x.tolist() for name, x in gradients.items()}
        show(write_json({"value": np.asarray(value).tolist(), "gradients": lists}))
        return
    rows = {"f": np.asarray(value)} | {f"df/d{name}": x for name, x in gradients.items()}
    width = max(map(len, rows))
    for name, x in rows.items():
        show(f"{name:{width}} = {np.array2string(x, prefix=' ' * (width + 3), floatmode='unique', separator=', ')}")
    if not all(np.isfinite(x).all() for x in rows.values()):
        note("Not all results are finite. `wengert why` with the same arguments shows the cause.")


def run_compare(given: argparse.Namespace) -> None:
    """Show the derivatives by every method."""
    function, names, arguments = find_target(given)
    parts = [expression(text.strip(), names) for text in given.formula or ()]
    by_hand = (lambda *args: [part(*args) for part in parts]) if parts else None
    with np.errstate(all="ignore"):
        found = compare(function, *arguments, formula=by_hand)
    show(found.svg() if given.svg == "-" else found)
    if given.svg not in (None, "-"):
        with naming_file(given.svg):
            found.svg(given.svg)
        note(f"{given.svg} written")


def run_why(given: argparse.Namespace) -> None:
    """Show why a value or a gradient is not finite, or why a gradient is zero."""
    function, _, arguments = find_target(given)
    with np.errstate(all="ignore"):
        not_finite = why_nan(function, *arguments)
        show(not_finite if not not_finite.is_finite else why_zero(function, *arguments))


DERIVATIVES = {
    "value": lambda f: f,
    "gradient": wg.grad,
    "value-and-gradient": wg.value_and_grad,
    "jacobian": wg.jacobian,
    "hessian": wg.hessian,
}


def run_export(given: argparse.Namespace) -> None:
    """Write a function, or its derivative, as native code."""
    function, _, arguments = find_target(given)
    made = wg.export(
        DERIVATIVES[given.derivative](function),
        *arguments,
        path=given.path,
        target=given.target,
        name=given.name,
        format=given.format,
        allocate=given.allocate,
    )
    show(f"{made.file}: {made.size} bytes for {made.target}, which take an arena of {made.arena} bytes")
    show(f"beside it: {', '.join(file.name for file in made.files[1:])}")


def run_info(given: argparse.Namespace) -> None:
    """Show versions, the machine, and the cache of compiled programs."""
    from wengert.compiler.machine import cache  # imports LLVM

    if given.clear_cache:
        before = cache.info()
        cache.clear()
        note(f"Removed: {count_text(before.entries, 'compiled program')}, {before.bytes / 1e6:.1f} MB.")
    facts = describe_machine()
    if given.json:
        show(write_json(facts))
        return
    kept, lanes = facts["cache"], facts["lanes"]
    rows = facts["versions"] | {
        "CPU": f"{facts['cpu']}, {count_text(facts['cores'], 'core')}, {facts['platform']}",
        "vectors": f"{facts['vector_bits']} bits: {lanes['float64']} float64 or {lanes['float32']} float32 at a time",
        "threads": f"{facts['threads']} (WENGERT_NUM_THREADS)",
        "cache": f"{kept['folder']}: {count_text(kept['entries'], 'compiled program')}, {kept['bytes'] / 1e6:.1f} MB"
        if kept["folder"]
        else "off (WENGERT_CACHE_DIR)",
    }
    width = max(map(len, rows))
    show("\n".join(f"{name:{width}}  {text}" for name, text in rows.items()))


def describe_machine() -> dict[str, Any]:
    """Versions, CPU, threads and cache, as JSON has them."""
    import llvmlite.binding as llvm

    from wengert.compiler.machine import cache, target

    versions = {"wengert": wg.__version__, "python": platform.python_version()}
    for package in ("numpy", "scipy", "llvmlite", "rich", *EXTRAS):
        try:
            versions[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            if package not in EXTRAS:
                versions[package] = "missing"
    kept, size = cache.info(), 8 * target.vector_bytes()
    return {
        "versions": versions | {"LLVM": ".".join(map(str, llvm.llvm_version_info))},
        "platform": f"{platform.system()} {platform.machine()}",
        "cpu": target.machine_target().cpu,
        "cores": os.cpu_count() or 1,
        "vector_bits": size,
        "lanes": {"float64": size // 64, "float32": size // 32},
        "threads": num_threads(),
        "cache": {"folder": str(kept.folder) if kept.folder else None, "entries": kept.entries, "bytes": kept.bytes},
    }


def count_text(number: int, thing: str) -> str:
    """`1 core`, `2 cores`."""
    return f"{number} {thing}{'' if number == 1 else 's'}"


COMMANDS = {
    "explain": run_explain,
    "play": run_play,
    "grad": run_grad,
    "compare": run_compare,
    "why": run_why,
    "export": run_export,
    "info": run_info,
}

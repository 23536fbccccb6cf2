"""The command `wengert`: derivatives explained, computed and compared without writing a program.

Everything but the reading of options is imported by the command that needs it, so that help comes at once.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wengert.terminal import STDOUT, about, complain, is_colored, note, obstacle, prepare_streams, printable, say, show

if TYPE_CHECKING:
    from wengert.explain.explanation import Explanation
    from wengert.explain.reading.targets import Target

FINE, FAILED, USAGE = 0, 1, 2
"""What the command returns to the shell."""

FORMS = {
    "html": ((".html", ".htm"), "explanation.html", "a page to play through, forward and back, in any browser"),
    "svg": ((".svg",), "-", "the graph as a picture"),
    "dot": ((".dot", ".gv"), "-", "the graph in Graphviz's language"),
    "markdown": ((".md", ".markdown"), "-", "the traces as a table in Markdown"),
    "latex": ((".tex",), "-", "the traces as a table in LaTeX"),
    "png": ((".png",), "explanation.png", "the graph as a picture of pixels"),
}
"""What an explanation can be written as: how such files end, where it goes if none is named, what it is."""

OWN_LINE = re.compile(r",? at (<frozen \w+>|\S*wengert(-script\.pyw?|\.exe)?):\d+")
"""The line that started this command, which no error is about."""

EXTRAS = ("igraph", "sympy")
"""Packages that some things need if they are there."""

EXAMPLES = """\
examples:
  wengert explain "ln(x1) + x1*x2 - sin(x2)" x1=2 x2=5
  wengert explain "s = w*x + b; L = sigmoid(s)" w=0.5 b=1 x=-2 --mode both --html neuron.html --open
  wengert explain model.py:loss --at "w=[1,2], b=0.5"
  wengert grad "sum(w**2) / norm(x)" w=[1,2,3] x=@x.npy
  wengert compare "exp(sin(x))" x=pi/4
  wengert why "log(x) * 0" x=0
  wengert info

Formulas know + - * / // % ** ^ @, comparisons, lists [a, b], indices x[0], x[1:], statements s = w*x; sin(s),
the constants pi, e, tau, inf, nan, and the functions of the table: sin, ln, exp, sqrt, relu, sigmoid, sum, mean, max, norm, dot, where ...
Values are numbers, formulas without variables (pi/4), lists of numbers, or files of NumPy's (x=@x.npy).
"""


class Options(argparse.ArgumentParser):
    """A parser that says so when its help cannot be written."""

    def print_help(self, file: Any = None) -> None:
        show(self.format_help().rstrip("\n"))


def parser() -> argparse.ArgumentParser:
    """The options of all commands."""
    raw = argparse.RawDescriptionHelpFormatter
    top = Options("wengert", description="Derivatives: seen, computed, compared.", epilog=EXAMPLES, formatter_class=raw)
    top.add_argument("--version", action="store_true", help="show the version and exit")
    commands = top.add_subparsers(dest="command", metavar="COMMAND", title="commands")

    def command(name: str, text: str, example: str) -> argparse.ArgumentParser:
        made = commands.add_parser(
            name, help=text, description=f"{text[0].upper()}{text[1:]}.", epilog=example, formatter_class=raw
        )
        made.add_argument("--traceback", action="store_true", help="where an error happens, show all calls")
        return made

    def about_function(made: argparse.ArgumentParser) -> argparse.ArgumentParser:
        made.add_argument(
            "function", metavar="FUNCTION", help='a formula, "x**2 + sin(y)", or a function in a file, model.py:loss'
        )
        made.add_argument(
            "values", metavar="NAME=VALUE", nargs="*", help="arguments: x=2, x=-1e-3, w=[1,2], w=@weights.npy"
        )
        made.add_argument(
            "--at", metavar="VALUES", action="append", default=[], help='more of them, in one text: "w=[1,2], b=0.5"'
        )
        return made

    shown = command("explain", "how a derivative comes about, step by step", EXAMPLES)
    about_function(shown)
    shown.add_argument(
        "--mode",
        choices=("reverse", "forward", "both"),
        default="reverse",
        help="adjoints, tangents or both (default: reverse)",
    )
    shown.add_argument(
        "--seed", metavar="VALUES", help='forward: how the arguments change, "x1=0, x2=1" (default: the first by 1)'
    )
    shown.add_argument("--edges", action="store_true", help="pictures: local derivatives on the edges")
    for form, (endings, otherwise, text) in FORMS.items():
        place = "the terminal" if otherwise == "-" else otherwise
        shown.add_argument(
            f"--{form}", metavar="FILE", help=f"{text}; without FILE, which ends in {endings[0]}, to {place}"
        )
    shown.add_argument("--open", action="store_true", help="show the page in a browser")
    slopes = about_function(
        command("grad", "the value and the gradient (of several results: the Jacobian)", 'wengert grad "x*y" x=2 y=3')
    )
    slopes.add_argument("--json", action="store_true", help="for other programs")
    ways = about_function(
        command(
            "compare",
            "derivatives by every way there is, side by side",
            'wengert compare "x**3" x=2 --formula "3*x**2"',
        )
    )
    ways.add_argument("--formula", action="append", help="a derivative by hand, for each argument one")
    ways.add_argument("--svg", metavar="FILE", help="the error of differences against their step as a picture")
    about_function(command("why", "why a value or a gradient is not finite, or zero", 'wengert why "sqrt(x)" x=0'))
    about = command("info", "versions, the machine, and the programs kept on disk", "wengert info --clear-cache")
    about.add_argument("--clear-cache", action="store_true", help="remove the compiled programs")
    about.add_argument("--json", action="store_true", help="for other programs")
    return top


def arranged(words: Iterable[str]) -> list[str]:
    """Words as argparse can take them: a formula may begin with a minus sign, and `--svg` may come with or without a
    file.
    """
    rest, ready = list(words), []
    while rest:
        word = rest.pop(0)
        endings, otherwise, _ = (
            FORMS.get(word.removeprefix("--"), ((), "", "")) if word.startswith("--") else ((), "", "")
        )
        if endings:
            word = f"{word}={rest.pop(0) if rest and (rest[0].endswith(endings) or rest[0] == '-') else otherwise}"
        elif word.startswith("-") and not word.startswith("--") and word not in ("-h", "-"):
            word = f" {word}"
        ready.append(word)
    return ready


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; the result is the exit status."""
    if argv is None:
        prepare_streams()
    options = parser()
    given, status, problem = argparse.Namespace(), FINE, None
    try:
        given = read(options, list(sys.argv[1:] if argv is None else argv))
        status = run(given, options)
    except SystemExit as done:
        status = int(done.code or 0)
    except KeyboardInterrupt:
        complain("interrupted")
        status = FAILED
    except Exception as error:
        problem = error
    problem = obstacle(sys.stdout) or problem
    if problem is not None:
        status = failed(problem, getattr(given, "traceback", False))
    obstacle(sys.stderr)
    return status


def read(options: argparse.ArgumentParser, words: list[str]) -> argparse.Namespace:
    """The command that the words are."""
    given, more = options.parse_known_args(arranged(words))
    if more and (not hasattr(given, "values") or any(word.startswith("-") for word in more)):
        options.error(f"unrecognized arguments: {printable(' '.join(more))}")
    if hasattr(given, "values"):
        given.values += more
    return given


def run(given: argparse.Namespace, options: argparse.ArgumentParser) -> int:
    if given.version:
        from wengert import __version__

        show(f"wengert {__version__}")
        return FINE
    if given.command is None:
        options.print_help()
        return USAGE
    {"explain": explain, "grad": grad, "compare": compare, "why": why, "info": info}[given.command](given)
    return FINE


def failed(error: Exception, with_traceback: bool) -> int:
    """Say what went wrong, and whose fault it is."""
    from wengert.explain.reading.targets import UsageError
    from wengert.explain.reading.tokens import ExpressionError

    if with_traceback:
        import traceback

        say("".join(traceback.format_exception(error)).rstrip("\n"))
    if isinstance(error, BrokenPipeError) and error.filename == STDOUT:
        return FAILED  # nobody reads on
    if isinstance(error, UsageError | ExpressionError):
        complain(str(error))
        return USAGE
    if isinstance(error, OSError) and error.filename:
        complain(f"{error.filename}: {error.strerror}")
        return FAILED
    complain(f"{type(error).__name__}: {OWN_LINE.sub('', str(error))}{blamed_line(error)}")
    return FAILED


def blamed_line(error: Exception) -> str:
    """The innermost line of the user's at which an error happened, with carets where there is nothing else on it."""
    import traceback

    from wengert.core.errors import OURS, THEIRS

    notable = lambda name: (
        not name.startswith((OURS, "<frozen", "<__array_function__")) and not any(part in name for part in THEIRS)
    )
    frames = [
        frame for frame in traceback.extract_tb(error.__traceback__)[1:] if notable(frame.filename) and frame.line
    ]
    return "\n" + "".join(traceback.format_list(frames[-1:])).rstrip("\n") if frames else ""


# Commands


def described(given: argparse.Namespace) -> Target:
    from wengert.explain.reading.targets import target

    return target(given.function.strip(), [*given.values, *given.at])


def explain(given: argparse.Namespace) -> None:
    import numpy as np

    from wengert.explain.explanation import explain

    function, names, arguments = described(given)
    seed: Any = directions(given.seed, names, arguments) if given.seed else None
    if given.seed and given.mode == "both":
        seed = seed, None
    with np.errstate(all="ignore"):
        explanation = explain(function, *arguments, mode=given.mode, seed=seed)
        if given.open and not given.html:
            given.html = FORMS["html"][1]
        forms = {form: getattr(given, form) for form in FORMS if getattr(given, form)}
        if "-" not in forms.values():
            show(table(explanation))
        for form, place in forms.items():
            written(explanation, form, place, given.edges)
    if given.open:
        import webbrowser

        webbrowser.open(Path(given.html).resolve().as_uri())


def table(explanation: Explanation) -> str:
    """The traces, as wide as the terminal."""
    import shutil

    from wengert.explain.tables.table import WIDTH, text

    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else WIDTH
    return text(explanation, is_colored(sys.stdout), width)


def written(explanation: Explanation, form: str, place: str, edges: bool) -> None:
    """One form of an explanation, in its file or on the terminal."""
    options = {"edges": edges} if form in ("svg", "png", "dot") else {}
    text = None if form == "png" else getattr(explanation, form)(**options)
    if text is not None and place == "-":
        show(text)
        return
    with about(place):
        if text is None:
            explanation.png(place, **options)
        else:
            Path(place).write_text(text, encoding="utf-8")
    note(f"{place} written")


def directions(text: str, names: list[str], arguments: list[Any]) -> tuple:
    """How the arguments change, from `x2=1`; those that are not named do not."""
    import numpy as np

    from wengert.core import tree
    from wengert.explain.reading.targets import UsageError, assignments, value

    seeds = {name: value(name, part) for name, part in assignments([text]).items()}
    for name in seeds:
        if name not in names:
            raise UsageError(f"--seed: there is no argument {name!r}. The arguments are {', '.join(names)}.")
    still = [tree.map(lambda x: np.zeros(np.shape(x)), x) for x in arguments]
    moved = [
        tree.map(lambda x: np.asarray(x, float), seeds[name]) if name in seeds else x
        for name, x in zip(names, still, strict=True)
    ]
    for name, seed, x in zip(names, moved, still, strict=True):
        if tree.map(np.shape, seed) != tree.map(np.shape, x):
            raise UsageError(f"--seed: {name} has the shape {np.shape(x)}, and its seed {np.shape(seed)}.")
    return tuple(moved)


def grad(given: argparse.Namespace) -> None:
    import numpy as np

    import wengert as wg
    from wengert.core.tree import flatten
    from wengert.explain.reading.targets import UsageError
    from wengert.transforms.tracing import leaf_names

    function, _, arguments = described(given)
    smooth = tuple(
        i for i, x in enumerate(arguments) if all(np.asarray(leaf).dtype.kind in "fc" for leaf in flatten(x)[0])
    )
    if not smooth:
        raise UsageError("No argument is a floating-point number.")
    with np.errstate(all="ignore"):
        value = function(*arguments)
        if np.shape(value) == ():
            value, slopes = wg.value_and_grad(function, argnums=smooth)(*arguments)
        else:
            slopes = wg.jacobian(function, argnums=smooth)(*arguments)
    titles = iter(leaf_names(function, flatten((tuple(arguments), {}))[1]))
    names = [[next(titles) for _ in flatten(x)[0]] for x in arguments]
    gradients = {
        name: np.asarray(leaf)
        for i, slope in zip(smooth, slopes, strict=True)
        for name, leaf in zip(names[i], flatten(slope)[0], strict=True)
    }
    if given.json:
        import json

        show(
            json.dumps(
                {"value": np.asarray(value).tolist(), "gradients": {name: x.tolist() for name, x in gradients.items()}}
            )
        )
        return
    rows = {"f": np.asarray(value)} | {f"df/d{name}": x for name, x in gradients.items()}
    width = max(map(len, rows))
    for name, x in rows.items():
        show(f"{name:{width}} = {np.array2string(x, prefix=' ' * (width + 3), floatmode='unique', separator=', ')}")
    if not all(np.isfinite(x).all() for x in rows.values()):
        note("Not all of it is finite: `wengert why` with the same arguments says where it begins.")


def compare(given: argparse.Namespace) -> None:
    import numpy as np

    from wengert.explain.comparing.compare import compare
    from wengert.explain.reading.expressions import expression

    function, names, arguments = described(given)
    parts = [expression(text.strip(), names) for text in given.formula or ()]
    by_hand = (lambda *args: [part(*args) for part in parts]) if parts else None
    with np.errstate(all="ignore"):
        found = compare(function, *arguments, formula=by_hand)
    show(found.svg() if given.svg == "-" else found)
    if given.svg not in (None, "-"):
        with about(given.svg):
            found.svg(given.svg)
        note(f"{given.svg} written")


def why(given: argparse.Namespace) -> None:
    import numpy as np

    from wengert.explain.why import why_nan, why_zero

    function, _, arguments = described(given)
    with np.errstate(all="ignore"):
        not_finite = why_nan(function, *arguments)
        show(not_finite if not not_finite.is_finite else why_zero(function, *arguments))


def info(given: argparse.Namespace) -> None:
    from wengert.compiler import cache

    if given.clear_cache:
        before = cache.info()
        cache.clear()
        note(f"Removed: {counted(before.entries, 'compiled program')}, {before.bytes / 1e6:.1f} MB.")
    facts = machine()
    if given.json:
        import json

        show(json.dumps(facts))
        return
    place, lanes = facts["cache"], facts["lanes"]
    rows = facts["versions"] | {
        "CPU": f"{facts['cpu']}, {counted(facts['cores'], 'core')}, {facts['platform']}",
        "vectors": f"{facts['vector_bits']} bits: {lanes['float64']} float64 or {lanes['float32']} float32 at a time",
        "threads": f"{facts['threads']} (WENGERT_NUM_THREADS)",
        "cache": f"{place['folder']}: {counted(place['entries'], 'compiled program')}, {place['bytes'] / 1e6:.1f} MB"
        if place["folder"]
        else "off (WENGERT_CACHE_DIR)",
    }
    width = max(map(len, rows))
    show("\n".join(f"{name:{width}}  {text}" for name, text in rows.items()))


def machine() -> dict[str, Any]:
    """What runs here, and on what."""
    import platform
    from importlib import metadata

    import llvmlite.binding as llvm

    from wengert import __version__
    from wengert.compiler import cache, target
    from wengert.core.parallel import num_threads

    versions = {"wengert": __version__, "python": platform.python_version()}
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


def counted(number: int, thing: str) -> str:
    return f"{number} {thing}{'' if number == 1 else 's'}"

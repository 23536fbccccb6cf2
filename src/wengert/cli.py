"""The command `wengert`: its options, and how it reports errors.

The commands themselves are in `commands.py`, which is imported only to run one, so that help appears at once.
"""

from __future__ import annotations

import argparse
import re
import sys
import traceback
from collections.abc import Iterable, Sequence
from typing import Any

from wengert import __version__
from wengert.core.errors import OURS, is_library
from wengert.terminal import STDOUT, complain, obstacle, prepare_streams, printable, say, show

FINE, FAILED, USAGE = 0, 1, 2
"""Exit statuses."""

FORMATS = {
    "html": ((".html", ".htm"), "explanation.html", "an interactive page for a browser"),
    "svg": ((".svg",), "-", "the graph as a picture"),
    "dot": ((".dot", ".gv"), "-", "the graph in Graphviz's language"),
    "markdown": ((".md", ".markdown"), "-", "the traces as a table in Markdown"),
    "latex": ((".tex",), "-", "the traces as a table in LaTeX"),
    "png": ((".png",), "explanation.png", "the graph as a bitmap"),
}
"""The formats of an explanation: suffixes of files, the default file (- for the terminal), and a description."""

OWN_LINE = re.compile(r",? at (<frozen \w+>|\S*wengert(-script\.pyw?|\.exe)?):\d+")
"""The source line that started this command; errors are not about it."""

MODES = ("reverse", "forward", "both", "hvp")
"""Those of `wg.explain`, which is imported only for the commands that need it."""

OVERVIEW = """\
wengert computes, explains and compares derivatives. Three things to try:

  wengert play "sin(x) * exp(-x*y)" x=1 y=0.5
      a page in your browser: drag the inputs, edit the formula, watch values flow forward and adjoints flow back

  wengert explain "ln(x1) + x1*x2 - sin(x2)" x1=2 x2=5
      the same as a table: every value and every adjoint, line by line

  wengert grad "sum(w**2) / norm(x)" w=[1,2,3] x=[2,0,1]
      the value and the gradient

More: compare (every way to differentiate), why (a NaN, a zero gradient), export (to C), info, completion.
`wengert --help` lists the commands, `wengert COMMAND --help` their options, each with examples.
"""

EXAMPLES = """\
examples:
  wengert play "sin(x) * exp(-x*y)" x=1 y=0.5
  wengert explain "ln(x1) + x1*x2 - sin(x2)" x1=2 x2=5
  wengert explain "s = w*x + b; L = sigmoid(s)" w=0.5 b=1 x=-2 --mode both --html neuron.html --open
  wengert explain model.py:loss --at "w=[1,2], b=0.5"
  wengert grad "sum(w**2) / norm(x)" w=[1,2,3] x=@x.npy
  wengert compare "exp(sin(x))" x=pi/4
  wengert why "log(x) * 0" x=0
  wengert export model.py:loss --at "w=[1,2], b=0.5" --derivative gradient --target cortex-m4
  wengert info

Formulas may contain + - * / // % ** ^ @, comparisons, lists [a, b], indices x[0], x[1:], statements s = w*x; sin(s),
the constants pi, e, tau, inf, nan, and the functions of the table: sin, ln, exp, sqrt, relu, sigmoid, sum, mean,
max, norm, dot, where ...
Values are numbers, formulas without variables (pi/4), lists of numbers, or NumPy files (x=@x.npy).
"""


class Options(argparse.ArgumentParser):
    """A parser that reports if its help cannot be written."""

    def print_help(self, file: Any = None) -> None:  # noqa: ARG002  # a parameter of argparse
        show(self.format_help().rstrip("\n"))


def parser() -> argparse.ArgumentParser:
    """The options of all commands."""
    raw = argparse.RawDescriptionHelpFormatter
    top = Options(
        "wengert", description="Compute, explain and compare derivatives.", epilog=EXAMPLES, formatter_class=raw
    )
    top.add_argument("--version", action="store_true", help="show the version and exit")
    commands = top.add_subparsers(dest="command", metavar="COMMAND", title="commands")

    def command(name: str, text: str, example: str) -> argparse.ArgumentParser:
        made = commands.add_parser(
            name, help=text, description=f"{text[0].upper()}{text[1:]}.", epilog=example, formatter_class=raw
        )
        made.add_argument("--traceback", action="store_true", help="show the whole traceback of an error")
        return made

    def about_function(made: argparse.ArgumentParser) -> argparse.ArgumentParser:
        made.add_argument(
            "function", metavar="FUNCTION", help='a formula, "x**2 + sin(y)", or a function in a file, model.py:loss'
        )
        made.add_argument(
            "values", metavar="NAME=VALUE", nargs="*", help="arguments: x=2, x=-1e-3, w=[1,2], w=@weights.npy"
        )
        made.add_argument(
            "--at", metavar="VALUES", action="append", default=[], help='more arguments in one string: "w=[1,2], b=0.5"'
        )
        return made

    shown = command("explain", "show how a derivative is computed, step by step", EXAMPLES)
    about_function(shown)
    shown.add_argument(
        "--mode",
        choices=MODES,
        default="reverse",
        help="adjoints, tangents, both, or the Hessian times a vector, forward over reverse (default: reverse)",
    )
    shown.add_argument(
        "--seed",
        metavar="VALUES",
        help='forward mode: tangents of the arguments, "x1=0, x2=1" (default: 1 for the first)',
    )
    shown.add_argument("--edges", action="store_true", help="write the local derivatives on the edges of the graph")
    for name, (endings, default, text) in FORMATS.items():
        path = "the terminal" if default == "-" else default
        shown.add_argument(
            f"--{name}", metavar="FILE", help=f"write {text} to FILE, whose name ends in {endings[0]} (default: {path})"
        )
    shown.add_argument("--open", action="store_true", help="open the page in a browser")
    played = about_function(
        command(
            "play",
            "edit a formula and drag its inputs in a browser, served on this machine only",
            'wengert play "ln(x1) + x1*x2 - sin(x2)" x1=2 x2=5',
        )
    )
    played.add_argument(
        "--mode",
        choices=MODES,
        default="reverse",
        help="what the page shows: adjoints, tangents, both, or a Hessian times a vector",
    )
    played.add_argument("--port", type=int, default=0, help="the port to listen on (default: a free one)")
    played.add_argument("--no-browser", action="store_true", help="print the address, and open no browser")
    slopes = about_function(
        command(
            "grad",
            "print the value and the gradient (or the Jacobian of several results)",
            'wengert grad "x*y" x=2 y=3',
        )
    )
    slopes.add_argument("--json", action="store_true", help="print JSON")
    ways = about_function(
        command(
            "compare",
            "compare the derivatives by every method",
            'wengert compare "x**3" x=2 --formula "3*x**2"',
        )
    )
    ways.add_argument(
        "--formula", action="append", help="a derivative that you found by hand; repeat it for each argument"
    )
    ways.add_argument("--svg", metavar="FILE", help="plot the error of finite differences against their step")
    about_function(
        command("why", "say why a value or a gradient is not finite, or why it is zero", 'wengert why "sqrt(x)" x=0')
    )
    made = about_function(
        command(
            "export",
            "write a function as native code that C can call, for any target",
            'wengert export model.py:loss --at "w=[1,2]" --derivative gradient --target aarch64-linux --path build',
        )
    )
    made.add_argument(
        "--derivative",
        choices=("value", "gradient", "value-and-gradient", "jacobian", "hessian"),
        default="value",
        help="what is exported, with respect to the first argument (default: the value)",
    )
    made.add_argument("--target", metavar="TARGET", help="the machine, such as wasm32; an unknown one lists all")
    made.add_argument("--path", metavar="FOLDER", default=".", help="where files are written (default: here)")
    made.add_argument("--name", metavar="NAME", help="the name of the function in C (default: that in Python)")
    made.add_argument(
        "--format",
        choices=("library", "object", "c", "llvm", "assembly"),
        default="library",
        help="what is written (default: library)",
    )
    made.add_argument("--allocate", action="store_true", help="allow loops of unknown length to allocate memory")
    about = command(
        "info", "show versions, the machine, and the cache of compiled programs", "wengert info --clear-cache"
    )
    about.add_argument("--clear-cache", action="store_true", help="remove the compiled programs from the cache")
    about.add_argument("--json", action="store_true", help="print JSON")
    completed = command(
        "completion",
        "print a script that completes commands and options in a shell",
        'bash: eval "$(wengert completion bash)"\nzsh:  eval "$(wengert completion zsh)"\n'
        "fish: wengert completion fish | source",
    )
    completed.add_argument("shell", choices=("bash", "zsh", "fish"))
    return top


def arrange_words(words: Iterable[str]) -> list[str]:
    """Words for argparse: a formula may begin with a minus sign, and `--svg` may have a file or not."""
    rest, ready = list(words), []
    while rest:
        word = rest.pop(0)
        endings, default, _ = FORMATS.get(word[2:], ((), "", "")) if word.startswith("--") else ((), "", "")
        if endings:
            word = f"{word}={rest.pop(0) if rest and (rest[0].endswith(endings) or rest[0] == '-') else default}"
        elif word.startswith("-") and not word.startswith("--") and word not in ("-h", "-"):
            word = f" {word}"
        ready.append(word)
    return ready


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return its exit status."""
    if argv is None:
        prepare_streams()
    options = parser()
    given, status, problem = argparse.Namespace(), FINE, None
    try:
        given = read_command(options, list(sys.argv[1:] if argv is None else argv))
        status = run_command(given, options)
    except SystemExit as done:
        status = int(done.code or 0)
    except KeyboardInterrupt:
        complain("interrupted")
        status = FAILED
    except Exception as error:
        problem = error
    problem = obstacle(sys.stdout) or problem
    if problem is not None:
        status = report_failure(problem, getattr(given, "traceback", False))
    obstacle(sys.stderr)
    return status


def read_command(options: argparse.ArgumentParser, words: list[str]) -> argparse.Namespace:
    """The options that the words are."""
    given, more = options.parse_known_args(arrange_words(words))
    if more and (not hasattr(given, "values") or any(word.startswith("-") for word in more)):
        options.error(f"unrecognized arguments: {printable(' '.join(more))}")
    if hasattr(given, "values"):
        given.values += more
    if given.command == "explain":
        if given.open and not given.html:
            given.html = FORMATS["html"][1]
        given.formats = {name: path for name in FORMATS if (path := getattr(given, name))}
    return given


def run_command(given: argparse.Namespace, options: argparse.ArgumentParser) -> int:
    """Run a command, or show the version or the help."""
    if given.version:
        show(f"wengert {__version__}")
        return FINE
    if given.command is None:
        show(OVERVIEW)
        return FINE
    if given.command == "completion":
        from wengert.completion import completion_script

        show(completion_script(given.shell, options))
        return FINE
    from wengert.commands import COMMANDS

    COMMANDS[given.command](given)
    return FINE


def report_failure(error: Exception, with_traceback: bool) -> int:
    """Report an error and return the exit status."""
    from wengert.explain.reading.targets import UsageError
    from wengert.explain.reading.tokens import ExpressionError

    if with_traceback:
        say("".join(traceback.format_exception(error)).rstrip("\n"))
    if isinstance(error, BrokenPipeError) and error.filename == STDOUT:
        return FAILED  # nobody reads the output
    if isinstance(error, UsageError | ExpressionError):
        complain(str(error))
        return USAGE
    if isinstance(error, OSError) and error.filename:
        complain(f"{error.filename}: {error.strerror}")
        return FAILED
    complain(f"{type(error).__name__}: {OWN_LINE.sub('', str(error))}{blamed_line(error)}")
    return FAILED


def blamed_line(error: Exception) -> str:
    """The innermost source line of the user where an error happened."""
    notable = lambda name: not name.startswith((OURS, "<frozen")) and not is_library(name)
    frames = [
        frame for frame in traceback.extract_tb(error.__traceback__)[1:] if notable(frame.filename) and frame.line
    ]
    return "\n" + "".join(traceback.format_list(frames[-1:])).rstrip("\n") if frames else ""

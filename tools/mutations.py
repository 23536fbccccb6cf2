"""How strong the tests are: change a line of the package, and see whether a test fails.

    python -m tools.mutations                             40 mutations: all tests once, and a minute or two for each
    python -m tools.mutations --seed 1 --only 3           the third one of another seed

The seed determines the mutations: an operator is exchanged, a condition negated, a constant changed, a statement
dropped, in `ops`, `modes` and `compiler`; never in docstrings, annotations or messages.

First all tests run once in a copy of the tree in which each part to be mutated notes the test that reaches it. Then
each mutation is made in another copy, and the tests that reach it run there, the nearest first, until one fails: first
those in the sample of `make test`, then, if none fails, the others. What runs at import, outside of any test, is
reached by all tests that depend on its module by the import graph. A failure counts if the same test passes without the
mutation. What is killed by neither may be equivalent to the original: the table has the line, to be read.
"""

from __future__ import annotations

import argparse
import ast
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from os import environ
from pathlib import Path

from tools import import_graph

ROOT = Path(__file__).parent.parent
FOLDERS = ("ops", "modes", "compiler")
NEAR = 60
"""Tests that run first, before all others are even collected."""
LIMITS = {"test": 600, "test-all": 1800}
"""Seconds of wall clock for one mutation, after which what has not failed counts as not killed."""
PROBE = """
import os
noted = set()

def note(number):
    test = os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" ")[0]
    if (number, test) not in noted:
        noted.add((number, test))
        with open(f"{os.environ['MUTATION_NOTES']}/{os.getpid()}", "a") as file:
            print(number, test, file=file)
"""
"""The module that notes which test, if any, reaches a part of the code."""
HANG = 300
"""Seconds after which one test hangs, which kills a mutation."""
OPERATORS: dict[type, type] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult, ast.Mod: ast.Mult,
    ast.Pow: ast.Mult, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd, ast.LShift: ast.RShift, ast.RShift: ast.LShift,
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.And: ast.Or, ast.Or: ast.And,
}  # fmt: skip
READ_BY_PEOPLE = (ast.Raise, ast.JoinedStr, ast.Import, ast.ImportFrom)


@dataclass(frozen=True)
class Mutation:
    """A part of a line, and what takes its place."""

    path: Path
    line: int
    start: int
    end: int
    before: str
    after: str

    def __str__(self) -> str:
        return f"{self.path.relative_to('src/wengert')}:{self.line}: {self.before} -> {self.after}"

    def apply(self, root: Path) -> None:
        """Change the file in a copy of the tree, and forget its bytecode, which may be as old and as large."""
        file = root / self.path
        lines = file.read_text().splitlines(keepends=True)
        raw = lines[self.line - 1].encode()  # columns count bytes
        lines[self.line - 1] = (raw[: self.start] + self.after.encode() + raw[self.end :]).decode()
        file.write_text("".join(lines))
        for stale in (file.parent / "__pycache__").glob(f"{file.stem}.*.pyc"):
            stale.unlink()

    @property
    def is_statement(self) -> bool:
        return self.after == "pass"

    def probe(self, number: int) -> Mutation:
        """The part as it is, once the test that reaches it is noted."""
        note = f"__import__('mutation_probe').note({number})"
        after = f"{note}; {self.before}" if self.is_statement else f"({note} or ({self.before}))"
        return replace(self, after=after)

    def undo(self, root: Path) -> None:
        shutil.copy(ROOT / self.path, root / self.path)
        for stale in ((root / self.path).parent / "__pycache__").glob(f"{self.path.stem}.*.pyc"):
            stale.unlink()


def code_in(tree: ast.AST) -> Iterator[ast.AST]:
    """The nodes of code, without what only people and type checkers read."""
    for field, value in ast.iter_fields(tree):
        if field in ("annotation", "returns", "type_params", "type_comment"):
            continue
        for node in value if isinstance(value, list) else [value]:
            if not isinstance(node, ast.AST) or isinstance(
                node, ast.Raise | ast.JoinedStr | ast.Import | ast.ImportFrom
            ):
                continue
            if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
                continue
            yield node
            yield from code_in(node)


def changes_of(node: ast.AST) -> Iterator[tuple[ast.AST, str]]:
    """What may take the place of a node, or of a part of it."""
    match node:
        case ast.BinOp(left, op, right) if type(op) in OPERATORS:
            yield node, ast.unparse(ast.BinOp(left, OPERATORS[type(op)](), right))
        case ast.Compare(left, [op], comparators) if type(op) in OPERATORS:
            yield node, ast.unparse(ast.Compare(left, [OPERATORS[type(op)]()], comparators))
        case ast.BoolOp(op, values):
            yield node, ast.unparse(ast.BoolOp(OPERATORS[type(op)](), values))
        case ast.UnaryOp(ast.Not() | ast.USub(), operand):
            yield node, ast.unparse(operand)
        case ast.If(test) | ast.IfExp(test) | ast.While(test):
            yield test, f"not ({ast.unparse(test)})"
        case ast.Constant(bool() as value):
            yield node, str(not value)
        case ast.Constant(int() | float() as value):
            yield node, repr(value + 1)
        case ast.Expr(ast.Call()) | ast.AugAssign():
            yield node, "pass"


def mutations_of(path: Path) -> Iterator[Mutation]:
    """All mutations of a file, each within a line."""
    text = (ROOT / path).read_text()
    lines = text.splitlines()
    for node in code_in(ast.parse(text)):
        for part, after in changes_of(node):
            line, start, end = part.lineno, part.col_offset, part.end_col_offset  # type: ignore[attr-defined]
            if part.end_lineno != line:  # type: ignore[attr-defined]
                continue
            before = lines[line - 1].encode()[start:end].decode()
            atom = isinstance(part, ast.Constant | ast.stmt)
            yield Mutation(path, line, start, end, before, after if atom else f"({after})")


@cache
def all_mutations() -> list[Mutation]:
    """Those of all files, in order."""
    folders = [ROOT / "src/wengert" / folder for folder in FOLDERS]
    paths = sorted(path.relative_to(ROOT) for folder in folders for path in folder.rglob("*.py"))
    return [mutation for path in paths for mutation in mutations_of(path)]


def draw(count: int, seed: int) -> list[Mutation]:
    """Random mutations, each of all as likely as another."""
    return random.Random(seed).sample(all_mutations(), count)


def copy_tree(target: Path) -> Path:
    """A copy of what git tracks and of new files, as they are in the working tree."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    for name in subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines():
        if (ROOT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, target / name)
    return target


def nearest_first(path: Path) -> list[str]:
    """The files of tests that depend on a module, by the number of imports between them and the likeness of names."""
    name = import_graph.module_of(ROOT / path)
    chosen = {test: import_graph.module_of(test) for test in import_graph.select([str(path)])}
    words = set(re.findall(r"[a-z]+", name)) - {"wengert"}

    def distance(test: Path) -> tuple[int, int, str]:
        imported = import_graph.imports_of(chosen[test])
        steps = 0 if chosen[test] == name or name in imported else 1
        likeness = len(words & set(re.findall(r"[a-z]+", chosen[test])))
        examples = 2 if chosen[test].startswith("wengert") else 0  # in docstrings, which check little
        return steps - likeness + examples, len(imported), str(test)

    return [str(test.relative_to(ROOT)) for test in sorted(chosen, key=distance)]


def run(root: Path, words: list[str], limit: float) -> tuple[int | None, list[str]]:
    """Run pytest in a copy: its status, None if it took too long, and the tests that failed; none if it crashed."""
    ends = ["-o", f"faulthandler_timeout={HANG}", "-o", "faulthandler_exit_on_timeout=true", "-p", "no:cacheprovider"]
    (root / "arguments").write_text("\n".join(words))
    command = [sys.executable, "-m", "pytest", "-p", "no:xdist", "-x", "-rfE", *ends, "@arguments"]
    variables = environ | {"PYTHONPATH": str(root / "src")}
    try:
        done = subprocess.run(command, cwd=root, env=variables, capture_output=True, text=True, timeout=limit)
    except subprocess.TimeoutExpired:
        return None, []
    files = [word.partition("::")[0] for word in words]
    if done.returncode == 4 and files != words:  # a file that cannot be imported, or has other tests
        return run(root, list(dict.fromkeys(files)), limit)
    if done.returncode in (3, 4):
        raise RuntimeError(f"pytest could not run: {done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.returncode, re.findall(r"^(?:FAILED|ERROR) (.*?)(?: - .*)?$", done.stdout, re.M)


def find_tests(folder: Path, mutations: dict[int, Mutation]) -> dict[int, list[str]]:
    """Run all tests once, and return for each mutation those that reach it, the nearest first."""
    root, notes = copy_tree(folder / "probed"), folder / "notes"
    notes.mkdir()
    (root / "src/mutation_probe.py").write_text(PROBE)
    probed = set[int]()
    for number, mutation in sorted(mutations.items(), key=lambda row: (row[1].path, row[1].line, -row[1].start)):
        file = root / mutation.path
        text = file.read_text()
        mutation.probe(number).apply(root)
        try:
            ast.parse(file.read_text())
            probed.add(number)
        except SyntaxError:  # a pattern of `match`, or within another part
            file.write_text(text)
    variables = environ | {"PYTHONPATH": str(root / "src"), "MUTATION_NOTES": str(notes)}
    command = [sys.executable, "-m", "pytest", "-q", "-n", "auto", "--dist", "worksteal", "-p", "no:cacheprovider"]
    subprocess.run(command, cwd=root, env=variables, capture_output=True, check=False)
    reached: dict[int, set[str]] = {number: set() for number in mutations}
    for file in notes.iterdir():
        for line in file.read_text().splitlines():
            number, _, test = line.partition(" ")
            reached[int(number)].add(test)
    chosen = {}
    for number, mutation in mutations.items():
        files = nearest_first(mutation.path)
        if number not in probed or "" in reached[number]:
            chosen[number] = files
        else:
            places = {name: place for place, name in enumerate(files)}
            place = lambda test, places=places: (places.get(test.partition("::")[0], len(places)), test)
            chosen[number] = sorted(reached[number], key=place)
    return chosen


class Trial:
    """Two copies of the tree, one of them to be changed, and the tests that fail in a copy without any change."""

    def __init__(self, folder: Path) -> None:
        self.clean, self.changed = copy_tree(folder / "clean"), copy_tree(folder / "changed")
        self.broken: list[str] = []

    def kills(self, tests: list[str], options: list[str], limit: float) -> str:
        """The test that fails with the mutation and passes without it, "" if there is none."""
        end = time.monotonic() + limit
        for part in (tests[:NEAR], tests[NEAR:]):
            while part and time.monotonic() < end:
                skipped = [word for name in self.broken for word in ("--deselect", name)]
                status, failed = run(self.changed, [*options, *skipped, *part], end - time.monotonic())
                if status in (None, 0, 5):
                    break
                if not failed:
                    return "crash or hang"
                if run(self.clean, failed[:1], LIMITS["test"])[0] in (0, 5):
                    return failed[0]
                self.broken.append(failed[0])
        return ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--sample", default="commit", help="the sample of `make test`")
    parser.add_argument("--only", type=int, help="one mutation, by its number")
    parser.add_argument("--list", action="store_true", help="print the mutations, and run nothing")
    options = parser.parse_args()
    chosen = list(enumerate(draw(options.count, options.seed), 1))
    chosen = [row for row in chosen if options.only in (None, row[0])]
    counts = {"test": 0, "test-all": 0}
    print("| | mutation | make test | make test-all | killed by |\n|---|---|---|---|---|")
    with tempfile.TemporaryDirectory(prefix="mutations-") as folder:
        trial = None if options.list else Trial(Path(folder))
        tests = {} if options.list else find_tests(Path(folder), dict(chosen))
        for number, mutation in chosen:
            killers = {"test": "", "test-all": ""}
            if trial:
                mutation.apply(trial.changed)
                killers["test"] = trial.kills(tests[number], [f"--sample={options.sample}"], LIMITS["test"])
                killers["test-all"] = killers["test"] or trial.kills(tests[number], [], LIMITS["test-all"])
                mutation.undo(trial.changed)
            for name, killer in killers.items():
                counts[name] += bool(killer)
            yes = {name: "yes" if killer else "no" for name, killer in killers.items()}
            row = (str(number), str(mutation).replace("|", r"\|"), *yes.values(), killers["test-all"])
            print("| " + " | ".join(row) + " |", flush=True)
    share = 100 * counts["test"] / counts["test-all"] if counts["test-all"] else 100
    print(f"\nof {len(chosen)} mutations make test kills {counts['test']}: {share:.0f} % of what make test-all kills")


if __name__ == "__main__":
    main()

"""How strong the tests are: change a line of the package, and see whether a test fails.

    python -m tools.mutations --count 8 --seed 1          a sample, in a quarter of an hour or more
    python -m tools.mutations                             40 mutations
    python -m tools.mutations --only 3                    the third one again

The seed determines the mutations: an operator is exchanged, a condition negated, a constant changed, a statement
dropped, in `ops`, `modes` and `compiler`; never in docstrings, annotations or messages. Each is made in a copy of the
tree. The tests that depend on the module by the import graph run there, the nearest first, until one fails: first the
sample of `make test`, then, if it finds nothing, all tests. A failure counts if the same test passes without the
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
from dataclasses import dataclass
from functools import cache
from os import environ
from pathlib import Path

from tools import import_graph

ROOT = Path(__file__).parent.parent
FOLDERS = ("ops", "modes", "compiler")
NEAR = 12
"""Files of tests that run first, before all others are even collected."""
LIMITS = {"test": 1800, "test-all": 3600}
"""Seconds of wall clock for one mutation, after which what has not failed counts as not killed."""
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
    ends = ["-o", f"faulthandler_timeout={HANG}", "-o", "faulthandler_exit_on_timeout=true"]
    command = [sys.executable, "-m", "pytest", "-p", "no:xdist", "-p", "no:cacheprovider", "-x", "-rfE", *ends, *words]
    variables = environ | {"PYTHONPATH": str(root / "src")}
    try:
        done = subprocess.run(command, cwd=root, env=variables, capture_output=True, text=True, timeout=limit)
    except subprocess.TimeoutExpired:
        return None, []
    if done.returncode in (3, 4):
        raise RuntimeError(f"pytest could not run: {done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.returncode, re.findall(r"^(?:FAILED|ERROR) (.*?)(?: - .*)?$", done.stdout, re.M)


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
        for number, mutation in chosen:
            killers = {"test": "", "test-all": ""}
            if trial:
                mutation.apply(trial.changed)
                tests = nearest_first(mutation.path)
                killers["test"] = trial.kills(tests, [f"--sample={options.sample}"], LIMITS["test"])
                killers["test-all"] = killers["test"] or trial.kills(tests, [], LIMITS["test-all"])
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

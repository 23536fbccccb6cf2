"""Random programs as source text: nested branches, loops, exits, assignments, lists and calls, drawn from a seed."""

from __future__ import annotations

import random

HEADER = '''"""Drawn programs."""
import numpy as np


def bend(t, s=0.5):
    if t > s:
        return np.sin(t) + s
    elif t < -s:
        return np.cos(t)
    return t * s


def climb(t):
    n = 0
    while t < 1.0 and n < 6:
        t = t + 0.3
        n += 1
    return t


def first_above(values, bound):
    for i, value in enumerate(values):
        if value > bound:
            return value * (i + 1)
    return bound * 1.0
'''
LENGTHS = (2, 3, 4, 18, 20)
SCALARS = ("a", "b", "c")


class Program:
    """One function, `name(x, v)`, of a number and an array of five."""

    def __init__(self, seed: int, name: str = "program"):
        self.draw = random.Random(seed)
        self.name, self.loops, self.budget = name, 0, 14
        self.lines: list[str] = []
        self.counters: list[str] = []
        self.has_list = self.draw.random() < 0.5

    def text(self) -> str:
        """The source of the function."""
        self.add(0, f"def {self.name}(x, v):")
        self.add(1, "a, b, c = x * 1.0, 0.5, v[0]")
        self.add(1, "m = 0")
        self.add(1, "h = v * 1.0")
        if self.has_list:
            self.add(1, self.draw.choice(("ys = []", "ys = [x]")))
        for _ in range(self.draw.randint(2, 4)):
            self.statement(1, 1, in_loop=False, steps=1)
        if self.has_list:
            self.append_loop(1, 1)
            self.add(1, self.draw.choice(("a = a + np.stack(ys).sum()", "b = b + ys[-1]", "c = c + sum(ys) * 0.1")))
            self.add(1, "c = c + len(ys) * 0.01")
        self.add(1, "return a + b * 0.5 - c * 0.25 + np.tanh(h).sum() + m * 0.1")
        return "\n".join(self.lines) + "\n"

    def add(self, depth: int, line: str) -> None:
        """One line."""
        self.lines.append("    " * depth + line)

    # Expressions

    def number(self) -> str:
        """A number that varies."""
        known = [*SCALARS, "x", f"h[{self.draw.randint(0, 4)}]", f"v[{self.draw.randint(-5, 4)}]", "m * 0.2"]
        if self.counters:
            i = self.draw.choice(self.counters)
            known += [f"{i} * 0.1", f"v[{i} % 5]", f"h[({i} + 2) % 5]", f"float({i}) * 0.05"]
        return self.draw.choice(known)

    def expression(self, depth: int = 2) -> str:
        """An expression whose values stay small."""
        kind = self.draw.randint(0, 8) if depth else 0
        x = lambda: self.expression(depth - 1)
        if kind <= 1:
            return self.number()
        if kind == 2:
            return f"np.sin({x()})"
        if kind == 3:
            return f"np.tanh({x()} * {self.draw.choice(('0.5', '1.5'))})"
        if kind == 4:
            return f"({x()} + {x()}) * 0.5"
        if kind == 5:
            return f"np.cos({x()}) * {self.number()}"
        if kind == 6:
            return f"({self.number()} if {self.test()} else {x()})"
        if kind == 7:
            return self.draw.choice((f"bend({x()})", f"climb({self.number()})", f"bend({x()}, s={self.bound()})"))
        return self.draw.choice((f"first_above(v, {self.number()})", f"max({self.number()}, {self.bound()})"))

    def bound(self) -> str:
        """A number that nothing is equal to."""
        return f"{self.draw.uniform(-0.8, 0.8):.5f}"

    def test(self, depth: int = 1) -> str:
        """A condition."""
        kind = self.draw.randint(0, 9)
        if kind == 0 and self.counters:
            return f"{self.draw.choice(self.counters)} % 2 == {self.draw.randint(0, 1)}"
        if kind == 1:
            return f"{self.bound()} < {self.number()} < 0.95123"
        if kind == 2 and depth:
            return f"{self.test(0)} and {self.test(0)}"
        if kind == 3 and depth:
            return f"({self.test(0)} or {self.test(0)})"
        if kind == 4 and depth:
            return f"not {self.test(0)}"
        return f"{self.number()} {self.draw.choice('<>')} {self.bound()}"

    # Statements

    def block(self, depth: int, level: int, in_loop: bool, steps: int) -> None:
        """A few statements."""
        for _ in range(self.draw.randint(1, 2)):
            self.statement(depth, level, in_loop, steps)

    def statement(self, depth: int, level: int, in_loop: bool, steps: int) -> None:
        """One statement; `steps` is how often it runs at most."""
        self.budget -= 1
        kind = self.draw.randint(0, 11) if level < 4 and self.budget > 0 else self.draw.randint(0, 4)
        if kind <= 1:
            self.assign(depth, self.draw.choice(SCALARS))
        elif kind == 2:
            self.add(depth, f"{self.draw.choice(SCALARS)} += {self.expression(1)} * 0.3")
        elif kind == 3:
            self.assign_element(depth)
        elif kind == 4:
            self.add(depth, "m += 1")
        elif kind <= 7:
            self.branch(depth, level, in_loop, steps)
        elif kind <= 9:
            self.for_loop(depth, level, steps)
        elif kind == 10:
            self.while_loop(depth, level, steps)
        else:
            self.exit(depth, in_loop)

    def assign(self, depth: int, name: str) -> None:
        """`a = ...`, a new object: `a = b; a += 1` would change b too, if it is a tensor, but not if it is a number."""
        self.add(depth, f"{name} = {self.expression()} * 1.0")

    def assign_element(self, depth: int) -> None:
        """`h[i] = v`."""
        i = f"{self.draw.choice(self.counters)} % 5" if self.counters and self.draw.random() < 0.7 else "1"
        self.add(depth, f"h[{i}] {self.draw.choice(('=', '+=', '*='))} {self.expression(1)} * 0.5")

    def branch(self, depth: int, level: int, in_loop: bool, steps: int) -> None:
        """`if`, `elif`, `else`."""
        self.add(depth, f"if {self.test()}:")
        self.block(depth + 1, level + 1, in_loop, steps)
        if self.draw.random() < 0.3:
            self.add(depth, f"elif {self.test()}:")
            self.block(depth + 1, level + 1, in_loop, steps)
        if self.draw.random() < 0.6:
            self.add(depth, "else:")
            self.block(depth + 1, level + 1, in_loop, steps)

    def for_loop(self, depth: int, level: int, steps: int) -> None:
        """`for` over a range or over arrays, perhaps with `else`."""
        n = self.draw.choice(LENGTHS) if steps < 20 else self.draw.choice((2, 3))
        i = self.counter()
        value = f"{i}v"
        line, names = self.draw.choice(
            (
                (f"for {i} in range({n}):", [i]),
                (f"for {i} in range(1, {n + 1}):", [i]),
                (f"for {i} in reversed(range({n})):", [i]),
                (f"for {i}, {value} in enumerate(v):", [i]),
                (f"for {value}, {i} in zip(np.sin(v), range(5)):", [i]),
            )
        )
        self.add(depth, line)
        self.loop_body(depth, level, steps * n, names)
        if self.draw.random() < 0.2:
            self.add(depth, "else:")
            self.assign(depth + 1, "c")

    def while_loop(self, depth: int, level: int, steps: int) -> None:
        """`while`, of a bounded number of steps."""
        k = self.counter()
        n = self.draw.choice((3, 6, 20)) if steps < 20 else 3
        self.add(depth, f"{k} = 0")
        test = self.draw.choice((f"{k} < {n} and {self.test(0)}", f"{self.test(0)} and {k} < {n}", f"{k} < {n}"))
        self.add(depth, f"while {test}:")
        self.add(depth + 1, f"{k} += 1")
        self.loop_body(depth, level, steps * n, [k])

    def loop_body(self, depth: int, level: int, steps: int, names: list[str]) -> None:
        """The body of a loop."""
        self.counters += names
        self.block(depth + 1, level + 1, True, steps)
        if self.draw.random() < 0.4:
            self.add(depth + 1, f"if {self.test()}:")
            self.exit(depth + 2, True)
            self.assign(depth + 1, "b")
        del self.counters[-len(names) :]

    def append_loop(self, depth: int, level: int) -> None:
        """A loop that appends to the list in each step."""
        i = self.counter()
        self.add(depth, f"for {i} in range({self.draw.choice(LENGTHS)}):")
        self.counters.append(i)
        self.assign(depth + 1, "a")
        if self.draw.random() < 0.5:
            self.add(depth + 1, f"if {self.test()}:")
            self.assign(depth + 2, "b")
        last = "ys[-1] * 0.5 + " if "ys = [x]" in "\n".join(self.lines) and self.draw.random() < 0.5 else ""
        self.add(depth + 1, f"ys.append({last}{self.expression(1)})")
        self.counters.pop()

    def exit(self, depth: int, in_loop: bool) -> None:
        """`break`, `continue` or `return`."""
        kinds = ["return"] if not in_loop else ["break", "break", "continue", "continue", "return"]
        kind = self.draw.choice(kinds)
        if kind != "return":
            self.add(depth, kind)
        elif self.draw.random() < 0.7 or in_loop:
            self.add(depth, f"return {self.expression(1)} + a * 1.0")
        else:
            self.assign(depth, "a")

    def counter(self) -> str:
        """A new variable that counts."""
        self.loops += 1
        return f"i{self.loops}"


def write_programs(path, seeds) -> list[str]:
    """Write the programs of these seeds to a file, which Python can import; returns their names."""
    programs = [Program(seed, f"program_{seed}") for seed in seeds]
    path.write_text(HEADER + "\n\n" + "\n\n".join([p.text() for p in programs]))
    return [p.name for p in programs]

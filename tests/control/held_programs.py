"""Programs with branches and loops, each with the same program written out in Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import wengert as wg


class Program(NamedTuple):
    """A function of a vector, and the same function in plain Python, which runs eagerly."""

    name: str
    held: Callable[[Any], Any]
    written_out: Callable[[Any], Any]


XS = np.array([[0.3, -0.2], [0.7, 0.4], [-0.5, 0.9], [0.1, 0.6]])


def scan_with_outputs(x):
    def step(state, row):
        a, b = state
        a = np.sin(a * row[0] + x[1]) + b
        b = b * x[0] + row[1]
        return (a, b), {"product": a * b, "row": row * a}

    (a, b), ys = wg.scan(step, (x[0], x[1]), XS)
    return a * b + (ys["product"] ** 2).sum() + ys["row"].sum()


def scan_with_outputs_written_out(x):
    a, b, total = x[0], x[1], 0.0
    for row in XS:
        a = np.sin(a * row[0] + x[1]) + b
        b = b * x[0] + row[1]
        total = total + (a * b) ** 2 + (row * a).sum()
    return a * b + total


def scan_over_input(x):
    return wg.scan(lambda total, v: (total * v + np.cos(v), total), 1.0, x, reverse=True)[0]


def scan_over_input_written_out(x):
    total = 1.0
    for k in reversed(range(len(x))):
        total = total * x[k] + np.cos(x[k])
    return total


def until_large(x):
    step = lambda s: (s[0] + np.exp(s[1]) * 0.5, np.sin(s[1]) * x[0])
    y, _ = wg.while_loop(lambda s: s[0] < 4.0, step, (x[0], x[1]))
    return y


def until_large_written_out(x):
    y, z = x[0], x[1]
    while y < 4.0:
        y, z = y + np.exp(z) * 0.5, np.sin(z) * x[0]
    return y


def counted(x):
    return wg.fori_loop(1, 5, lambda i, y: y * x[0] + i * np.sin(y), x[1])


def counted_written_out(x):
    y = x[1]
    for i in range(1, 5):
        y = y * x[0] + i * np.sin(y)
    return y


def branch(x):
    return wg.cond(x[0] > 0, lambda a, b: np.sin(a) * b, lambda a, b: a - b**2, x[0], x[1])


def branch_written_out(x):
    return np.sin(x[0]) * x[1] if x[0] > 0 else x[0] - x[1] ** 2


def choice(x):
    index = (x[0] > 0).astype(int) + (x[1] > 0).astype(int)
    return wg.switch(index, [lambda y: y.sum(), lambda y: (y**3).sum(), lambda y: np.exp(y).sum()], x)


def choice_written_out(x):
    index = int(x[0] > 0) + int(x[1] > 0)
    return [lambda y: y.sum(), lambda y: (y**3).sum(), lambda y: np.exp(y).sum()][index](x)


def mapped(x):
    return wg.map(lambda v: np.sin(v) * x[0], x).sum()


def mapped_written_out(x):
    return (np.sin(x) * x[0]).sum()


def nested(x):
    def step(y, k):
        y = wg.cond(y > 0.5, lambda y: y * 0.7, lambda y: y + 0.4 * x[0], y)
        y = wg.while_loop(lambda y: y < 1.5, lambda y: y + 0.3 * np.exp(x[1]) + 0.1 * np.sin(y), y)
        return np.tanh(y), y * k

    y, ys = wg.scan(step, x[0], np.arange(3.0))
    return y + ys.sum()


def nested_written_out(x):
    y, total = x[0], 0.0
    for k in np.arange(3.0):
        y = y * 0.7 if y > 0.5 else y + 0.4 * x[0]
        while y < 1.5:
            y = y + 0.3 * np.exp(x[1]) + 0.1 * np.sin(y)
        total = total + y * k
        y = np.tanh(y)
    return y + total


def assigned(x):
    def step(k, y):
        y = y.copy()
        y[k] = np.sin(y[k - 1]) + x[0] * y[k - 1]
        return y

    y = wg.fori_loop(1, 5, step, np.zeros(5) + x[1])
    return (y * y).sum()


def assigned_written_out(x):
    rows = [x[1]]
    for _ in range(1, 5):
        rows.append(np.sin(rows[-1]) + x[0] * rows[-1])
    return sum(y * y for y in rows)


def prefix_products(x):
    both = np.stack([x[0] * np.ones(5), x[1] * np.arange(1.0, 6.0)])
    product, total = wg.associative_scan(lambda p, q: (p[0] * q[0], q[0] * p[1] + q[1]), (both[0], both[1]))
    return (product * total).sum()


def prefix_products_written_out(x):
    product, total, result = 1.0, 0.0, 0.0
    for k in range(5):
        product, total = product * x[0], x[0] * total + x[1] * (k + 1.0)
        result = result + product * total
    return result


PROGRAMS = [
    Program("scan", scan_with_outputs, scan_with_outputs_written_out),
    Program("scan over the input, reversed", scan_over_input, scan_over_input_written_out),
    Program("while_loop", until_large, until_large_written_out),
    Program("fori_loop", counted, counted_written_out),
    Program("cond", branch, branch_written_out),
    Program("switch", choice, choice_written_out),
    Program("map", mapped, mapped_written_out),
    Program("cond and while_loop in scan", nested, nested_written_out),
    Program("assignment in fori_loop", assigned, assigned_written_out),
    Program("associative_scan", prefix_products, prefix_products_written_out),
]

"""Functions that make lists, arrays and functions inside of branches and steps, or have loops without steps."""

from __future__ import annotations

import functools

import numpy as np

import wengert as wg

# Lists.


def list_in_branch(x):
    if x > 0.0:
        ys = []
        for i in range(30):
            ys.append(np.sin(x * i))
        y = np.stack(ys).sum()
    else:
        y = x * x
    return y


def list_in_both(x):
    if x > 0.0:
        ys = [x]
        ys.append(x * x)
    else:
        ys = [x * 2.0, x]
        ys.append(ys.pop(0))
    return ys[0] * ys[1]


def list_returned(x):
    if x > 0.0:
        ys = []
        for i in range(20):
            ys.append(x * i)
        return np.stack(ys).sum()
    return x * x


def list_in_while(x):
    while abs(x) < 5.0:
        ys = []
        for i in range(3):
            ys.append(np.sin(x * i))
        x = x * 1.5 + np.stack(ys).sum() ** 2 + 0.1
    return x


def list_after_while(x):
    ys = [x, x]
    while abs(x) < 5.0:
        ys = []
        ys.append(x)
        ys.append(x * 0.5 + 0.1)
        x = x + ys[0] + ys[1]
    return ys[0] * x + ys[1]


def list_in_branch_of_while(x):
    while abs(x) < 5.0:
        if x > 1.0:
            ys = [x * i for i in range(3)]
            ys.append(x)
            x = x + sum(ys)
        else:
            x = x * 1.3 + 0.2
    return x


def list_in_branch_of_for(x):
    for _ in range(20):
        if x > 0.0:
            ys = []
            for i in range(3):
                ys.append(np.sin(x * i))
            x = np.stack(ys).sum() - 1.0
        else:
            x = x + 0.7
    return x


def list_before_break(x):
    while True:
        ys = []
        for i in range(3):
            ys.append(x * i)
        x = x * 1.1 + np.stack(ys).sum() + 0.01
        if abs(x) > 5.0:
            break
    return x + ys[-1]


LISTS = (
    list_in_branch, list_in_both, list_returned, list_in_while, list_after_while, list_in_branch_of_while,
    list_in_branch_of_for, list_before_break,
)  # fmt: skip

# Loops without steps.


def scan_in_while(x):
    while x < 5.0:
        last, ys = wg.scan(lambda c, _: (np.sin(c) * x, np.exp(c) * np.ones(3)), x, None, length=0)  # noqa: B023  # called in this step
        x = last + 1.0 + ys.sum()
    return x * x


def rows_in_while(x):
    while x < 5.0:
        ys = [x * x]
        for row in np.zeros((0, 3)):
            ys.append(row[0] * x)
        x = x + 1.0 + np.stack(ys).sum() / len(ys)
    return x


def scan_with_branch(x):
    def step(c, _):
        if c > 0.0:
            c = c * c
        return c, np.sin(c)

    last, ys = wg.scan(step, x, None, length=0)
    return last * last + ys.sum()


def scan_with_branch_in_while(x):
    while x < 5.0:
        x = scan_with_branch(x) + 1.0
    return x


def others_with_branch(x):
    x = wg.fori_loop(3, 3, lambda _, c: c * c if c > 0.0 else c, x)
    return x * x + wg.map(lambda v: v * 2.0 if v > 0.0 else v, np.ones(0) * x).sum()


def traced_number_of_steps(x):
    n = (x > 100.0) * 1
    while x < 5.0:
        for _ in range(n):
            if x > 0.0:
                x = x * x
        x = x + 1.0
    return x


NO_STEPS = (
    scan_in_while, rows_in_while, scan_with_branch, scan_with_branch_in_while, others_with_branch,
    traced_number_of_steps,
)  # fmt: skip

# Functions.


def function_after_break(x):
    for _ in range(30):
        x = np.sin(x) + 0.2
        if x > 1.1:
            break

        def g(y):
            return y * 0.9 * x  # noqa: B023  # called in this step

        x = g(x)
    return x


def function_after_break_of_few(x):
    for _ in range(4):
        x = np.sin(x) + 0.2
        if x > 1.1:
            break
        g = functools.partial(np.multiply, 0.9)
        x = g(x) * x
    return x


def function_after_break_of_while(x):
    k = 0
    while k < 30:
        k += 1
        x = np.sin(x) + 0.2
        if x > 1.1:
            break
        g = lambda y: y * 0.9 * x  # noqa: B023  # called in this step
        x = g(x)
    return x


def function_after_return(x):
    for _ in range(30):
        x = np.sin(x) + 0.2
        if x > 1.1:
            return x * x

        def g(y):
            return y * 0.9

        x = g(x)

    def h(y):
        return y * 2.0 * x

    return h(x)


def function_in_both(x):
    if x > 0.5:

        def g(y):
            return y * y

        z = g(x)
    else:

        def g(y):
            return 3.0 * y

        z = g(x)
    return z


def function_in_while(x):
    while x < 5.0:

        def g(y):
            return y * 1.5 + abs(x) + 0.1  # noqa: B023  # called in this step

        x = g(x)
    return x


FUNCTIONS = (
    function_after_break, function_after_break_of_few, function_after_break_of_while, function_after_return,
    function_in_both, function_in_while,
)  # fmt: skip

# Plain arrays.


def element_in_branch(x):
    a = np.zeros(3)
    if x > 0.5:
        a[0] = 1.0
    return a.sum() * x + x


def elements_in_both(x):
    a = np.arange(6.0).reshape(3, 2) + 0.0
    if x > 0.5:
        a[0, :] = 1.0
        a[1, 0] += 2.0
    else:
        a -= 3.0
        a[:, 1] *= 4.0
    return (a * np.arange(6.0).reshape(3, 2)).sum() * x


def integers_in_branch(x):
    a = np.zeros(3, int)
    if x > 0.5:
        a[0], a[1] = a[1] + 2, 3
    return (a * np.arange(1, 4)).sum() * x + x


def element_in_while(x):
    a = np.zeros(3)
    while x < 2.0:
        a[0] += 1.0
        x = x + 0.6
    return a.sum() * x + x


def elements_in_for(x):
    a, b = np.zeros(30), np.zeros(3)
    for i in range(30):
        if x > 0.5:
            a[i] = i + 1.0
            b[i % 3] += 0.5
        x = np.sin(x) + 0.1
    return a.sum() * x + (b * np.arange(3.0)).sum() * x


def element_in_branch_of_branch(x):
    a = np.ones(3)
    if x > 0.0:
        a[0] = 2.0
        if x > 0.5:
            a[0] = 3.0
        a[1] = a[0]
    return (a * np.arange(1.0, 4.0)).sum() * x


ARRAYS = (
    element_in_branch, elements_in_both, integers_in_branch, element_in_while, elements_in_for,
    element_in_branch_of_branch,
)  # fmt: skip

# Lists of one step.


def stacked(x):
    h = np.linspace(0.0, 1.0, 4) * x
    for t in range(50):
        new = []
        for k in range(4):
            new.append(np.sin(h[k] + t * x))
        h = np.stack(new)
    return h.sum()


def layers(x):
    hs, cs = [np.ones(3) * x, np.ones(3) * x], [np.ones(3), np.ones(3) * x]
    outs = []
    for t in range(50):
        new_h, new_c = [], []
        y = np.linspace(0.0, 1.0, 3) * t * 0.1
        for h, c in zip(hs, cs, strict=True):
            c = np.tanh(y + h) + 0.5 * c
            y = np.tanh(c) * 0.9
            new_h.append(y)
            new_c.append(c)
        hs, cs = new_h, new_c
        outs.append(y)
    return np.stack(outs).sum() + hs[0].sum()


def nested(x):
    h = np.ones((2, 3)) * x
    for t in range(50):
        rows = []
        for i in range(2):
            row = []
            while len(row) < 3:
                row.append(np.sin(h[i, len(row)] + t * 0.1))
            rows.append(np.stack(row))
        h = np.stack(rows)
    return h.sum() + rows[0][1]


def extended(x):
    h = np.ones(4) * x
    for t in range(50):
        new = [h[0] * 0.5]
        new.extend([np.sin(h[k] + 0.1 * t) for k in range(2)])
        new += [np.cos(h[3])]
        h = np.stack(new)
    return h.sum()


OF_ONE_STEP = (stacked, layers, nested, extended)

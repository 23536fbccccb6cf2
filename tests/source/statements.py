"""Functions with each kind of statement, and arguments at which all paths of them are taken."""

from __future__ import annotations

import dataclasses
import functools

import numpy as np

ROW = np.linspace(-1.03, 0.97, 40)


# Branches


def piecewise(x):
    if x > 1.0:
        y = np.sin(x)
        return y * 2.0
    elif x > 0.0:  # noqa: RET505  # a kind of statement
        y = x * x
    else:
        return -x * x
    return y + 1.0


def nested_if(x):
    y = 0.0
    if x > 0.0:
        if x < 1.0:
            y = x * x
        y = y + x
    return y * x


def late_return(x):
    if x > 0.0:
        if x > 1.0:
            return x * x
        x = x + 1.0
    return np.sin(x)


def conditional(x):
    return (x * x if x > 0.5 else np.cos(x)) + (1.0 if x > 0.0 else 2.0) * x


def square_root(x):
    return np.sqrt(x) if x > 0.1 else x * x


def with_and_or_not(x):
    if (x > 0.0 and x < 1.0) or not x < 5.0:
        return x * x
    return np.sin(x)


def chained(x):
    return x * x if 0.0 < x < 1.0 else x * 3.0 * x


def value_of_or(x):
    y = (x - 0.5) * (x > 0.5) or x * x
    return y * x


def largest(x):
    return max(x, 0.1, x * x) * min(x, 2.0)


def walrus(x):
    if (y := x * 2.0) > 0.2:
        return y * y
    return y * y * y


def in_try(x):
    try:
        y = x * x if x > 0.0 else x
    finally:
        z = 2.0
    return y * y * z


# Loops


def newton(a):
    a = a * a + 0.5
    x = a
    k = 0
    while abs(x * x - a) > 1e-10:
        x = 0.5 * (x + a / x)
        k += 1
        if k > 50:
            break
    return x


def while_true(x):
    x = x * x + 2.0
    n = 0
    while True:
        x = x * 0.7
        n += 1
        if x < 0.01:
            break
    return x * x * n


def while_else(x):
    k = 0
    while k < 30:
        k += 1
        x = np.sin(x) + 0.1 * x
        if x > 1.2:
            break
    else:
        x = x * 2.0
    return x * x


def lorenz(p):
    x = y = z = 1.0
    for _ in range(60):
        dx, dy, dz = p * (y - x), x * (2.0 - z) - y, x * y - 0.3 * z
        x, y, z = x + 0.01 * dx, y + 0.01 * dy, z + 0.01 * dz
    return x * x + y + z


def with_continue(x):
    total = 0.0
    for i in range(25):
        if i % 3 == 0:
            continue
        total = total + np.sin(x * i)
        if total < 0.0:
            continue
        total = total * 0.9
    return total


def nested_loops(x):
    total = 0.0
    for i in range(20):
        for j in range(20):
            if j > i:
                continue
            total = total + x * x * j
            if total > 50.0:
                break
    return total


def traced_bounds(x):
    n = (abs(x) * 10.0).astype(int)
    total = x
    for i in range(2, n, 2):
        total = total * 1.1 + x * i
    return total * x


def plain_numbers(x):
    k = 0
    for i in range(40):
        x = x * 0.9
        k += 2 * (i % 2)
    return x * x * np.ones(k).sum()


def short(x):
    for i in range(3):
        x = np.sin(x) + i
        if x > 1.5:
            break
    return x * x


def first_is_none(x):
    best = None
    for v in ROW * x:
        if best is None or v > best:
            best = v
    return best * best


# Over arrays


def horner(xs):
    total = 0.0
    for a in xs:
        total = total * 0.9 + a * a
    return total if total > 0.0 else -total


def first_above(xs):
    for i, v in enumerate(xs):
        if v > 0.3:
            return i * v * v
    return -1.0 * xs[0]


def found_or_not(xs):
    for i, v in enumerate(xs):
        if v > 0.31:
            r = v * v * i
            break
    else:
        r = xs[0]
    return r


def neighbours(xs):
    total = 0.0
    for i, (a, b) in enumerate(zip(xs, xs[1:], strict=False)):
        total += a * b * i
    return total


def backwards(xs):
    total = 0.0
    for v in reversed(xs):
        total = total * 0.9 + v * v
    for i in reversed(range(30)):
        total = total + xs[i] * i
    return total


def until(xs):
    i = 0
    while i < len(xs) and xs[i] < 0.5:
        i += 1
    return xs[i] * xs[i] * i


# States


def filled(xs):
    h = xs * 1.0
    for k in range(1, 40):
        h[k] = np.cos(h[k - 1]) * xs[k]
        h[0] += xs[k] * 0.1
    return h.sum()


def appended(x):
    ys, zs = [], [x]
    for i in range(30):
        ys.append(np.sin(x * i))
        zs.append(np.cos(zs[-1]))
    return np.stack(ys).sum() + zs[-1] * zs[-3] + sum(zs) * len(ys)


def appended_pairs(x):
    pairs, both = [], []
    for _ in range(20):
        x = np.sin(x) + 0.1
        pairs.append((x, x * x))
        both.append(x)
        both.append(x * x)
    return pairs[-1][1] + np.stack(both).sum() + pairs[3][0]


def dictionary(x):
    state = {"a": x, "b": 0.0}
    for _ in range(40):
        state["b"] = state["b"] + state["a"] * state["a"]
        state["a"] = state["a"] * 0.5
    return state["b"]


@dataclasses.dataclass
class Pair:
    a: object
    b: object


def dataclass(x):
    state, other = Pair(x, x), Pair(x, x)
    for _ in range(40):
        state = Pair(state.b, state.a * 0.5 + state.b * 0.2)
        other.a = other.a * 0.9 + other.b * other.b * 0.1
    return state.a * state.b + other.a


def tuples(x):
    state = (x, (x * x, 1.0))
    for _ in range(40):
        a, (b, c) = state
        state = (b, (a * 0.5, c + a))
    return state[1][1]


# Functions


def bend(t, s=0.5, *, scale=1.0):
    if t > s:
        return t * t * scale
    return t * scale


def calls(xs):
    total = 0.0
    for v in xs:
        total = total + bend(v, scale=2.0) + (lambda q: q * q if q > 0.1 else 0.0 * q)(v)
    return total


class Model:
    def __init__(self, w):
        self.__w = w

    def __call__(self, x):
        if x > self.__w:
            return self.act(x)
        return x * self.__w * x

    def act(self, x):
        return x * x if x < 0.7 else x


class Deep(Model):
    def act(self, x):
        if x > 0.6:
            return super().act(x) * 2.0
        return super().act(x)


def objects(x):
    return Model(0.2)(x) + Deep(0.3)(x) + Model(7.0).act(x)


def partial(x):
    g = functools.partial(lambda a, b: a * b * a if a > b else a * a, b=0.1)
    return g(x) + functools.reduce(lambda a, b: a + b if a > 0.0 else a - b, [x, x * x, x])


def with_nonlocal(x):
    total = 0.0

    def add(v):
        nonlocal total
        total = total + v

    if x > 0.0:
        add(x * x)
    else:
        add(x)
    for i in range(30):
        add(x * x * i)
    return total


def weights(x):
    w = [np.eye(3) * k * 0.1 for k in range(20)]
    y = x * np.array([0.3, -0.2, 0.5])
    for i in range(20):
        y = np.tanh(w[i] @ y + y)
    return y.sum()


SCALAR = (
    piecewise, nested_if, late_return, conditional, square_root, with_and_or_not, chained, value_of_or, largest, walrus,
    in_try, newton, while_true, while_else, lorenz, with_continue, nested_loops, traced_bounds, plain_numbers, short,
    first_is_none, appended, appended_pairs, dictionary, dataclass, tuples, objects, partial, with_nonlocal, weights,
)  # fmt: skip
OF_ROWS = (horner, first_above, found_or_not, neighbours, backwards, until, filled, calls)
POINTS = (0.03, 0.37, 0.83, 1.71, -0.61, 5.3)
ROWS = (ROW, -ROW, np.full(40, 0.2) + ROW * 0.1)
PROGRAMS = [(f, np.float64(x)) for f in SCALAR for x in POINTS] + [
    (f, x) for f in OF_ROWS for x in ROWS if not (f is until and x is not ROW)
]
EXAMPLES = [(f, np.float64(0.37)) for f in SCALAR] + [(f, ROW) for f in OF_ROWS]

"""Loops that were written out when they were traced, as functions without a source are, and rolled up again."""

import numpy as np
import pytest

import wengert as wg
from wengert.control.loop import LOOP
from wengert.control.rolling import roll
from wengert.core import tree

PROGRAMS = {
    "a recurrence": """
        for _ in range(300):
            x = x + 0.01 * a * np.sin(x) * np.cos(x * a)
        return x
    """,
    "three states": """
        u, v, w = x, x * 2.0, x - 1.0
        for _ in range(100):
            u, v, w = u + 0.01 * a * (v - u), v + 0.01 * (u * (2.0 - w) - v), w + 0.01 * (u * v - a * w)
        return u, w
    """,
    "slices of a sequence": """
        for t in range(xs.shape[0]):
            x = np.tanh(x * a + xs[t]) + np.sin(xs[t] * x) * np.exp(-xs[t])
        return x
    """,
    "slices from the end": """
        for t in range(xs.shape[0] - 3):
            x = np.tanh(x * a + xs[-1 - t]) + np.sin(xs[t + 2] * x) * np.exp(-xs[t])
        return x
    """,
    "every second element": """
        for t in range(0, xs.shape[0] - 1, 2):
            x = np.tanh(x * a + xs[t]) + np.sin(xs[t + 1] * x) * np.exp(-xs[t]) * np.cos(x * x + a) / (1.0 + x * x)
            x = np.sin(x) + x * 0.5 - np.cos(a * x)
        return x
    """,
    "elements by iteration": """
        for q in xs:
            x = np.tanh(x * a + q) + np.sin(q * x) * np.exp(-q)
        return x
    """,
    "constants of each step": """
        for t in range(200):
            x = x * a + np.sin(x * (0.1 * t)) * np.exp(-x * x) * (t + 1.0)
        return x
    """,
    "results that are stacked": """
        found = [x]
        for t in range(200):
            x = x * a + np.sin(x) * np.exp(-x * x) * 0.3 - np.cos(x)
            found.append(x * 2.0)
        return np.stack(found), found[17], np.stack(found[:50], axis=-1)
    """,
    "two steps back": """
        u, v, w = x, x * 0.5, x * 0.25
        for t in range(200):
            u, v, w = np.sin(u) * a + v * 0.3 - w * 0.1, u, v
        return u, v, w
    """,
    "sums over steps": """
        total = x * 0.0
        for t in range(xs.shape[0]):
            x = np.tanh(x * a + xs[t])
            total = total + np.sin(x * xs[t]) ** 2
        return total
    """,
    "one loop after the other": """
        found = []
        for t in range(xs.shape[0]):
            x = np.tanh(x * a + xs[t]) * np.cos(x) + 0.1
            found.append(np.sin(x))
        for q in found[::-1]:
            x = np.cos(x + q * a) + q * q * 0.3 - x * 0.1
        for q in found:
            x = x * 0.5 + q
        return x
    """,
    "integers and booleans": """
        n, up = x * 0.0 > 1.0, x * 0.0
        for t in range(200):
            up = np.where(n, up + a, up - x)
            n = (up < x) & ~(up > 2.0)
        return up, n
    """,
    "irregular steps": """
        for t in range(300):
            x = x * a + np.sin(x) * np.exp(-x * x) * 0.3
            if t in (5, 130, 298):
                x = x * x
        return x
    """,
    "loops in a loop": """
        for t in range(30):
            x = np.sin(x) + a
            for s in range(20):
                x = x * a + np.cos(x) * 0.3
        return x
    """,
    "parts": """
        y = np.stack([x, x * 2.0, x * 3.0, x + 1.0])
        for t in range(150):
            first, second = np.split(y, 2)
            y = np.concatenate([second * a, np.sin(first)]) + y * 0.1 + y[::-1] * 0.2
        return y
    """,
}
XS = np.linspace(-1.0, 1.0, 120)


def written_out(text):
    """A function without a source, whose loops are written out when it is traced."""
    lines = text.strip("\n").splitlines()
    depth = len(lines[0]) - len(lines[0].lstrip())
    names = {"np": np}
    exec("def f(a, x, xs):\n" + "\n".join("    " + line[depth:] for line in lines), names)
    return names["f"]


def total(result):
    return sum(np.sum(np.sin(1.0 * leaf)) for leaf in tree.flatten(result)[0])


def assert_same_bits(found, expected):
    for y, z in zip(tree.flatten(found)[0], tree.flatten(expected)[0], strict=True):
        assert np.asarray(y).dtype == np.asarray(z).dtype
        np.testing.assert_array_equal(y, z)


@pytest.mark.parametrize("name", PROGRAMS)
def test_values(name):
    graph = wg.trace(written_out(PROGRAMS[name]), 0.7, 0.3, XS)
    rolled = roll(graph).validate()
    assert any(node.primitive is LOOP for node in rolled.operations)
    assert len(rolled.operations) < len(graph.operations) / 4
    for x in (0.3, -1.2):
        assert_same_bits(rolled.evaluate(0.7, x, XS), graph.evaluate(0.7, x, XS))


@pytest.mark.parametrize("name", PROGRAMS)
def test_gradients(name):
    """The tape of a loop that was written out repeats itself too, in both directions."""
    f = written_out(PROGRAMS[name])
    graph = wg.trace(wg.value_and_grad(lambda a, x, xs: total(f(a, x, xs)), (0, 1, 2)), 0.7, 0.3, XS)
    rolled = roll(graph).validate()
    loops = [node for node in rolled.operations if node.primitive is LOOP]
    assert len(loops) >= 2
    assert len(rolled.operations) < len(graph.operations) / 2
    assert_same_bits(rolled.evaluate(0.6, 0.4, XS), graph.evaluate(0.6, 0.4, XS))


@pytest.mark.parametrize("name", ["three states", "slices of a sequence", "results that are stacked"])
def test_compiled(name):
    f = written_out(PROGRAMS[name])
    g = wg.value_and_grad(lambda a, x, xs: total(f(a, x, xs)), (0, 1, 2))
    compiled = wg.compile(g)
    for y, z in zip(tree.flatten(compiled(0.7, 0.3, XS))[0], tree.flatten(g(0.7, 0.3, XS))[0], strict=True):
        np.testing.assert_allclose(y, z, rtol=1e-9, atol=1e-12)
    assert any("loop of" in step for step in compiled.report(0.7, 0.3, XS).steps)


def test_unroll():
    """What the user wants written out stays so."""
    f = written_out(PROGRAMS["a recurrence"])
    found = [wg.compile(f, unroll=unroll).report(0.7, 0.3, XS) for unroll in (True, None)]
    assert [any("loop of" in step for step in report.steps) for report in found] == [False, True]


def test_matrices():
    """A recurrent network, float32, without a source."""
    text = """
        h = x
        found = []
        for t in range(xs.shape[0]):
            h = np.tanh(h @ a + xs[t, 0] * np.sin(h * xs[t, 1:]))
            found.append(h)
        return np.stack(found)
    """
    rng = np.random.default_rng(3)
    a, x, xs = [rng.normal(size=s).astype(np.float32) for s in ((4, 4), (2, 4), (150, 5, 2, 4))]
    xs = xs[:, :2]
    f = written_out(text)
    graph = wg.trace(wg.grad(lambda a, x, xs: total(f(a, x, xs)), (0, 1, 2)), a, x, xs)
    rolled = roll(graph).validate()
    assert len(rolled.operations) < len(graph.operations) / 4
    assert_same_bits(rolled.evaluate(a, x, xs), graph.evaluate(a, x, xs))


def test_small_graphs_stay():
    graph = wg.trace(written_out("for _ in range(20):\n    x = np.sin(x) * a\nreturn x"), 0.7, 0.3, XS)
    assert roll(graph) is graph


def test_graphs_without_repetitions_stay():
    rng = np.random.default_rng(0)
    lines = [f"x = np.{rng.choice(['sin', 'cos', 'tanh'])}(x * {rng.normal()})" for _ in range(800)]
    graph = wg.trace(written_out("\n".join([*lines, "return x"])), 0.7, 0.3, XS)
    assert roll(graph) is graph

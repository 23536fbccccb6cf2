"""Programs for the tests of the passes: by hand, and random ones.

And what it means that two graphs compute the same.
"""

import numpy as np
from hypothesis import strategies as st

import wengert as wg
from wengert.core.tree import flatten
from wengert.graph.ir import Operation

SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, -3.0, np.inf, -np.inf, np.nan, 5e-324, 1e308]


def names(graph):
    """The operations, in order."""
    return [node.primitive.name for node in graph.operations]


def assert_same_bits(before, after):
    """Equal in shape, dtype and every bit, but for the sign and payload of NaN."""
    before, after = flatten(before)[0], flatten(after)[0]
    assert len(before) == len(after)
    for x, y in zip(before, after, strict=True):
        x, y = np.asarray(x), np.asarray(y)
        assert (x.shape, x.dtype) == (y.shape, y.dtype)
        if x.dtype.kind in "fc":
            np.testing.assert_array_equal(np.isnan(x), np.isnan(y))
            x, y = x[~np.isnan(x)], y[~np.isnan(y)]
        assert x.tobytes() == y.tobytes(), (x, y)


def assert_close(before, after, rtol=1e-12):
    before, after = flatten(before)[0], flatten(after)[0]
    assert len(before) == len(after)
    for x, y in zip(before, after, strict=True):
        x, y = np.asarray(x), np.asarray(y)
        assert (x.shape, x.dtype) == (y.shape, y.dtype)
        np.testing.assert_allclose(y, x, rtol=rtol, atol=rtol)


def assert_ordered(graph):
    """Each node comes after its operands, and carries a spec that fits its value."""
    seen = set(graph.inputs)
    for node in graph.nodes:
        if isinstance(node, Operation):
            assert all(a in seen for a in node.args)
        seen.add(node)
    assert all(y in seen for y in graph.outputs)


UNARY = {
    "negative": lambda x: -x,
    "times one": lambda x: x * 1.0,
    "times minus one": lambda x: -1.0 * x,
    "over one": lambda x: x / 1.0,
    "minus zero": lambda x: x - 0.0,
    "plus zero": lambda x: x + 0.0,
    "plus minus zero": lambda x: x + -0.0,
    "times zero": lambda x: x * 0.0,
    "twice": lambda x: 2.0 * x,
    "of two": lambda x: 2.0 - x,
    "times ones": lambda x: x * np.ones(x.shape),
    "positive": lambda x: +x,
    "absolute": lambda x: np.abs(x),
    "square": lambda x: np.square(x),
    "copy": lambda x: x.copy(),
    "stop": wg.stop_gradient,
    "relu": lambda x: np.where(x > 0, x, 0.0),
    "known": lambda x: np.where(np.array(True), x, 3.0),
    "ones": lambda x: np.ones_like(x),
    "single": lambda x: x.astype(np.float64),
    "transposed": lambda x: x.transpose(),
    "rolled": lambda x: np.moveaxis(x, 0, -1) if x.ndim else x,
    "flat": lambda x: x.reshape(-1),
    "paired": lambda x: x.reshape(2, -1) if x.size % 2 == 0 else x,
    "column": lambda x: x[..., None] if x.ndim < 4 else x,
    "row": lambda x: x[None] if x.ndim < 4 else x,
    "first": lambda x: x[0] if x.ndim else x,
    "reversed": lambda x: x[::-1] if x.ndim else x,
    "head": lambda x: x[:-1] if x.ndim and x.shape[0] > 1 else x,
    "stretched": lambda x: np.broadcast_to(x, (2, *x.shape)) if x.size <= 32 and x.ndim < 4 else x,
    "joined": lambda x: np.stack([x, -x])[0],
    "halved": lambda x: np.split(x, 2)[1] if x.ndim and x.shape[0] % 2 == 0 else x,
}
BINARY = {
    "add": lambda x, y: x + y,
    "subtract": lambda x, y: x - y,
    "multiply": lambda x, y: x * y,
    "maximum": lambda x, y: np.maximum(x, y),
    "chosen": lambda x, y: np.where(x > y, x, y),
    "twice chosen": lambda x, y: np.where(np.logical_not(x > 0), np.where(x > 0, y, x), y),
}
QUOTIENTS = {"divide": lambda x, y: x / y}
REDUCED = {
    "sum": lambda x: x.sum(),
    "sum along first": lambda x: x.sum(axis=0) if x.ndim else x,
    "sum along last": lambda x: x.sum(axis=-1, keepdims=True) if x.ndim else x,
    "mean along first": lambda x: x.mean(axis=0) if x.ndim and x.shape[0] in (1, 2, 4, 8) else x,
    "max": lambda x: x.max(axis=-1) if x.ndim and x.size else x,
    "min": lambda x: x.min(axis=0, keepdims=True) if x.ndim and x.size else x,
}


@st.composite
def programs(draw, reducing=False):
    """A function of two arrays that runs some operations, each on results of earlier ones, and returns the last few.

    Without reductions, every operation is exactly rounded. With them there are no quotients, so that integers stay
    dyadic numbers.
    """
    table = UNARY | BINARY | (REDUCED if reducing else QUOTIENTS)
    steps = draw(
        st.lists(
            st.tuples(st.sampled_from(sorted(table)), st.integers(0, 5), st.integers(0, 5)), min_size=2, max_size=14
        )
    )

    def program(x, y):
        values = [x, y]
        for name, i, j in steps:
            x, y = values[-1 - i % len(values)], values[-1 - j % len(values)]
            if name in UNARY or name in REDUCED:
                values.append(table[name](x))
            elif fit(x.shape, y.shape):
                values.append(table[name](x, y))
        return values[-2:]

    program.__doc__ = repr(steps)
    return program


def fit(x, y):
    try:
        return np.prod(np.broadcast_shapes(x, y)) <= 128
    except ValueError:
        return False

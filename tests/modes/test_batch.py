"""Every operation of the table on a batch equals a loop over the batch, in values and in gradients."""

from __future__ import annotations

import sys
from itertools import product

import numpy as np
import pytest
from tests.oracle import tape_gradients
from tests.sampling import by_operation
from tests.test_table import SHAPES, case_arguments, live_arguments, sample, several

import wengert as wg
from wengert.core.definition import Definition
from wengert.core.levels import new_level
from wengert.core.primitive import TABLE, Primitive
from wengert.modes import batch
from wengert.modes.backward import backward_pass
from wengert.modes.batch import Batched
from wengert.modes.forward import Dual
from wengert.modes.tape import Leaf
from wengert.modes.tensor import Tensor
from wengert.ops.indexing.key import Hole, Index
from wengert.transforms.vmap import vmap

pytestmark = pytest.mark.seconds(1)

B = 3
RNG = np.random.default_rng(6)
BITS = ("bitwise_and", "bitwise_or", "bitwise_xor", "invert", "left_shift", "right_shift")


def batch_of(a: np.ndarray) -> np.ndarray:
    """Three variants of an array: indices and masks in another order, numbers shifted."""
    if a.dtype.kind in "ib":
        return np.stack([a, a[::-1], a]) if a.ndim else np.stack([a] * B)
    return np.stack([a, a + 0.25, a - 0.5])


def runs() -> list:
    """Each operation with arguments and parameters: one element, and a batch."""
    found = []
    for p in TABLE.values():
        if p.trial.cases:
            for k, c in enumerate(p.trial.cases):
                rng = np.random.default_rng(4)
                one = case_arguments(c)
                many = [rng.normal(size=(B, *a)) if isinstance(a, tuple) else batch_of(a) for a in c.args]
                found.append(pytest.param(p, one, many, c.params, id=f"{p.name}-{k}"))
        elif p.name in BITS:
            rng = np.random.default_rng(4)
            many = [rng.integers(1, 4, (B, *s)) for s in ((2, 1), (3,))[: len(p.inputs)]]
            found.append(pytest.param(p, [a[0] for a in many], many, {}, id=p.name))
        else:
            for name, shapes in SHAPES.items():
                many = sample(p, [(B, *s) for s in shapes])
                found.append(pytest.param(p, sample(p, shapes), many, p.trial.params, id=f"{p.name}-{name}"))
    return found


RUNS = runs()
every_operation = by_operation(("primitive", "one", "many", "params"), RUNS)


def mixtures(count: int) -> list[tuple[bool, ...]]:
    """Which arguments are batched: all combinations for up to three arguments, else a selection."""
    ways = [way for way in product((True, False), repeat=count) if any(way)]
    return ways if count <= 3 else [(True,) * count, (True, *(False,) * (count - 1)), (*(False,) * (count - 1), True)]


def axes(way):
    return tuple(0 if batched else None for batched in way)


def rows(way, one, many, n=B):
    """The arguments of each element."""
    return [[m[i] if batched else o for o, m, batched in zip(one, many, way, strict=True)] for i in range(n)]


def chosen(way, one, many):
    return [m if batched else o for o, m, batched in zip(one, many, way, strict=True)]


def assert_stacked(found, outs):
    """Each result of an operation is the stack of the results of the loop."""
    for f, column in zip(several(found), zip(*map(several, outs), strict=True), strict=True):
        expected = np.stack(column)
        assert f.shape == expected.shape
        assert f.dtype == expected.dtype
        np.testing.assert_allclose(f, expected, rtol=1e-12, atol=1e-14)


@every_operation
def test_equals_a_loop(primitive, one, many, params):
    op = lambda *args: primitive.op(*args, **params)
    for way in mixtures(len(one)):
        outs = [op(*row) for row in rows(way, one, many)]
        assert_stacked(vmap(op, axes(way))(*chosen(way, one, many)), outs)


@every_operation
def test_float32_is_kept(primitive, one, many, params):
    if primitive.kind == "control":
        return  # a graph has its dtypes
    narrow = lambda arrays: [a.astype(np.float32) if a.dtype.kind == "f" else a for a in arrays]
    one, many = narrow(one), narrow(many)
    op = lambda *args: primitive.op(*args, **params)
    for way in mixtures(len(one)):
        found = vmap(op, axes(way))(*chosen(way, one, many))
        for f, expected in zip(several(found), several(op(*one)), strict=True):
            assert f.dtype == expected.dtype


@every_operation
def test_a_batch_of_batches(primitive, one, many, params):
    """The payload is itself a batch: inner along the second axis, outer along the first."""
    op = lambda *args: primitive.op(*args, **params)
    for inner in mixtures(len(one))[:3]:
        outer = (True,) * len(one)
        twice = [np.stack([m, m[::-1]]) if i else np.stack([o, o]) for o, m, i in zip(one, many, inner, strict=True)]
        expected = [vmap(op, axes(inner))(*row) for row in rows(outer, one, twice, 2)]
        assert_stacked(vmap(vmap(op, axes(inner)))(*twice), expected)


@every_operation
def test_an_empty_batch(primitive, one, many, params):
    op = lambda *args: primitive.op(*args, **params)
    found = vmap(op)(*[m[:0] for m in many])
    for f, expected in zip(several(found), several(op(*one)), strict=True):
        if primitive.name not in ("argwhere", "unique_indices", "unique_counts") and not (
            primitive.name == "gather" and params["key"].key == (Hole.MASK,)
        ):
            assert f.shape == (0, *expected.shape)


def total_of(op, weights):
    """A scalar function: the weighted sum of all that `op` returns."""

    def f(*args):
        parts = [wg.real(out * w).sum() for out, w in zip(several(op(*args)), weights, strict=True)]
        return sum(parts[1:], parts[0])

    return f


def weights_like(outs):
    rng = np.random.default_rng(8)
    return [rng.uniform(0.5, 1.5, np.shape(out)) for out in several(outs)]


def smooth(primitive):
    return primitive.kind != "nondifferentiable"


SMOOTH = by_operation(("primitive", "one", "many", "params"), [r for r in RUNS if smooth(r.values[0])])


def gradient(f, live):
    """The gradients of a scalar function by a tape of its own level, whatever the level of the arguments."""

    def gradients(*args):
        level = new_level()
        leaves = {i: Leaf(args[i]) for i in live}
        y = f(*[Tensor(a, level, leaves[i]) if i in live else a for i, a in enumerate(args)])
        found = {}
        if isinstance(y, Tensor) and y.level == level and y.node is not None:
            backward_pass([(y.node, np.ones(()))], found.__setitem__)
        return tuple(found.get(leaves[i], np.zeros(args[i].shape)) for i in live)

    return gradients


@SMOOTH
def test_gradient_through_a_batch(primitive, one, many, params):
    op = lambda *args: primitive.op(*args, **params)
    live = live_arguments(primitive, one)
    for way in mixtures(len(one)):
        batched = vmap(op, axes(way))
        args = chosen(way, one, many)
        weights = weights_like(batched(*args))
        _, found = tape_gradients(total_of(batched, weights), args, live)
        alone = [
            tape_gradients(total_of(op, [w[i] for w in weights]), row, live)[1]
            for i, row in enumerate(rows(way, one, many))
        ]
        for k, i in enumerate(live):
            each = np.stack([gradients[k].numpy() for gradients in alone])
            np.testing.assert_allclose(found[k].numpy(), each if way[i] else each.sum(0), rtol=1e-10, atol=1e-12)


@SMOOTH
def test_a_batch_of_gradients(primitive, one, many, params):
    op = lambda *args: primitive.op(*args, **params)
    live = live_arguments(primitive, one)
    f = total_of(op, weights_like(op(*one)))
    for way in mixtures(len(one)):
        outs = [gradient(f, live)(*row) for row in rows(way, one, many)]
        assert_stacked(vmap(gradient(f, live), axes(way))(*chosen(way, one, many)), outs)


@SMOOTH
def test_a_batch_of_tangents_and_tangents_of_a_batch(primitive, one, many, params):
    op = lambda *args: primitive.op(*args, **params)
    live = live_arguments(primitive, one)

    def tangent(f, *args):
        level = new_level()
        outs = several(f(*[Dual(a, np.ones(a.shape), level) if i in live else a for i, a in enumerate(args)]))
        return tuple(
            out.tangent if isinstance(out, Dual) and out.level == level else np.zeros(out.shape) for out in outs
        )

    way = (True,) * len(one)
    outs = [tangent(op, *row) for row in rows(way, one, many)]
    assert_stacked(vmap(lambda *args: tangent(op, *args))(*many), outs)
    assert_stacked(tangent(vmap(op), *many), outs)


# Keys of all kinds, against the loop

ROW, ROWS = np.array([0, 2, 1]), np.array([[1, 0, 1], [2, 2, 0]])
HOLE = Hole.ARRAY
KEYS = {
    "one array": ((HOLE,), [ROW]),
    "matrix of indices": ((HOLE,), [ROWS]),
    "second axis": ((slice(None), HOLE), [ROWS]),
    "last axis": ((..., HOLE), [ROW]),
    "two arrays": ((HOLE, HOLE), [ROW, ROWS]),
    "two in the middle": ((slice(1, 3), HOLE, HOLE), [ROW, ROWS]),
    "apart": ((HOLE, slice(None), HOLE), [ROW, ROWS]),
    "apart by dots": ((HOLE, ..., HOLE), [ROW, ROWS]),
    "apart by nothing": ((HOLE, HOLE, ..., HOLE, HOLE), [ROW, ROWS, ROW, ROWS]),
    "apart by a new axis": ((HOLE, None, HOLE), [ROW, ROWS]),
    "with a number": ((1, HOLE), [ROWS]),
    "a number apart": ((1, slice(None), HOLE), [ROWS]),
    "new axes": ((None, slice(0, 2), HOLE, None), [ROWS]),
    "scalar": ((Hole.SCALAR,), [np.array(2)]),
    "scalar in the middle": ((slice(None), Hole.SCALAR), [np.array(1)]),
    "scalars apart": ((Hole.SCALAR, slice(None), Hole.SCALAR), [np.array(1), np.array(2)]),
    "scalar and array": ((slice(None), Hole.SCALAR, HOLE), [np.array(1), ROW]),
    "mask": ((Hole.MASK,), [np.eye(3, dtype=bool)]),
    "mask apart": ((Hole.MASK, slice(None), HOLE), [np.array([True, True, False]), np.array([1, 0])]),
}


def indices_of(indices):
    """Other indices for each element, as many of them."""
    return [i if i.dtype.kind == "b" else (i + np.arange(B).reshape(B, *(1,) * i.ndim)) % 3 for i in indices]


@pytest.mark.parametrize(("parts", "indices"), KEYS.values(), ids=KEYS)
class TestKeys:
    X = np.random.default_rng(0).normal(size=(B, 3, 3, 3, 3))

    def ways(self, indices, count):
        many = [
            np.stack([i] * B) if i.dtype.kind == "b" else m for i, m in zip(indices, indices_of(indices), strict=True)
        ]
        for way in mixtures(count + len(indices)):
            yield way, many

    def key(self, parts):
        return Index(parts, HOLE in parts)

    def check(self, op, one, many, way):
        assert_stacked(vmap(op, axes(way))(*chosen(way, one, many)), [op(*row) for row in rows(way, one, many)])

    def test_read(self, parts, indices):
        key = self.key(parts)
        for way, many in self.ways(indices, 1):
            self.check(lambda x, *i: TABLE["gather"].op(x, *i, key=key), [self.X[0], *indices], [self.X, *many], way)

    @pytest.mark.parametrize("name", ["set_at", "add_at"])
    @pytest.mark.parametrize("shape", ["full", "tail", "number"])
    def test_write(self, parts, indices, name, shape):
        key = self.key(parts)
        shape_of_key = self.X[0][key.fill(indices)].shape
        shape_of_v = {"full": shape_of_key, "tail": shape_of_key[1:], "number": ()}[shape]
        v = np.random.default_rng(1).normal(size=(B, *shape_of_v))
        more = {"reuse": False} if name == "set_at" else {}
        for way, many in self.ways(indices, 2):
            op = lambda x, v, *i: TABLE[name].op(x, v, *i, key=key, **more)
            self.check(op, [self.X[0], v[0], *indices], [self.X, v, *many], way)

    def test_scatter_and_winners(self, parts, indices):
        key = self.key(parts)
        t = np.random.default_rng(1).normal(size=(B, *self.X[0][key.fill(indices)].shape))
        shape = self.X[0].shape
        for way, many in self.ways(indices, 1):
            self.check(
                lambda t, *i: TABLE["scatter"].op(t, *i, key=key, shape=shape), [t[0], *indices], [t, *many], way
            )
            if any(way[1:]):
                self.check(lambda *i: TABLE["winners"].op(*i, key=key, shape=shape), indices, many, way[1:])


class TestInside:
    def test_no_hidden_loop(self, monkeypatch):
        """What runs in a loop is known by name; everything else runs once for the batch."""
        looped = set()
        original = batch.run_in_loop
        monkeypatch.setattr(
            batch, "run_in_loop", lambda primitive, *rest: looped.add(primitive.name) or original(primitive, *rest)
        )
        modules = [module for name, module in sys.modules.items() if name.startswith("wengert.ops.")]
        built_in = {f.primitive for module in modules for f in vars(module).values() if hasattr(f, "primitive")}
        for run in RUNS:
            primitive, one, many, params = run.values
            if primitive not in built_in:
                continue
            vmap(lambda *args, p=primitive, k=params: p.op(*args, **k), axes((True, *(False,) * (len(one) - 1))))(
                many[0], *one[1:]
            )
        of_numbers = {"histogram", "histogram_bin_edges", "isin", "unique_indices", "unique_inverse", "unique_counts"}
        assert looped == {"argwhere", "searchsorted", "set_at", "tril", "triu", "lstsq", *of_numbers}

    def test_in_place(self):
        def f(x, v):
            y = np.zeros(3) + x
            y[1] = v
            y += 1.0
            y[[0, 0]] += v
            return y

        xs, vs = np.arange(6.0).reshape(2, 3), np.array([10.0, 20.0])
        kept = xs.copy()
        assert_stacked(vmap(f)(xs, vs), [f(x, v) for x, v in zip(xs, vs, strict=True)])
        np.testing.assert_array_equal(xs, kept)

    def test_a_number_where_a_mask_holds(self, monkeypatch):
        monkeypatch.setattr(batch, "run_in_loop", None)

        def f(x, v):
            y = x * 1
            y[x < 0] = v
            y[y[:, 0] > 1] = 7.9
            return y

        xs, vs = RNG.normal(size=(4, 3, 2)), RNG.normal(size=4)
        assert_stacked(vmap(f)(xs, vs), [f(x, v) for x, v in zip(xs, vs, strict=True)])
        assert_stacked(vmap(f, (0, None))(xs, 2.0), [f(x, 2.0) for x in xs])
        whole = RNG.integers(-2, 3, (4, 3, 2))
        assert_stacked(vmap(f, (0, None))(whole, 2), [f(x, 2) for x in whole])

    def test_a_mask_of_the_wrong_shape(self):
        with pytest.raises(IndexError):
            vmap(lambda x, mask: x.at[mask].set(0.0))(np.ones((2, 3)), np.ones((2, 4), bool))

    def test_the_gradient_of_what_a_mask_overwrites(self):
        def f(x, v):
            y = x * 1.0
            y[x < 0] = v
            return (y**2).sum()

        xs, vs = RNG.normal(size=(4, 3)), RNG.normal(size=4)
        np.testing.assert_allclose(vmap(gradient(f, [0]))(xs, vs)[0], np.where(xs < 0, 0, 2 * xs))
        through = gradient(lambda xs, vs: vmap(f)(xs, vs).sum(), [0, 1])(xs, vs)
        np.testing.assert_allclose(through[0], np.where(xs < 0, 0, 2 * xs))
        np.testing.assert_allclose(through[1], (xs < 0).sum(1) * 2 * vs)

    def test_an_operation_of_the_user_runs_in_a_loop(self):
        primitive = Primitive(
            Definition(name="reverse_order", impl=lambda x: np.argsort(-x), kind="nondifferentiable", inputs=("x",))
        )
        x = RNG.normal(size=(4, 3))
        np.testing.assert_array_equal(vmap(primitive.op)(x), np.argsort(-x, axis=1))

    def test_a_plain_tensor_becomes_a_batch(self):
        def f(v):
            y = wg.zeros(3)
            y[1] = v
            return y

        np.testing.assert_array_equal(vmap(f)(np.array([1.0, 2.0])), [[0, 1, 0], [0, 2, 0]])

    def test_lists_of_values(self):
        f = lambda x, y: np.stack([x, y]) + wg.sum([x, y])
        xs, ys = np.arange(3.0), np.ones(3)
        assert_stacked(vmap(f)(xs, ys), [f(x, y) for x, y in zip(xs, ys, strict=True)])

    def test_shape_is_that_of_one_element(self):
        x = Batched(np.ones((5, 2, 3), np.float32), new_level())
        assert (x.shape, x.ndim, x.size, len(x), x.dtype) == ((2, 3), 2, 6, 2, np.float32)
        assert x.T.shape == (3, 2)
        assert repr(Batched(np.zeros(1), 1)) == "batched(array([0.]))"

    @pytest.mark.parametrize(
        "f",
        [
            lambda x: 1.0 if x > 0 else 2.0,
            float,
            int,
            complex,
            lambda x: np.asarray(x),
            lambda x: range(x),
            lambda x: x.item(),
            lambda x: x.tolist(),
            lambda x: x.numpy(),
        ],
    )
    def test_numbers_are_refused(self, f):
        with pytest.raises(
            TypeError, match=r"under vmap this value is a batch of 3, at .*test_batch.py:\d+.*wg\.where"
        ):
            vmap(lambda x: f(x) * 1.0)(np.ones(3))

    def test_shapes_that_depend_on_numbers(self):
        assert vmap(lambda x: x[x > 0])(np.array([[1.0, -1.0], [-1.0, 2.0]])).tolist() == [[1.0], [2.0]]
        with pytest.raises(ValueError, match=r"gather has results of different shapes, \(1,\) and \(2,\).*wg\.where"):
            vmap(lambda x: x[x > 0])(np.array([[1.0, -1.0], [1.0, 2.0]]))

    def test_matmul_of_numbers_is_refused(self):
        with pytest.raises(ValueError, match="matmul"):
            vmap(np.matmul)(np.ones(3), np.ones(3))

    def test_einsum_without_a_label_left(self):
        from wengert.ops.contraction.einsum import LETTERS

        x = np.ones((2,) + (1,) * 26)
        op = lambda x, y: TABLE["einsum"].op(x, y, subscripts=f"{LETTERS[:26]},{LETTERS[26:]}->{LETTERS}")
        assert vmap(op)(x, x).shape == (2,) + (1,) * 52

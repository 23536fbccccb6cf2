import re
from functools import reduce

import numpy as np
import pytest
from hypothesis import assume, given, settings
from tests.counted_calls import assert_linear
from tests.graph.passes.programs import SPECIAL, assert_close, assert_ordered, assert_same_bits, names, programs
from tests.sampling import by_operation
from tests.test_table import SHAPES, case_arguments, op_of, sample

import wengert as wg
from wengert.core.primitive import TABLE
from wengert.core.spec import Spec
from wengert.graph.passes import REWRITES, optimize
from wengert.graph.passes.recompute import peak, recompute
from wengert.transforms.tracing import trace

RNG = np.random.default_rng(0)


def rosenbrock(x):
    return (100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2).sum()


def mlp(weights, x, y):
    for w, b in weights[:-1]:
        x = np.tanh(x @ w + b)
    w, b = weights[-1]
    z = x @ w + b
    return (wg.logsumexp(z, axis=1) - (z * y).sum(axis=1)).mean()


def mixture(p, x):
    d = (x[:, None, :] - p["mean"][None]) * np.exp(p["scale"])[None]
    return wg.logsumexp(p["weight"] - 0.5 * np.square(d).sum(axis=-1) + p["scale"].sum(axis=-1), axis=1).sum()


def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


LAYERS = [(RNG.normal(size=(5, 7)), RNG.normal(size=7)), (RNG.normal(size=(7, 3)), RNG.normal(size=3))]
MIXTURE = {"mean": RNG.normal(size=(4, 3)), "scale": RNG.normal(size=(4, 3)), "weight": RNG.normal(size=4)}
REAL = {
    "rosenbrock": (wg.grad(rosenbrock), RNG.normal(size=10)),
    "hessian of rosenbrock": (wg.hessian(rosenbrock), RNG.normal(size=6)),
    "mlp": (
        lambda *args: (mlp(*args), wg.grad(mlp)(*args)),
        LAYERS,
        RNG.normal(size=(8, 5)),
        np.eye(3)[RNG.integers(0, 3, 8)],
    ),
    "mixture": (wg.grad(mixture), MIXTURE, RNG.normal(size=(20, 3))),
    "logsumexp": (wg.hessian(lambda x: wg.logsumexp(3.0 * x)), RNG.normal(size=5)),
    "norm": (wg.hessian(lambda x: np.linalg.norm(x)), RNG.normal(size=5)),
    "softmax": (wg.jacobian(softmax), RNG.normal(size=4)),
    "batched gradient": (wg.vmap(wg.grad(rosenbrock)), RNG.normal(size=(3, 6))),
}


@pytest.mark.parametrize("name", REAL)
def test_derivatives_shrink_and_stay_right(name):
    f, *args = REAL[name]
    graph = trace(f, *args)
    after = optimize(graph)
    assert len(after.operations) < len(graph.operations)
    assert_ordered(after)
    assert_close(f(*args), after.evaluate(*args), rtol=1e-10)


def table():
    """Every operation on arguments of its own: (function, arguments)."""
    for p in TABLE.values():
        if p.trial.domain is not None and not p.trial.cases:
            yield pytest.param(op_of(p), sample(p, SHAPES["broadcast"]), id=f"{p.name}-broadcast")
        for i, case in enumerate(p.trial.cases):
            yield pytest.param(op_of(p, case.params), case_arguments(case), id=f"{p.name}-{i}")


@by_operation(("op", "args"), table())
def test_every_operation_stays_right(op, args):
    try:
        graph = trace(op, *args)
    except wg.TrackedValueError:
        pytest.skip("its shape depends on numbers")
    assert_close(graph.evaluate(*args), optimize(graph).evaluate(*args))
    on_constants = trace(lambda x: (op(x, *args[1:]), x), args[0])
    assert_close(on_constants.evaluate(args[0]), optimize(on_constants).evaluate(args[0]))


def test_constants_shrink():
    graph = trace(wg.value_and_grad(mlp), *REAL["mlp"][1:])
    carried = lambda graph: sum(node.nbytes for node in graph.constants)
    assert carried(optimize(graph)) * 5 < carried(graph)


def test_a_value_and_its_gradient_share():
    graph = trace(lambda x: (rosenbrock(x), wg.grad(rosenbrock)(x)), np.ones(10))
    assert len(optimize(graph).operations) <= len(graph.operations) - 6


def test_optimizing_twice_changes_nothing_more():
    for f, *args in REAL.values():
        once = optimize(trace(f, *args))
        assert names(optimize(once)) == names(once)


def test_the_graph_itself_does_not_change():
    graph = trace(*REAL["mixture"])
    before, fingerprint = names(graph), graph.fingerprint
    optimize(graph)
    assert names(graph) == before
    graph._fingerprint = None
    assert graph.fingerprint == fingerprint


def test_method_and_function_agree():
    graph = trace(*REAL["rosenbrock"])
    assert graph.optimize() == optimize(graph)


def test_verbose_prints_every_stage_that_changed_something(capsys):
    graph = trace(lambda x: (np.sin(x * 1.0) + np.sin(x)).T.T + np.exp(np.ones(3)), np.ones(3))
    after = graph.optimize(verbose=True)
    printed = capsys.readouterr().out
    stages = re.findall(r"^(\w+): (\d+) -> (\d+) operations$", printed, re.MULTILINE)
    counts = [(int(before), int(now)) for _, before, now in stages]
    assert {name for name, *_ in stages} == {"fold", "merge_common", "simplify", "merge_views"}
    assert [before for before, _ in counts] == [len(graph.operations), *[now for _, now in counts[:-1]]]
    assert counts[-1][1] == len(after.operations) < len(graph.operations)
    assert printed.endswith(f"{after}\n\n")
    assert optimize(after, verbose=True) is after
    assert capsys.readouterr().out == ""


def test_every_pass_leaves_what_it_cannot_improve():
    graph = trace(lambda x, y: np.sin(x) @ np.cos(y), np.ones((2, 3)), np.ones((3, 2)))
    for rewrite in (*REWRITES, recompute):
        assert rewrite(graph) is graph


def test_memory_is_not_lost_by_reordering():
    """Terms are added up one after another, although the first one is rewritten and the others are not."""

    def f(*xs):
        total = np.sin(xs[0] * 1.0)
        for x in xs[1:]:
            total = total + np.sin(x)
        return total

    graph = trace(f, *[Spec((1000,), np.dtype(float))] * 20)
    after = optimize(graph)
    assert names(after) == names(graph)[1:]
    assert peak(after) == peak(graph)


def test_outputs_that_are_inputs_or_constants():
    x = np.array([1.0, -0.0, np.nan])
    graph = trace(lambda x: (x * 1.0, x, np.exp(np.zeros(2)), 3.0), x)
    after = optimize(graph)
    assert after.outputs[0] is after.outputs[1] is after.inputs[0]
    assert_same_bits(graph.evaluate(x), after.evaluate(x))


def chain(x, depth):
    """So many steps written out: a `for` would be one loop of the graph."""
    return reduce(lambda y, _: np.sin(y * 1.0) * x + y, range(depth), x).sum()


def test_work_is_linear():
    graphs = {n: trace(wg.grad(lambda x, n=n: chain(x, n)), Spec((100_000,), np.dtype(float))) for n in (100, 400)}
    assert len(graphs[400].operations) > 3 * len(graphs[100].operations)
    assert_linear(lambda depth: optimize(graphs[depth]), 100)


def test_deep_graphs_do_not_recurse():
    x = np.linspace(0.0, 1.0, 4)
    graph = trace(lambda x: chain(x, 3000), x)
    assert_close(graph.evaluate(x), optimize(graph).evaluate(x))


def computed(graph):
    """The number of operations without views: a view more may be the price of a function of fewer numbers."""
    return sum(not node.primitive.facts.view for node in graph.operations)


@settings(max_examples=150)
@given(programs())
def test_random_programs_keep_their_bits(program):
    x, y = np.array(SPECIAL[:8]).reshape(2, 4), np.array(SPECIAL[-4:])
    graph = trace(program, x, y)
    after = optimize(graph)
    assert computed(after) <= computed(graph)
    assert_same_bits(graph.evaluate(x, y), after.evaluate(x, y))


@settings(max_examples=150)
@given(programs(reducing=True))
def test_random_programs_with_reductions_are_exact_on_integers(program):
    x, y = np.array([[0.0, 1.0, -1.0, 2.0], [3.0, -2.0, 1.0, 1.0]]), np.array([1.0, -1.0, 2.0, 0.0])
    graph = trace(program, x, y)
    before = graph.evaluate(x, y)
    assume(all(np.abs(v).max() < 2**40 for v in before if v.size))
    after = optimize(graph)
    assert_ordered(after)
    for u, v in zip(before, after.evaluate(x, y), strict=True):
        assert np.shape(u) == np.shape(v)
        np.testing.assert_array_equal(u, v)


@settings(max_examples=60)
@given(programs(reducing=True))
def test_gradients_of_random_programs_are_exact_on_integers(program):
    x, y = np.array([[0.0, 1.0, -1.0, 2.0], [3.0, -2.0, 1.0, 1.0]]), np.array([1.0, -1.0, 2.0, 0.0])
    f = lambda x, y: sum(v.sum() for v in program(x, y)) + x.sum()
    graph = trace(wg.grad(f, argnums=(0, 1)), x, y)
    before = graph.evaluate(x, y)
    assume(all(np.abs(v).max() < 2**30 for v in before))
    for u, v in zip(before, optimize(graph).evaluate(x, y), strict=True):
        np.testing.assert_allclose(v, u, rtol=1e-12, atol=1e-12)

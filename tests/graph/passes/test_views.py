import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.graph.passes.programs import SPECIAL, assert_same_bits, names, programs

import wengert as wg
from wengert.graph.passes.dead import remove_dead
from wengert.graph.passes.fold import fold
from wengert.graph.passes.views import merge_views
from wengert.transforms.tracing import trace

X = np.arange(24.0).reshape(2, 3, 4)
MERGED = {
    "reshape of reshape": (lambda x: x.reshape(6, 4).reshape(24), ["reshape"]),
    "reshape and back": (lambda x: x.reshape(24).reshape(2, 3, 4), []),
    "axes put in and taken out": (lambda x: x[:, None].squeeze(1), []),
    "axes put in by key, and a reshape": (lambda x: x[:, None].reshape(6, 4), ["reshape"]),
    "transpose of transpose": (lambda x: x.transpose(1, 2, 0).transpose(1, 0, 2), ["transpose"]),
    "transpose and back": (lambda x: x.T.T, []),
    "transpose of a short axis": (lambda x: x[:, :, :1].transpose(0, 2, 1), ["getitem", "reshape"]),
    "broadcast of broadcast": (
        lambda x: np.broadcast_to(np.broadcast_to(x, (5, 2, 3, 4)), (6, 5, 2, 3, 4)),
        ["broadcast_to"],
    ),
    "broadcast of new axes": (lambda x: np.broadcast_to(x[None], (5, 2, 3, 4)), ["broadcast_to"]),
    "reshape of a number": (lambda x: np.broadcast_to(x[0, 0, 0], (2, 3)).reshape(6), ["getitem", "broadcast_to"]),
    "transpose of a number": (lambda x: np.broadcast_to(x[0, 0, 0], (2, 3)).T, ["getitem", "broadcast_to"]),
    "part of a number": (lambda x: np.broadcast_to(x[0, 0, 0], (2, 3))[1, 1:], ["getitem", "broadcast_to"]),
    "key of key": (lambda x: x[:, 1:][0, ..., ::-1][1], ["getitem"]),
    "slices of slices": (lambda x: x[..., ::-1][:, 1:, 1:3][:, ::-1], ["getitem"]),
    "key that selects all": (lambda x: x[:, 0:3, ...], []),
    "key that only adds axes": (lambda x: x[:, None, ..., None], ["reshape"]),
    "one of a stack": (lambda x: np.stack([x[0], np.sin(x[1])], axis=1)[:, 1], ["getitem", "sin"]),
    "a part of one of a stack": (lambda x: np.stack([np.cos(x), np.sin(x)])[0, 1, 1:], ["cos", "getitem"]),
}


@pytest.mark.parametrize("name", MERGED)
def test_chains_become_one(name):
    f, expected = MERGED[name]
    graph = trace(f, X)
    after = remove_dead(merge_views(merge_views(graph)))
    assert names(after) == expected
    assert names(graph) != expected
    assert_same_bits(graph.evaluate(X), after.evaluate(X))


MOVED = {
    "cancels through a function": (lambda x: np.exp(x.T).T, ["exp"]),
    "cancels through a long chain": (
        lambda x: (2.0 * np.tanh(np.exp(x.T)) + 1.0).T,
        ["exp", "tanh", "multiply", "add"],
    ),
    "one transpose for two": (lambda x: np.exp(x).T + np.sin(x).T, ["exp", "sin", "add", "transpose"]),
    "one reshape for two": (
        lambda x: np.exp(x).reshape(24) * np.sin(x).reshape(24),
        ["exp", "sin", "multiply", "reshape"],
    ),
    "function before broadcast": (lambda x: np.sin(np.broadcast_to(x, (50, 2, 3, 4))), ["sin", "broadcast_to"]),
    "no broadcast operands": (lambda x: np.broadcast_to(x[0], (2, 3, 4)) * x, ["getitem", "multiply"]),
    "small before large": (
        lambda x: np.broadcast_to(x[0], (2, 3, 4)) * np.broadcast_to(x[0, 0], (2, 3, 4)) + x,
        ["getitem", "getitem", "multiply", "add"],
    ),
    "no leading ones": (lambda x: x[0][None] - x, ["getitem", "subtract"]),
}


@pytest.mark.parametrize("name", MOVED)
def test_views_move_behind_elementwise_operations(name):
    f, expected = MOVED[name]
    graph = trace(f, X)
    after = merge_views(merge_views(graph))
    assert names(after) == expected
    assert names(graph) != expected
    np.testing.assert_allclose(after.evaluate(X), graph.evaluate(X), rtol=1e-14)


def test_a_broadcast_function_runs_on_fewer_numbers():
    graph = trace(lambda x: np.sin(np.broadcast_to(x, (50, 2, 3, 4))), X)
    assert graph.operations[-1].primitive.name == "sin"
    assert graph.operations[-1].size == 50 * X.size
    assert merge_views(graph).operations[0].size == X.size


def test_transposed_operands_of_products_stay():
    graph = trace(lambda x: x[0].T @ x[0], X)
    assert merge_views(graph) is graph


def test_a_view_that_is_needed_is_not_made_twice():
    def f(x):
        y = x.T
        return y, np.exp(y)

    graph = trace(f, X)
    assert names(graph) == ["transpose", "exp"]
    assert merge_views(graph) is graph


def test_different_transposes_do_not_mix():
    y = np.arange(27.0).reshape(3, 3, 3)
    graph = trace(lambda y: np.sin(y).transpose(1, 2, 0) + np.cos(y).transpose(2, 0, 1), y)
    assert merge_views(graph) is graph


def test_sums_of_gradients_of_one_slice_are_added_first():
    f = lambda x: (np.square(x[1:]) + np.sin(x[1:])).sum()
    x = np.linspace(0.1, 1.0, 6)
    graph = fold(trace(wg.grad(f), x))
    after = merge_views(merge_views(graph))
    assert names(graph).count("scatter") == 2
    assert names(after).count("scatter") == 1
    np.testing.assert_allclose(after.evaluate(x), graph.evaluate(x), rtol=1e-15)


def test_what_was_just_put_in_is_read():
    graph = trace(lambda t: wg.vjp(lambda x: x[1:3], np.ones(5))[1](t)[0][1:3], np.ones(2))
    assert names(graph) == ["scatter", "getitem"]
    assert names(merge_views(graph)) == []


def slices():
    ends = st.none() | st.integers(-4, 4)
    return st.builds(slice, ends, ends, st.sampled_from([None, 1, 2, -1, -2, 3]))


@settings(max_examples=200)
@given(
    st.lists(slices() | st.integers(0, 0), min_size=1, max_size=3),
    st.lists(slices() | st.just(...), min_size=1, max_size=2),
)
def test_random_keys_of_keys(first, second):
    x = np.arange(60.0).reshape(3, 4, 5)
    if second.count(...) > 1 or len(second) - second.count(...) > x[tuple(first)].ndim:
        return
    graph = trace(lambda x: x[tuple(first)][tuple(second)], x)
    after = merge_views(graph)
    assert len(after.operations) <= 1
    assert_same_bits(graph.evaluate(x), after.evaluate(x))


@settings(max_examples=200)
@given(programs())
def test_random_programs_keep_their_bits(program):
    x, y = np.array(SPECIAL[:8]).reshape(2, 4), np.array(SPECIAL[-4:])
    graph = trace(program, x, y)
    after = merge_views(graph)
    assert_same_bits(graph.evaluate(x, y), after.evaluate(x, y))
    assert_same_bits(graph.evaluate(x, y), merge_views(fold(after)).evaluate(x, y))

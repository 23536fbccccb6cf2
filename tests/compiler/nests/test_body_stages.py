"""Stages of long bodies: the same bits as one loop, and which bodies have them."""

from __future__ import annotations

from itertools import count

import numpy as np
import pytest

import wengert as wg
from wengert.compiler.machine.target import sum_lanes
from wengert.compiler.nests.body_stages import find_stages
from wengert.compiler.nests.decisions import Decision, find
from wengert.compiler.nests.legality import refuse
from wengert.compiler.nests.policy import decide, deciding

RNG = np.random.default_rng(7)


def expression(x):
    """Functions of a function, with elements that several stages need."""
    square = x / 3.0 * x
    return np.tanh(np.sin(x) * x + np.exp(-square)) * np.log(1 + square) / np.cos(x)


def bell_sum(x):
    return np.sum(np.exp(-x * x) * np.log1p(x * x) + np.tanh(np.exp(-x)))


def logistic(w, x):
    z = x @ w
    return np.sum(np.exp(-z * z) * np.log1p(z * z))


def numbers(n, dtype=float):
    return RNG.normal(size=n).astype(dtype)


def to_bytes(result):
    """The bits of a result; the sign of a NaN is free, as LLVM may exchange the operands of an addition."""
    return np.where(np.isnan(result), np.nan, result).tobytes()


@pytest.fixture
def compile_anew(monkeypatch, tmp_path):
    """Calls a function that no cache has, with stages wherever they are possible, or without.

    Returns what stages keep, and the results' bytes.
    """
    number = count()

    def call(function, *args, has_stages=True):
        found, nests = [], []

        def policy(nest, machine):
            nests.append(nest)
            decisions = [d for d in decide(nest, machine) if d.kind != "stages"]
            lanes = find(decisions, "lanes")
            if has_stages and lanes is not None:
                staged = Decision("stages", lanes.axis, machine.vectors_of_stage_block)
                decisions += [staged] if refuse(nest, staged, decisions) is None else []
            if staged := find(decisions, "stages"):
                stages = find_stages(nest, staged.axis)
                found.append([sorted(node.primitive.name for node, _ in stage.kept) for stage in stages])
            return decisions

        monkeypatch.setenv("WENGERT_CACHE_DIR", str(tmp_path / str(next(number))))
        with deciding(policy):
            results = wg.compile(function)(*args)
        assert nests
        return found, [to_bytes(a) for a in (results if isinstance(results, tuple) else (results,))]

    return call


def test_functions_are_computed_before_those_of_their_results(compile_anew):
    (stages,), _ = compile_anew(expression, numbers(1000))
    assert [{*names} - {"divide", "multiply"} for names in stages] == [{"cos", "exp", "log", "sin"}, {"tanh"}, set()]


def test_a_quotient_that_two_stages_need_is_kept(compile_anew):
    function = lambda x, y: np.tanh(np.exp(x / y)) + np.log(y) * (x / y)
    (stages,), _ = compile_anew(function, numbers(1000), 1 + numbers(1000) ** 2)
    assert stages == [["divide", "exp", "log"], ["tanh"], []]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("extra", [0, 1, 3, 7, 17])
@pytest.mark.parametrize("special", [(), (np.nan, np.inf, -np.inf, 0.0, -0.0, 1e3)], ids=["finite", "special"])
@pytest.mark.parametrize("function", [expression, wg.value_and_grad(bell_sum)], ids=["map", "sum and map"])
def test_stages_have_the_bits_of_one_loop(function, special, extra, dtype, compile_anew):
    x = numbers(32 * sum_lanes(np.dtype(dtype).itemsize) + extra, dtype)
    x[: len(special)] = special
    found, results = compile_anew(function, x)
    assert found
    assert compile_anew(function, x, has_stages=False) == ([], results)


def test_sums_of_rows_are_a_stage(compile_anew):
    w, x = numbers(20), numbers((1003, 20))
    found, results = compile_anew(wg.value_and_grad(logistic), w, x)
    assert found[0][0] == ["sum"]
    assert compile_anew(wg.value_and_grad(logistic), w, x, has_stages=False) == ([], results)


def test_numbers_that_are_the_same_for_all_elements_are_computed_before_the_loops(compile_anew):
    def likelihood(p, x):
        scale = p[0] * p[0] + np.exp(p[1])
        return np.sum(np.log1p(np.exp(scale * x + p[2])) / scale)

    p, x = np.array([0.3, -0.2, 0.7]), numbers(1003)
    for function in (likelihood, wg.value_and_grad(likelihood), lambda p, x: np.exp(x) + np.log1p(np.exp(x)) / p[0]):
        found, results = compile_anew(function, p, x)
        assert found
        assert compile_anew(function, p, x, has_stages=False) == ([], results)


def test_complex_numbers_are_kept(compile_anew):
    function = lambda z: (np.angle(z), np.sign(z), np.abs(z + 1.0))
    z = numbers(1003) + 1j * numbers(1003)
    found, results = compile_anew(function, z)
    assert any("where" in names for stages in found for names in stages)  # part of the sign, which is complex
    assert compile_anew(function, z, has_stages=False) == ([], results)


def test_long_bodies_have_stages(compile_anew):
    def network(p, x):
        hidden = [np.tanh(p[k] * x + p[k + 1]) for k in range(8)]
        return np.sum(sum(np.tanh(sum(h * p[j + i] for i, h in enumerate(hidden))) for j in range(4)))

    p, x = numbers(12), numbers(1003)
    (stages,), results = compile_anew(wg.value_and_grad(network), p, x)
    assert [names.count("tanh") for names in stages] == [8, 4, 0]
    assert compile_anew(wg.value_and_grad(network), p, x, has_stages=False) == ([], results)


def test_threads_have_blocks_of_their_own(compile_anew):
    x = numbers(200_003)
    found, result = compile_anew(expression, x)
    assert found
    assert compile_anew(expression, x, has_stages=False) == ([], result)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: np.exp(x) * 2.0,  # one function
        lambda x: np.sin(x) * np.cos(x),  # one argument
        lambda x: np.exp(x) + np.sin(x + 1.0) / x[0],  # a number that leaves the loop, and nothing that waits
        lambda x: sum(np.exp(x + k) for k in range(5)),  # enough functions that do not wait for each other
    ],
    ids=["one function", "one argument", "parameter", "wide"],
)
def test_bodies_without_stages(function, compile_anew):
    found, _ = compile_anew(function, numbers(1000))
    assert not found


def test_a_long_chain_is_one_loop(compile_anew):
    def chain(x):
        for _ in range(40):
            x = np.tanh(np.exp(-x * x))
        return x

    found, _ = compile_anew(chain, numbers(1000))
    assert not found


@pytest.mark.parametrize(("n", "has_stages"), [(60, False), (10_000, True)])
def test_the_policy_has_stages_for_long_loops(n, has_stages):
    (nest,) = wg.compile(expression).report(numbers(n)).nests
    assert ("stages" in nest) == has_stages

"""Efforts of `compile`: other passes for the same numbers, and programs that are not taken for each other."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from tests.compiler.drawn_programs import Draft
from tests.compiler.test_compiled_table import assert_same
from tests.compiler.test_random_programs import loss
from tests.test_table import case_arguments, op_of, sample, several

import wengert as wg
from wengert.compiler.machine.translation import FEW_PASSES, Level, object_code
from wengert.compiler.program.prepare import prepare
from wengert.compiler.program.program_writer import write_program
from wengert.core import machine
from wengert.core.infer import is_elementwise
from wengert.core.primitive import TABLE
from wengert.structure.sparse_derivatives import sparse_jacobian

EFFORTS = (None, "fast", "best")
X = np.linspace(-1.5, 1.5, 24)


def rotation(x):
    """A loop of few scalars, whose body is inlined, and mathematical functions after it."""
    for _ in range(100):
        x = x * 0.99 + 0.1
    return np.sin(x) * np.exp(-x * x)


def assert_equal_numbers(f, *args):
    with np.errstate(all="ignore"):
        usual, *others = [several(wg.compile(f, effort=effort)(*args)) for effort in EFFORTS]
        for found in others:
            for y, z in zip(found, usual, strict=True):
                assert_same(y, z)
        for y, z in zip(usual, several(f(*args)), strict=True):
            np.testing.assert_allclose(y, z, rtol=1e-9, atol=1e-9)


NAMES = (
    *("sin", "tanh", "power", "arctan2", "cbrt", "gammaln", "floor_divide", "logaddexp"),
    *("sum", "prod", "max", "cumsum", "argsort", "gather", "matmul", "inv", "cholesky", "fft"),
)


@pytest.mark.parametrize("name", NAMES)
def test_operations_of_the_table_have_the_same_bits(name):
    primitive = TABLE[name]
    if is_elementwise(primitive):
        assert_equal_numbers(op_of(primitive), *sample(primitive, [(23, 1), (41,), (1, 1)]))
    else:
        case = primitive.trial.cases[0]
        assert_equal_numbers(op_of(primitive, case.params), *case_arguments(case))


@pytest.mark.parametrize("seed", range(4))
def test_drawn_programs_have_the_same_bits(seed):
    rng = np.random.default_rng(seed)
    draft = Draft(lambda n: int(rng.integers(n)), 25)
    assert_equal_numbers(draft.function(), *draft.inputs)
    assert_equal_numbers(wg.grad(loss(draft.function()), (0, 1, 2)), *draft.inputs)


def test_loops_whose_bodies_are_inlined_have_the_same_bits():
    assert_equal_numbers(rotation, 0.3)
    assert_equal_numbers(wg.grad(rotation), 0.3)


def levels(f, *args, effort=None):
    """The levels of a program's modules."""
    graph = prepare(wg.compile(f).trace(*args))
    return {module.level for module in write_program(graph, effort=effort).modules}


def many_kernels(x):
    """Long enough that small kernels are translated quickly."""
    for i in range(1, 25):
        x = x - wg.mean(x[i:] * (x[:-i] + i) ** (i % 5)) * (x[:1] - x[i])
    return x


def test_an_effort_holds_for_all_modules():
    x = np.linspace(-1.0, 1.0, 100)
    with machine.using(min_lines_of_long_program=100):
        assert levels(many_kernels, x) == {Level.QUICK, Level.USUAL}
        assert levels(many_kernels, x, effort="fast") == levels(np.sin, x, effort="fast") == {Level.QUICK}
        assert levels(many_kernels, x, effort="best") == levels(np.sin, x, effort="best") == {Level.WHOLE}


def test_few_passes_are_all_passes_with_the_best_effort():
    text = """
    define double @f(double %x, i64 %n) nounwind ATTRIBUTES {
    entry:
      br label %loop
    loop:
      %i = phi i64 [ 0, %entry ], [ %next, %loop ]
      %sum = phi double [ 0.0, %entry ], [ %more, %loop ]
      %slow = fdiv double 1.0, %x
      %more = fadd double %sum, %slow
      %next = add i64 %i, 1
      %again = icmp slt i64 %next, %n
      br i1 %again, label %loop, label %done
    done:
      ret double %more
    }
    """
    for level, is_same in ((Level.USUAL, False), (Level.WHOLE, True)):
        few, every = [object_code(text.replace("ATTRIBUTES", attribute), level) for attribute in (FEW_PASSES, "")]
        assert (few == every) is is_same


def test_programs_of_other_efforts_are_other_entries_of_the_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("WENGERT_CACHE_DIR", str(tmp_path))
    f = lambda x: np.cos(x) * 1.7302
    for is_warm in (False, True):
        assert [wg.compile(f, effort=effort).report(X).is_warm for effort in EFFORTS] == [is_warm] * 3


@pytest.mark.parametrize("effort", EFFORTS)
def test_what_is_derived_from_a_compiled_function_has_its_effort(effort):
    f = wg.compile(lambda x: np.tanh(x).sum(), effort=effort)
    np.testing.assert_allclose(wg.grad(f)(X), 1.0 / np.cosh(X) ** 2, rtol=1e-13)
    (signature,) = [s for found in f.known.values() for s in found]
    assert {derived.effort for derived in signature.known.values()} == {effort}
    assert len(signature.known) == 2


def test_an_effort_is_kept_where_none_is_given():
    f = wg.compile(lambda x: x * 2.0, effort="fast")
    assert wg.compile(f) is f
    assert wg.compile(f, effort="fast") is f
    other = wg.compile(f, effort="best")
    assert (f.effort, other.effort) == ("fast", "best")
    assert other(3.0) == 6.0


def test_efforts_of_decorators_and_of_pickled_functions():
    @wg.compile(effort="fast")
    def f(x):
        return x * 3.0

    assert f.effort == "fast"
    assert f(2.0) == 6.0
    assert pickle.loads(pickle.dumps(wg.compile(np.square, effort="best"))).effort == "best"


def test_entries_of_sparse_derivatives():
    jacobian = sparse_jacobian(lambda x: (x[1:] - x[:-1]) ** 2)
    x = np.arange(4.0)
    expected = jacobian(x).toarray()
    fast = wg.compile(jacobian, effort="fast")
    np.testing.assert_array_equal(fast(x).toarray(), expected)
    assert fast.find_plan((x,), {})[0].run.effort == "fast"
    assert wg.compile(fast) is fast
    np.testing.assert_array_equal(wg.compile(fast, effort="best")(x).toarray(), expected)


@pytest.mark.parametrize("effort", ["quick", "", 3, "FAST"])
def test_other_efforts_are_an_error(effort):
    with pytest.raises(ValueError, match=r"'fast' and 'best', and was given .*test_effort\.py.* Leave it out"):
        wg.compile(np.sin, effort=effort)


def test_vector_functions_that_only_routines_call_are_linked():
    """They are not in the text of a program that is translated fast: the call went to address 0."""
    x, v, k = np.array([0.5, 2.0, 3.0]), np.array([2.0, 0.5, 1.5]), np.array([0, 2, 2])
    f = lambda x, v, k: wg.asarray(x).at[k].power(v)
    np.testing.assert_allclose(wg.compile(f, effort="fast")(x, v, k), [0.25, 2.0, 3.0**0.75], rtol=1e-15)

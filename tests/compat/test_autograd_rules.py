"""Rules that users give by autograd's functions are rules of the engine: they run in every mode, to second order."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.linalg

import wengert as wg
import wengert.compat.autograd as autograd
import wengert.compat.autograd.numpy as anp
from wengert.compat.autograd import extend
from wengert.compat.autograd.tracer import Node, trace

X = np.array([0.3, 0.7, 1.2])


def pulled_cube():
    cube = extend.primitive(lambda x: np.asarray(x) ** 3)
    extend.defvjp(cube, lambda ans, x: lambda g: 3.0 * x**2 * g)
    return cube


def pushed_cube():
    cube = extend.primitive(lambda x: np.asarray(x) ** 3)
    extend.defjvp(cube, lambda t, ans, x: 3.0 * x**2 * t)
    return cube


@pytest.fixture(params=[pulled_cube, pushed_cube])
def f(request):
    cube = request.param()
    return lambda x: anp.sum(anp.sin(cube(x)) * x)


def reference(x):
    return wg.sum(wg.sin(x**3) * x)


def test_reverse_mode(f):
    np.testing.assert_allclose(autograd.grad(f)(X), wg.grad(reference)(X), rtol=1e-13)


def test_forward_mode(f):
    np.testing.assert_allclose(autograd.make_jvp(f)(X)(X)[1], wg.jvp(reference, (X,), (X,))[1], rtol=1e-13)


def test_second_order(f):
    wanted = wg.hessian(reference)(X)
    np.testing.assert_allclose(autograd.hessian(f)(X), wanted, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(wg.jacfwd(wg.grad(f))(X), wanted, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(wg.jacfwd(wg.jacfwd(f))(X), wanted, rtol=1e-12, atol=1e-13)


def test_taylor_mode(f):
    wanted = wg.taylor(lambda s: reference(X + s), 0.0, 3)
    np.testing.assert_allclose(wg.taylor(lambda s: f(X + s), 0.0, 3), wanted, rtol=1e-12)


def test_batches(f):
    batch = np.stack([X, 2.0 * X, -X])
    np.testing.assert_allclose(wg.vmap(f)(batch), [reference(x) for x in batch], rtol=1e-13)
    np.testing.assert_allclose(wg.vmap(autograd.grad(f))(batch), [wg.grad(reference)(x) for x in batch], rtol=1e-13)


def test_compiled(f):
    np.testing.assert_allclose(wg.compile(f)(X), reference(X), rtol=1e-13)
    np.testing.assert_allclose(wg.compile(autograd.grad(f))(X), wg.grad(reference)(X), rtol=1e-13)
    np.testing.assert_allclose(wg.grad(wg.compile(f))(X), wg.grad(reference)(X), rtol=1e-13)


def test_tensors(f):
    x = wg.tensor(X, requires_grad=True)
    (gradient,) = wg.autograd.grad(f(x), [x], create_graph=True)
    (second,) = wg.autograd.grad(gradient.sum(), [x])
    np.testing.assert_allclose(second.numpy(), wg.hessian(reference)(X).sum(axis=0), rtol=1e-12)


def inverse_by_lapack():
    """A rule that is not written in functions of the layer: it cannot run on batches or symbols itself."""
    inverse = extend.primitive(lambda a: np.linalg.inv(np.asarray(a)))

    def rule(ans, a):
        return lambda g: -scipy.linalg.blas.dgemm(1.0, ans.T, scipy.linalg.blas.dgemm(1.0, g, ans.T))

    extend.defvjp(inverse, rule)
    return lambda a: anp.sum(inverse(a) * np.arange(9.0).reshape(3, 3))


def test_a_rule_of_plain_arrays_runs_in_batches_and_compiled():
    f, a = inverse_by_lapack(), np.eye(3) * 2.0 + 0.1 * np.arange(9.0).reshape(3, 3)
    wanted = wg.grad(lambda a: wg.sum(wg.linalg.inv(a) * np.arange(9.0).reshape(3, 3)))(a)
    np.testing.assert_allclose(autograd.grad(f)(a), wanted, rtol=1e-12)
    np.testing.assert_allclose(wg.vmap(autograd.grad(f))(np.stack([a, a])), [wanted] * 2, rtol=1e-12)
    np.testing.assert_allclose(wg.compile(autograd.grad(f))(a), wanted, rtol=1e-12)


def test_other_derivatives_of_it_are_errors_and_not_wrong_numbers():
    with pytest.raises(wg.TrackedValueError):
        autograd.hessian(inverse_by_lapack())(np.eye(3))
    with pytest.raises(wg.TrackedValueError) as found:
        autograd.make_jvp(inverse_by_lapack())(np.eye(3))(np.ones((3, 3)))
    assert "or use defjvp" in found.value.__notes__[0]


def test_trees_and_several_results():
    split = extend.primitive(lambda pair, n: (np.asarray(pair["a"]) * n, [np.asarray(pair["b"]) ** 2]))
    extend.defvjp(split, lambda ans, pair, n: lambda g: {"a": g[0] * n, "b": 2.0 * pair["b"] * g[1][0]}, argnums=[0])

    def f(pair):
        first, (second,) = split(pair, 3.0)
        return anp.sum(first * second)

    gradient = autograd.grad(f)({"a": X, "b": X[::-1]})
    np.testing.assert_allclose(gradient["a"], 3.0 * X[::-1] ** 2)
    np.testing.assert_allclose(gradient["b"], 6.0 * X * X[::-1])


def test_complex_rules_are_not_conjugated():
    square = extend.primitive(lambda z: np.asarray(z) ** 2)
    extend.defvjp(square, lambda ans, z: lambda g: 2.0 * z * g)
    z = np.array([1.0 + 2.0j, -0.5j])
    ours, wanted = (
        autograd.grad(lambda z, f=f: anp.sum(anp.real(f(z) * (1 + 1j))))(z) for f in (square, lambda z: z**2)
    )
    np.testing.assert_allclose(ours, wanted)


def test_methods():
    class Scaled:
        factor = 3.0

        @extend.primitive
        def times(self, x):
            return self.factor * np.asarray(x)

    extend.defvjp(Scaled.times, None, lambda ans, self, x: lambda g: self.factor * g)
    np.testing.assert_array_equal(autograd.grad(lambda x: anp.sum(Scaled().times(x)))(X), [3.0, 3.0, 3.0])


def test_cotangents_have_the_shape_of_the_result():
    vjp, _ = autograd.make_vjp(lambda x: x**2)(X)
    np.testing.assert_allclose(vjp(1.0), 2.0 * X)
    with pytest.raises(ValueError, match="cotangent"):
        vjp(np.ones((2, 3)))


def test_sparse_cotangents():
    first = extend.primitive(lambda x: np.asarray(x)[0] * 1.0)

    def rule(ans, x):
        def add(a):
            a[0] += 1.0
            return a

        return lambda g: extend.SparseObject(extend.vspace(x), add)

    extend.defvjp(first, rule)
    np.testing.assert_array_equal(autograd.grad(first)(X), [1.0, 0.0, 0.0])


def test_no_derivative_flows_through_what_is_registered_so():
    rounded = extend.primitive(lambda x: np.round(x))
    extend.register_notrace(extend.VJPNode, rounded)
    np.testing.assert_array_equal(autograd.grad(lambda x: anp.sum(rounded(x) * x))(X), np.round(X))
    assert extend.notrace_primitive(np.shape)(X) == (3,)


def test_errors_say_what_to_do():
    bare = extend.primitive(lambda x: np.asarray(x) * 2.0)
    with pytest.raises(NotImplementedError, match="defvjp or defjvp"):
        autograd.grad(lambda x: anp.sum(bare(x)))(X)
    half = extend.primitive(lambda x, y: np.asarray(x) * np.asarray(y))
    extend.defvjp(half, lambda ans, x, y: lambda g: g * y)
    with pytest.raises(NotImplementedError, match="with respect to argument 1"):
        autograd.grad(lambda y: anp.sum(half(X, y)))(X)
    with pytest.raises(TypeError, match="was not made by `primitive`"):
        extend.defvjp(anp.sin, lambda ans, x: lambda g: g)
    with pytest.raises(wg.GradientError, match="Pass it by position"):
        autograd.grad(lambda x: anp.sum(bare(x=x)))(X)
    with pytest.raises(wg.GradientError, match="not among its arguments"):
        autograd.grad(lambda x: anp.sum(extend.primitive(lambda y: y * x)(2.0 * x)))(X)
    wrong = extend.primitive(lambda pair: np.asarray(pair[0]) * 1.0)
    extend.defvjp(wrong, lambda ans, pair: lambda g: g)
    with pytest.raises(wg.GradientError, match="the argument is tuple"):
        autograd.grad(lambda x: anp.sum(wrong((x, x))))(X)
    with pytest.raises(TypeError, match="one real number"):
        autograd.grad(lambda x: x)(X)
    with pytest.raises(TypeError, match="cannot be boxed"):
        extend.Box.register(str)
    with pytest.raises(TypeError, match="str is not a number"):
        autograd.grad(lambda x: 1.0)("a")
    with pytest.raises(TypeError, match="dtype bool"):
        autograd.grad(lambda x: 1.0)(True)


def test_zero_comes_with_a_warning():
    with pytest.warns(UserWarning, match="does not depend"):
        assert not autograd.grad(lambda x: 1.0)(X).any()


def test_integers_are_differentiated_as_floats():
    np.testing.assert_array_equal(autograd.grad(lambda x: anp.sum(x**2))(np.arange(3)), [0.0, 2.0, 4.0])


def test_a_trace_of_a_function_of_a_tree():
    class Names(Node):
        def __init__(self, value, fun, args, kwargs, parent_argnums, parents):
            self.name, self.parents = fun.__name__, parents

        def initialize_root(self):
            self.name, self.parents = "root", ()

    value, end = trace(Names.new_root(), lambda pair: pair[0] * pair[1], (2.0, 3.0))
    assert (value, end.name, [p.name for p in end.parents]) == (6.0, "multiply", ["take_leaf"] * 2)
    with pytest.warns(UserWarning, match="does not depend"):
        assert trace(Names.new_root(), lambda x: 1.0, 2.0) == (1.0, None)


def test_functions_of_plain_arrays_are_those_of_numpy():
    words = anp.concatenate([np.array(["a"]), np.array(["b"])])
    assert words.tolist() == ["a", "b"]
    assert anp.add(X, 1.0, out=np.empty(3)).tolist() == (X + 1.0).tolist()
    assert anp.array([1, 2]).dtype == np.array([1, 2]).dtype
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert type(anp.sum(X)) is np.float64

"""`wengert.compat.jax` by itself: arrays that do not change, names that are absent, and the differences that it states.

The names that JAX has too are compared with it in `programs/jax/table_of_names.py`.
"""

from __future__ import annotations

import pickle
from functools import partial
from typing import Any

import numpy as np
import pytest
from tests.fresh_python import run_python

import wengert as wg
import wengert.compat.jax as jax
import wengert.compat.jax.numpy as jnp
from wengert.compat.jax import lax, random
from wengert.compat.jax.differences import ABSENT
from wengert.compat.jax.flatten_util import ravel_pytree
from wengert.core.errors import GradientError

X = np.array([1.0, 2.0, 3.0])


def assign(x: Any) -> Any:
    x[0] = 5.0
    return jnp.sum(x)


@pytest.mark.parametrize(
    "run", [assign, jax.grad(assign), jax.jit(assign), jax.jit(jax.grad(assign)), jax.vmap(lambda x: assign(x * X))]
)
def test_assignment_points_to_at(run: Any) -> None:
    with pytest.raises(TypeError, match=r"immutable.*x\.at\[index\]\.set"):
        run(jnp.asarray(X))


def test_assignment_in_forward_mode_points_to_at() -> None:
    with pytest.raises(TypeError, match="immutable"):
        jax.jvp(assign, (X,), (X,))


def add_in_place(x: Any) -> Any:
    y = x
    y += 1.0
    return jnp.sum(x * y)


@pytest.mark.parametrize("transform", [lambda f: f, jax.jit])
def test_augmented_assignment_makes_a_new_array(transform: Any) -> None:
    assert float(transform(add_in_place)(jnp.asarray(X))) == 20.0
    np.testing.assert_array_equal(transform(jax.grad(add_in_place))(jnp.asarray(X)), 2 * X + 1)


def test_tensors_of_wengert_still_change() -> None:
    x = wg.tensor(X)
    jax.grad(lambda v: jnp.sum(v**2))(X)
    x[0] = 7.0
    x += 1.0
    np.testing.assert_array_equal(x.numpy(), [8.0, 3.0, 4.0])


def test_every_result_is_an_array() -> None:
    results = [
        jnp.sin(X), jnp.sum(X), jnp.max([1, 2]), jax.grad(lambda x: x**2)(3.0), jax.jit(lambda x: x * 2)(X),
        jax.vmap(jnp.sin)(X), lax.scan(lambda c, x: (c + x, c), 0, np.arange(3))[1], jnp.linalg.inv(np.eye(2)),
        *jnp.linalg.eigh(np.eye(2)), random.normal(random.key(0)), lax.cond(True, lambda: 1.0, lambda: 2.0),
    ]  # fmt: skip
    assert [type(y).__name__ for y in results[:-1]] == ["ConcreteArray"] * (len(results) - 1)
    assert all(isinstance(y, jax.Array) for y in results[:-1])


def test_values_without_inputs_are_known_in_jit() -> None:
    """As in JAX, what does not depend on the arguments has numbers when the function is traced."""

    @jax.jit
    def f(x: Any) -> Any:
        n = int(jnp.arange(4).sum())
        return x * n if bool(jnp.ones(2)[0] > 0) else x

    assert float(f(2.0)) == 12.0


def test_arrays_record_nothing() -> None:
    with pytest.raises(TypeError, match=r"no history.*jax\.grad"):
        jnp.asarray(X).requires_grad_()


def test_arrays_print_and_pickle() -> None:
    x = jnp.asarray(X)
    assert repr(x) == "Array([1., 2., 3.], dtype=float64)"
    assert f"{x[0]:.2f} {x[1]}" == "1.00 2.0"
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(x)), X)


@pytest.mark.parametrize("name", sorted(ABSENT))
def test_absent_names_are_absent_and_name_the_alternative(name: str) -> None:
    module, _, attribute = name.rpartition(".")
    space = __import__(f"wengert.compat.{module}", fromlist=["_"])
    with pytest.raises(AttributeError) as caught:
        getattr(space, attribute)
    assert str(caught.value) == f"{name} is not in wengert.compat.jax. Use {ABSENT[name]}."


@pytest.mark.parametrize(
    "call",
    [
        lambda: jax.config.update("jax_enable_x64", False),
        lambda: jax.grad(jnp.sin, allow_int=True),
        lambda: jax.vmap(jnp.sin, axis_size=3),
        lambda: jax.devices("gpu"),
        lambda: jnp.sin(X, out=X),
        lambda: jnp.nonzero(X, size=3),
        lambda: jnp.fill_diagonal(np.eye(2), 0.0),
        lambda: lax.conv_general_dilated(np.ones((1, 1, 4)), np.ones((1, 1, 2)), (1,), "SAME", lhs_dilation=(2,)),
        lambda: random.key(0, impl="rbg"),
        lambda: random.normal(np.zeros(3)),
        lambda: jax.custom_jvp(jnp.sin).defjvp(jnp.cos, symbolic_zeros=True),
        lambda: jnp.asarray(X)[7],
        lambda: jax.grad(jnp.sum)(np.arange(3)),
    ],
)
def test_what_is_not_there_is_an_error(call: Any) -> None:
    with pytest.raises((NotImplementedError, TypeError, ValueError, RuntimeError, IndexError)):
        call()


@pytest.mark.parametrize(
    "draw",
    [
        partial(random.normal, shape=(3,)),
        partial(random.uniform, shape=(2, 2), minval=-1.0, maxval=3.0),
        partial(random.gamma, a=2.5, shape=(3,)),
        partial(random.beta, a=2.0, b=3.0),
        partial(random.dirichlet, alpha=np.ones(3)),
        partial(random.randint, shape=(4,), minval=0, maxval=7),
        partial(random.bernoulli, p=0.3, shape=(5,)),
        partial(random.categorical, logits=np.zeros((4, 3))),
        partial(random.permutation, x=6),
        partial(random.choice, a=10, shape=(3,), replace=False),
        partial(random.truncated_normal, lower=-1.0, upper=2.0, shape=(3,)),
        partial(random.split, num=3),
        partial(random.fold_in, data=5),
    ],
)
def test_numbers_are_functions_of_the_key(draw: Any) -> None:
    """The same in eager and compiled functions and for each key of a batch; others for other keys."""
    keys = random.split(random.key(3), 4)
    eager = [np.asarray(draw(key)) for key in keys]
    np.testing.assert_array_equal(jax.jit(draw)(keys[1]), eager[1])
    np.testing.assert_array_equal(jax.vmap(draw)(keys), eager)
    assert len({part.tobytes() for part in eager}) > 1


def test_draws_have_their_moments() -> None:
    key, n = random.key(11), 20_000
    means = {
        "normal": (random.normal(key, (n,)), 0.0, 1.0),
        "uniform": (random.uniform(key, (n,)), 0.5, 12**-0.5),
        "exponential": (random.exponential(key, (n,)), 1.0, 1.0),
        "gamma": (random.gamma(key, 2.0, (n,)), 2.0, 2**0.5),
        "laplace": (random.laplace(key, (n,)), 0.0, 2**0.5),
        "gumbel": (random.gumbel(key, (n,)), np.euler_gamma, np.pi / 6**0.5),
        "logistic": (random.logistic(key, (n,)), 0.0, np.pi / 3**0.5),
        "rademacher": (random.rademacher(key, (n,)), 0.0, 1.0),
        "bernoulli": (random.bernoulli(key, 0.3, (n,)), 0.3, 0.21**0.5),
        "beta": (random.beta(key, 2.0, 3.0, (n,)), 0.4, 0.2),
        "triangular": (random.triangular(key, 0.0, 1.0, 2.0, (n,)), 1.0, 6**-0.5),
        "geometric": (random.geometric(key, 0.4, (n,)), 2.5, 0.6**0.5 / 0.4),
    }
    for name, (drawn, mean, deviation) in means.items():
        numbers = np.asarray(drawn, float)
        assert abs(numbers.mean() - mean) < 5 * deviation / n**0.5, name
        assert abs(numbers.std() - deviation) < 0.05 * deviation, name


PARAMETERS: dict[str, dict[str, Any]] = {
    "uniform": {"minval": -1.0, "maxval": 2.0}, "pareto": {"b": 2.0}, "rayleigh": {"scale": 1.5}, "t": {"df": 3.0},
    "weibull_min": {"scale": 1.5, "concentration": 2.0}, "lognormal": {"sigma": 0.5}, "gamma": {"a": 2.0},
    "double_sided_maxwell": {"loc": 1.0, "scale": 2.0}, "triangular": {"left": 0.0, "mode": 1.0, "right": 2.0},
    "loggamma": {"a": 2.0}, "chisquare": {"df": 3.0}, "beta": {"a": 2.0, "b": 3.0}, "dirichlet": {"alpha": np.ones(2)},
    "f": {"dfnum": 2.0, "dfden": 3.0}, "multivariate_normal": {"mean": np.zeros(2), "cov": np.eye(2)},
    "truncated_normal": {"lower": -1.0, "upper": 1.0},
}  # fmt: skip


@pytest.mark.parametrize("name", PARAMETERS)
def test_draws_with_parameters_have_the_dtype_that_is_asked_for(name: str) -> None:
    drawn = getattr(random, name)(random.key(0), shape=(3,), dtype=np.float32, **PARAMETERS[name])
    assert drawn.dtype == np.float32
    assert np.isfinite(drawn).all()


def test_gradient_of_a_gamma_draw() -> None:
    key = random.key(2)
    slope = jax.grad(lambda a: random.gamma(key, a))(2.0)
    step = (random.gamma(key, 2.0 + 1e-5) - random.gamma(key, 2.0 - 1e-5)) / 2e-5
    np.testing.assert_allclose(slope, step, rtol=1e-6)


@pytest.mark.parametrize("name", ["gelu", "glu", "log_sigmoid", "mish", "selu", "silu", "soft_sign", "softplus"])
def test_activations_keep_single_precision(name: str) -> None:
    assert getattr(jax.nn, name)(np.ones(4, np.float32)).dtype == np.float32


# The differences that the layer states


def test_python_statements_on_traced_values() -> None:
    @jax.jit
    def f(x: Any) -> Any:
        while x < 100.0:
            x = x * 2.0
        return x if x > 150.0 else -x

    assert [float(f(x)) for x in (3.0, 1.0)] == [192.0, -128.0]


def test_reverse_mode_through_while_loop() -> None:
    f = lambda x: lax.while_loop(lambda s: s < 100.0, lambda s: s * 2.0, x)
    assert float(jax.grad(f)(3.0)) == 64.0


def test_derivatives_where_jax_has_nan() -> None:
    np.testing.assert_array_equal(jax.grad(jnp.linalg.norm)(np.zeros(2)), 0.0)
    with np.errstate(invalid="ignore"):
        assert float(jax.grad(lambda x: jnp.where(x >= 0.0, x, jnp.sqrt(-x)))(1.0)) == 1.0


def test_promotion_is_that_of_numpy() -> None:
    assert (jnp.arange(2) * jnp.ones(2, jnp.float32)).dtype == np.float64
    assert jnp.ones(2).dtype == np.float64
    assert jnp.ones(2, jnp.float32).dtype == np.float32


def test_positions_of_blocks_are_clamped() -> None:
    x = jnp.arange(5)
    np.testing.assert_array_equal(lax.dynamic_slice(x, (4,), (3,)), [2, 3, 4])
    np.testing.assert_array_equal(jax.jit(lambda i: lax.dynamic_slice(x, (i,), (3,)))(-1), [2, 3, 4])


def test_dicts_in_any_order() -> None:
    def step(state: Any, x: Any) -> Any:
        return {"b": state["b"] * x, "a": state["a"] + x}, None

    start = {"a": 0.0, "b": 1.0}
    for run in (lambda f: f, jax.jit):
        final = run(lambda: lax.scan(step, start, X)[0])()
        assert (float(final["a"]), float(final["b"])) == (6.0, 6.0)
    value, tangent = jax.jvp(lambda d: d["a"] * d["b"], ({"a": 2.0, "b": 3.0},), ({"b": 1.0, "a": 0.0},))
    assert (float(value), float(tangent)) == (6.0, 2.0)
    flat, unravel = ravel_pytree({"b": X, "a": 9.0})
    np.testing.assert_array_equal(flat, [9.0, 1.0, 2.0, 3.0])
    np.testing.assert_array_equal(unravel(flat)["b"], X)


def test_debug_print_when_the_program_runs(capsys: pytest.CaptureFixture[str]) -> None:
    @jax.jit
    def f(x: Any) -> Any:
        jax.debug.print("x = {x}, {}", "fixed", x=x)
        return 2.0 * x

    f(1.0)
    f(5.0)
    assert capsys.readouterr().out == "x = 1.0, fixed\nx = 5.0, fixed\n"
    with pytest.raises(NotImplementedError, match="body of a loop"):
        jax.jit(lambda x: lax.fori_loop(0, 3, lambda i, s: jax.debug.print("{}", s) or s, x))(1.0)


def test_pure_callback_has_no_derivative() -> None:
    sort = lambda x: jax.pure_callback(np.sort, jax.ShapeDtypeStruct((3,), float), x)
    np.testing.assert_array_equal(jax.jit(sort)(X[::-1]), X)
    for transform in (jax.grad, lambda f: jax.jit(jax.grad(f))):
        with pytest.raises(GradientError, match="pure_callback has no derivative"):
            transform(lambda x: jnp.sum(sort(x)))(X)


def test_custom_root_to_second_order() -> None:
    def cube_root(a: Any) -> Any:
        solve = lambda f, x: lax.fori_loop(0, 30, lambda _, x: x - f(x) / (3.0 * x**2), x)
        return lax.custom_root(lambda x: x**3 - a, 1.0, solve, None)

    for transform in (lambda f: f, jax.jit):
        np.testing.assert_allclose(transform(jax.grad(cube_root))(2.0), 2.0 ** (-2 / 3) / 3, rtol=1e-12)
        np.testing.assert_allclose(transform(jax.grad(jax.grad(cube_root)))(2.0), -2 / 9 * 2.0 ** (-5 / 3), rtol=1e-12)


def test_libraries_import_it_under_its_name() -> None:
    program = (
        "from wengert.compat import install; install('jax'); import jax, jax.numpy as jnp; from jax.scipy import stats;"
        "from jax.tree_util import tree_map; from jax import lax, random; import jax.experimental.ode;"
        "print(jax.__name__, jax.grad(jnp.sin)(0.0), jnp is jax.numpy)"
    )
    done = run_python(program)
    assert done.stdout == "wengert.compat.jax 1.0 True\n"

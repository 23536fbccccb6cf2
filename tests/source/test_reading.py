"""When functions are read: where they are traced, once, and whatever is wrapped around them."""

from __future__ import annotations

import functools
import linecache

import numpy as np
import pytest
import scipy.optimize

import wengert as wg
from wengert.source import reading


def relu(x):
    if x > 0:
        return x * x
    return 0.0 * x


def straight(x):
    return np.sin(x) * 2.0


def through(x):
    return straight(relu(x))


def test_eager_calls_read_nothing(monkeypatch):
    def refuse(*_):
        raise AssertionError("a function was read")

    monkeypatch.setattr(reading, "read_plain", refuse)
    assert relu(2.0) == 4.0
    assert wg.grad(relu)(2.0) == 4.0
    assert wg.hessian(relu)(2.0) == 2.0
    np.testing.assert_allclose(wg.vmap(lambda x: x * 2.0)(np.ones(2)), 2.0)
    wg.jvp(relu, (2.0,), (1.0,))


def test_a_function_is_read_once(monkeypatch):
    count = []
    read_code = reading.read_code
    monkeypatch.setattr(reading, "read_code", lambda f: count.append(f) or read_code(f))

    def make(a):
        def inner(x):
            return x * a if x > 0 else x

        return inner

    for a in (2.0, 3.0):
        assert wg.trace(make(a), 0.5).evaluate(0.5) == 0.5 * a
        assert wg.trace(make(a), 0.5).evaluate(-0.5) == -0.5
    assert [f.__name__ for f in count] == ["inner"]


def test_a_function_without_statements_and_calls_stays():
    assert reading.read_function(straight) is straight
    assert reading.read_function(through) is not through
    assert reading.read_function(np.sin) is np.sin
    assert reading.read_function(functools.reduce) is functools.reduce
    new = reading.read_function(relu)
    assert new is not relu
    assert reading.read_function(new) is new


def test_functions_that_a_function_calls_are_read():
    for x in (0.7, -0.7):
        assert wg.trace(through, 0.5).evaluate(x) == through(x)


def twice(f):
    @functools.wraps(f)
    def wrapper(*args, **kwargs):
        return f(*args, **kwargs) * 2.0

    return wrapper


@twice
def decorated(x, *, bound=0.1):
    if x > bound:
        return x * x
    return x


class Layer:
    @staticmethod
    def static(x):
        return x * x if x > 0 else x

    @classmethod
    def of_class(cls, x):
        return x * x if x > 0 else cls.static(x)

    @property
    def bound(self):
        return 0.1

    def method(self, x, *rest, **more):
        if x > self.bound:
            return x * x + sum(rest) + more.get("c", 0.0)
        return x


def with_defaults(x, a=2.0, *, b=3.0):
    return x * a if x > 0 else x * b


COMPILED = wg.compile(relu)


@pytest.mark.parametrize(
    "f",
    [
        decorated,
        functools.partial(decorated, bound=0.2),
        Layer.static,
        Layer.of_class,
        Layer().method,
        lambda x: Layer().method(x, 1.0, x, c=2.0),
        with_defaults,
        lambda x: with_defaults(x, b=x),
        lambda x: COMPILED(x) + relu(x),
        lambda x: wg.grad(relu)(x) * x,
        lambda x: wg.grad(lambda y: relu(y) * y)(x) * x,
        lambda x: wg.scan(lambda s, v: (s + relu(v * x), None), 0.0, np.linspace(-1, 1, 9))[0],
        lambda x: wg.cond(x > 0, relu, straight, x),
        lambda x: sum(map(relu, [x, -x])) + x,
        lambda x: [relu(x * k) for k in range(3)][-1] * x,
        lambda x: {k: relu(x * k) for k in (1, 2)}[2] * x,
    ],
)  # fmt: skip
def test_whatever_is_called_is_read(f):
    for x in (0.7, -0.7):
        x = np.float64(x)
        np.testing.assert_allclose(wg.trace(f, x).evaluate(x), f(x), rtol=1e-13)
        np.testing.assert_allclose(wg.compile(f)(x), f(x), rtol=1e-13)
        np.testing.assert_allclose(wg.trace(wg.grad(f), x).evaluate(x), wg.grad(f)(x), rtol=1e-13)


def test_transforms_inside_read_their_functions():
    f = lambda x: wg.vmap(relu)(wg.stack([x, -x])).sum() + wg.jvp(relu, (x,), (1.0,))[1]
    assert wg.trace(f, 0.5).evaluate(-0.7) == relu(0.7)
    assert wg.compile(f)(0.5) == relu(0.5) + 1.0


def factorial(n, x):
    return x if n == 0 else factorial(n - 1, x) * n


def test_a_function_that_calls_itself():
    assert wg.trace(lambda x: factorial(4, x) if x > 0 else x, 0.5).evaluate(2.0) == 48.0


def rosenbrock(p):
    total = 0.0
    for a, b in zip(p, p[1:], strict=False):
        total = total + 100.0 * (b - a * a) ** 2
        total = total + (1.0 - a) ** 2 if a > -50.0 else total
    return total


def test_whatever_traces_reads():
    start = np.linspace(-0.5, 0.5, 20)
    found = wg.optimize.minimize(rosenbrock, start)
    expected = scipy.optimize.minimize(rosenbrock, start, jac=wg.grad(rosenbrock))
    np.testing.assert_allclose(found.x, expected.x, atol=1e-3)
    np.testing.assert_allclose(wg.compile(wg.hessian(rosenbrock))(start), wg.hessian(rosenbrock)(start), rtol=1e-9)


def test_generators_and_globals_stay_as_they_are():
    def pieces(x):
        yield x
        yield x * 2.0

    assert wg.trace(lambda x: sum(pieces(x)), 0.5).evaluate(0.5) == 1.5


def test_a_captured_tensor_decides():
    w = wg.tensor(1.0)
    f = wg.compile(lambda x: x * 2.0 if w > 0 else x)
    assert f(3.0) == 6.0
    with wg.no_grad():
        w -= 2.0
    assert f(3.0) == 3.0


def test_a_lambda_on_the_line_of_its_function_is_not_that_function():
    def slope(x): return wg.grad(lambda x: np.sin(x) * x)(x)  # fmt: skip  # noqa: E704  # a function on one line is what is tested

    np.testing.assert_allclose(wg.compile(slope)(1.0), slope(1.0), rtol=1e-15)


def test_each_lambda_of_a_line_is_compiled_as_itself():
    table = {"sum": lambda x, y: x + y if x > 0 else y, "product": lambda x, y: x * y if x > 0 else y}  # fmt: skip
    assert [wg.compile(f)(3.0, 4.0) for f in table.values()] == [7.0, 12.0]


def test_equal_codes_of_two_files_are_read_by_themselves():
    text = "f = lambda x: x * 2 if x > 0 else x\n"
    found = {}
    for name in ("<string>", "<cell of a notebook>"):
        if name != "<string>":
            linecache.cache[name] = (len(text), None, text.splitlines(True), name)
        exec(compile(text, name, "exec"), namespace := {"__name__": "cell"})
        found[name] = namespace["f"]
    assert found["<string>"].__code__ == found["<cell of a notebook>"].__code__
    with pytest.raises(wg.TrackedValueError):
        wg.compile(found["<string>"])(3.0)  # it has no source
    assert wg.compile(found["<cell of a notebook>"])(3.0) == 6.0

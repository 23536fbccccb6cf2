"""No rule of a pass changes a bit: every form that a rule looks for, on special values of every dtype, before and
after, and compiled.
"""

import itertools
import warnings

import numpy as np
import pytest
from tests.graph.passes.programs import assert_same_bits

import wengert as wg
from wengert.graph.passes import optimize
from wengert.transforms.tracing import trace

NUMBERS = (0, 0.0, -0.0, 1, 1.0, -1, -1.0, 2, 2.0, 4.0, 0.5, 0.25, 3.0, -3.0, True, False, np.inf, np.nan)
BINARY = {
    "add": lambda x, y: x + y,
    "subtract": lambda x, y: x - y,
    "multiply": lambda x, y: x * y,
    "divide": lambda x, y: x / y,
    "power": np.power,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "fmax": np.fmax,
    "fmin": np.fmin,
    "equal": np.equal,
    "logical_and": np.logical_and,
    "logical_or": np.logical_or,
    "copysign": np.copysign,
    "nextafter": np.nextafter,
    "remainder": np.remainder,
}
UNARY = {
    "x": lambda x: x,
    "-x": np.negative,
    "|x|": np.abs,
    "x ** 2": np.square,
    "2.0 * x": lambda x: 2.0 * x,
    "not x": np.logical_not,
    "x + 0": lambda x: x + 0,
}
CHOICES = {
    "where": lambda x: np.where(x > 0, x, -x),
    "where of where": lambda x: np.where(x > 0, np.where(x > 0, x, 1), x),
    "where known": lambda x: np.where(True, x, 0.0),
    "where not": lambda x: np.where(np.logical_not(x > 0), x, 0),
    "relu": wg.relu,
    "clip": lambda x: np.clip(x, 0, 1),
    "clip below": lambda x: np.clip(x, -0.0, None),
    "there and back": lambda x: x.astype(np.float64).astype(x.dtype),
    "not equal": lambda x: np.logical_not(x == 1),
    "not less": lambda x: np.logical_not(x < 1),
    "-x * -x": lambda x: np.negative(x) * np.negative(x),
    "x + -x": lambda x: x + np.negative(x),
    "-x + 1": lambda x: np.negative(x) + 1,
    "x - -x": lambda x: x - np.negative(x),
    "x - x": lambda x: x - x,
    "x / x": lambda x: x / x,
    "-x / 3.0": lambda x: np.negative(x) / 3.0,
    "3.0 * (2.0 * x)": lambda x: 3.0 * (2.0 * x),
    "0.5 * (2.0 * x)": lambda x: 0.5 * (2.0 * x),
    "max of nothing": lambda x: x.max(axis=()),
    "sum of nothing": lambda x: x.sum(axis=()),
    "sum along one": lambda x: x[:, None].sum(axis=1),
    "max along one": lambda x: x[:, None].max(axis=1),
    "stack": lambda x: np.stack([x]),
    "broadcast": lambda x: np.broadcast_to(x, (3, *x.shape)) * 1,
    "full_like": lambda x: np.full_like(x, 1) * x,
}


def special(dtype):
    """Zeros, ones, infinities, NaN, subnormal numbers and the ends of the range."""
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return np.array([True, False])
    if dtype.kind in "iu":
        ends = np.iinfo(dtype)
        return np.array([0, 1, 2, 7, ends.max, ends.min, ends.max - 1], dtype)
    ends = np.finfo(dtype)
    values = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        0.5,
        -3.0,
        np.inf,
        -np.inf,
        np.nan,
        ends.max,
        ends.min,
        ends.tiny,
        ends.smallest_subnormal,
    ]
    values += [-ends.smallest_subnormal, 3.5 * ends.smallest_subnormal, ends.eps, 1.0 + ends.eps]
    return np.array(values, dtype)


def programs():
    """By name: all that the rules look for."""
    operands = [(name, UNARY[name]) for name in ("x", "-x", "2.0 * x")]
    for (u, inner), (b, binary), number in itertools.product(operands, BINARY.items(), NUMBERS):
        yield f"{b}({u}, {number})", lambda x, inner=inner, binary=binary, number=number: binary(inner(x), number)
        yield f"{b}({number}, {u})", lambda x, inner=inner, binary=binary, number=number: binary(number, inner(x))
    for (u, outer), (c, choice) in itertools.product(UNARY.items(), CHOICES.items()):
        yield f"{u} of {c}", lambda x, outer=outer, choice=choice: outer(choice(x))
    for (u, first), (v, second) in itertools.product(UNARY.items(), repeat=2):
        yield f"{u} of {v}", lambda x, first=first, second=second: first(second(x))


def value_or_error(f, x):
    """What a function gives, or the type of what it raises: what NumPy does not define is not defined later either."""
    try:
        return f(x)
    except (TypeError, OverflowError, ValueError) as error:
        return type(error)


@pytest.mark.parametrize("dtype", ["?", "i4", "i8", "u1", "u8", "f4", "f8"])
def test_passes_keep_every_bit(dtype):
    x = special(dtype)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, f in programs():
            graph = value_or_error(lambda x, f=f: trace(f, x), x)
            expected = value_or_error(f, x)
            if isinstance(graph, type):
                assert graph is expected, name
                continue
            before = value_or_error(graph.evaluate, x)
            after = value_or_error(optimize(graph).evaluate, x)
            if isinstance(before, type):
                assert before is after, name
                continue
            try:
                assert_same_bits(before, after)
                if not isinstance(expected, type):
                    assert np.asarray(before).dtype == np.asarray(expected).dtype
            except AssertionError as error:
                raise AssertionError(f"{name}, {dtype}: {error}") from error


@pytest.mark.parametrize("length", [1, 40])
@pytest.mark.parametrize("dtype", ["?", "i4", "i8", "f4", "f8"])
def test_compiled_programs_keep_every_bit(dtype, length):
    """Operations that are not functions of mathematics, whose last digit is free.

    Of long arrays too, which vectors are for.
    """
    x = np.tile(special(dtype), length)
    chosen = {}
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number, (b, binary) in itertools.product((0, -0.0, 1, -1.0, 2.0, 3, 0.1), BINARY.items()):
            if b not in ("power", "remainder"):
                chosen[f"{b}(x, {number})"] = lambda x, binary=binary, number=number: binary(x, number)
                chosen[f"{b}({number}, x)"] = lambda x, binary=binary, number=number: binary(number, x)
        chosen |= CHOICES
        chosen |= {
            f"{b}(x, reversed)": lambda x, binary=binary: binary(x, x[::-1])
            for b, binary in BINARY.items()
            if b != "power"
        }
        chosen |= {
            f"{b}(x, -x)": lambda x, binary=binary: binary(x, np.negative(x))
            for b, binary in BINARY.items()
            if b != "power"
        }
        chosen |= {
            "max": lambda x: x.max(),
            "min": lambda x: x.min(),
            "max of zeros": lambda x: np.max(x * 0, where=x == x, initial=-1),
        }
        eager = {name: value_or_error(lambda t, f=f: f(t).numpy(), wg.tensor(x)) for name, f in chosen.items()}
        defined = [name for name, value in eager.items() if not isinstance(value, type)]
        compiled = wg.compile(lambda x: [chosen[name](x) for name in defined])(x)
    for name, value in zip(defined, compiled, strict=True):
        try:
            assert_same_bits(eager[name], value)
        except AssertionError as error:
            raise AssertionError(f"{name}, {dtype}: {error}") from error

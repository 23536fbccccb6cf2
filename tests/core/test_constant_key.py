"""Keys of constants: equal for constants that no function can distinguish, and only for these."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from decimal import Decimal
from enum import Enum, IntEnum
from typing import Any, NamedTuple

import numpy as np
import pytest

import wengert as wg
from wengert.core.constant_key import constant_key


@dataclass(frozen=True)
class Options:
    power: Any
    inner: Any = None
    note: str = field(default="", compare=False)


@dataclass(frozen=True, eq=False)
class Same:
    value: Any


class Pair(NamedTuple):
    first: Any
    second: Any = 0


class Level(IntEnum):
    LOW = 2


class Factor(float, Enum):
    TWO = 2.0


NAN, OTHER_NAN = float("nan"), np.array([0xFFF8000000000001], np.uint64).view(np.float64).item()
NUMBERS = (
    2,
    2.0,
    np.float64(2.0),
    np.float32(2.0),
    np.int64(2),
    np.int32(2),
    2 + 0j,
    Level.LOW,
    Factor.TWO,
    Decimal(2),
    Decimal("2.0"),
)
ZEROS = (
    0,
    0.0,
    -0.0,
    False,
    complex(0.0, 0.0),
    complex(0.0, -0.0),
    complex(-0.0, 0.0),
    np.float32(-0.0),
    np.float32(0.0),
)
AROUND = {
    "itself": lambda x: x,
    "dataclass": Options,
    "nested dataclass": lambda x: Options(1, (Options(x),)),
    "tuple": lambda x: (1, (x,)),
    "named tuple": Pair,
    "frozen set": lambda x: frozenset([x, "a"]),
    "frozen set of tuples": lambda x: frozenset([(x,)]),
    "slice": lambda x: slice(None, x),
}


@pytest.mark.parametrize("name", AROUND)
def test_what_is_equal_but_not_the_same(name):
    around = AROUND[name]
    for values in (NUMBERS, ZEROS):
        assert len({constant_key(around(x)) for x in values}) == len(values)
        assert len({constant_key(around(x)) for x in (*values, *values)}) == len(values)
    assert len({constant_key(around(x)) for x in (NAN, float("nan"), OTHER_NAN, -NAN)}) == 3


def test_a_frozen_dataclass_as_a_static_argument():
    traced = []

    def f(x, options):
        traced.append(options)
        power = options.power
        return x * (1.0 if isinstance(power, int) else math.copysign(2.0, power) if power == power else 3.0)

    compiled = wg.compile(f, static_argnums=1)
    values = (2, 2.0, 0.0, -0.0, float("nan"), 2, 2.0, 0.0, -0.0, float("nan"))
    assert [compiled(1.0, Options(p)) for p in values] == [1.0, 2.0, 2.0, -2.0, 3.0] * 2
    assert len(traced) == 5
    compiled(1.0, Options(2, note="another"))
    assert len(traced) == 5


def test_objects_that_are_compared_by_identity():
    first, second = Same(2), Same(2)
    assert constant_key(first) == constant_key(first) != constant_key(second)
    assert constant_key(np.sin) == constant_key(np.sin) != constant_key(np.cos)
    assert constant_key(Options) == constant_key(Options) != constant_key(Same)


@pytest.mark.parametrize("bad", [[1], {1: 2}, {1}, (1, [2]), Options([1]), slice([1])], ids=repr)
def test_what_is_not_hashable_is_an_error(bad):
    with pytest.raises(TypeError, match="hashable; this is a"):
        wg.compile(lambda x, other: x, static_argnums=1)(1.0, bad)

"""Aspects: entries by operation, defaults by kind, reasons."""

from __future__ import annotations

import numpy as np
import pytest

from wengert.core.aspects import ASPECTS, Aspect
from wengert.ops.contraction.products import matmul
from wengert.ops.elementwise.exponential import exp
from wengert.ops.elementwise.trigonometric import cos, sin
from wengert.ops.reductions.sums import sum as public_sum


@pytest.fixture
def colour():
    yield Aspect("colour of a test", "for tests", lambda primitive: "grey" if primitive.kind == "elementwise" else None)
    del ASPECTS["colour of a test"]


def test_entries_and_defaults(colour):
    @colour(sin)
    def blue():
        return "blue"

    assert colour.of(sin) is blue
    assert colour.of(sin.primitive) is blue
    assert colour.of(cos) == "grey"
    assert sin in colour
    assert list(colour) == [sin.primitive]


def test_one_entry_for_each_operation(colour):
    colour.enter("red", sin)
    with pytest.raises(ValueError, match="sin already has an entry"):
        colour.enter("green", sin)
    with pytest.raises(ValueError, match="already"):
        Aspect("colour of a test", "again")


def test_only_operations_have_aspects(colour):
    for other in (np.sin, public_sum, "sin"):
        with pytest.raises(TypeError, match="not an operation of the table"):
            colour.enter("red", other)


def test_reasons(colour):
    colour.without("it has none", cos)
    assert colour.reasons == {cos.primitive: "it has none"}


def test_reasons_for_the_rest():
    shape = Aspect("shape of a test", "for tests", rest={"elementwise": "numbers have no shape"})
    try:
        shape.enter("round", sin)
        shape.without("it is a wave", cos)
        assert [shape.reason(f) for f in (sin, cos, exp, matmul)] == [
            None,
            "it is a wave",
            "numbers have no shape",
            None,
        ]
        shape.rest = "none"
        assert shape.reason(matmul) == "none"
    finally:
        del ASPECTS["shape of a test"]

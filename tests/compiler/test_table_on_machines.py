"""Operations of the table on shrunken machines: tiny arrays take the paths of large ones.

Each operation has a machine record of its own, drawn from its name. The bits are the same for 1, 2, 4 and 8 threads and
for all widths of vectors.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from tests.compiler.test_compiled_table import (
    DIFFERENTIABLE,
    assert_case,
    cases,
    depends_on_numbers,
    gradient_of_case,
)
from tests.operation_trials import case_arguments, op_of
from tests.sampling import by_operation
from tools.fuzz.machines import VECTORS, bits_of, draw_fields
from tools.fuzz.oracles import to_numpy

import wengert as wg
from wengert.core import machine

pytestmark = pytest.mark.seconds(3)


def run_on_machines(f: Callable, args: Sequence[Any], name: str) -> Any:
    """The result on a machine drawn from a name, which has the same bits for all numbers of threads."""
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    found = []
    for threads in rng.permutation([1, 2, 4, 8]).tolist()[:2]:
        record = draw_fields(rng, False) | {"threads": threads, "vector_bytes": int(rng.choice(VECTORS))}
        with machine.using(**record):
            g = wg.compile(f, effort="fast")
            found.append(g(*args))
            assert bits_of(to_numpy(g(*args))) == bits_of(to_numpy(found[0])), record
    return found[0]


@by_operation(("primitive", "case"), cases())
def test_cases(primitive, case):
    op, args = op_of(primitive, case.params), case_arguments(case)
    try:
        found = run_on_machines(op, args, primitive.name)
    except wg.TrackedValueError:
        assert depends_on_numbers(primitive, args)
        return
    assert_case(primitive, case, found, op(*args), "f8", (1e-5, 1e-12))


@by_operation(("primitive", "case"), DIFFERENTIABLE)
def test_gradients_of_cases(primitive, case):
    g, args, _ = gradient_of_case(primitive, case)
    try:
        found = run_on_machines(g, args, primitive.name)
    except wg.TrackedValueError:
        assert depends_on_numbers(primitive, args)
        return
    assert_case(primitive, case, found, g(*args), "f8", (1e-4, 1e-11))

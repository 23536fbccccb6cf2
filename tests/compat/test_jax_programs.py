"""Programs written for JAX, on the layer and on JAX itself, from the same source text."""

from __future__ import annotations

import pytest
from tests.compat.swapped_programs import check_program, names_of


@pytest.mark.parametrize("name", names_of("jax"))
def test_same_results(name: str) -> None:
    check_program("jax", name)

"""PyTorch programs of the kind that tutorials have: the same source text gives the same numbers on the layer."""

import pytest
from tests.compat.swapped_programs import check_program, names_of

pytestmark = pytest.mark.together("programs of torch")  # they run in one process


@pytest.mark.parametrize("name", names_of("torch"))
def test_program(name):
    check_program("torch", name)

"""Write what PyTorch computes for the cases of the tests, so that they need no PyTorch.

`python -m tools.torch_values` writes all files, `python -m tools.torch_values tests/nn/cases_layers.py` one: for
`tests/nn/cases_layers.py`, `tests/nn/stored/layers.npz`. Each case has a method `torch_values`, and arrays have the
names `case/value`.
"""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

import numpy as np

TESTS = Path(__file__).parent.parent / "tests"


def case_files() -> list[Path]:
    """The files with cases."""
    return sorted(TESTS.rglob("cases_*.py"))


def stored_path(cases: Path) -> Path:
    """The file with the values of these cases."""
    return cases.parent / "stored" / f"{cases.stem.removeprefix('cases_')}.npz"


def write_values(cases: Path) -> None:
    """Run the cases of a file in PyTorch."""
    module = import_module(".".join(cases.relative_to(TESTS.parent).with_suffix("").parts))
    values = {
        f"{name}/{what}": value for name, case in module.CASES.items() for what, value in case.torch_values().items()
    }
    stored_path(cases).parent.mkdir(exist_ok=True)
    np.savez_compressed(stored_path(cases), allow_pickle=False, **values)
    print(f"{stored_path(cases)}: {len(module.CASES)} cases, {stored_path(cases).stat().st_size} bytes")


if __name__ == "__main__":
    for path in [Path(name).resolve() for name in sys.argv[1:]] or case_files():
        write_values(path)

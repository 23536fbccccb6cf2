"""Every operation of the table on a GPU, in every mode, beside the same on the CPU: prints what fails.

`python -m tools.gpu_table` runs on CuPy, `python -m tools.gpu_table --stand-in` on the arrays of the tests.
"""

from __future__ import annotations

import argparse
import sys
import traceback
import warnings
from collections import Counter
from importlib import import_module
from typing import Any

from tests.control.trials import add_trials
from tests.devices.table_walk import MODES, check, has_form, modes_of, trials

from wengert.core.devices import LIBRARIES


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--stand-in", action="store_true", help="run on the stand-in for CuPy")
    parser.add_argument("--only", default="", help="the operations whose name has this in it")
    parser.add_argument("--part", default="1/1", help="2/8: the second of eight parts, to run in as many processes")
    parser.add_argument("--traceback", action="store_true", help="print where each one fails")
    options = parser.parse_args()
    host_copies: list[str] = []
    if options.stand_in:
        LIBRARIES["cuda"] = import_module("tests.stand_in.library").LIBRARY
        host_copies = import_module("tests.stand_in.device_array").HOST_COPIES
    warnings.simplefilter("ignore")
    add_trials()
    ran: Counter[str] = Counter()
    failed: Counter[str] = Counter()
    part, parts = map(int, options.part.split("/"))
    for trial in list(trials())[part - 1 :: parts]:
        if options.only not in trial.primitive.name or not has_form(trial.primitive):
            continue
        for mode in modes_of(trial):
            ran[mode] += 1
            try:
                check(trial, mode, "cuda:0", host_copies)
            except Exception as error:
                failed[mode] += 1
                print(f"{trial.primitive.name}[{trial.name}] {mode}: {describe(error)}", flush=True)
                if options.traceback:
                    traceback.print_exc(file=sys.stdout)
                break  # the other modes need this one
    for mode in MODES:
        print(f"{mode}: {ran[mode]} calls, {failed[mode]} failed")
    return bool(failed)


def describe(error: Exception) -> str:
    """An error in one line, with the last line of the package that it came from."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if "/wengert/" in f.filename]
    where = f" ({frames[-1].filename.partition('/wengert/')[2]}:{frames[-1].lineno})" if frames else ""
    text: Any = " ".join(str(error).split())
    return f"{type(error).__name__}: {text[:150]}{where}"


if __name__ == "__main__":
    sys.exit(main())

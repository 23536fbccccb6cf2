"""Every operation of the table, in every mode, on the arrays of a device: the same numbers, there, and no copies."""

from __future__ import annotations

import numpy as np
import pytest
from tests.compiler.targets.devices import DEVICE
from tests.devices.table_walk import MODES, check, has_form, modes_of, trials
from tests.sampling import by_operation

import wengert as wg
from wengert.core.device_calls import device_call
from wengert.core.devices import move

TRIALS = list(trials())


def by_name(chosen):
    return by_operation("trial", chosen, ids=[f"{trial.primitive.name}-{trial.name}" for trial in chosen])


@pytest.mark.filterwarnings("ignore")
@by_name([trial for trial in TRIALS if has_form(trial.primitive)])
def test_every_mode(trial, cuda, host_copies):
    for mode in modes_of(trial):
        check(trial, mode, cuda, host_copies)


@by_name([trial for trial in TRIALS if not has_form(trial.primitive)])
def test_what_has_no_form_says_why(trial, cuda):
    args = [move(a, cuda) if isinstance(a, np.ndarray) else a for a in trial.args]
    with pytest.raises(NotImplementedError, match=device_call.reason(trial.primitive).split(";")[0].split("(")[0]):
        trial.op(*args)


SINE = next(trial for trial in TRIALS if trial.primitive.name == "sin")


@pytest.mark.skipif(DEVICE is not None, reason="only the stand-in counts copies")
def test_the_check_finds_copies(cuda, host_copies):
    with pytest.raises(AssertionError, match="copies to the CPU"):
        check(SINE._replace(op=lambda x: wg.sin(x) * float(np.sum(x).item() or 1.0)), "value", cuda, host_copies)


def test_the_check_can_fail(cuda):
    with pytest.raises(AssertionError, match="on cpu"):
        check(SINE._replace(op=lambda x: np.ones(np.shape(x))), "value", cuda)
    assert list(MODES) == modes_of(SINE)

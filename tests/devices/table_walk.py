"""Every operation of the table on the arrays of a device, in every mode, beside the same on the CPU.

`python -m tools.gpu_table` runs it on CuPy; the tests run it on the stand-in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from tests.operation_trials import SHAPES, case_arguments, live_arguments, op_of, sample, several

import wengert as wg
from wengert.core.device_calls import device_call
from wengert.core.devices import device_of, move
from wengert.core.primitive import TABLE, Primitive


class Trial(NamedTuple):
    """One call of an operation: its operands, on the CPU, and which of them are differentiated."""

    primitive: Primitive
    name: str
    op: Callable[..., Any]
    args: list[Any]
    live: list[int]


def trials() -> Iterator[Trial]:
    """The calls of all operations that their trials in the table ask for."""
    device_call.fill()  # which registers operations that are imported late
    for primitive in list(TABLE.values()):
        if primitive.name == "to_device":
            continue  # its trial is on the CPU
        if primitive.trial.domain and not primitive.trial.cases:
            for name in ("0-d", "broadcast", "empty"):
                args = sample(primitive, SHAPES[name])
                yield Trial(primitive, name, op_of(primitive), args, live_of(primitive, args))
        for k, case in enumerate(primitive.trial.cases):
            args = case_arguments(case)
            op = op_of(primitive, case.params)
            op = without_signs(op) if primitive.name in UP_TO_SIGNS else op
            yield Trial(primitive, str(k), op, args, live_of(primitive, args))


UP_TO_SIGNS = ("complement", "eig", "eigh", "qr", "svd")
"""Factorisations whose vectors have signs, or phases, that each library chooses."""


def without_signs(op: Callable[..., Any]) -> Callable[..., Any]:
    """The squares of what an operation returns."""
    return lambda *args: wg.absolute(op(*args)) ** 2


def live_of(primitive: Primitive, args: list[Any]) -> list[int]:
    return [] if primitive.kind == "nondifferentiable" else live_arguments(primitive, args)


def weigh(outs: Any) -> Any:
    """A real number that depends on all elements of all results."""
    total = 0.0
    for out in several(outs):
        total = total + wg.real((out * (1.5 + wg.cos(out) * 0.25)).sum())
    return total


def call_live(trial: Trial, args: Sequence[Any]) -> Callable[..., Any]:
    """The operation as a function of its live operands."""

    def f(*live: Any) -> Any:
        given = dict(zip(trial.live, live, strict=True))
        return trial.op(*[given.get(i, a) for i, a in enumerate(args)])

    return f


def run_value(trial: Trial, args: Sequence[Any]) -> Any:
    return trial.op(*args)


def run_tape(trial: Trial, args: Sequence[Any]) -> Any:
    tensors = [wg.tensor(args[i], requires_grad=True) for i in trial.live]
    weigh(call_live(trial, args)(*tensors)).backward()
    return [t.grad for t in tensors]


def run_second(trial: Trial, args: Sequence[Any]) -> Any:
    """The gradient of the sum of the gradients."""
    tensors = [wg.tensor(args[i], requires_grad=True) for i in trial.live]
    value = weigh(call_live(trial, args)(*tensors))
    firsts = wg.autograd.grad(value, tensors, create_graph=True, materialize_grads=True)
    total: Any = sum((wg.real(g * g).sum() for g in firsts if g is not None), start=0.0)
    if not total.requires_grad:
        return firsts
    return wg.autograd.grad(total, tensors, materialize_grads=True)


def run_forward(trial: Trial, args: Sequence[Any]) -> Any:
    live = [args[i] for i in trial.live]
    return wg.jvp(call_live(trial, args), live, [x * 0.5 + 0.25 for x in live])[1]


def run_taylor(trial: Trial, args: Sequence[Any]) -> Any:
    live = [args[i] for i in trial.live]
    return wg.jet(call_live(trial, args), live, [[x * 0.5 + 0.25, x * 0.1] for x in live])[1]


def run_batch(trial: Trial, args: Sequence[Any]) -> Any:
    live = [np.stack([args[i], args[i]]) for i in trial.live]
    return wg.vmap(call_live(trial, args))(*live)


MODES: dict[str, Callable[[Trial, Sequence[Any]], Any]] = {
    "value": run_value,
    "reverse": run_tape,
    "reverse twice": run_second,
    "forward": run_forward,
    "Taylor": run_taylor,
    "batch": run_batch,
}


BY_ORDER = ("iv", "jv", "kv", "kve", "yv")
"""Functions whose first operand, the order, stays on the CPU."""


def modes_of(trial: Trial) -> list[str]:
    return list(MODES) if trial.live else ["value"]


def to_device(x: Any, device: str) -> Any:
    return move(x, device) if isinstance(x, np.ndarray) else x


def flat(tree: Any) -> list[Any]:
    if isinstance(tree, tuple | list):
        return [leaf for part in tree for leaf in flat(part)]
    return [] if tree is None else [tree]


def check(trial: Trial, mode: str, device: str, host_copies: Sequence[str] = ()) -> None:
    """Assert that a mode gives on a device what it gives on the CPU, gives it there, and copies nothing.

    Numbers, such as that of the steps of a loop, are on the CPU.

    `host_copies` grows with each copy to the CPU, on the stand-in.
    """
    run = MODES[mode]
    expected = flat(run(trial, trial.args))
    kept = 1 if trial.primitive.name in BY_ORDER else 0
    args = [*trial.args[:kept], *[to_device(a, device) for a in trial.args[kept:]]]
    before = len(host_copies)
    found = flat(run(trial, args))
    copies = host_copies[before:]
    assert not copies or trial.primitive.kind == "control", f"copies to the CPU: {', '.join(copies)}"
    assert len(found) == len(expected)
    for a, b in zip(found, expected, strict=True):
        a, b = (x.detach().value if isinstance(x, wg.Tensor) else x for x in (a, b))
        if not isinstance(a, bool | int | float | complex | np.generic) and not is_constant(a):
            assert device_of(a) == device, f"a result is on {device_of(a)}"
        a, b = move(a, "cpu"), np.asarray(b)
        assert np.asarray(a).dtype == b.dtype, f"dtype {np.asarray(a).dtype} in place of {b.dtype}"
        assert np.shape(a) == b.shape
        tolerance = 1e-5 if b.dtype.itemsize <= 4 else 1e-8
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


def is_constant(a: Any) -> bool:
    """Whether this is the derivative of a number that is the same on all devices."""
    return isinstance(a, np.ndarray) and not a.ndim and not a.any()


def has_form(primitive: Primitive) -> bool:
    """Whether an operation runs on devices."""
    return primitive in device_call

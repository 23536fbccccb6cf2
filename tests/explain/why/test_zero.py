"""why_zero on functions that are broken: it names the line that is marked `# here`."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
from tests.explain.why.marked_functions import gradients, marked_line

import wengert as wg
from wengert.explain.why.zero import why_zero


def not_used(x, y):
    z = y * 2.0  # here
    del z
    return x * x


def stopped(y):
    z = y * 2.0
    return wg.stop_gradient(z) + 1.0  # here


def number_taken(x, y):
    z = np.sin(y)
    plain = z.detach()
    return x * plain  # here


def argmax_on_the_way(y):
    scores = y * 2.0
    best = np.argmax(scores)  # here
    return best * 3.0


def rounded(y):
    scaled = y * 10.0
    whole = np.round(scaled)  # here
    return whole / 10.0


def floored(x, y):
    steps = np.floor(y)  # here
    return steps * x


def compared(x, y):
    hits = (y > 0.5) * 1.0  # here
    return (hits * x).sum()


def only_decides(x, y):
    if y > 0:  # here
        return x * 2.0
    return x


def converted(x, y):
    count = y.astype(int)  # here
    return x * count


def sigmoid_saturated(y):
    h = y * 100.0
    return wg.sigmoid(h)  # here


def tanh_saturated(y):
    h = y * 100.0
    return np.tanh(h).sum()  # here


def dead_relu(y):
    h = y - 5.0
    return (wg.relu(h) * 2.0).sum()  # here


def clipped(y):
    return np.clip(y, 0.0, 1.0) * 2.0  # here


def not_the_largest(x, y):
    return np.maximum(x, y)  # here


def not_the_maximum(x, y):
    both = wg.stack([x, y])
    return both.max()  # here


def zero_weights(y):
    w = np.zeros((3, 2))
    hidden = y @ w  # here
    return hidden.sum()


def zero_mask(x, y):
    mask = np.array([1.0, 0.0])
    both = wg.stack([x, y])
    return (both * mask).sum()  # here


def overwritten(y):
    z = y * 2.0
    z[:] = 1.0  # here
    return z.sum()


def overwritten_in_part(x, y):
    z = wg.stack([x, y])
    z[1] = 0.0  # here
    return (z * z).sum()


def untaken_branch(x, y):
    return wg.where(x > 0, x, y)  # here


def stationary_point(y):
    return np.cos(y)  # here


def cancelling(y):
    a = y * 2.0
    return a - a  # here


def underflowing(y):
    small = y * 1e-200  # here
    return small * 1e-200


def left_out(x, y):
    both = wg.stack([x, y])
    return both[:1].sum()  # here


ZERO = [
    (not_used, (1.0, 2.0), "not used", "multiply"),
    (stopped, (2.0,), "detached", "stop_gradient"),
    (number_taken, (1.0, 2.0), "detached", "multiply"),
    (argmax_on_the_way, (np.arange(3.0),), "not differentiable", "argmax"),
    (rounded, (0.123,), "not differentiable", "round"),
    (floored, (1.0, 2.5), "not differentiable", "floor"),
    (compared, (np.ones(2), np.array([0.0, 1.0])), "not differentiable", "greater"),
    (only_decides, (1.0, 2.0), "only compared", "greater"),
    (converted, (1.0, 2.5), "not differentiable", "astype_discrete"),
    (sigmoid_saturated, (1.0,), "saturated", "sigmoid"),
    (tanh_saturated, (np.ones(2),), "saturated", "tanh"),
    (dead_relu, (np.ones(2),), "saturated", "relu"),
    (clipped, (3.0,), "saturated", "minimum"),
    (not_the_largest, (2.0, 1.0), "not selected", "maximum"),
    (not_the_maximum, (2.0, 1.0), "not selected", "max"),
    (zero_weights, (np.ones(3),), "multiplied by zero", "matmul"),
    (zero_mask, (1.0, 2.0), "multiplied by zero", "multiply"),
    (overwritten, (np.ones(3),), "overwritten", "set_at"),
    (overwritten_in_part, (1.0, 2.0), "overwritten", "set_at"),
    (untaken_branch, (1.0, 2.0), "not selected", "where"),
    (stationary_point, (0.0,), "stationary", "cos"),
    (cancelling, (1.0,), "cancels", "subtract"),
    (underflowing, (1.0,), "underflow", "multiply"),
    (left_out, (1.0, 2.0), "not selected", "getitem"),
]


@pytest.mark.parametrize(("f", "args", "kind", "operation"), ZERO, ids=lambda v: getattr(v, "__name__", ""))
def test_why_zero_names_the_line(f, args, kind, operation):
    answer = why_zero(f, *args)
    reason = answer["y"]
    assert reason.kind == kind
    assert reason.operation == operation
    assert reason.line == marked_line(f)
    assert reason.filename == __file__
    assert not reason.is_fine
    assert reason.remedy
    assert f"test_zero.py:{reason.line}" in str(answer)
    assert reason.kind in answer._repr_html_()
    index = list(inspect.signature(f).parameters).index("y")
    assert not np.any(gradients(f, *args)[1][index])


@pytest.mark.parametrize(
    ("f", "args"), [(f, args) for f, args, *_ in ZERO if len(args) == 2], ids=lambda v: getattr(v, "__name__", "")
)
def test_the_other_argument_is_fine(f, args):
    reason = why_zero(f, *args)["x"]
    assert reason.is_fine
    assert np.any(reason.gradient)


class TestWhyZero:
    def test_integers(self):
        answer = why_zero(lambda n, x: n * x, 3, 1.0)
        assert answer["n"].kind == "integer"
        assert answer["x"].is_fine

    @pytest.mark.parametrize(
        ("f", "at", "kind"),
        [(abs, 0.0, "stationary"), (wg.relu, 0.0, "saturated"), (lambda x: x**0, 2.0, "stationary")],
    )
    def test_conventions_at_kinks(self, f, at, kind):
        assert why_zero(f, at)[0].kind == kind

    def test_a_place_that_is_written_twice(self):
        def f(v):
            y = wg.tensor(np.zeros(3))
            y[[0, 0, 1]] = v  # here
            return (y * np.array([1.0, 10.0, 100.0])).sum()

        reason = why_zero(f, np.ones(3))[0]
        assert reason.zeros == 1
        assert reason.losses[0].kind == "overwritten"
        assert reason.line == marked_line(f)

    def test_no_operation_at_all(self):
        reason = why_zero(lambda x, y: x * 2.0, 1.0, 1.0)["y"]
        assert reason.kind == "not used"
        assert reason.line is None

    def test_path(self):
        def f(y):
            a = y * 2.0
            b = np.sin(a)
            c = np.floor(b)
            return c + 1.0

        reason = why_zero(f, 1.0)[0]
        assert [step.operation for step in reason.path] == ["multiply", "sin"]
        assert [step.line - inspect.getsourcelines(f)[1] for step in reason.path] == [1, 2]
        assert reason.line - inspect.getsourcelines(f)[1] == 3

    def test_every_path_is_told_of(self):
        def f(y):
            return np.floor(y) + wg.relu(y - 5.0) + wg.stop_gradient(y)

        assert {loss.kind for loss in why_zero(f, 1.0)[0].losses} == {"not differentiable", "saturated", "detached"}

    def test_some_elements(self):
        reason = why_zero(lambda x: wg.relu(x).sum(), np.array([1.0, -1.0, 2.0]))[0]
        assert reason.is_fine
        assert reason.zeros == 1
        assert "x[1]" in reason.text
        assert reason.losses[0].kind == "saturated"

    def test_several_outputs_of_one_operation(self):
        def f(y):
            first, second = np.split(y, 2)
            del second
            return wg.relu(first).sum()

        reason = why_zero(f, -np.ones(4))[0]
        assert reason.operation == "relu"

    def test_not_finite_is_for_why_nan(self):
        reason = why_zero(np.sqrt, 0.0)[0]
        assert reason.kind == "not finite"
        assert "why_nan" in reason.remedy

    def test_everything_fine(self):
        answer = why_zero(lambda x, y: x * np.sin(y), 1.0, 2.0)
        assert answer.is_fine
        assert len(answer) == 2
        assert [reason.name for reason in answer] == ["x", "y"]

    def test_a_long_path_is_shortened(self):
        def f(y):
            for _ in range(50):
                y = y * 1.1
                y = y + 0.1
            return np.floor(y)

        answer = why_zero(f, 1.0)
        assert len(answer[0].path) == 100
        assert "... 92 more ..." in str(answer)
        assert len(str(answer).splitlines()) < 30

    def test_unknown_argument(self):
        with pytest.raises(KeyError, match="not an argument.*The arguments are x"):
            why_zero(lambda x: x * 1.0, 1.0)["z"]

    def test_parameters_in_a_tree(self):
        answer = why_zero(lambda p: p["w"] * 2.0, {"w": 1.0, "b": 2.0})
        assert answer["p['b']"].kind == "not used"
        assert answer["p['w']"].is_fine


def test_the_step_of_a_loop_is_named():
    def f(x):
        return wg.scan(lambda c, u: (wg.relu(c - u), c), x, np.array([0.1, 0.2, 0.9, -1.0, -1.0]))[0]

    assert ", step 3 of 5: return wg.scan" in " ".join(str(why_zero(f, 1.0)).split())

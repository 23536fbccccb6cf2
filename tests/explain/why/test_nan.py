"""why_nan on functions that are broken: it names the line that is marked `# here`."""

from __future__ import annotations

import numpy as np
import pytest
from tests.explain.why.marked_functions import gradients_are_finite, marked_line

import wengert as wg
from wengert.explain.why.nan import why_nan

# Functions whose result or gradient is not finite


def log_of_zero(p):
    t = np.array([0.0, 1.0, 0.0])
    entropy = t * 2.0
    logs = np.log(p)  # here
    return -(entropy * logs).sum()


def log_of_negative(x):
    shifted = x - 3.0
    return np.log(shifted).sum()  # here


def softmax_overflow(x):
    e = np.exp(x)  # here
    total = e.sum()
    return (e / total)[0]


def logistic_overflow(x):
    return (1.0 / (1.0 + np.exp(x))).sum()  # here


def distance_at_zero(p):
    apart = p[0] - p[1]
    squared = (apart * apart).sum()
    return np.sqrt(squared)  # here


def masked_by_multiplication(x):
    mask = x > 0
    inverse = 1.0 / x  # here
    return (mask * inverse).sum()


def zero_by_zero(x):
    numerator = np.sin(x)
    quotient = numerator / x  # here
    return quotient.sum()


def all_masked(x):
    hidden = np.full(3, -np.inf)
    scores = x + hidden
    scores = scores - scores.max()  # here
    return np.exp(scores).sum()


def angle_of_parallel(a):
    unit = a / np.linalg.norm(a)
    cosine = (unit * unit).sum()
    return np.arccos(np.minimum(cosine, 1.0))  # here


def beyond_arccos(x):
    return np.arccos(x * 2.0).sum()  # here


def fractional_power_of_negative(x):
    y = x - 1.0
    return (y**1.5).sum()  # here


def power_at_zero(x):
    root = x**0.3  # here
    return root * 2.0


def negative_base_and_exponent(x, y):
    z = x * 1.0
    return z**y  # here


def product_in_single_precision(x):
    small = x.astype(np.float32)
    return np.prod(small)  # here


def square_overflow(x):
    y = x * 1e200
    return (y * y).sum()  # here


def artanh_at_one(x):
    return np.arctanh(x).sum()  # here


def through_a_helper(x):
    def entropy(p):
        return p * np.log(p)  # here

    return entropy(x).sum()


def in_a_loop(x):
    y = x
    for _ in range(5):
        y = y - 1.0
        y = np.sqrt(y)  # here
    return y


def mean_of_nothing(x):
    chosen = x[x > 5.0]
    return chosen.mean()  # here


def log_of_softmax(x):
    e = np.exp(x - x.max())
    return np.log(e / e.sum())[1]  # here


def masked_distances(p):
    apart = p[:, None, :] - p[None, :, :]
    return wg.where(~np.eye(3, dtype=bool), np.sqrt((apart**2).sum(-1)), 0.0).sum()


NOT_FINITE = [
    (log_of_zero, (np.array([0.5, 0.5, 0.0]),), "forward", "log", (2,)),
    (log_of_negative, (np.array([4.0, 1.0]),), "forward", "log", (1,)),
    (softmax_overflow, (np.array([1.0, 1000.0]),), "forward", "exp", (1,)),
    (logistic_overflow, (np.array([0.0, 1000.0]),), "forward", "exp", (1,)),
    (distance_at_zero, (np.ones((2, 3)),), "backward", "sqrt", ()),
    (masked_by_multiplication, (np.array([2.0, 0.0]),), "forward", "divide", (1,)),
    (zero_by_zero, (np.array([1.0, 0.0]),), "forward", "divide", (1,)),
    (all_masked, (np.zeros(3),), "forward", "subtract", (0,)),
    (angle_of_parallel, (np.array([0.0, 2.0]),), "backward", "arccos", ()),
    (beyond_arccos, (np.array([0.1, 0.6]),), "forward", "arccos", (1,)),
    (fractional_power_of_negative, (np.array([3.0, 0.5]),), "forward", "power", (1,)),
    (power_at_zero, (0.0,), "backward", "power", ()),
    (negative_base_and_exponent, (-2.0, 2.0), "backward", "power", ()),
    (product_in_single_precision, (np.full(3, 1e20),), "forward", "prod", ()),
    (square_overflow, (np.array([[1.0, 1e-100]]),), "forward", "multiply", (0, 0)),
    (artanh_at_one, (np.array([0.0, 1.0]),), "forward", "arctanh", (1,)),
    (through_a_helper, (np.array([0.5, 0.0]),), "forward", "log", (1,)),
    (in_a_loop, (3.0,), "forward", "sqrt", ()),
    (mean_of_nothing, (np.ones(3),), "forward", None, ()),
    (log_of_softmax, (np.array([1000.0, 0.0]),), "forward", "log", (1,)),
]


@pytest.mark.parametrize(
    ("f", "args", "direction", "operation", "index"), NOT_FINITE, ids=lambda v: getattr(v, "__name__", "")
)
def test_why_nan_names_the_line(f, args, direction, operation, index):
    answer = why_nan(f, *args)
    assert not answer.is_finite
    assert not gradients_are_finite(f, *args)
    assert answer.line == marked_line(f)
    assert answer.filename == __file__
    assert answer.code.endswith("# here")
    assert f.__name__ in answer.function
    assert answer.direction == direction
    assert operation is None or answer.operation == operation
    assert answer.index == index
    assert answer.remedy
    text = str(answer)
    assert f"test_nan.py:{answer.line}" in text
    assert answer.operation in text
    assert answer.operation in answer._repr_html_()


class TestWhyNan:
    def test_operands_and_local_derivative(self):
        answer = why_nan(log_of_zero, np.array([0.5, 0.5, 0.0]))
        (operand,) = answer.operands
        assert operand.name == "p[2]"
        assert operand.value == 0.0
        assert answer.local_derivative == np.inf
        assert answer.events[0].made == -np.inf

    def test_what_became_of_it(self):
        answer = why_nan(masked_by_multiplication, np.array([2.0, 0.0]))
        assert [event.source_line.operation for event in answer.events] == ["divide", "multiply"]
        assert "wg.where(mask" in answer.events[1].remedy
        assert "0 times an infinity" in str(answer)

    @pytest.mark.parametrize(
        ("f", "args", "advice"),
        [
            (distance_at_zero, (np.ones((2, 3)),), "np.linalg.norm"),
            (softmax_overflow, (np.array([1.0, 1000.0]),), "x - x.max()"),
            (all_masked, (np.zeros(3),), "-1e9"),
            (zero_by_zero, (np.array([1.0, 0.0]),), "np.sinc"),
            (beyond_arccos, (np.array([0.1, 0.6]),), "np.clip"),
        ],
    )
    def test_advice_is_about_the_case(self, f, args, advice):
        assert advice in why_nan(f, *args).remedy

    @pytest.mark.parametrize(
        ("f", "args"),
        [
            (lambda x: wg.where(x >= 0, x, wg.sqrt(-x)), (1.0,)),
            (lambda x: np.linalg.norm(x), (np.zeros(3),)),
            (lambda x: np.prod(x), (np.array([2.0, 0.0]),)),
            (lambda x: np.linalg.norm(x) ** 2, (np.zeros(3),)),
            (lambda x: np.cumprod(x).sum(), (np.array([2.0, 0.0, 3.0]),)),
            (lambda y: 0.0**y, (2.0,)),
            (lambda x: np.std(x), (np.ones(3),)),
            (lambda x: x**0, (0.0,)),
            (masked_distances, (np.array([[0.0, 0.0], [3.0, 4.0], [0.0, 1.0]]),)),
            (lambda x: wg.softplus(x) + np.logaddexp(x, 0.0), (1e4,)),
        ],
    )
    def test_finite(self, f, args):
        answer = why_nan(f, *args)
        assert answer.is_finite
        assert gradients_are_finite(f, *args)
        assert answer.line is answer.operation is answer.remedy is None
        assert "Everything is finite" in str(answer)

    def test_a_branch_that_is_not_taken_is_told_of(self):
        answer = why_nan(lambda x: wg.where(x >= 0, x, wg.sqrt(-x)), 1.0)
        assert [at.operation for at in answer.harmless] == ["sqrt"]

    def test_an_infinity_that_only_the_derivative_meets(self):
        answer = why_nan(logistic_overflow, np.array([0.0, 1000.0]))
        assert answer.operation == "exp"
        assert "1 / inf" in answer.remedy
        assert answer.events[1].direction == "backward"

    def test_an_argument_that_is_not_finite(self):
        answer = why_nan(lambda x: x * 2.0, np.array([1.0, np.nan]))
        assert answer.line is None
        assert answer.index == (1,)
        assert "the argument x[1] is nan" in str(answer)

    def test_a_captured_array_that_is_not_finite(self):
        weights = np.array([1.0, np.nan])
        assert "a captured array" in str(why_nan(lambda x: (x * weights).sum(), np.ones(2)))

    def test_an_element_that_is_not_chosen_still_meets_the_derivative(self):
        def f(x):
            logs = np.log(x)  # here
            return logs[1] + x[1]

        answer = why_nan(f, np.array([0.0, 1.0]))
        assert not gradients_are_finite(f, np.array([0.0, 1.0]))
        assert answer.line == marked_line(f)
        assert answer.index == (0,)
        assert "something else is selected" in answer.remedy

    def test_elements_are_followed_through_rearrangement(self):
        def f(x):
            y = np.log(x)
            z = np.sqrt(x - 1.0)
            return np.concatenate([y[::-1], z]).reshape(2, 2).T[0].sum()

        answer = why_nan(f, np.array([0.5, 2.0]))
        assert answer.operation == "sqrt"
        assert answer.index == (0,)

    def test_tensors_and_trees(self):
        def loss(params, x):
            return np.log(params["w"] @ x)

        answer = why_nan(loss, {"w": wg.tensor([1.0, -1.0], requires_grad=True)}, np.ones(2))
        assert answer.operation == "log"

    def test_no_warnings_and_no_settings_left(self):
        before = np.geterr()
        why_nan(lambda x: np.log(x) / x, 0.0)
        assert np.geterr() == before

    def test_many_operations(self):
        def f(x):
            y = x
            for _ in range(3000):
                y = y - 0.001
            return np.log(y)

        assert why_nan(f, 1.0).operation == "log"


def test_the_step_of_a_loop_is_named():
    def f(x):
        def step(h, u):
            return np.log(h - u), None

        return wg.scan(step, x, np.array([0.1, 0.2, 0.3, 0.4, 0.5]))[0]

    found = why_nan(f, 2.0)
    assert found.operation == "log"
    assert ", step 3 of 5: return np.log(h - u), None" in " ".join(str(found).split())
    until = lambda x: wg.while_loop(lambda s: s[0] < 5, lambda s: (s[0] + 1, np.sqrt(s[1] - 1.0)), (0, x))[1]
    assert "step 3 of 5" in " ".join(str(why_nan(until, 2.0)).split())


def test_a_function_without_a_loop_has_no_steps():
    found = why_nan(lambda x: np.log(x) + np.mean(x * x), -1.0)
    assert not found.events[0].source_line.step

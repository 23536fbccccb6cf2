"""Errors of branches and loops on traced values: in the user's terms, with file, line and the name of the variable."""

from __future__ import annotations

import inspect
import traceback

import numpy as np
import pytest

import wengert as wg


def on_one_path(x):
    if x > 0:
        y = x * 2
    return y + 1


def returned_on_one_path(x):
    if x > 0:
        y = x * 2
    return y


def other_shape(x):
    if x > 0:  # noqa: SIM108  # a statement
        y = np.ones(3) * x
    else:
        y = np.ones(2) * x
    return y.sum()


def other_kind(x):
    y = "text" if x > 0 else x
    return y  # noqa: RET504  # so that the variable has a name


def other_structure(x):
    if x > 0:
        return x, x
    return x


def nothing_returned(x):  # noqa: RET503  # that is what is wrong
    for i in range(30):
        if x > i:
            return x


def growing_state(x):
    y = np.ones(2) * x
    while y.sum() < 10:
        y = np.concatenate([y, y])
    return y


def other_dtype(x):
    n = (x * 3).astype(int)
    while n < 5:
        n = n * 1.5
    return n


def only_in_the_loop(x):
    while x < 3:
        x = x * 2
        y = x
    return y * 2


def unknown_number_of_elements(x):
    ys = []
    while x < 3:
        x = x * 2
        ys.append(x)
    return np.stack(ys).sum()


def one_element_more(x):
    ys = [x]
    if x > 0:
        ys.append(x)
    return sum(ys)


def ambiguous(x):
    if np.ones(3) * x > 0:
        return x
    return -x


def captured(x):
    if x > 0:
        WEIGHTS[0] = x
    return x


def real_step(x):
    for i in range(x):
        x = x + i
    return x


WEIGHTS = wg.tensor(np.ones(2))
WRONG = {
    on_one_path: (NameError, 3, "The variable 'y' has no value here.*only one branch"),
    returned_on_one_path: (NameError, 3, "The variable 'y' has no value here"),
    other_shape: (TypeError, 1, r"The variable 'y' is f64\[3\] after one branch .* and f64\[2\] after the other"),
    other_kind: (TypeError, 1, r"return different things: a str, and f64\[\]"),
    other_structure: (TypeError, 1, r"return different things: the tuple .*, and f64\[\]"),
    nothing_returned: (TypeError, 1, r"return different things: f64\[\], and None"),
    growing_state: (TypeError, 2, r"the variable 'y' is f64\[2\] before a step, and f64\[4\] after it"),
    other_dtype: (TypeError, 2, r"the variable 'n' is i64\[\] before a step, and f64\[\] after it"),
    only_in_the_loop: (NameError, 4, "The variable 'y' has no value here.*Give it a value before the loop"),
    unknown_number_of_elements: (TypeError, 2, "the list 'ys' grows, and the number of steps is not known"),
    one_element_more: (TypeError, 2, "The variable 'ys' is the list .* after one branch"),
    ambiguous: (ValueError, 1, r"truth value of an array of shape \(3,\) is ambiguous"),
    captured: (wg.GradientError, 1, "assigns to a tensor that the function captures"),
    real_step: (TypeError, 1, "range with a bound of dtype float64"),
}


@pytest.mark.parametrize("f", WRONG)
def test_errors_name_the_variable_and_the_line(f):
    kind, line, message = WRONG[f]
    where = f"{__file__}:{inspect.getsourcelines(f)[1] + line}"
    with pytest.raises(kind, match=message) as caught:
        wg.compile(f)(0.3)
    assert where in str(caught.value)
    with pytest.raises(kind, match=message):
        wg.trace(wg.grad(f), 0.3)


def fails_inside(x):
    total = 0.0
    for i in range(30):
        if x > i:
            total = total + np.ones(3) @ np.ones((4, 4))
    return total


def test_tracebacks_have_the_users_lines_and_names():
    with pytest.raises(ValueError, match="mismatch") as caught:
        wg.compile(fails_inside)(0.3)
    frames = traceback.extract_tb(caught.value.__traceback__)
    last = frames[-1]
    assert (last.filename, last.name) == (__file__, "fails_inside")
    assert last.line == "total = total + np.ones(3) @ np.ones((4, 4))"
    assert not [frame for frame in frames if "/wengert/source/" in frame.filename]


def test_variables_keep_their_names_inside_branches_and_loops(capsys):
    def look(x):
        total = 0.0
        for i in range(30):
            if x > i:
                total = total + x
                print(sorted(inspect.currentframe().f_locals))
        return total

    wg.trace(look, 0.3)
    assert "'total', 'x'" in capsys.readouterr().out


def positive(x):
    assert x > 0, "x must be positive"
    return x * x


def never_empty(x):
    for _ in range(30):
        x = x - 0.1
        assert x > 0, ("ran out", 3)
    return x * x


def root(x):
    if x < 0:
        raise ValueError("negative", 3)
    return np.sqrt(x)


def checked_in_a_branch(x):
    if x < 1.0:
        assert x > 0, "x must be positive"
        x = x * 2
    return x * x


@pytest.mark.parametrize(
    ("f", "good", "bad", "error"),
    [
        (positive, 0.5, -0.5, AssertionError("x must be positive")),
        (never_empty, 5.0, 1.0, AssertionError(("ran out", 3))),
        (root, 0.5, -0.5, ValueError("negative", 3)),
        (checked_in_a_branch, 3.0, -3.0, AssertionError("x must be positive")),
    ],
)
def test_assertions_and_errors_are_raised_when_the_program_runs(f, good, bad, error):
    batched = lambda x: wg.vmap(wg.compile(f))(np.array([x, 7.0]))[0]
    for run in (wg.trace(f, 0.5).evaluate, wg.compile(f), batched):
        np.testing.assert_allclose(run(good), f(good), rtol=1e-14)
        with pytest.raises(type(error)) as caught:
            run(bad)
        assert caught.value.args == error.args
        assert __file__ in caught.value.__notes__[0]
    for run in (wg.compile(wg.grad(f)), wg.grad(wg.compile(f)), wg.trace(wg.grad(f), 0.5).evaluate):
        np.testing.assert_allclose(run(good), wg.grad(f)(good), rtol=1e-14)
        with pytest.raises(type(error)):
            run(bad)

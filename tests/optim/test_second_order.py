"""L-BFGS, Newton's method and Gauss-Newton against scikit-learn and SciPy."""

from __future__ import annotations

from importlib.util import find_spec

import numpy as np
import pytest
from scipy import optimize as scipy_optimize

import wengert as wg


def classes() -> tuple[np.ndarray, np.ndarray]:
    """Two classes that overlap."""
    rng = np.random.default_rng(3)
    x = rng.standard_normal((60, 4))
    return x, (x @ np.array([1.0, -2.0, 0.5, 0.0]) + rng.standard_normal(60) > 0.3).astype(float)


COEFFICIENTS = np.array([1.1032188025854501, -2.4403247977512432, 0.6321315798771856, 0.2562609993820545])
"""Of `LogisticRegression(solver="newton-cholesky", tol=1e-14)` in scikit-learn, for these data."""
INTERCEPT = -0.3283753937082952


def logistic(w, b, x, y):
    scores = x @ w + b
    return (np.logaddexp(0.0, scores) - y * scores).sum() + 0.5 * (w * w).sum()


def check_coefficients(w, b):
    np.testing.assert_allclose(w.detach().numpy(), COEFFICIENTS, atol=2e-8)
    np.testing.assert_allclose(b.item(), INTERCEPT, atol=2e-8)


def zeros():
    return wg.tensor(np.zeros(4), requires_grad=True), wg.tensor(0.0, requires_grad=True)


def test_logistic_regression_by_lbfgs():
    x, y = classes()
    w, b = zeros()
    optimizer = wg.optim.LBFGS(
        [w, b], max_iter=200, tolerance_grad=1e-10, tolerance_change=1e-14, line_search_fn="strong_wolfe"
    )

    def closure():
        optimizer.zero_grad()
        loss = logistic(w, b, x, y)
        loss.backward()
        return loss

    optimizer.step(closure)
    check_coefficients(w, b)


def test_logistic_regression_by_newton():
    x, y = classes()
    w, b = zeros()
    optimizer = wg.optim.NewtonCG({"w": w, "b": b})
    losses = [optimizer.step(lambda p: logistic(p["w"], p["b"], x, y)) for _ in range(12)]
    assert all(b <= a for a, b in zip(losses, losses[1:], strict=False))
    check_coefficients(w, b)


def test_logistic_regression_by_gauss_newton():
    """With the cross entropy as loss of the scores; the penalty is a second residual."""
    x, y = classes()
    w, b = zeros()
    loss = lambda r: (np.logaddexp(0.0, r[0]) - y * r[0]).sum() + 0.5 * (r[1] * r[1]).sum()
    split = lambda v: (v[:60], v[60:])
    optimizer = wg.optim.GaussNewton([w, b], loss=lambda v: loss(split(v)))
    for _ in range(15):
        optimizer.step(lambda p: np.concatenate([x @ p[0] + p[1], p[0]]))
    check_coefficients(w, b)


@pytest.mark.skipif(find_spec("sklearn") is None, reason="the stored coefficients are compared")
def test_stored_coefficients_are_those_of_scikit_learn():
    from sklearn.linear_model import LogisticRegression

    x, y = classes()
    fit = LogisticRegression(solver="newton-cholesky", tol=1e-14).fit(x, y)
    np.testing.assert_allclose([*fit.coef_[0], fit.intercept_[0]], [*COEFFICIENTS, INTERCEPT], rtol=1e-10)


def decays(p, t):
    return p[0] * np.exp(-p[1] * t) + p[2] * np.exp(-p[3] * t)


def test_levenberg_marquardt_is_that_of_scipy():
    rng = np.random.default_rng(4)
    t = np.linspace(0.0, 5.0, 80)
    y = decays(np.array([2.0, 0.4, 1.0, 2.5]), t) + 0.01 * rng.standard_normal(80)
    start = np.array([1.0, 0.1, 1.5, 3.0])
    expected = scipy_optimize.least_squares(lambda p: decays(p, t) - y, start, method="lm", xtol=1e-14, ftol=1e-14)
    p = wg.tensor(start, requires_grad=True)
    optimizer = wg.optim.GaussNewton([p])
    losses = [optimizer.step(lambda p: decays(p[0], t) - y) for _ in range(60)]
    np.testing.assert_allclose(p.detach().numpy(), expected.x, rtol=1e-6)
    np.testing.assert_allclose(losses[-1], expected.cost, rtol=1e-12)
    assert optimizer.param_groups[0]["damping"] < 1e-3


def test_modules_are_trees_of_parameters():
    class Line(wg.nn.Module):
        def __init__(self):
            self.slope, self.intercept = wg.nn.Parameter(0.0), wg.nn.Parameter(0.0)

        def forward(self, x):
            return self.slope * x + self.intercept

    model, x = Line(), np.arange(5.0)
    optimizer = wg.optim.GaussNewton(model, damping=0.0)
    optimizer.step(lambda model: model(x) - (3.0 * x - 1.0))
    np.testing.assert_allclose([model.slope.item(), model.intercept.item()], [3.0, -1.0], atol=1e-9)


def test_negative_curvature_is_left():
    """From a saddle's side, Newton's direction alone would go uphill."""
    p = wg.tensor([0.1, 0.0], requires_grad=True)
    optimizer = wg.optim.NewtonCG([p])
    saddle = lambda params: params[0][0] ** 4 / 4 - params[0][0] ** 2 / 2 + params[0][1] ** 2
    for _ in range(10):
        optimizer.step(saddle)
    np.testing.assert_allclose(p.detach().numpy(), [1.0, 0.0], atol=1e-6)


def test_lbfgs_resumes_to_the_same_bits():
    x, y = classes()

    def run(parts):
        w, b = zeros()
        state = None
        for steps in parts:
            optimizer = wg.optim.LBFGS([w, b], max_iter=2, lr=0.3)
            if state is not None:
                optimizer.load_state_dict(state)

            def closure(optimizer=optimizer):
                optimizer.zero_grad()
                loss = logistic(w, b, x, y)
                loss.backward()
                return loss

            for _ in range(steps):
                optimizer.step(closure)
            state = optimizer.state_dict()
        return w.detach().numpy()

    assert run([8]).tobytes() == run([3, 5]).tobytes()


@pytest.mark.parametrize("make", [wg.optim.NewtonCG, wg.optim.GaussNewton])
def test_single_precision_stays(make):
    p = wg.tensor(np.array([1.0, 2.0], np.float32), requires_grad=True)
    make([p]).step(lambda params: params[0][:1].sum() ** 2)
    assert p.dtype == np.float32
    assert abs(p[0].item()) < 0.6
    assert p[1].item() == 2.0


def test_errors():
    p = wg.tensor([1.0], requires_grad=True)
    with pytest.raises(TypeError, match="LBFGS.step needs a closure"):
        wg.optim.LBFGS([p]).step()
    with pytest.raises(ValueError, match="strong_wolfe"):
        wg.optim.LBFGS([p], line_search_fn="armijo")
    with pytest.raises(ValueError, match="several groups"):
        wg.optim.LBFGS([{"params": [p]}, {"params": [wg.tensor([1.0])]}])
    with pytest.raises(TypeError, match="Give a function of the parameters"):
        wg.optim.NewtonCG([p]).step()
    with pytest.raises(TypeError, match="inside a compiled function"):
        wg.compile(lambda x: wg.optim.NewtonCG([p]).step(lambda p: p[0].sum()) + x)(1.0)

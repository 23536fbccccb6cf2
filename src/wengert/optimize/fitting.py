"""`curve_fit`: parameters of a model from data, with standard errors."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from wengert.core.errors import user_error, user_line
from wengert.implicit.solvers import as_start
from wengert.optimize.least_squares import least_squares
from wengert.optimize.variables import Variables, refuse_tracked
from wengert.transforms.boundary import flatten_arrays


@dataclass(frozen=True)
class Fit:
    """Fitted parameters, and how well the data determine them.

    `errors` are the standard errors, a tree like `params`; `covariance` is the matrix of their elements one after the
    other. `residuals` are (f - y) / sigma; `chi_square` is the sum of their squares, for `degrees` of freedom. `result`
    is that of `least_squares`.

    >>> import wengert as wg
    >>> x = np.arange(4.0)
    >>> fit = wg.optimize.curve_fit(lambda x, p: p * x, x, 2.0 * x, 1.0)
    >>> round(float(fit.params), 6)
    2.0
    """

    params: Any
    errors: Any
    covariance: np.ndarray
    residuals: np.ndarray
    chi_square: float
    degrees: int
    result: Any

    def __iter__(self) -> Iterator:
        """As in SciPy: `popt, pcov = curve_fit(...)`."""
        return iter((self.params, self.covariance))

    @property
    def how(self) -> str:
        """How the fit was computed."""
        return self.result.how

    def __repr__(self) -> str:
        quality = f"chi_square={self.chi_square:.6g}, degrees={self.degrees}"
        return f"Fit(params={self.params!r}, errors={self.errors!r}, {quality})"


def curve_fit(
    f: Callable,
    xdata: Any,
    ydata: Any,
    p0: Any,
    sigma: Any = None,
    absolute_sigma: bool = False,
    bounds: Any = None,
    **options: Any,
) -> Fit:
    """The parameters for which `f(xdata, *p)` is nearest to `ydata`, in least squares, from the start `p0`.

    If p0 is a dict, its parameters go to f by name, and the results have these names; otherwise one after the other, as
    in SciPy. A parameter may itself be an array. `sigma` are standard deviations of ydata, or their covariance matrix;
    unless they are `absolute_sigma`, only their ratios count, and the scale is estimated from the residuals. `options`
    go to `least_squares`.

    The covariance is that of the model linearised at the solution, (J^T J)^-1. Parameters that the data do not
    determine have infinite errors, with a warning.

    >>> x = np.array([0.0, 1.0, 2.0, 3.0])
    >>> y = np.array([1.1, 2.9, 5.1, 6.9])
    >>> fit = curve_fit(lambda x, slope, offset: slope * x + offset, x, y, {"slope": 1.0, "offset": 0.0})
    >>> {name: f"{fit.params[name]:.3f} +- {fit.errors[name]:.3f}" for name in fit.params}
    {'slope': '1.960 +- 0.057', 'offset': '1.060 +- 0.106'}
    """
    refuse_tracked((xdata, ydata, sigma), "The data")
    y = np.asarray(ydata, float)
    if not y.size:
        raise user_error(ValueError, "curve_fit: ydata is empty")
    if not np.isfinite(y).all():
        raise user_error(ValueError, "curve_fit: ydata has elements that are not finite", "Leave these points out.")
    weigh = residual_weights(sigma, y)
    variables = Variables(as_start(p0), "p0")

    def residual(p: Any) -> Any:
        values = f(xdata, **p) if isinstance(p, dict) else f(xdata, *split_parameters(p))
        shape = flatten_arrays(values)[0][0].shape
        if shape != y.shape:
            raise user_error(
                ValueError, f"curve_fit: the model has shape {shape}, and ydata {y.shape}", "They must be equal."
            )
        return weigh(values - y)

    method = "lm" if bounds is None and y.size >= variables.size else "trf"
    result = least_squares(residual, p0, bounds=bounds, **({"method": method} | options))
    degrees = y.size - variables.size
    chi_square = float(np.sum(np.square(result.fun)))
    covariance = inverse_gram(result.jac, variables.size)
    if not absolute_sigma:
        with np.errstate(invalid="ignore"):  # infinity times zero: a perfect fit that does not determine the parameters
            covariance = covariance * (chi_square / degrees if degrees > 0 else np.inf)
    if not np.isfinite(covariance).all():
        covariance = np.full((variables.size, variables.size), np.inf)
        warnings.warn(
            f"curve_fit: the data do not determine the parameters ({y.size} points, {variables.size} parameters), and "
            f"the standard errors "
            f"are infinite, at {user_line()}. Fix some parameters, or add data.",
            import_module("scipy.optimize").OptimizeWarning,
            stacklevel=2,
        )
    errors = variables.tree(np.sqrt(np.diag(covariance)))
    return Fit(result.x, errors, covariance, np.asarray(result.fun), chi_square, degrees, result)


def split_parameters(p: Any) -> Any:
    """Parameters as a model takes them: the elements of a vector are one parameter each, any other array is one."""
    if isinstance(p, list | tuple):
        return p
    return [p[i] for i in range(p.shape[0])] if p.ndim == 1 else [p]


def residual_weights(sigma: Any, y: np.ndarray) -> Callable:
    """The function that makes residuals independent of each other, with the same standard deviation."""
    if sigma is None:
        return lambda r: r
    given = np.asarray(sigma, float)
    if given.shape in ((), y.shape):
        if not (given > 0).all():
            raise user_error(ValueError, "curve_fit: sigma must be positive")
        return lambda r: r / given
    if y.ndim == 1 and given.shape == (y.size, y.size):
        try:
            lower = np.linalg.cholesky(given)
        except np.linalg.LinAlgError:
            raise user_error(ValueError, "curve_fit: sigma, a covariance matrix, must be positive definite") from None
        whiten = import_module("scipy.linalg").solve_triangular(lower, np.eye(y.size), lower=True)
        return lambda r: whiten @ r
    raise user_error(
        ValueError,
        f"curve_fit: sigma has shape {given.shape}, and ydata {y.shape}",
        "Give one standard deviation for each point, or the covariance matrix of all of them.",
    )


def inverse_gram(jacobian: Any, n: int) -> np.ndarray:
    """(J^T J)^-1 by the singular values of J; infinite if J does not have full rank."""
    dense = jacobian.toarray() if hasattr(jacobian, "toarray") else np.asarray(jacobian)
    s, vt = np.linalg.svd(dense, full_matrices=False)[1:]
    if len(s) < n or not s[-1] > np.finfo(float).eps * max(dense.shape) * s[0]:
        return np.full((n, n), np.inf)
    return (vt.T / s**2) @ vt

"""Methods of second order, by products with the Hessian or with the Gauss-Newton matrix, which are never formed.

Their `step` takes a function of the parameters: it is differentiated as a function of the tree that the optimiser was
given, such as a module.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar

import numpy as np

from wengert.core.errors import user_error
from wengert.core.levels import bottom_array
from wengert.core.tree import flatten, unflatten
from wengert.optim.line_search import LinePoint, StrongWolfe
from wengert.optim.optimizer import Optimizer, refuse_traced
from wengert.optim.parameter_vector import ParameterVector
from wengert.optim.state_dicts import load_groups, save_groups
from wengert.structure.operators import gauss_newton_operator, half_squares, hessian_operator
from wengert.transforms.gradients import value_and_grad


class TreeOptimizer(Optimizer):
    """An optimiser of a tree of parameters, whose steps are functions of the vector of all their elements."""

    closure: ClassVar[str] = "of parameters"

    def __init__(self, params: Any, **defaults: Any):
        self.tree = list(params) if isinstance(params, Iterator) else params
        leaves, _ = flatten(self.tree)
        super().__init__(leaves, **defaults)
        self.vector = ParameterVector(leaves)

    def on_vectors(self, f: Callable[[Any], Any]) -> Callable[[Any], Any]:
        """A function of the tree of parameters as a function of the vector."""
        _, structure = flatten(self.tree)
        return lambda v: f(unflatten(structure, self.vector.flat.tree(v)))

    def state_dict(self) -> dict[str, Any]:
        """The hyperparameters; the damping among them is all that there is to remember."""
        return {"state": {}, "param_groups": save_groups(self)}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Continue from a `state_dict`."""
        load_groups(self, state_dict["param_groups"])


class NewtonCG(TreeOptimizer):
    """Newton's method: the direction by conjugate gradients, and a line search for its length.

    `params` is a module, or another tree of tensors. `step(loss)` is given a function of such a tree.

    >>> import wengert as wg
    >>> p = wg.tensor([-1.0, 2.0], requires_grad=True)
    >>> optimizer = NewtonCG([p])
    >>> rosenbrock = lambda params: (1 - params[0][0]) ** 2 + 100 * (params[0][1] - params[0][0] ** 2) ** 2
    >>> for _ in range(30):
    ...     loss = optimizer.step(rosenbrock)
    >>> print(wg.round(p.detach(), 6))
    tensor([1., 1.])
    """

    def __init__(self, params: Any, lr: float = 1.0, damping: float = 0.0, max_cg: int = 100, max_eval: int = 25):
        super().__init__(params, lr=lr, damping=damping, max_cg=max_cg, max_eval=max_eval)

    def step(self, closure: Callable[..., Any] | None = None) -> float:
        """One iteration; `closure` is the loss as a function of the parameters. Returns the loss before."""
        refuse_traced(self)
        f, settings = self.on_vectors(require_function(self, closure)), self.param_groups[0]
        differentiate = value_and_grad(f)
        x = self.vector.get()
        value, gradient = differentiate(x)
        hessian, damping = hessian_operator(f, x), settings["damping"]
        size = float(np.linalg.norm(gradient))
        if size == 0.0:
            return float(value)
        d = conjugate_gradients(
            lambda v: hessian @ v + damping * v, -gradient, min(0.01, size**0.5) * size, int(settings["max_cg"])
        )

        def evaluate(t: float) -> LinePoint:
            there, slopes = differentiate(x + d * d.dtype.type(t))
            return LinePoint(t, float(there), slopes, float(slopes @ d))

        start = LinePoint(0.0, float(value), gradient, float(gradient @ d))
        found = StrongWolfe(evaluate, start, int(settings["max_eval"])).search(settings["lr"], 1e-12)
        self.vector.assign(x + d * d.dtype.type(found.t))
        return float(value)


class GaussNewton(TreeOptimizer):
    """Gauss-Newton with damping, which is the method of Levenberg and Marquardt: the sum of squares of residuals.

    `params` is a module, or another tree of tensors. `step(residuals)` is given a function of such a tree. `loss` is a
    convex function of the residuals other than half the sum of their squares, such as a cross entropy of logits. The
    damping decreases while steps are as good as the quadratic model says.

    >>> import numpy as np
    >>> import wengert as wg
    >>> t = np.linspace(0.0, 2.0, 20)
    >>> rate = wg.tensor(1.0, requires_grad=True)
    >>> optimizer = GaussNewton({"rate": rate})
    >>> for _ in range(10):
    ...     loss = optimizer.step(lambda params: np.exp(-params["rate"] * t) - np.exp(-2.5 * t))
    >>> round(rate.item(), 6)
    2.5
    """

    def __init__(self, params: Any, damping: float = 1e-3, loss: Callable[[Any], Any] | None = None, max_cg: int = 100):
        super().__init__(params, damping=damping, max_cg=max_cg)
        self.loss = loss

    def step(self, closure: Callable[..., Any] | None = None) -> float:
        """One step that decreases the loss; `closure` has the residuals as a function of the parameters.

        Returns the loss before. The parameters do not change if no step decreases it by more than rounding.
        """
        refuse_traced(self)
        residuals, settings = self.on_vectors(require_function(self, closure)), self.param_groups[0]
        loss = half_squares if self.loss is None else self.loss
        total = lambda v: loss(residuals(v))
        x = self.vector.get()
        value, gradient = value_and_grad(total)(x)
        curvature = gauss_newton_operator(residuals, x, self.loss)
        before, damping = float(value), settings["damping"]
        tolerance = 1e-6 * float(np.linalg.norm(gradient))
        rounding = 16.0 * abs(before) * float(np.finfo(gradient.dtype).eps)
        for _ in range(20):
            damped = lambda v, damping=damping: curvature @ v + v.dtype.type(damping) * v
            d = conjugate_gradients(damped, -gradient, tolerance, int(settings["max_cg"]))
            expected = -float(gradient @ d) - 0.5 * float(d @ (curvature @ d))
            if 0.0 < expected <= rounding:
                break  # what would be seen is rounding, by which the damping must not change
            after = float(bottom_array(total(x + d)))
            gain = (before - after) / expected if expected > 0 else 0.0
            if gain > 0.0:
                settings["damping"] = damping * (0.1 if gain > 0.75 else 1.0 if gain > 0.25 else 4.0)
                self.vector.assign(x + d)
                break
            damping = max(10.0 * damping, 1e-12)
        return before


def require_function(optimizer: Optimizer, function: Callable[..., Any] | None) -> Callable[[Any], Any]:
    """Raise an error if a step is given no function of the parameters; return it otherwise."""
    if not callable(function):
        raise user_error(
            TypeError,
            f"{type(optimizer).__name__}.step was given {function!r}",
            "Give a function of the parameters: optimizer.step(lambda model: ...).",
        )
    return function


def conjugate_gradients(
    product: Callable[[np.ndarray], np.ndarray], b: np.ndarray, tolerance: float, most: int
) -> np.ndarray:
    """An approximate solution of `A x = b`, up to a residual or a direction of negative curvature (Steihaug 1983)."""
    x, r = np.zeros_like(b), b
    d, squares = b, float(b @ b)
    for _ in range(most):
        if squares**0.5 <= tolerance:
            break
        q = product(d)
        curvature = float(d @ q)
        if not curvature > 0.0:
            return x if x.any() else b
        length = b.dtype.type(squares / curvature)
        x, r = x + length * d, r - length * q
        before, squares = squares, float(r @ r)
        d = r + b.dtype.type(squares / before) * d
    return x

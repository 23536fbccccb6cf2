"""L-BFGS: the inverse Hessian from the last steps and the changes of the gradient."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import deepcopy
from typing import Any, ClassVar

import numpy as np

from wengert.core.errors import user_error
from wengert.core.levels import bottom_array
from wengert.modes import recording
from wengert.optim.line_search import LinePoint, StrongWolfe
from wengert.optim.optimizer import Optimizer, refuse_traced
from wengert.optim.parameter_vector import ParameterVector
from wengert.optim.state_dicts import load_groups, save_groups


class LBFGS(Optimizer):
    """The quasi-Newton method with a limited history (Liu and Nocedal 1989), for functions without noise.

    `step(closure)` does up to `max_iter` iterations. The closure computes the loss and its gradients. With
    `line_search_fn="strong_wolfe"`, each step length is searched for; otherwise it is `lr`.

    >>> import wengert as wg
    >>> p = wg.tensor([-1.0, 2.0], requires_grad=True)
    >>> optimizer = LBFGS([p], line_search_fn="strong_wolfe", max_iter=50)
    >>> def closure():
    ...     optimizer.zero_grad()
    ...     loss = (1 - p[0]) ** 2 + 100 * (p[1] - p[0] ** 2) ** 2
    ...     loss.backward()
    ...     return loss
    >>> print(optimizer.step(closure).item(), closure().item() < 1e-10)
    104.0 True
    """

    closure: ClassVar[str] = "needed"

    def __init__(
        self,
        params: Any,
        lr: float = 1.0,
        max_iter: int = 20,
        max_eval: int | None = None,
        tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9,
        history_size: int = 100,
        line_search_fn: str | None = None,
    ):
        if line_search_fn not in (None, "strong_wolfe"):
            raise user_error(ValueError, f"line_search_fn={line_search_fn!r}", "It is None or 'strong_wolfe'.")
        super().__init__(
            params,
            lr=lr,
            max_iter=max_iter,
            max_eval=max_iter * 5 // 4 if max_eval is None else max_eval,
            tolerance_grad=tolerance_grad,
            tolerance_change=tolerance_change,
            history_size=history_size,
            line_search_fn=line_search_fn,
        )
        if len(self.param_groups) != 1:
            raise user_error(ValueError, "LBFGS was given several groups of parameters", "It takes one.")
        self.vector = ParameterVector(self.param_groups[0].params)
        self.history = History()

    def step(self, closure: Callable[..., Any] | None = None) -> Any:
        """Do up to `max_iter` iterations; returns the loss before them."""
        refuse_traced(self)
        if closure is None:
            raise user_error(
                TypeError, "LBFGS.step needs a closure", "Give a function that computes loss and gradients."
            )
        first, trial = self.evaluate(closure)
        Iterations(self, closure, trial).run()
        return first

    def evaluate(self, closure: Callable[[], Any]) -> tuple[Any, LinePoint]:
        """The loss at the parameters, and as a trial without a line."""
        with recording.override(enabled=True):
            loss = closure()
        return loss, LinePoint(0.0, float(bottom_array(loss)), self.vector.gradient(), 0.0)

    def state_dict(self) -> dict[str, Any]:
        """Copies of the history, and the hyperparameters."""
        return {"state": deepcopy(vars(self.history)), "param_groups": save_groups(self)}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Continue from a `state_dict`."""
        load_groups(self, state_dict["param_groups"])
        history = History(**state_dict["state"])
        if any(s.shape != (self.vector.size,) for s in history.steps):
            raise user_error(ValueError, f"The history in the state dict is not of {self.vector.size} elements")
        self.history = history


class History:
    """The last steps with the changes of the gradient, and the scale of the first inverse Hessian."""

    def __init__(
        self,
        steps: Any = (),
        changes: Any = (),
        scale: float = 1.0,
        count: int = 0,
        last_gradient: Any = None,
        last_step: Any = None,
    ):
        self.steps, self.changes = [np.array(s) for s in steps], [np.array(y) for y in changes]
        self.scale, self.count = scale, count
        self.last_gradient, self.last_step = last_gradient, last_step

    def add(self, gradient: np.ndarray, most: int) -> None:
        """Add the last step, if the gradient has increased along it; the oldest of more than `most` are left out."""
        if self.last_gradient is not None:
            change = gradient - self.last_gradient
            curvature = change @ self.last_step
            if curvature > 1e-10:
                self.steps, self.changes = [*self.steps, self.last_step][-most:], [*self.changes, change][-most:]
                self.scale = curvature / (change @ change)
        self.last_gradient = gradient
        self.count += 1

    def direction(self, gradient: np.ndarray) -> np.ndarray:
        """Minus the product of the inverse Hessian and the gradient, by the recursion in both directions."""
        q = -gradient
        pairs = [(s, y, 1.0 / (y @ s)) for s, y in zip(self.steps, self.changes, strict=True)]
        weights = []
        for s, y, inverse in reversed(pairs):
            weights.append((s @ q) * inverse)
            q = q - weights[-1] * y
        q = q * q.dtype.type(self.scale)
        for (s, y, inverse), weight in zip(pairs, reversed(weights), strict=True):
            q = q + (weight - (y @ q) * inverse) * s
        return q


class Iterations:
    """The iterations of one `step`."""

    def __init__(self, optimizer: LBFGS, closure: Callable[[], Any], trial: LinePoint):
        self.optimizer, self.closure, self.trial = optimizer, closure, trial
        self.settings = optimizer.param_groups[0]
        self.evaluations = 1

    def run(self) -> None:
        """Iterate until the gradient, the step or the change of the loss is small, or the limits are reached."""
        most = int(self.settings["max_iter"])
        for i in range(most):
            if self.is_flat() or not self.advance(is_last=i + 1 == most):
                return

    def is_flat(self) -> bool:
        """Whether the gradient is within the tolerance."""
        return bool(abs(self.trial.gradient).max() <= self.settings["tolerance_grad"])

    def advance(self, is_last: bool) -> bool:
        """One iteration; returns whether another one may make progress."""
        history, vector, smallest = self.optimizer.history, self.optimizer.vector, self.settings["tolerance_change"]
        before, gradient = self.trial.value, self.trial.gradient
        history.add(gradient, int(self.settings["history_size"]))
        d = history.direction(gradient)
        lr = self.settings["lr"]
        t = min(1.0, 1.0 / float(abs(gradient).sum())) * lr if history.count == 1 else lr
        slope = float(gradient @ d)
        if slope > -smallest:
            return False
        x = vector.get()
        if self.settings["line_search_fn"] is not None:
            t = self.search(x, d, t, slope)
        history.last_step = d * d.dtype.type(t)
        vector.assign(x + history.last_step)
        if self.settings["line_search_fn"] is None and not is_last:
            self.trial = self.optimizer.evaluate(self.closure)[1]
            self.evaluations += 1
        return not (
            is_last
            or self.evaluations >= self.settings["max_eval"]
            or abs(history.last_step).max() <= smallest
            or abs(self.trial.value - before) < smallest
        )

    def search(self, x: np.ndarray, d: np.ndarray, t: float, slope: float) -> float:
        """The length of the step along `d`, for the strong Wolfe conditions; the last trial is that of the step."""

        def evaluate(t: float) -> LinePoint:
            self.optimizer.vector.assign(x + d * d.dtype.type(t))
            _, trial = self.optimizer.evaluate(self.closure)
            self.evaluations += 1
            return trial._replace(t=t, slope=float(trial.gradient @ d))

        remaining = int(self.settings["max_eval"]) - self.evaluations
        start = self.trial._replace(t=0.0, slope=slope)
        shortest = self.settings["tolerance_change"] / float(abs(d).max())
        self.trial = StrongWolfe(evaluate, start, remaining).search(t, shortest)
        return self.trial.t

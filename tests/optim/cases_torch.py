"""What PyTorch's optimisers and schedules do: 100 steps of each optimiser, 40 epochs of each schedule.

Lion, which PyTorch does not have, is optax's. `python -m tools.torch_values tests/optim/cases_torch.py` stores the
results for machines where neither is installed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

import wengert as wg

STEPS, EVERY, EPOCHS = 100, 10, 40


class OptimizerCase(NamedTuple):
    """The name of a class, and hyperparameters. Compared are the parameters after every tenth step, as rows."""

    method: str
    hyperparameters: dict[str, Any]

    def torch_values(self, torch: Any = None) -> dict[str, np.ndarray]:
        torch = torch or import_module("torch")
        default = torch.get_default_dtype()
        torch.set_default_dtype(torch.float64)  # of numbers in states, too
        data = {k: torch.tensor(v) for k, v in problem().items()}
        w, b = data["w"].requires_grad_(), data["b"].requires_grad_()
        make = lion if self.method == "Lion" else getattr(torch.optim, self.method)
        optimizer = make([w, b], **self.hyperparameters)
        try:
            return {"parameters": run_steps(optimizer, (w, b), lambda: objective(torch.tanh, data, w, b))}
        finally:
            torch.set_default_dtype(default)

    def wengert_values(self) -> dict[str, np.ndarray]:
        data = problem()
        w, b = (wg.tensor(data[k], requires_grad=True) for k in ("w", "b"))
        optimizer = getattr(wg.optim, self.method)([w, b], **self.hyperparameters)
        return {"parameters": run_steps(optimizer, (w, b), lambda: objective(np.tanh, data, w, b))}


class ScheduleCase(NamedTuple):
    """How a schedule is made, of a module with PyTorch's names and an optimiser. Compared are rates and momenta."""

    make: Callable[[Any, Any], Any]

    def torch_values(self, torch: Any = None) -> dict[str, np.ndarray]:
        torch = torch or import_module("torch")
        p, q = (torch.zeros(1, dtype=torch.float64).requires_grad_() for _ in range(2))
        return self.rates_of(torch.optim, p, q)

    def wengert_values(self) -> dict[str, np.ndarray]:
        p, q = (wg.tensor([0.0], requires_grad=True) for _ in range(2))
        return self.rates_of(wg.optim, p, q)

    def rates_of(self, optim: Any, p: Any, q: Any) -> dict[str, np.ndarray]:
        optimizer = optim.SGD([{"params": [p]}, {"params": [q], "lr": 0.3}], lr=0.1, momentum=0.9)
        return {"rates": run_schedule(self.make(optim.lr_scheduler, optimizer), optimizer)}


def problem() -> dict[str, np.ndarray]:
    """The data and the first parameters of a small regression."""
    rng = np.random.default_rng(15)
    return {
        "x": rng.standard_normal((12, 3)),
        "y": rng.standard_normal((12, 2)),
        "w": rng.standard_normal((2, 3)),
        "b": rng.standard_normal(2),
    }


def objective(tanh: Callable[[Any], Any], data: dict[str, Any], w: Any, b: Any) -> Any:
    """The loss of the regression."""
    return ((tanh(data["x"] @ w.T + b) - data["y"]) ** 2).mean() + 0.05 * (w * w).sum() + 0.05 * (b * b).sum()


def losses() -> np.ndarray:
    """A sequence of losses that fall and stall, for the schedules that look at them."""
    rng = np.random.default_rng(16)
    return np.exp(-0.15 * np.arange(EPOCHS)) + 0.05 * rng.random(EPOCHS)


def run_steps(optimizer: Any, params: Iterable[Any], loss: Callable[[], Any]) -> np.ndarray:
    """The parameters after every tenth step, as rows."""
    rows = []

    def closure() -> Any:
        optimizer.zero_grad()
        value = loss()
        value.backward()
        return value

    for i in range(STEPS):
        optimizer.step(closure)
        if (i + 1) % EVERY == 0:
            rows.append(np.concatenate([np.ravel(p.detach().numpy()) for p in params]))
    return np.stack(rows)


def run_schedule(schedule: Any, optimizer: Any) -> np.ndarray:
    """The learning rates and momenta of each epoch, as rows."""
    rows = []
    for loss in losses():
        rows.append([v for group in optimizer.param_groups for v in (group["lr"], group["momentum"])])
        optimizer.step()
        if "Plateau" in type(schedule).__name__:
            schedule.step(loss)
        else:
            schedule.step()
    return np.array(rows)


def lion(params: list[Any], lr: float, weight_decay: float) -> Any:
    """optax's Lion as an optimiser of PyTorch's tensors."""
    import jax
    import optax
    import torch

    jax.config.update("jax_enable_x64", True)
    method = optax.lion(lr, weight_decay=weight_decay)

    class Lion(torch.optim.SGD):
        kept: Any = None

        def step(self, closure: Any = None) -> None:
            closure()
            values = [jax.numpy.asarray(p.detach().numpy()) for p in params]
            self.kept = method.init(values) if self.kept is None else self.kept
            updates, self.kept = method.update([p.grad.numpy() for p in params], self.kept, values)
            with torch.no_grad():
                for p, u in zip(params, updates, strict=True):
                    p += torch.tensor(np.asarray(u))

    return Lion(params, lr=lr)


OPTIMIZERS = {
    "sgd": OptimizerCase("SGD", {"lr": 0.05}),
    "sgd momentum": OptimizerCase("SGD", {"lr": 0.02, "momentum": 0.9, "dampening": 0.3, "weight_decay": 0.01}),
    "sgd nesterov": OptimizerCase("SGD", {"lr": 0.02, "momentum": 0.9, "nesterov": True}),
    "sgd maximize": OptimizerCase("SGD", {"lr": 0.02, "momentum": 0.5, "maximize": True}),
    "adam": OptimizerCase("Adam", {"lr": 0.02}),
    "adam amsgrad": OptimizerCase("Adam", {"lr": 0.05, "betas": (0.8, 0.9), "weight_decay": 0.02, "amsgrad": True}),
    "adamw": OptimizerCase("AdamW", {"lr": 0.02, "weight_decay": 0.1}),
    "adamw amsgrad": OptimizerCase("AdamW", {"lr": 0.02, "betas": (0.8, 0.9), "amsgrad": True, "maximize": True}),
    "adamax": OptimizerCase("Adamax", {"lr": 0.02, "weight_decay": 0.02}),
    "nadam": OptimizerCase("NAdam", {"lr": 0.02, "weight_decay": 0.02}),
    "nadam decoupled": OptimizerCase("NAdam", {"lr": 0.02, "weight_decay": 0.02, "decoupled_weight_decay": True}),
    "radam": OptimizerCase("RAdam", {"lr": 0.02, "weight_decay": 0.02}),
    "radam decoupled": OptimizerCase("RAdam", {"lr": 0.02, "weight_decay": 0.02, "decoupled_weight_decay": True}),
    "rmsprop": OptimizerCase("RMSprop", {"lr": 0.01, "weight_decay": 0.02}),
    "rmsprop centered": OptimizerCase("RMSprop", {"lr": 0.01, "momentum": 0.7, "centered": True}),
    "adagrad": OptimizerCase(
        "Adagrad", {"lr": 0.1, "lr_decay": 0.01, "weight_decay": 0.01, "initial_accumulator_value": 0.1}
    ),
    "adadelta": OptimizerCase("Adadelta", {"weight_decay": 0.01}),
    "lion": OptimizerCase("Lion", {"lr": 0.01, "weight_decay": 0.05}),
    "lbfgs": OptimizerCase("LBFGS", {"lr": 0.5, "max_iter": 2, "history_size": 4}),
    "lbfgs wolfe": OptimizerCase("LBFGS", {"max_iter": 4, "line_search_fn": "strong_wolfe"}),
}

SCHEDULES = {
    "schedule step": ScheduleCase(lambda s, o: s.StepLR(o, 7, 0.5)),
    "schedule multi-step": ScheduleCase(lambda s, o: s.MultiStepLR(o, [20, 3, 11], 0.3)),
    "schedule exponential": ScheduleCase(lambda s, o: s.ExponentialLR(o, 0.9)),
    "schedule lambda": ScheduleCase(lambda s, o: s.LambdaLR(o, [lambda t: 0.95**t, lambda t: 1.0 / (1 + t)])),
    "schedule linear": ScheduleCase(lambda s, o: s.LinearLR(o, 0.25, 0.9, 10)),
    "schedule cosine": ScheduleCase(lambda s, o: s.CosineAnnealingLR(o, 13, 0.01)),
    "schedule constant": ScheduleCase(lambda s, o: s.ConstantLR(o, 0.5, 6)),
    "schedule polynomial": ScheduleCase(lambda s, o: s.PolynomialLR(o, 20, 1.5)),
    "schedule restarts": ScheduleCase(lambda s, o: s.CosineAnnealingWarmRestarts(o, 5, 2, 0.001)),
    "schedule cyclic": ScheduleCase(lambda s, o: s.CyclicLR(o, [0.01, 0.02], 0.3, 4, 7)),
    "schedule cyclic, smaller": ScheduleCase(lambda s, o: s.CyclicLR(o, 0.01, 0.3, 5, mode="triangular2")),
    "schedule cyclic, exponential": ScheduleCase(
        lambda s, o: s.CyclicLR(o, 0.01, 0.3, 5, mode="exp_range", gamma=0.9, cycle_momentum=False)
    ),
    "schedule chained": ScheduleCase(
        lambda s, o: s.ChainedScheduler([s.ConstantLR(o, 0.1, 3), s.ExponentialLR(o, 0.9), s.StepLR(o, 5)])
    ),
    "schedule one-cycle": ScheduleCase(lambda s, o: s.OneCycleLR(o, [0.5, 0.2], EPOCHS + 1)),
    "schedule one-cycle in three": ScheduleCase(
        lambda s, o: s.OneCycleLR(
            o, 0.5, epochs=8, steps_per_epoch=6, three_phase=True, anneal_strategy="linear", pct_start=0.4
        )
    ),
    "schedule warm-up and cosine": ScheduleCase(
        lambda s, o: s.SequentialLR(
            o, [s.LinearLR(o, 0.1, total_iters=5), s.CosineAnnealingLR(o, 30), s.ExponentialLR(o, 0.9)], [5, 33]
        )
    ),
    "schedule plateau": ScheduleCase(
        lambda s, o: s.ReduceLROnPlateau(o, factor=0.5, patience=2, cooldown=1, min_lr=[0.01, 0.05])
    ),
    "schedule plateau of a maximum": ScheduleCase(
        lambda s, o: s.ReduceLROnPlateau(o, mode="max", factor=0.3, patience=1, threshold=0.05, threshold_mode="abs")
    ),
}
CASES = {**OPTIMIZERS, **SCHEDULES}

"""Store what PyTorch's optimisers and schedules do, for tests where PyTorch is not installed.

`python tools/torch_optim.py` writes `tests/optim/stored/torch.npz`: the parameters after every tenth of 100 steps of
each optimiser, and the learning rates of 40 epochs of each schedule. Lion, which PyTorch does not have, is optax's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

STORED = Path(__file__).parent.parent / "tests" / "optim" / "stored" / "torch.npz"
STEPS, EVERY, EPOCHS = 100, 10, 40

OPTIMIZERS: dict[str, tuple[str, dict[str, Any]]] = {
    "sgd": ("SGD", {"lr": 0.05}),
    "sgd momentum": ("SGD", {"lr": 0.02, "momentum": 0.9, "dampening": 0.3, "weight_decay": 0.01}),
    "sgd nesterov": ("SGD", {"lr": 0.02, "momentum": 0.9, "nesterov": True}),
    "sgd maximize": ("SGD", {"lr": 0.02, "momentum": 0.5, "maximize": True}),
    "adam": ("Adam", {"lr": 0.02}),
    "adam amsgrad": ("Adam", {"lr": 0.05, "betas": (0.8, 0.9), "weight_decay": 0.02, "amsgrad": True}),
    "adamw": ("AdamW", {"lr": 0.02, "weight_decay": 0.1}),
    "adamw amsgrad": ("AdamW", {"lr": 0.02, "betas": (0.8, 0.9), "amsgrad": True, "maximize": True}),
    "adamax": ("Adamax", {"lr": 0.02, "weight_decay": 0.02}),
    "nadam": ("NAdam", {"lr": 0.02, "weight_decay": 0.02}),
    "nadam decoupled": ("NAdam", {"lr": 0.02, "weight_decay": 0.02, "decoupled_weight_decay": True}),
    "radam": ("RAdam", {"lr": 0.02, "weight_decay": 0.02}),
    "radam decoupled": ("RAdam", {"lr": 0.02, "weight_decay": 0.02, "decoupled_weight_decay": True}),
    "rmsprop": ("RMSprop", {"lr": 0.01, "weight_decay": 0.02}),
    "rmsprop centered": ("RMSprop", {"lr": 0.01, "momentum": 0.7, "centered": True}),
    "adagrad": ("Adagrad", {"lr": 0.1, "lr_decay": 0.01, "weight_decay": 0.01, "initial_accumulator_value": 0.1}),
    "adadelta": ("Adadelta", {"weight_decay": 0.01}),
    "lion": ("Lion", {"lr": 0.01, "weight_decay": 0.05}),
    "lbfgs": ("LBFGS", {"lr": 0.5, "max_iter": 2, "history_size": 4}),
    "lbfgs wolfe": ("LBFGS", {"max_iter": 4, "line_search_fn": "strong_wolfe"}),
}
"""A name for each, the class, and its hyperparameters."""

SCHEDULES: dict[str, Callable[[Any, Any], Any]] = {
    "step": lambda s, o: s.StepLR(o, 7, 0.5),
    "multi-step": lambda s, o: s.MultiStepLR(o, [20, 3, 11], 0.3),
    "exponential": lambda s, o: s.ExponentialLR(o, 0.9),
    "lambda": lambda s, o: s.LambdaLR(o, [lambda t: 0.95**t, lambda t: 1.0 / (1 + t)]),
    "linear": lambda s, o: s.LinearLR(o, 0.25, 0.9, 10),
    "cosine": lambda s, o: s.CosineAnnealingLR(o, 13, 0.01),
    "one-cycle": lambda s, o: s.OneCycleLR(o, [0.5, 0.2], EPOCHS + 1),
    "one-cycle in three": lambda s, o: s.OneCycleLR(
        o, 0.5, epochs=8, steps_per_epoch=6, three_phase=True, anneal_strategy="linear", pct_start=0.4
    ),
    "warm-up and cosine": lambda s, o: s.SequentialLR(
        o, [s.LinearLR(o, 0.1, total_iters=5), s.CosineAnnealingLR(o, 30), s.ExponentialLR(o, 0.9)], [5, 33]
    ),
    "plateau": lambda s, o: s.ReduceLROnPlateau(o, factor=0.5, patience=2, cooldown=1, min_lr=[0.01, 0.05]),
    "plateau of scores": lambda s, o: s.ReduceLROnPlateau(
        o, mode="max", factor=0.3, patience=1, threshold=0.05, threshold_mode="abs"
    ),
}
"""How each schedule is made, of a module that has PyTorch's names and an optimiser with two groups."""


def problem() -> dict[str, np.ndarray]:
    """The data and the first parameters of a small regression."""
    rng = np.random.default_rng(15)
    return {
        "x": rng.standard_normal((12, 3)),
        "y": rng.standard_normal((12, 2)),
        "w": rng.standard_normal((2, 3)),
        "b": rng.standard_normal(2),
    }


def losses() -> np.ndarray:
    """A sequence of losses that fall and stall, for the schedules that look at them."""
    rng = np.random.default_rng(16)
    return np.exp(-0.15 * np.arange(EPOCHS)) + 0.05 * rng.random(EPOCHS)


def run_steps(optimizer: Any, params: Iterable[Any], loss: Callable[[], Any], as_array: Callable) -> np.ndarray:
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
            rows.append(np.concatenate([np.ravel(as_array(p)) for p in params]))
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


def torch_steps(name: str) -> np.ndarray:
    """The steps of one of `OPTIMIZERS` in PyTorch, or in optax for Lion."""
    import torch

    default = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)  # of numbers in states, too
    data = {k: torch.tensor(v) for k, v in problem().items()}
    w, b = data["w"].requires_grad_(), data["b"].requires_grad_()
    method, hyperparameters = OPTIMIZERS[name]
    optimizer = (
        lion([w, b], **hyperparameters) if method == "Lion" else getattr(torch.optim, method)([w, b], **hyperparameters)
    )
    loss = lambda: (
        ((torch.tanh(data["x"] @ w.T + b) - data["y"]) ** 2).mean() + 0.05 * (w * w).sum() + 0.05 * (b * b).sum()
    )
    try:
        return run_steps(optimizer, (w, b), loss, lambda p: p.detach().numpy())
    finally:
        torch.set_default_dtype(default)


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


def torch_rates(name: str) -> np.ndarray:
    """The learning rates of one of `SCHEDULES` in PyTorch."""
    import torch

    p, q = (torch.zeros(1, dtype=torch.float64).requires_grad_() for _ in range(2))
    optimizer = torch.optim.SGD([{"params": [p]}, {"params": [q], "lr": 0.3}], lr=0.1, momentum=0.9)
    return run_schedule(SCHEDULES[name](torch.optim.lr_scheduler, optimizer), optimizer)


if __name__ == "__main__":
    steps = {name: torch_steps(name) for name in OPTIMIZERS}
    np.savez_compressed(STORED, **steps, **{f"schedule {name}": torch_rates(name) for name in SCHEDULES})  # type: ignore[arg-type]

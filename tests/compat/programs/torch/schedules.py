"""Learning-rate schedules beside an optimiser: warm-up and decay, cosines, cycles, plateaus."""

import math

import numpy as np
import torch
from torch.optim import lr_scheduler

torch.set_default_dtype(torch.float64)
rng = np.random.default_rng(28)


def make():
    w = torch.tensor([1.0, -2.0, 3.0], requires_grad=True)
    b = torch.zeros(1, requires_grad=True)
    return w, b, torch.optim.SGD([{"params": [w]}, {"params": [b], "lr": 0.01}], lr=0.1, momentum=0.9)


def warm_up(step):
    return step / 4 if step < 4 else 0.5 * (1 + math.cos(math.pi * (step - 4) / 8))


schedules = {
    "lambda": lambda o: lr_scheduler.LambdaLR(o, lr_lambda=warm_up),
    "step": lambda o: lr_scheduler.StepLR(o, step_size=3, gamma=0.5),
    "multi": lambda o: lr_scheduler.MultiStepLR(o, milestones=[2, 7], gamma=0.1),
    "exponential": lambda o: lr_scheduler.ExponentialLR(o, gamma=0.9),
    "cosine": lambda o: lr_scheduler.CosineAnnealingLR(o, T_max=6, eta_min=1e-3),
    "linear": lambda o: lr_scheduler.LinearLR(o, start_factor=0.25, total_iters=5),
    "constant": lambda o: lr_scheduler.ConstantLR(o, factor=0.5, total_iters=4),
    "polynomial": lambda o: lr_scheduler.PolynomialLR(o, total_iters=8, power=2.0),
    "restarts": lambda o: lr_scheduler.CosineAnnealingWarmRestarts(o, T_0=3, T_mult=2),
    "one_cycle": lambda o: lr_scheduler.OneCycleLR(o, max_lr=[0.2, 0.05], total_steps=12),
    "cyclic": lambda o: lr_scheduler.CyclicLR(o, base_lr=0.01, max_lr=0.1, step_size_up=3),
    "sequential": lambda o: lr_scheduler.SequentialLR(
        o, [lr_scheduler.LinearLR(o, 0.1, total_iters=3), lr_scheduler.ExponentialLR(o, 0.8)], milestones=[3]
    ),
    "chained": lambda o: lr_scheduler.ChainedScheduler(
        [lr_scheduler.ConstantLR(o, factor=0.1, total_iters=2), lr_scheduler.ExponentialLR(o, gamma=0.9)]
    ),
}

results = {}
x = torch.from_numpy(rng.standard_normal((5, 3)))
for name, schedule in schedules.items():
    w, b, optimizer = make()
    scheduler = schedule(optimizer)
    rates = []
    for _ in range(10):
        optimizer.zero_grad()
        ((x @ w + b) ** 2).mean().backward()
        optimizer.step()
        scheduler.step()
        rates.append([group["lr"] for group in optimizer.param_groups])
    results[name] = {"rates": rates, "w": w.detach(), "last": scheduler.get_last_lr()}

w, b, optimizer = make()
plateau = lr_scheduler.ReduceLROnPlateau(optimizer, mode="min", factor=0.5, patience=1, threshold=1e-2)
rates = []
for value in [1.0, 0.9, 0.9, 0.9, 0.9, 0.5, 0.5, 0.5, 0.5]:
    plateau.step(value)
    rates.append(optimizer.param_groups[0]["lr"])
results["plateau"] = rates

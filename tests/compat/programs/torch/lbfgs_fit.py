"""L-BFGS with a closure: a nonlinear least-squares fit, with and without a line search."""

import numpy as np
import torch

torch.set_default_dtype(torch.float64)
rng = np.random.default_rng(23)

t = torch.linspace(0.0, 4.0, 30)
observed = 2.5 * torch.exp(-1.3 * t) + 0.5 + 0.01 * torch.from_numpy(rng.standard_normal(30))


def model(params):
    return params[0] * torch.exp(-params[1] * t) + params[2]


found = {}
for name, options in {
    "plain": {"lr": 0.5, "max_iter": 10},
    "wolfe": {"lr": 1, "max_iter": 12, "history_size": 5, "line_search_fn": "strong_wolfe"},
}.items():
    params = torch.tensor([1.0, 1.0, 0.0], requires_grad=True)
    optimizer = torch.optim.LBFGS([params], **options)
    values = []

    def closure():
        optimizer.zero_grad()
        loss = torch.sum((model(params) - observed) ** 2)
        loss.backward()
        values.append(loss.item())
        return loss

    for _ in range(2):
        optimizer.step(closure)
    found[name] = {"values": values, "params": params.detach().clone(), "evaluations": len(values)}

# The Rosenbrock function, by the gradient alone.
xy = torch.tensor([-1.2, 1.0], requires_grad=True)
optimizer = torch.optim.LBFGS([xy], lr=1.0, max_iter=30, line_search_fn="strong_wolfe")


def rosenbrock():
    optimizer.zero_grad()
    x, y = xy
    value = (1 - x) ** 2 + 100 * (y - x**2) ** 2
    value.backward()
    return value


optimizer.step(rosenbrock)
found["rosenbrock"] = xy.detach()
results = found

"""Model-agnostic meta-learning: gradient steps on tasks, differentiated with respect to where they started."""

import numpy as np
import torch
import torch.nn.functional as F

torch.set_default_dtype(torch.float64)
rng = np.random.default_rng(1)


def network(params, x):
    hidden = torch.tanh(F.linear(x, params[0], params[1]))
    hidden = torch.tanh(F.linear(hidden, params[2], params[3]))
    return F.linear(hidden, params[4], params[5])


def make_task():
    amplitude, phase = rng.uniform(0.1, 5.0), rng.uniform(0.0, np.pi)
    x = rng.uniform(-5.0, 5.0, (10, 1))
    y = amplitude * np.sin(x + phase)
    return torch.tensor(x[:5]), torch.tensor(y[:5]), torch.tensor(x[5:]), torch.tensor(y[5:])


shapes = [(12, 1), (12,), (12, 12), (12,), (1, 12), (1,)]
params = [torch.tensor(0.3 * rng.standard_normal(shape), requires_grad=True) for shape in shapes]
meta_optimizer = torch.optim.SGD(params, lr=0.01, momentum=0.9)

losses = []
for _ in range(3):
    meta_optimizer.zero_grad(set_to_none=True)
    total = 0.0
    for _ in range(3):
        x_support, y_support, x_query, y_query = make_task()
        fast = params
        for _ in range(2):
            inner = F.mse_loss(network(fast, x_support), y_support)
            grads = torch.autograd.grad(inner, fast, create_graph=True)
            fast = [w - 0.05 * g for w, g in zip(fast, grads)]
        total = total + F.mse_loss(network(fast, x_query), y_query)
    total.backward()
    torch.nn.utils.clip_grad_norm_(params, 5.0)
    meta_optimizer.step()
    losses.append(total.item())

results = {"losses": losses, "params": [p.detach().clone() for p in params], "grads": [p.grad for p in params]}

"""A deep equilibrium model: a fixed point, and its gradient by a hook that solves the adjoint equation."""

import numpy as np
import torch
import torch.nn as nn
from torch import autograd

torch.set_default_dtype(torch.float64)
rng = np.random.default_rng(11)


class Layer(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.linear = nn.Linear(n, n, bias=False)
        self.norm = nn.GroupNorm(2, n)

    def forward(self, z, x):
        return torch.tanh(self.norm(self.linear(z)) * 0.5 + x)


def forward_iteration(f, x0, max_iter=60, tol=1e-13):
    f0 = f(x0)
    res = []
    for _ in range(max_iter):
        x = f0
        f0 = f(x)
        res.append((f0 - x).norm().item() / (1e-5 + f0.norm().item()))
        if res[-1] < tol:
            break
    return f0, res


class DEQFixedPoint(nn.Module):
    def __init__(self, f):
        super().__init__()
        self.f = f

    def forward(self, x):
        with torch.no_grad():
            z, self.forward_res = forward_iteration(lambda z: self.f(z, x), torch.zeros_like(x))
        z = self.f(z, x)
        z0 = z.clone().detach().requires_grad_()
        f0 = self.f(z0, x)

        def backward_hook(grad):
            g, self.backward_res = forward_iteration(
                lambda y: autograd.grad(f0, z0, y, retain_graph=True)[0] + grad, grad
            )
            return g

        z.register_hook(backward_hook)
        return z


f = Layer(6)
with torch.no_grad():
    f.linear.weight.copy_(torch.from_numpy(0.2 * rng.standard_normal((6, 6))))
    f.norm.weight.fill_(0.3)
deq = DEQFixedPoint(f)
x = torch.from_numpy(rng.standard_normal((4, 6))).requires_grad_(True)
z = deq(x)
z.pow(2).sum().backward()

results = {"z": z.detach(), "x_grad": x.grad, "weight_grad": f.linear.weight.grad, "norm_grad": f.norm.weight.grad}

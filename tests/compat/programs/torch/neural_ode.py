"""A neural ordinary differential equation: Runge-Kutta steps, differentiated, and the adjoint method by hand."""

import numpy as np
import torch
import torch.nn as nn

torch.set_default_dtype(torch.float64)
rng = np.random.default_rng(10)


class ODEFunc(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 10), nn.Tanh(), nn.Linear(10, 2))
        for m in self.net.modules():
            if isinstance(m, nn.Linear):
                nn.init.normal_(m.weight, mean=0, std=0.1)
                nn.init.constant_(m.bias, val=0)

    def forward(self, t, y):
        return self.net(y**3)


def rk4_step(func, t, dt, y):
    k1 = func(t, y)
    k2 = func(t + dt / 2, y + dt * k1 / 2)
    k3 = func(t + dt / 2, y + dt * k2 / 2)
    k4 = func(t + dt, y + dt * k3)
    return y + dt * (k1 + 2 * k2 + 2 * k3 + k4) / 6


def odeint(func, y0, t):
    ys = [y0]
    for t0, t1 in zip(t[:-1], t[1:]):
        ys.append(rk4_step(func, t0, t1 - t0, ys[-1]))
    return torch.stack(ys)


true_A = torch.tensor([[-0.1, 2.0], [-2.0, -0.1]])
t = torch.linspace(0.0, 1.0, 11)
y0 = torch.tensor([[2.0, 0.0]])
with torch.no_grad():
    true_y = odeint(lambda t, y: torch.mm(y**3, true_A), y0, t)

func = ODEFunc()
for p in func.parameters():
    p.data = torch.from_numpy(0.1 * rng.standard_normal(tuple(p.shape)))
optimizer = torch.optim.RMSprop(func.parameters(), lr=1e-3)
losses = []
for _ in range(3):
    optimizer.zero_grad()
    pred_y = odeint(func, y0, t)
    loss = torch.mean(torch.abs(pred_y - true_y))
    loss.backward()
    optimizer.step()
    losses.append(loss.item())

# The adjoint equation, backwards in time, with vector-Jacobian products.
y, a = pred_y[-1].detach(), torch.ones(1, 2)
params = tuple(func.parameters())
total = [torch.zeros_like(p) for p in params]
for i in range(10, 0, -1):
    dt = t[i] - t[i - 1]
    with torch.enable_grad():
        y = y.detach().requires_grad_(True)
        f = func(t[i], y)
        vjps = torch.autograd.grad(f, (y, *params), a, allow_unused=True, retain_graph=False)
    y = y - dt * f
    a = a + dt * vjps[0]
    total = [s + dt * v for s, v in zip(total, vjps[1:])]

results = {
    "losses": losses,
    "prediction": pred_y.detach(),
    "adjoint": a.detach(),
    "totals": [s.detach() for s in total],
}

"""A physics-informed network for Burgers' equation: first and second derivatives of the network in the loss."""

import numpy as np
import torch
import torch.nn as nn

torch.set_default_dtype(torch.float64)
rng = np.random.default_rng(12)


class MLP(nn.Module):
    def __init__(self, layers):
        super().__init__()
        self.linears = nn.ModuleList(nn.Linear(layers[i], layers[i + 1]) for i in range(len(layers) - 1))
        for linear in self.linears:
            nn.init.xavier_normal_(linear.weight.data, gain=1.0)
            nn.init.zeros_(linear.bias.data)

    def forward(self, x):
        for linear in self.linears[:-1]:
            x = torch.tanh(linear(x))
        return self.linears[-1](x)


def residual(model, x, t, nu=0.01 / np.pi):
    u = model(torch.cat([x, t], dim=1))
    ones = torch.ones_like(u)
    u_t = torch.autograd.grad(u, t, grad_outputs=ones, create_graph=True)[0]
    u_x = torch.autograd.grad(u, x, grad_outputs=ones, create_graph=True)[0]
    u_xx = torch.autograd.grad(u_x, x, grad_outputs=torch.ones_like(u_x), create_graph=True)[0]
    return u_t + u * u_x - nu * u_xx


model = MLP([2, 10, 10, 1])
state = {name: torch.tensor(0.5 * rng.standard_normal(tuple(v.shape))) for name, v in model.state_dict().items()}
model.load_state_dict(state)

x = torch.tensor(rng.uniform(-1.0, 1.0, (20, 1)), requires_grad=True)
t = torch.tensor(rng.uniform(0.0, 1.0, (20, 1)), requires_grad=True)
x0 = torch.linspace(-1.0, 1.0, 9).reshape(-1, 1)
u0 = -torch.sin(torch.pi * x0)

optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.9)
losses = []
for _ in range(4):
    optimizer.zero_grad()
    loss_f = residual(model, x, t).square().mean()
    loss_0 = nn.functional.mse_loss(model(torch.hstack((x0, torch.zeros_like(x0)))), u0)
    loss = loss_f + loss_0
    loss.backward()
    optimizer.step()
    scheduler.step()
    losses.append([loss_f.item(), loss_0.item()])

results = {
    "losses": losses,
    "lr": scheduler.get_last_lr()[0],
    "weights": {name: value for name, value in model.state_dict().items()},
}

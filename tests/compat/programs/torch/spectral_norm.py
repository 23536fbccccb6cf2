"""Spectral normalisation by power iteration, a Lipschitz bound, and weight normalisation."""

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.set_default_dtype(torch.float64)
rng = np.random.default_rng(27)


class SpectralLinear(nn.Module):
    def __init__(self, in_features, out_features):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(out_features, in_features))
        self.bias = nn.Parameter(torch.zeros(out_features))
        self.register_buffer("u", torch.ones(out_features))

    @torch.no_grad()
    def power_iteration(self, n):
        for _ in range(n):
            self.v = F.normalize(torch.mv(self.weight.t(), self.u), dim=0, eps=1e-12)
            self.u.copy_(F.normalize(torch.mv(self.weight, self.v), dim=0, eps=1e-12))

    def forward(self, x):
        self.power_iteration(3)
        sigma = torch.dot(self.u, torch.mv(self.weight, self.v))
        return F.linear(x, self.weight / sigma, self.bias)


class WeightNormLinear(nn.Module):
    def __init__(self, in_features, out_features):
        super().__init__()
        self.v = nn.Parameter(torch.ones(out_features, in_features))
        self.g = nn.Parameter(torch.ones(out_features, 1))

    def forward(self, x):
        return x @ (self.g * self.v / self.v.norm(dim=1, keepdim=True)).T


model = nn.Sequential(SpectralLinear(5, 7), nn.Softplus(), SpectralLinear(7, 4), nn.SiLU(), WeightNormLinear(4, 2))
with torch.no_grad():
    for name, p in model.named_parameters():
        p.copy_(torch.from_numpy(rng.standard_normal(tuple(p.shape))))
x = torch.from_numpy(rng.standard_normal((6, 5)))
y = torch.from_numpy(rng.integers(0, 2, 6))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
losses = []
for _ in range(4):
    loss = F.multi_margin_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())

with torch.no_grad():
    exact = torch.linalg.matrix_norm(model[0].weight, ord=2)
    estimate = torch.dot(model[0].u, model[0].weight.mv(model[0].v))
results = {
    "losses": losses,
    "exact": exact.item(),
    "estimate": estimate.item(),
    "buffers": {name: b for name, b in model.named_buffers()},
    "keys": " ".join(model.state_dict().keys()),
    "grads": [p.grad for p in model.parameters()],
}

"""A normalising flow: affine couplings, and a change of variables with distributions and transforms."""

import numpy as np
import torch
import torch.nn as nn
from torch import distributions

torch.set_default_dtype(torch.float64)
rng = np.random.default_rng(26)


class RealNVP(nn.Module):
    def __init__(self, nets, nett, mask, prior):
        super().__init__()
        self.prior = prior
        self.mask = nn.Parameter(mask, requires_grad=False)
        self.t = torch.nn.ModuleList([nett() for _ in range(len(mask))])
        self.s = torch.nn.ModuleList([nets() for _ in range(len(mask))])

    def g(self, z):
        x = z
        for i in range(len(self.t)):
            x_ = x * self.mask[i]
            s = self.s[i](x_) * (1 - self.mask[i])
            t = self.t[i](x_) * (1 - self.mask[i])
            x = x_ + (1 - self.mask[i]) * (x * torch.exp(s) + t)
        return x

    def f(self, x):
        log_det_J, z = x.new_zeros(x.shape[0]), x
        for i in reversed(range(len(self.t))):
            z_ = self.mask[i] * z
            s = self.s[i](z_) * (1 - self.mask[i])
            t = self.t[i](z_) * (1 - self.mask[i])
            z = (1 - self.mask[i]) * (z - t) * torch.exp(-s) + z_
            log_det_J -= s.sum(dim=1)
        return z, log_det_J

    def log_prob(self, x):
        z, logp = self.f(x)
        return self.prior.log_prob(z) + logp


nets = lambda: nn.Sequential(nn.Linear(2, 8), nn.LeakyReLU(), nn.Linear(8, 2), nn.Tanh())
nett = lambda: nn.Sequential(nn.Linear(2, 8), nn.LeakyReLU(), nn.Linear(8, 2))
masks = torch.from_numpy(np.array([[0, 1], [1, 0]] * 2).astype(np.float64))
prior = distributions.MultivariateNormal(torch.zeros(2), torch.eye(2))
flow = RealNVP(nets, nett, masks, prior)
with torch.no_grad():
    for p in flow.parameters():
        if p.requires_grad:
            p.copy_(torch.from_numpy(0.3 * rng.standard_normal(tuple(p.shape))))

optimizer = torch.optim.Adam([p for p in flow.parameters() if p.requires_grad], lr=1e-2)
losses = []
for _ in range(3):
    batch = torch.from_numpy(rng.standard_normal((16, 2)) * [1.0, 0.3] + [0.5, -1.0])
    loss = -flow.log_prob(batch).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
z, _ = flow.f(batch)
back = flow.g(z)

# Transforms of the library.
loc, log_scale = torch.zeros(2, requires_grad=True), torch.zeros(2, requires_grad=True)
transforms = [
    distributions.transforms.AffineTransform(loc, log_scale.exp()),
    distributions.transforms.TanhTransform(),
]
squashed = distributions.TransformedDistribution(distributions.Normal(torch.zeros(2), torch.ones(2)), transforms)
point = torch.from_numpy(rng.uniform(-0.9, 0.9, (5, 2)))
log_prob = squashed.log_prob(point).sum()
log_prob.backward()

results = {
    "losses": losses,
    "z": z.detach(),
    "inverse": (back - batch).abs().max().item() < 1e-12,
    "squashed": log_prob.item(),
    "grads": [loc.grad, log_scale.grad],
}

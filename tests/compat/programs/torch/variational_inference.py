"""Bayesian regression: log densities of many distributions, and a bound with draws from NumPy."""

import numpy as np
import torch
from torch import distributions as D

torch.set_default_dtype(torch.float64)
rng = np.random.default_rng(31)

x = torch.from_numpy(rng.standard_normal((15, 2)))
y = torch.from_numpy(rng.poisson(2.0, 15).astype(float))

loc = torch.zeros(3, requires_grad=True)
raw_scale = torch.full((3,), -1.0, requires_grad=True)
optimizer = torch.optim.Adam([loc, raw_scale], lr=0.05)
losses = []
for _ in range(4):
    eps = torch.from_numpy(rng.standard_normal((8, 3)))
    scale = torch.nn.functional.softplus(raw_scale)
    q = D.Normal(loc, scale)
    theta = q.loc + q.scale * eps
    log_rate = theta[:, :2] @ x.T + theta[:, 2:]
    log_joint = D.Poisson(log_rate.exp()).log_prob(y).sum(-1) + D.Laplace(0.0, 1.0).log_prob(theta).sum(-1)
    elbo = (log_joint - q.log_prob(theta).sum(-1)).mean()
    optimizer.zero_grad()
    (-elbo).backward()
    optimizer.step()
    losses.append(-elbo.item())

# Densities, entropies and divergences of other families.
a = torch.tensor([0.7, 1.5, 3.0], requires_grad=True)
b = torch.tensor([2.0, 0.8, 1.2], requires_grad=True)
u = torch.tensor([0.2, 0.5, 0.9])
families = {
    "beta": D.Beta(a, b).log_prob(u),
    "gamma": D.Gamma(a, b).log_prob(u),
    "student": D.StudentT(a + 2.0, 0.0, b).log_prob(u),
    "exponential": D.Exponential(a).log_prob(u),
    "lognormal": D.LogNormal(a, b).log_prob(u),
    "cauchy": D.Cauchy(a, b).log_prob(u),
    "uniform": D.Uniform(-a, b).log_prob(u),
    "half_normal": D.HalfNormal(b).log_prob(u),
    "dirichlet": D.Dirichlet(a).log_prob(u / u.sum()),
    "gumbel": D.Gumbel(a, b).log_prob(u),
    "kl_normal": D.kl_divergence(D.Normal(a, b), D.Normal(0.0, 1.0)),
    "kl_gamma": D.kl_divergence(D.Gamma(a, b), D.Gamma(2.0 * a, b + 1.0)),
    "kl_beta": D.kl_divergence(D.Beta(a, b), D.Beta(b, a)),
    "kl_categorical": D.kl_divergence(D.Categorical(logits=a), D.Categorical(logits=b)),
    "entropy_gamma": D.Gamma(a, b).entropy(),
    "entropy_beta": D.Beta(a, b).entropy(),
    "cdf": D.Normal(a, b).cdf(u),
}
smooth = [name for name in families if not name.startswith(("kl_gamma", "kl_beta", "entropy"))]
total = sum(families[name].sum() for name in smooth)  # without trigamma, of which PyTorch has nine digits
grads = torch.autograd.grad(total, [a, b])
mixture = D.MixtureSameFamily(
    D.Categorical(torch.tensor([0.3, 0.7])), D.Normal(torch.tensor([-1.0, 2.0]), torch.ones(2))
)

results = {
    "losses": losses,
    "families": {name: value.detach() for name, value in families.items()},
    "grads": list(grads),
    "mixture": mixture.log_prob(u),
}

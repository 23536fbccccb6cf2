"""Hamiltonian Monte Carlo for logistic regression: leapfrog steps with gradients of a potential."""

import numpy as np
import torch
from torch.distributions import Bernoulli, Normal

torch.set_default_dtype(torch.float64)
rng = np.random.default_rng(14)

X = torch.from_numpy(rng.standard_normal((30, 3)))
y = torch.from_numpy((rng.random(30) < 0.5).astype(float))


def log_prob(w):
    prior = Normal(0.0, 2.0).log_prob(w).sum()
    return prior + Bernoulli(logits=X @ w).log_prob(y).sum()


def gradient(w):
    w = w.detach().requires_grad_()
    value = log_prob(w)
    return torch.autograd.grad(value, w)[0], value.item()


def leapfrog(w, p, step_size, n_steps):
    g, _ = gradient(w)
    p = p + 0.5 * step_size * g
    for _ in range(n_steps - 1):
        w = w + step_size * p
        p = p + step_size * gradient(w)[0]
    w = w + step_size * p
    g, value = gradient(w)
    return w, p + 0.5 * step_size * g, value


w = torch.zeros(3)
samples, accepted = [], 0
for _ in range(6):
    p0 = torch.from_numpy(rng.standard_normal(3))
    _, start = gradient(w)
    proposal, p, end = leapfrog(w, p0, 0.15, 8)
    log_ratio = end - 0.5 * p.dot(p) - start + 0.5 * torch.dot(p0, p0)
    if np.log(rng.random()) < log_ratio.item():
        w, accepted = proposal.clone(), accepted + 1
    samples.append(w)

chain = torch.stack(samples)
results = {
    "samples": chain,
    "accepted": accepted,
    "mean": chain.mean(dim=0),
    "std": chain.std(dim=0),
    "covariance": torch.cov(chain.T),
}

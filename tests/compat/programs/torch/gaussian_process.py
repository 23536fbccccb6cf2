"""A Gaussian process: hyperparameters by the marginal likelihood, through a Cholesky factor."""

import math

import numpy as np
import torch
from torch.distributions import MultivariateNormal

torch.set_default_dtype(torch.float64)
rng = np.random.default_rng(13)

X = torch.from_numpy(np.sort(rng.uniform(0.0, 5.0, 12)))[:, None]
y = torch.sin(2 * X).squeeze() + 0.1 * torch.from_numpy(rng.standard_normal(12))
X_star = torch.linspace(0, 5, 7).unsqueeze(1)

log_lengthscale = torch.zeros(1, requires_grad=True)
log_amplitude = torch.zeros((), requires_grad=True)
log_noise = torch.tensor(-2.0, requires_grad=True)


def kernel(a, b):
    d2 = torch.cdist(a, b) ** 2 if a is not b else ((a[:, None, :] - b[None, :, :]) ** 2).sum(-1)
    return torch.exp(2 * log_amplitude) * torch.exp(-0.5 * d2 / torch.exp(2 * log_lengthscale))


def negative_log_marginal():
    K = kernel(X, X) + torch.exp(2 * log_noise) * torch.eye(len(X))
    L = torch.linalg.cholesky(K)
    alpha = torch.cholesky_solve(y.unsqueeze(-1), L)
    return (
        0.5 * (y.unsqueeze(0) @ alpha).squeeze()
        + torch.log(torch.diagonal(L)).sum()
        + 0.5 * len(X) * math.log(2 * math.pi)
    )


optimizer = torch.optim.Adam([log_lengthscale, log_amplitude, log_noise], lr=0.05)
values = []
for _ in range(5):
    optimizer.zero_grad()
    loss = negative_log_marginal()
    loss.backward()
    optimizer.step()
    values.append(loss.item())

with torch.no_grad():
    K = kernel(X, X) + torch.exp(2 * log_noise) * torch.eye(len(X))
    K_star = kernel(X, X_star)
    L = torch.linalg.cholesky(K)
    v = torch.linalg.solve_triangular(L, K_star, upper=False)
    mean = K_star.T @ torch.cholesky_solve(y[:, None], L)
    cov = kernel(X_star, X_star) - v.mT @ v

# The same likelihood as a distribution, and its determinant.
K = kernel(X, X) + torch.exp(2 * log_noise) * torch.eye(len(X))
by_distribution = MultivariateNormal(torch.zeros(len(X)), covariance_matrix=K).log_prob(y)
sign, logdet = torch.linalg.slogdet(K)
grads = torch.autograd.grad(by_distribution + 0.1 * logdet, [log_lengthscale, log_amplitude, log_noise])

results = {
    "values": values,
    "mean": mean.flatten(),
    "variance": cov.diag(),
    "log_prob": by_distribution.item(),
    "sign": sign.item(),
    "grads": list(grads),
}

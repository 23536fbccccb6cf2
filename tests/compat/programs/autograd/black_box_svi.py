"""Black-box stochastic variational inference with reparametrised draws, for a two-dimensional posterior."""

import autograd.numpy as np
import autograd.scipy.stats.multivariate_normal as mvn
import autograd.scipy.stats.norm as norm
import numpy.random as npr
from autograd import grad
from autograd.misc.optimizers import adam


def black_box_svi(log_probability, dimension, samples):
    rng = npr.RandomState(0)

    def gaussian_entropy(log_std):
        return 0.5 * dimension * (1.0 + np.log(2 * np.pi)) + np.sum(log_std)

    def objective(params, t):
        mean, log_std = params[:dimension], params[dimension:]
        draws = rng.randn(samples, dimension) * np.exp(log_std) + mean
        return -(gaussian_entropy(log_std) + np.mean(log_probability(draws, t)))

    return objective, grad(objective)


def log_density(x, t):
    mu, log_sigma = x[:, 0], x[:, 1]
    sigma_density = norm.logpdf(log_sigma, 0, 1.35)
    return sigma_density + norm.logpdf(mu, 0, np.exp(log_sigma))


objective, gradient = black_box_svi(log_density, 2, 20)
start = np.concatenate([-np.ones(2), -2.0 * np.ones(2)])
found = adam(gradient, start, step_size=0.1, num_iters=25)
grid = np.linspace(-1.0, 1.0, 5)
points = np.stack([np.ravel(part) for part in np.meshgrid(grid, grid)], axis=1)
results = {
    "found": found,
    "gradient": gradient(start, 0),
    "density": mvn.pdf(points, found[:2], np.diag(np.exp(2 * found[2:]))),
}

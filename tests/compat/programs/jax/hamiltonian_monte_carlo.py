"""Hamiltonian Monte Carlo and Langevin dynamics by `lax.scan`, with noise from NumPy."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.scipy import stats

jax.config.update("jax_enable_x64", True)

rng = np.random.default_rng(5)
data = jnp.asarray(1.0 + 0.5 * rng.normal(size=20))


def log_density(theta):
    mu, log_sigma = theta
    prior = stats.norm.logpdf(mu, 0.0, 10.0) + stats.norm.logpdf(log_sigma, 0.0, 2.0)
    return prior + jnp.sum(stats.norm.logpdf(data, mu, jnp.exp(log_sigma)))


potential = lambda theta: -log_density(theta)
slope = jax.grad(potential)


def leapfrog(theta, momentum, step, n):
    def body(state, _):
        theta, momentum = state
        momentum = momentum - 0.5 * step * slope(theta)
        theta = theta + step * momentum
        momentum = momentum - 0.5 * step * slope(theta)
        return (theta, momentum), None

    return lax.scan(body, (theta, momentum), None, length=n)[0]


def kernel(theta, noise):
    momentum, log_u = noise["momentum"], noise["log_u"]
    new_theta, new_momentum = leapfrog(theta, momentum, 0.05, 8)
    energy = potential(theta) + 0.5 * momentum @ momentum
    new_energy = potential(new_theta) + 0.5 * new_momentum @ new_momentum
    accept = log_u < energy - new_energy
    theta = jnp.where(accept, new_theta, theta)
    return theta, {"theta": theta, "accept": accept}


noise = {"momentum": rng.normal(size=(25, 2)), "log_u": np.log(rng.uniform(size=25))}
last, chain = jax.jit(lambda start, noise: lax.scan(kernel, start, noise))(jnp.zeros(2), noise)


@jax.jit
def langevin(theta, noise):
    def body(theta, z):
        theta = theta - 0.002 * slope(theta) + jnp.sqrt(0.004) * z
        return theta, theta

    return lax.scan(body, theta, noise)[1]


walk = langevin(jnp.zeros(2), rng.normal(size=(30, 2)))
results = {"last": last, "theta": chain["theta"], "accepted": jnp.sum(chain["accept"]), "walk": walk}

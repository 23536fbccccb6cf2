"""A Kalman filter and smoother by `lax.scan`, forwards and in reverse, and the fit of its noise by the likelihood."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

jax.config.update("jax_enable_x64", True)


class Belief(NamedTuple):
    mean: jax.Array
    cov: jax.Array


rng = np.random.default_rng(8)
A = jnp.array([[1.0, 0.1], [0.0, 0.95]])
C = jnp.array([[1.0, 0.0]])
states = [np.array([0.0, 1.0])]
for _ in range(24):
    states.append(np.asarray(A) @ states[-1] + 0.1 * rng.normal(size=2))
observed = jnp.asarray(np.array(states)[:, :1] + 0.3 * rng.normal(size=(25, 1)))


def kalman(log_q, log_r, ys):
    Q, R = jnp.exp(log_q) * jnp.eye(2), jnp.exp(log_r) * jnp.eye(1)

    def step(belief, y):
        mean, cov = A @ belief.mean, A @ belief.cov @ A.T + Q
        S = C @ cov @ C.T + R
        gain = jnp.linalg.solve(S, C @ cov).T
        residual = y - C @ mean
        _, logdet = jnp.linalg.slogdet(2 * jnp.pi * S)
        ll = -0.5 * (residual @ jnp.linalg.solve(S, residual) + logdet)
        new = Belief(mean + gain @ residual, cov - gain @ C @ cov)
        return new, (new, ll)

    _, (beliefs, lls) = lax.scan(step, Belief(jnp.zeros(2), jnp.eye(2)), ys)
    return beliefs, jnp.sum(lls)


def smooth(log_q, beliefs):
    Q = jnp.exp(log_q) * jnp.eye(2)

    def step(later, belief):
        predicted = A @ belief.cov @ A.T + Q
        G = jnp.linalg.solve(predicted, A @ belief.cov).T
        mean = belief.mean + G @ (later.mean - A @ belief.mean)
        cov = belief.cov + G @ (later.cov - predicted) @ G.T
        new = Belief(mean, cov)
        return new, new

    last = jax.tree.map(lambda x: x[-1], beliefs)
    return lax.scan(step, last, jax.tree.map(lambda x: x[:-1], beliefs), reverse=True)[1]


likelihood = lambda theta: kalman(theta[0], theta[1], observed)[1]
slope = jax.jit(jax.grad(likelihood))
theta = jnp.array([-3.0, -1.0])
path = [theta]
for _ in range(5):
    theta = theta + 0.02 * slope(theta)
    path.append(theta)

beliefs, total = jax.jit(kalman)(theta[0], theta[1], observed)
smoothed = smooth(theta[0], beliefs)
results = {
    "path": path,
    "total": total,
    "means": beliefs.mean,
    "smoothed": smoothed.mean,
    "smoothed cov": smoothed.cov,
    "hessian": jax.hessian(likelihood)(theta),
}

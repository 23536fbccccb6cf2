"""Sampling from a banana.

Hamiltonian Monte Carlo draws samples by following the gradient of the log-density like a ball on a landscape, and
moves far where a random walk would take small steps. A compiled `scan` runs the chains, one for each element of a
batch.
"""

import matplotlib.pyplot as plt
import numpy as np

import wengert as wg


def log_density(q):
    """A normal distribution, bent: its exact means are 0 and 1."""
    return -0.5 * q[0] ** 2 - 2.0 * (q[1] - q[0] ** 2) ** 2


force = wg.grad(log_density)
STEP, LEAPS = 0.18, 12


def leapfrog(q, p):
    p = p + 0.5 * STEP * force(q)
    for _ in range(LEAPS):
        q = q + STEP * p
        p = p + STEP * force(q)
    return q, p - 0.5 * STEP * force(q)


@wg.compile
def sample(q, momenta, coins):
    """A chain, of which each proposal is accepted with the probability that keeps the distribution."""

    def step(q, draw):
        p, coin = draw
        new, end = leapfrog(q, p)
        gain = log_density(new) - log_density(q) + 0.5 * (p @ p - end @ end)
        accepted = np.log(coin) < gain
        q = np.where(accepted, new, q)
        return q, (q, accepted)

    return wg.scan(step, q, (momenta, coins))[1]


rng = np.random.default_rng(0)
chains = wg.compile(wg.vmap(sample))
draws, accepted = chains(rng.standard_normal((16, 2)), rng.standard_normal((16, 1500, 2)), rng.uniform(size=(16, 1500)))
draws = draws[:, 100:]
assert np.abs(draws.mean((0, 1)) - [0.0, 1.0]).max() < 0.1
assert abs(draws[..., 0].std() - 1.0) < 0.08

x, y = np.meshgrid(np.linspace(-3.2, 3.2, 200), np.linspace(-1.5, 8.0, 200))
plt.figure(figsize=(7, 4.2))
plt.plot(*draws.reshape(-1, 2)[::4].T, ".", ms=1, alpha=0.5)
plt.plot(*draws[0, :40].T, "o-", color="C1", ms=3, lw=0.8, label="forty draws of one chain")
plt.contour(x, y, np.exp(log_density(np.stack([x, y]))), 6, colors="black", linewidths=0.5)
plt.title(f"{draws.shape[0] * draws.shape[1]:,} draws, {accepted.mean():.0%} accepted")
plt.legend()
plt.show()

"""Updates of arrays by `.at`: the game of life, an Ising model, histograms, a sorting pass, in loops and compiled."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

jax.config.update("jax_enable_x64", True)

rng = np.random.default_rng(9)


@jax.jit
def life(board):
    around = sum(jnp.roll(board, (i, j), (0, 1)) for i in (-1, 0, 1) for j in (-1, 0, 1) if (i, j) != (0, 0))
    return jnp.where((around == 3) | ((board == 1) & (around == 2)), 1, 0)


board = jnp.zeros((8, 8), dtype=int)
board = board.at[jnp.array([0, 1, 2, 2, 2]), jnp.array([1, 2, 0, 1, 2])].set(1)
generations = [board]
for _ in range(4):
    generations.append(life(generations[-1]))


def ising(spins, proposals):
    def flip(spins, proposal):
        i, j, log_u = proposal["i"], proposal["j"], proposal["log_u"]
        n = spins.shape[0]
        neighbours = spins[(i + 1) % n, j] + spins[(i - 1) % n, j] + spins[i, (j + 1) % n] + spins[i, (j - 1) % n]
        accept = log_u < -2.0 * 0.4 * spins[i, j] * neighbours
        spins = spins.at[i, j].multiply(jnp.where(accept, -1.0, 1.0))
        return spins, jnp.sum(spins)

    return lax.scan(flip, spins, proposals)


proposals = {
    "i": rng.integers(0, 6, 60), "j": rng.integers(0, 6, 60), "log_u": np.log(rng.uniform(size=60)),
}  # fmt: skip
spins = jnp.asarray(rng.choice([-1.0, 1.0], (6, 6)))
final, magnetisation = jax.jit(ising)(spins, proposals)


def histogram(values, weights):
    bins = jnp.clip(jnp.floor(values * 5).astype(int), 0, 4)
    return jnp.zeros(5).at[bins].add(weights)


values, weights = jnp.asarray(rng.uniform(size=12)), jnp.asarray(rng.normal(size=12))
counts, pull = jax.vjp(lambda w: histogram(values, w), weights)


def bubble(x):
    def step(i, x):
        low, high = jnp.minimum(x[i], x[i + 1]), jnp.maximum(x[i], x[i + 1])
        return x.at[i].set(low).at[i + 1].set(high)

    return lax.fori_loop(0, x.shape[0] - 1, step, x)


x = jnp.array([3.0, -1.0, 2.0, 2.0, 0.5])
rows = jnp.arange(12.0).reshape(3, 4)
results = {
    "generations": generations,
    "ising": final,
    "magnetisation": magnetisation,
    "counts": counts,
    "pulled": pull(jnp.arange(5.0))[0],
    "bubble": [bubble(x), jax.jit(bubble)(x)],
    "updates": [
        rows.at[1].set(0.0),
        rows.at[:, 1].add(10.0),
        rows.at[0, 2:].multiply(-1.0),
        rows.at[jnp.array([0, 0, 2])].max(5.5),
        rows.at[1:, ::2].min(4.5),
        rows.at[rows > 6].set(-1.0),
        rows.at[2, 3].divide(2.0),
        rows.at[1].power(2.0),
        rows.at[0].apply(jnp.exp),
        rows.at[2, 1].get(),
    ],
    "set grad": jax.grad(lambda x: jnp.sum(x.at[1].set(x[0] ** 2).at[jnp.array([2, 2])].add(x[:2]) ** 2))(x),
    "slices": [
        lax.dynamic_slice(rows, (1, 2), (2, 2)),
        lax.dynamic_update_slice(rows, jnp.ones((2, 1)), (0, 3)),
        lax.dynamic_index_in_dim(rows, 2, 0, keepdims=False),
        jax.jit(lambda i: lax.dynamic_slice_in_dim(rows, i, 2, axis=1))(3),
    ],
}

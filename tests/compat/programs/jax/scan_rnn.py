"""A recurrent network over time by `lax.scan`, with a tuple as its state, batched by vmap, trained with Adam."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

jax.config.update("jax_enable_x64", True)

rng = np.random.default_rng(3)
hidden, features = 6, 2
params = {
    "W": jnp.asarray(0.3 * rng.normal(size=(features + hidden, 4 * hidden))),
    "b": jnp.zeros(4 * hidden),
    "out": jnp.asarray(0.3 * rng.normal(size=hidden)),
}


def cell(params, carry, x):
    h, c = carry
    gates = jnp.concatenate([x, h]) @ params["W"] + params["b"]
    i, f, g, o = jnp.split(gates, 4)
    c = jax.nn.sigmoid(f + 1.0) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
    h = jax.nn.sigmoid(o) * jnp.tanh(c)
    return (h, c), h @ params["out"]


def run(params, xs):
    start = (jnp.zeros(hidden), jnp.zeros(hidden))
    (h, c), outputs = lax.scan(lambda carry, x: cell(params, carry, x), start, xs)
    return h, outputs


def loss(params, xs, ys):
    _, outputs = jax.vmap(run, (None, 0))(params, xs)
    return jnp.mean((outputs - ys) ** 2)


xs = jnp.asarray(rng.normal(size=(5, 12, features)))
ys = jnp.cumsum(xs[..., 0] * xs[..., 1], axis=1)


@jax.jit
def adam(step, params, m, v):
    value, g = jax.value_and_grad(loss)(params, xs, ys)
    m = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, m, g)
    v = jax.tree.map(lambda v, g: 0.99 * v + 0.01 * g**2, v, g)
    scale = jnp.sqrt(1 - 0.99**step) / (1 - 0.9**step)
    params = jax.tree.map(lambda p, m, v: p - 0.02 * scale * m / (jnp.sqrt(v) + 1e-8), params, m, v)
    return params, m, v, value


m = v = jax.tree.map(jnp.zeros_like, params)
losses = []
for i in range(1, 9):
    params, m, v, value = adam(i, params, m, v)
    losses.append(value)

backwards = lax.scan(lambda c, x: (0.5 * c + x, c), 0.0, jnp.arange(5.0), reverse=True)
counted = lax.scan(lambda c, _: (c * 1.5, c), 1.0, None, length=4)
results = {"losses": losses, "params": params, "h": run(params, xs[0])[0], "reverse": backwards, "counted": counted}

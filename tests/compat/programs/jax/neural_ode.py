"""A neural differential equation: Runge and Kutta's method by `lax.scan`, trained through all its steps."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

jax.config.update("jax_enable_x64", True)

rng = np.random.default_rng(6)
params = {"w1": jnp.asarray(0.5 * rng.normal(size=(2, 10))), "w2": jnp.asarray(0.5 * rng.normal(size=(10, 2)))}


def dynamics(params, y, t):
    return jnp.tanh(y**3 @ params["w1"]) @ params["w2"] * (1.0 + 0.1 * jnp.cos(t))


def rk4(f, y, t, dt):
    k1 = f(y, t)
    k2 = f(y + dt / 2 * k1, t + dt / 2)
    k3 = f(y + dt / 2 * k2, t + dt / 2)
    k4 = f(y + dt * k3, t + dt)
    return y + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)


def solve(f, y0, ts):
    def step(y, pair):
        t, dt = pair
        new = rk4(f, y, t, dt)
        return new, new

    _, ys = lax.scan(step, y0, (ts[:-1], jnp.diff(ts)))
    return jnp.concatenate([y0[None], ys])


A = jnp.array([[-0.1, 2.0], [-2.0, -0.1]])
ts = jnp.linspace(0.0, 2.0, 21)
target = solve(lambda y, t: y**3 @ A, jnp.array([0.8, 0.0]), ts)


def loss(params, y0):
    predicted = solve(lambda y, t: dynamics(params, y, t), y0, ts)
    return jnp.mean((predicted - target) ** 2)


@jax.jit
def update(params, y0):
    value, grads = jax.value_and_grad(loss)(params, y0)
    return jax.tree.map(lambda p, g: p - 0.5 * g, params, grads), value


losses, y0 = [], target[0]
for _ in range(6):
    params, value = update(params, y0)
    losses.append(value)

remat_loss = lambda p: loss(p, y0)
results = {
    "target": target,
    "losses": losses,
    "params": params,
    "start": jax.grad(loss, 1)(params, y0),
    "checkpoint": jax.grad(jax.checkpoint(remat_loss))(params),
    "sensitivity": jax.jacfwd(lambda y0: solve(lambda y, t: dynamics(params, y, t), y0, ts)[-1])(y0),
}

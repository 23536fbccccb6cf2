"""Newton by `lax.while_loop`, a power series by `fori_loop`, choices by `cond` and `switch`, in jit and vmap."""

from functools import partial

import jax
import jax.numpy as jnp
from jax import lax

jax.config.update("jax_enable_x64", True)


@partial(jax.jit, static_argnums=0)
def newton(f, x0, tol=1e-12):
    def body(state):
        x, _, count = state
        new = x - f(x) / jax.grad(f)(x)
        return new, jnp.abs(new - x), count + 1

    return lax.while_loop(lambda s: (s[1] > tol) & (s[2] < 50), body, (x0, jnp.inf, 0))


def kepler(mean_anomaly, eccentricity):
    f = lambda E: E - eccentricity * jnp.sin(E) - mean_anomaly

    def body(state):
        E, _ = state
        new = E - f(E) / (1 - eccentricity * jnp.cos(E))
        return new, jnp.abs(new - E)

    return lax.while_loop(lambda s: s[1] > 1e-13, body, (mean_anomaly, jnp.asarray(1.0)))[0]


def exponential(x, n):
    def body(k, state):
        term, total = state
        term = term * x / k
        return term, total + term

    return lax.fori_loop(1, n, body, (1.0, 1.0))[1]


def smooth_abs(x):
    return lax.cond(jnp.abs(x) < 1.0, lambda x: 0.5 * x**2, lambda x: jnp.abs(x) - 0.5, x)


def choose(i, x):
    return lax.switch(i, [jnp.sin, jnp.cos, lambda x: x**2], x)


root, error, count = newton(lambda x: x**3 - 2.0, 1.5)
anomalies = jnp.linspace(0.1, 3.0, 7)
points = jnp.array([-2.5, -0.4, 0.3, 1.7])

results = {
    "root": root,
    "count": count,
    "kepler": jax.vmap(kepler, (0, None))(anomalies, 0.6),
    "kepler tangents": jax.jvp(lambda e: kepler(1.2, e), (0.6,), (1.0,)),
    "exponential": exponential(0.7, 20),
    "exponential grad": jax.grad(exponential)(0.7, 20),
    "huber": jax.vmap(smooth_abs)(points),
    "huber grad": jax.vmap(jax.grad(smooth_abs))(points),
    "huber compiled": jax.jit(jax.grad(smooth_abs))(-2.5),
    "switch": [choose(i, 0.4) for i in range(3)],
    "switch grad": jax.vmap(jax.grad(choose, 1), (0, None))(jnp.arange(3), 0.4),
    "map": lax.map(lambda x: x * jnp.exp(x), points),
    "associative": lax.associative_scan(jnp.multiply, points),
}

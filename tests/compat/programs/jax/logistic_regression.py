"""Logistic regression by gradient descent and by Newton's method, compiled."""

import jax
import jax.numpy as jnp
import numpy as np

jax.config.update("jax_enable_x64", True)

rng = np.random.default_rng(1)
features = rng.normal(size=(60, 4))
truth = rng.normal(size=4)
labels = (rng.uniform(size=60) < 1 / (1 + np.exp(-features @ truth))).astype(float)
X, y = jnp.asarray(features), jnp.asarray(labels)


def loss(w, X, y):
    logits = X @ w
    nll = jnp.mean(jnp.logaddexp(0.0, logits) - y * logits)
    return nll + 0.01 * jnp.sum(w**2)


@jax.jit
def step(w, X, y):
    value, g = jax.value_and_grad(loss)(w, X, y)
    return w - 0.5 * g, value


w = jnp.zeros(4)
history = []
for _ in range(30):
    w, value = step(w, X, y)
    history.append(float(value))


@jax.jit
def newton(w):
    g = jax.grad(loss)(w, X, y)
    H = jax.hessian(loss)(w, X, y)
    return w - jnp.linalg.solve(H, g)


w_newton = jnp.zeros(4)
for _ in range(6):
    w_newton = newton(w_newton)

accuracy = jnp.sum((jax.nn.sigmoid(X @ w_newton) > 0.5) == (y > 0.5))
results = {"history": history, "w": w, "newton": w_newton, "accuracy": accuracy}

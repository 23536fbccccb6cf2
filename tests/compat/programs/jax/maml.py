"""Learning to learn: gradients through a step of gradient descent, for several tasks by vmap."""

import jax
import jax.numpy as jnp
import numpy as np

jax.config.update("jax_enable_x64", True)

rng = np.random.default_rng(4)
sizes = (1, 8, 8, 1)
params = [
    (jnp.asarray(rng.normal(size=(m, n)) / np.sqrt(m)), jnp.zeros(n))
    for m, n in zip(sizes[:-1], sizes[1:], strict=True)
]


def net(params, x):
    for w, b in params[:-1]:
        x = jnp.tanh(x @ w + b)
    w, b = params[-1]
    return x @ w + b


def loss(params, x, y):
    return jnp.mean((net(params, x) - y) ** 2)


def inner_update(params, x, y, rate=0.1):
    grads = jax.grad(loss)(params, x, y)
    return jax.tree.map(lambda p, g: p - rate * g, params, grads)


def maml_loss(params, x1, y1, x2, y2):
    return loss(inner_update(params, x1, y1), x2, y2)


def batch_loss(params, x1, y1, x2, y2):
    return jnp.mean(jax.vmap(maml_loss, in_axes=(None, 0, 0, 0, 0))(params, x1, y1, x2, y2))


@jax.jit
def outer_update(params, *tasks):
    value, grads = jax.value_and_grad(batch_loss)(params, *tasks)
    return jax.tree.map(lambda p, g: p - 0.02 * g, params, grads), value


def sample_tasks(n):
    amplitudes, phases = rng.uniform(0.1, 5.0, (n, 1, 1)), rng.uniform(0.0, np.pi, (n, 1, 1))
    x1, x2 = rng.uniform(-5.0, 5.0, (2, n, 10, 1))
    return x1, amplitudes * np.sin(x1 + phases), x2, amplitudes * np.sin(x2 + phases)


losses = []
for _ in range(5):
    params, value = outer_update(params, *sample_tasks(3))
    losses.append(value)

results = {"losses": losses, "params": params, "adapted": inner_update(params, *[t[0] for t in sample_tasks(1)[:2]])}

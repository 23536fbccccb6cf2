"""A classifier with a list of dictionaries as parameters, minibatches, and momentum written with trees."""

import jax
import jax.numpy as jnp
import numpy as np
from jax.tree_util import tree_map

jax.config.update("jax_enable_x64", True)

rng = np.random.default_rng(2)
images = rng.normal(size=(64, 8))
classes = rng.integers(0, 3, size=64)
sizes = [8, 16, 16, 3]
params = [
    {"w": jnp.asarray(rng.normal(size=(m, n)) / np.sqrt(m)), "b": jnp.zeros(n)}
    for m, n in zip(sizes[:-1], sizes[1:], strict=True)
]


def predict(params, image):
    activations = image
    for layer in params[:-1]:
        activations = jax.nn.relu(jnp.dot(activations, layer["w"]) + layer["b"])
    logits = jnp.dot(activations, params[-1]["w"]) + params[-1]["b"]
    return logits - jax.nn.logsumexp(logits)


batched_predict = jax.vmap(predict, in_axes=(None, 0))


def loss(params, images, targets):
    return -jnp.mean(jnp.sum(batched_predict(params, images) * targets, axis=1))


@jax.jit
def update(params, velocity, images, targets):
    value, grads = jax.value_and_grad(loss)(params, images, targets)
    velocity = tree_map(lambda v, g: 0.9 * v - 0.05 * g, velocity, grads)
    return tree_map(lambda p, v: p + v, params, velocity), velocity, value


targets = jax.nn.one_hot(classes, 3)
velocity = tree_map(jnp.zeros_like, params)
losses = []
for _ in range(4):
    for start in range(0, 64, 16):
        batch = slice(start, start + 16)
        params, velocity, value = update(params, velocity, images[batch], targets[batch])
        losses.append(value)

predicted = jnp.argmax(batched_predict(params, images), axis=1)
norm = jnp.sqrt(sum(jnp.vdot(p, p) for p in jax.tree.leaves(params)))
results = {"losses": losses, "params": params, "predicted": predicted, "norm": norm}

"""Gradients for each example by vmap of grad, with axes in trees, and what differential privacy makes of them."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

jax.config.update("jax_enable_x64", True)

rng = np.random.default_rng(10)
params = {"w": jnp.asarray(rng.normal(size=(5, 3))), "b": jnp.asarray(rng.normal(size=3))}
batch = {"x": jnp.asarray(rng.normal(size=(7, 5))), "y": jnp.asarray(rng.integers(0, 3, 7))}


def loss(params, example):
    logits = example["x"] @ params["w"] + params["b"]
    return -jax.nn.log_softmax(logits)[example["y"]]


per_example = jax.jit(jax.vmap(jax.value_and_grad(loss), in_axes=(None, {"x": 0, "y": 0})))
losses, grads = per_example(params, batch)


def clip(grads, limit):
    norm = jnp.sqrt(sum(jnp.sum(g**2) for g in jax.tree.leaves(grads)))
    return jax.tree.map(lambda g: g * jnp.minimum(1.0, limit / norm), grads), norm


clipped, norms = jax.vmap(partial(clip, limit=0.5))(grads)
noise = jax.tree.map(lambda g: jnp.asarray(rng.normal(size=g.shape[1:])), grads)
private = jax.tree.map(lambda g, n: jnp.mean(g, axis=0) + 0.01 * n, clipped, noise)

matrices, vectors = jnp.asarray(rng.normal(size=(4, 3, 5))), jnp.asarray(rng.normal(size=(5, 4)))
moved = jax.vmap(lambda A, v: (A @ v, jnp.sum(A)), in_axes=(0, 1), out_axes=(1, 0))(matrices, vectors)
ensemble = jax.tree.map(lambda p: jnp.stack([p, 2 * p]), params)
both = jax.vmap(jax.vmap(loss, (None, 0)), ({"w": 0, "b": 0}, None))(ensemble, batch)
jacobians = jax.vmap(jax.jacrev(lambda x: jnp.outer(x, x) @ x))(vectors.T)

results = {
    "losses": losses,
    "grads": grads,
    "norms": norms,
    "private": private,
    "moved": moved,
    "ensemble": both,
    "jacobians": jacobians,
}

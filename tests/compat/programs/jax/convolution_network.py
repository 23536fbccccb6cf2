"""A small convolutional network with `lax.conv_general_dilated`, pooling, and attention by einsum."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

jax.config.update("jax_enable_x64", True)

rng = np.random.default_rng(14)
params = {
    "conv": jnp.asarray(0.3 * rng.normal(size=(3, 3, 1, 4))),
    "dense": jnp.asarray(0.3 * rng.normal(size=(4 * 4 * 4, 5))),
    "qkv": jnp.asarray(0.3 * rng.normal(size=(3, 5, 2, 4))),
}
images = jnp.asarray(rng.normal(size=(2, 8, 8, 1)))
labels = jnp.array([1, 3])


def attention(x, qkv):
    q, k, v = jnp.einsum("td,sdhk->sthk", x, qkv)
    scores = jnp.einsum("thk,shk->hts", q, k) / jnp.sqrt(q.shape[-1])
    mask = jnp.tril(jnp.ones(scores.shape[-2:], dtype=bool))
    weights = jax.nn.softmax(jnp.where(mask, scores, -jnp.inf))
    return jnp.einsum("hts,shk->thk", weights, v)


def network(params, images):
    x = lax.conv_general_dilated(images, params["conv"], (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
    x = lax.reduce_window(jax.nn.gelu(x), -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
    return x.reshape(x.shape[0], -1) @ params["dense"]


def loss(params):
    logits = network(params, images)
    mixed = attention(logits, params["qkv"])
    picked = jnp.take_along_axis(jax.nn.log_softmax(logits), labels[:, None], axis=1)
    return -jnp.mean(picked) + 0.1 * jnp.sum(mixed**2)


value, grads = jax.jit(jax.value_and_grad(loss))(params)
strided = lax.conv_general_dilated(
    images, params["conv"], (2, 1), [(1, 0), (2, 1)], rhs_dilation=(1, 2), dimension_numbers=("NHWC", "HWIO", "NCHW")
)
a, b = jnp.asarray(rng.normal(size=(2, 3, 4))), jnp.asarray(rng.normal(size=(4, 2, 5)))
values, indices = lax.top_k(a, 2)
results = {
    "value": value,
    "grads": grads,
    "strided": strided,
    "dot_general": lax.dot_general(a, b, (((2,), (0,)), ((0,), (1,)))),
    "top_k": [values, indices],
    "sums": [lax.cumsum(a, 1), lax.cummax(a, 2, reverse=True), lax.rsqrt(a**2 + 1.0)],
}

"""`jit` with static arguments, by position and name, as a decorator, on methods, with Python's statements inside."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

jax.config.update("jax_enable_x64", True)

rng = np.random.default_rng(12)
x = jnp.asarray(rng.normal(size=6))


@partial(jax.jit, static_argnums=(1,))
def power_sum(x, n):
    total = 0.0
    for k in range(n):
        total = total + x**k
    return total


@partial(jax.jit, static_argnames=("norm", "keep"))
def normalize(x, *, norm="l2", keep=False):
    size = jnp.sqrt(jnp.sum(x**2)) if norm == "l2" else jnp.sum(jnp.abs(x))
    return (x / size, size) if keep else x / size


class Model:
    def __init__(self, depth):
        self.depth = depth

    @partial(jax.jit, static_argnums=0)
    def __call__(self, x):
        for _ in range(self.depth):
            x = jnp.sin(x) + 0.5
        return x


@jax.jit
def polynomial(coefficients, x):
    y = jnp.zeros_like(x)
    for c in coefficients:
        y = y * x + c
    return y


def shapes(x):
    return {"outer": jnp.outer(x, x), "mean": jnp.mean(x), "order": jnp.argsort(x)}


described = jax.eval_shape(shapes, jax.ShapeDtypeStruct((4,), jnp.float64))
batched = jax.jit(jax.vmap(jax.grad(lambda x: jnp.prod(jnp.sin(x)))))(jnp.stack([x, 2 * x]))
with jax.disable_jit():
    plain = power_sum(x, 3)

results = {
    "power sum": [power_sum(x, n) for n in (2, 3, 5)],
    "normalize": [normalize(x), normalize(x, norm="l1"), normalize(x, keep=True)],
    "method": [Model(2)(x), Model(3)(x)],
    "polynomial": polynomial([1.0, -2.0, 0.5], x),
    "polynomial grad": jax.grad(lambda c: jnp.sum(polynomial(c, x)))([1.0, -2.0, 0.5]),
    "shapes": {name: list(spec.shape) for name, spec in described.items()},
    "batched": batched,
    "plain": plain,
    "donated": jax.jit(lambda a, b: a * b, donate_argnums=(0,))(jnp.ones(3), x[:3]),
    "backend": jax.default_backend(),
    "devices": len(jax.devices("cpu")) > 0,
}

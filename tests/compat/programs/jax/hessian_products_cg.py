"""Hessian-vector products, conjugate gradients written by hand, and Newton steps on a tree of parameters."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.flatten_util import ravel_pytree
from jax.scipy.sparse.linalg import cg

jax.config.update("jax_enable_x64", True)

rng = np.random.default_rng(11)
X = jnp.asarray(rng.normal(size=(20, 4)))
t = jnp.asarray(rng.normal(size=20))
params = {"linear": jnp.asarray(rng.normal(size=4)), "bias": jnp.asarray(0.1), "scale": [jnp.asarray(1.3)]}


def loss(params):
    residual = params["scale"][0] * jnp.tanh(X @ params["linear"] + params["bias"]) - t
    return jnp.mean(jnp.sqrt(1.0 + residual**2)) + 0.05 * sum(jnp.sum(p**2) for p in jax.tree.leaves(params))


def hvp(f, x, v):
    return jax.jvp(jax.grad(f), (x,), (v,))[1]


def conjugate_gradients(product, b, steps):
    def body(_, state):
        x, r, p, rr = state
        Ap = product(p)
        alpha = rr / (p @ Ap)
        x, r = x + alpha * p, r - alpha * Ap
        new = r @ r
        return x, r, r + new / rr * p, new

    return lax.fori_loop(0, steps, body, (jnp.zeros_like(b), b, b, b @ b))[0]


flat, unravel = ravel_pytree(params)
objective = lambda v: loss(unravel(v))


@jax.jit
def newton_step(v):
    gradient = jax.grad(objective)(v)
    product = lambda p: hvp(objective, v, p) + 0.1 * p
    return v - conjugate_gradients(product, gradient, 8)


v, values = flat, [objective(flat)]
for _ in range(4):
    v = newton_step(v)
    values.append(objective(v))

direction = jnp.asarray(rng.normal(size=flat.shape))
value, linear = jax.linearize(jax.grad(objective), flat)
matrix = jax.vmap(linear)(jnp.eye(flat.size))
(transposed,) = jax.linear_transpose(lambda v: X[:6].T @ v[:6], direction)(jnp.arange(4.0))
results = {
    "flat": flat,
    "values": values,
    "solution": unravel(v),
    "hvp": hvp(objective, flat, direction),
    "tree hvp": hvp(loss, params, jax.tree.map(jnp.ones_like, params)),
    "linearize": [value, linear(direction)],
    "hessian": [matrix, jax.hessian(objective)(flat)],
    "transposed": transposed,
    "cg": cg(lambda p: hvp(objective, flat, p) + p, direction, tol=1e-13)[0],
}

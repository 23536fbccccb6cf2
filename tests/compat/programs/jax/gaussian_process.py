"""Gaussian process regression: kernels by nested vmap, the marginal likelihood, its gradient and Hessian."""

import jax
import jax.numpy as jnp
import jax.scipy as jsp
import numpy as np
from jax import flatten_util  # noqa: F401  # which jax.flatten_util needs

jax.config.update("jax_enable_x64", True)

rng = np.random.default_rng(7)
x = jnp.asarray(np.sort(rng.uniform(-3.0, 3.0, 15)))
y = jnp.sin(x) + 0.1 * jnp.asarray(rng.normal(size=15))
new = jnp.linspace(-3.5, 3.5, 9)


def softplus(x):
    return jnp.logaddexp(x, 0.0)


def exp_quadratic(x1, x2):
    return jnp.exp(-0.5 * (x1 - x2) ** 2)


def cov_map(kernel, xs, ys):
    return jax.vmap(lambda x: jax.vmap(lambda y: kernel(x, y))(ys))(xs)


def gp(params, x, y, xtest=None):
    noise, amp, ls = (softplus(params[name]) for name in ("noise", "amplitude", "lengthscale"))
    K = amp * cov_map(exp_quadratic, x / ls, x / ls) + jnp.eye(x.size) * (noise + 1e-6)
    chol = jsp.linalg.cholesky(K, lower=True)
    alpha = jsp.linalg.cho_solve((chol, True), y)
    if xtest is not None:
        cross = amp * cov_map(exp_quadratic, x / ls, xtest / ls)
        v = jsp.linalg.solve_triangular(chol, cross, lower=True)
        return cross.T @ alpha, amp * jnp.ones(xtest.size) - jnp.sum(v**2, axis=0)
    return 0.5 * y @ alpha + jnp.sum(jnp.log(jnp.diag(chol))) + 0.5 * x.size * jnp.log(2 * jnp.pi)


params = {"noise": 0.0, "amplitude": 0.5, "lengthscale": 0.2}
params = jax.tree.map(jnp.asarray, params)


@jax.jit
def step(params):
    value, grads = jax.value_and_grad(gp)(params, x, y)
    return jax.tree.map(lambda p, g: p - 0.02 * g, params, grads), value


values = []
for _ in range(12):
    params, value = step(params)
    values.append(value)

mean, var = gp(params, x, y, new)
flat, unravel = jax.flatten_util.ravel_pytree(params)
results = {
    "values": values,
    "params": params,
    "mean": mean,
    "var": var,
    "hessian": jax.hessian(lambda v: gp(unravel(v), x, y))(flat),
}

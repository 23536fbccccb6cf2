"""Gradients of logistic regression with respect to arrays, tuples and dicts; Jacobians, products, a Hessian."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import grad, jacfwd, jacrev, jit, jvp, value_and_grad, vjp, vmap

jax.config.update("jax_enable_x64", True)

inputs = jnp.array([[0.52, 1.12, 0.77], [0.88, -1.08, 0.15], [0.52, 0.06, -1.30], [0.74, -2.49, 1.39]])
targets = jnp.array([True, True, False, True])


def predict(W, b, inputs):
    return 0.5 * (jnp.tanh((jnp.dot(inputs, W) + b) / 2) + 1)


def loss(W, b):
    preds = predict(W, b, inputs)
    label_probs = preds * targets + (1 - preds) * (1 - targets)
    return -jnp.sum(jnp.log(label_probs))


rng = np.random.default_rng(0)
W, b = jnp.asarray(rng.normal(size=3)), jnp.asarray(0.3)
W_grad, b_grad = grad(loss, (0, 1))(W, b)
dict_grad = grad(lambda params: loss(params["W"], params["b"]))({"W": W, "b": b})
value, both = value_and_grad(loss, (0, 1))(W, b)

f = lambda W: predict(W, b, inputs)
J_fwd, J_rev = jacfwd(f)(W), jacrev(f)(W)


def hessian(f):
    return jacfwd(jacrev(f))


def hvp(f, x, v):
    return grad(lambda x: jnp.vdot(grad(f)(x), v))(x)


def hvp_forward_over_reverse(f, primals, tangents):
    return jvp(grad(f), primals, tangents)[1]


v = jnp.asarray(rng.normal(size=3))
y, push = jvp(f, (W,), (v,))
_, pull = vjp(f, W)
(pulled,) = pull(jnp.arange(4.0))
basis = vmap(lambda t: pull(t)[0])(jnp.eye(4))


def cubic(z):
    return z**3 + jnp.sin(z)


def magnitude(z):
    return jnp.abs(z) ** 2 * jnp.real(z)


z = jnp.asarray(1.0 + 2.0j)
_, pull_complex = vjp(lambda z: z**2 * (1.0 - 2.0j), z)

results = {
    "value": value,
    "W_grad": W_grad,
    "b_grad": b_grad,
    "dict_grad": dict_grad,
    "both": both,
    "J_fwd": J_fwd,
    "J_rev": J_rev,
    "hessian": hessian(lambda W: loss(W, b))(W),
    "hvp": hvp(lambda W: loss(W, b), W, v),
    "hvp_forward": hvp_forward_over_reverse(lambda W: loss(W, b), (W,), (v,)),
    "jvp": [y, push],
    "vjp": [pulled, basis],
    "compiled": jit(grad(loss))(W, b),
    "holomorphic": grad(cubic, holomorphic=True)(z),
    "real of complex": grad(magnitude)(z),
    "complex vjp": pull_complex(jnp.asarray(1.0 - 1.0j))[0],
    "high order": grad(grad(grad(jnp.tanh)))(2.0),
}

"""Rules of the user's: a stable log(1 + exp(x)), clipped gradients, a fixed point, a straight-through estimator."""

from functools import partial

import jax
import jax.numpy as jnp
from jax import lax

jax.config.update("jax_enable_x64", True)


@jax.custom_jvp
def log1pexp(x):
    return jnp.log(1.0 + jnp.exp(x))


@log1pexp.defjvp
def log1pexp_jvp(primals, tangents):
    (x,) = primals
    (x_dot,) = tangents
    return log1pexp(x), (1 - 1 / (1 + jnp.exp(x))) * x_dot


@jax.custom_jvp
def product(x, y):
    return jnp.sin(x) * y


product.defjvps(lambda x_dot, ans, x, y: jnp.cos(x) * x_dot * y, lambda y_dot, ans, x, y: jnp.sin(x) * y_dot)


@partial(jax.custom_vjp, nondiff_argnums=(0, 1))
def clip_gradient(low, high, x):
    return x


clip_gradient.defvjp(lambda low, high, x: (x, None), lambda low, high, _, g: (jnp.clip(g, low, high),))


@partial(jax.custom_vjp, nondiff_argnums=(0,))
def fixed_point(f, a, x_guess):
    def cond_fun(carry):
        x_prev, x = carry
        return jnp.abs(x_prev - x) > 1e-14

    def body_fun(carry):
        _, x = carry
        return x, f(a, x)

    _, x_star = lax.while_loop(cond_fun, body_fun, (x_guess, f(a, x_guess)))
    return x_star


def fixed_point_fwd(f, a, x_init):
    x_star = fixed_point(f, a, x_init)
    return x_star, (a, x_star)


def fixed_point_rev(f, res, x_star_bar):
    a, x_star = res
    _, vjp_a = jax.vjp(lambda a: f(a, x_star), a)
    (a_bar,) = vjp_a(fixed_point(partial(rev_iter, f), (a, x_star, x_star_bar), x_star_bar))
    return a_bar, jnp.zeros_like(x_star)


def rev_iter(f, packed, u):
    a, x_star, x_star_bar = packed
    _, vjp_x = jax.vjp(lambda x: f(a, x), x_star)
    return x_star_bar + vjp_x(u)[0]


fixed_point.defvjp(fixed_point_fwd, fixed_point_rev)


def newton_sqrt(a):
    return fixed_point(lambda a, x: 0.5 * (x + a / x), a, a)


@jax.custom_vjp
def straight_through(x):
    return jnp.round(x)


straight_through.defvjp(lambda x: (jnp.round(x), None), lambda _, g: (g,))

xs = jnp.array([-2.0, 0.3, 4.0])
results = {
    "log1pexp": [log1pexp(3.0), jax.grad(log1pexp)(3.0), jax.jit(jax.grad(log1pexp))(100.0)],
    "log1pexp second": jax.grad(jax.grad(log1pexp))(3.0),
    "log1pexp batch": jax.vmap(jax.grad(log1pexp))(xs),
    "product": jax.grad(product, (0, 1))(0.4, 2.0),
    "clip": jax.grad(lambda x: jnp.sum(100.0 * clip_gradient(-1.0, 1.0, x) ** 2))(xs),
    "sqrt": [newton_sqrt(2.0), jax.grad(newton_sqrt)(2.0), jax.vmap(jax.grad(newton_sqrt))(jnp.array([1.0, 2.0, 3.0]))],
    "straight": jax.grad(lambda x: jnp.sum(straight_through(x) ** 2))(xs),
}

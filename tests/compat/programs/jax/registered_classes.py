"""Classes of the user's as trees: with `tree_flatten`, dataclasses, named tuples, and a tree with static parts."""

from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.tree_util import Partial, register_dataclass, register_pytree_node, register_pytree_node_class

jax.config.update("jax_enable_x64", True)

rng = np.random.default_rng(13)


@register_pytree_node_class
class Linear:
    def __init__(self, weight, bias, name):
        self.weight, self.bias, self.name = weight, bias, name

    def __call__(self, x):
        return x @ self.weight + self.bias

    def tree_flatten(self):
        return (self.weight, self.bias), self.name

    @classmethod
    def tree_unflatten(cls, name, children):
        return cls(*children, name)


class Interval:
    def __init__(self, low, high):
        self.low, self.high = low, high


register_pytree_node(Interval, lambda i: ((i.low, i.high), None), lambda _, children: Interval(*children))


@partial(register_dataclass, data_fields=["model", "scale"], meta_fields=["depth"])
@dataclass
class Net:
    model: Linear
    scale: jax.Array
    depth: int


class State(NamedTuple):
    net: Net
    step: jax.Array


net = Net(Linear(jnp.asarray(rng.normal(size=(3, 3))), jnp.zeros(3), "first"), jnp.asarray(0.7), 2)


def forward(net, x):
    for _ in range(net.depth):
        x = net.scale * jnp.tanh(net.model(x))
    return x


x = jnp.asarray(rng.normal(size=(4, 3)))


@jax.jit
def train(state, x):
    grads = jax.grad(lambda net: jnp.mean(forward(net, x) ** 2))(state.net)
    return State(jax.tree.map(lambda p, g: p - 0.1 * g, state.net, grads), state.step + 1)


state = State(net, jnp.asarray(0))
for _ in range(3):
    state = train(state, x)

leaves, treedef = jax.tree.flatten({"z": [1.0, (2.0, None)], "a": Interval(3.0, 4.0)})
doubled = jax.tree.unflatten(treedef, [2 * leaf for leaf in leaves])
paths = [jax.tree_util.keystr(path) for path, _ in jax.tree_util.tree_leaves_with_path({"b": [1, 2], "a": {"c": 3}})]
swapped = jax.tree.transpose(
    jax.tree.structure([0, 0]), jax.tree.structure({"u": 0, "v": 0}), [{"u": 1, "v": 2}, {"u": 3, "v": 4}]
)
scaled = jax.jit(lambda f, x: f(x))(Partial(lambda a, x: a * x, 3.0), 2.0)
results = {
    "weight": state.net.model.weight,
    "scale": state.net.scale,
    "name": state.net.model.name,
    "step": state.step,
    "output": forward(state.net, x),
    "leaves": leaves,
    "doubled": [doubled["a"].low, doubled["a"].high, doubled["z"][1][0]],
    "count": treedef.num_leaves,
    "paths": paths,
    "swapped": swapped,
    "total": jax.tree.reduce(lambda a, b: a + b, {"b": 2.0, "a": [1.0, 4.0]}),
    "is leaf": jax.tree.map(lambda t: len(t), {"p": (1, 2), "q": (3,)}, is_leaf=lambda t: isinstance(t, tuple)),
    "vmap": jax.vmap(lambda i: i.high - i.low)(Interval(jnp.zeros(3), jnp.arange(3.0))),
    "partial": scaled,
}

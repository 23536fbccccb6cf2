"""The graph of a function, by nodes of one's own."""

import autograd.numpy as np
from autograd.tracer import Node, trace
from autograd.util import toposort


class GraphNode(Node):
    def __init__(self, value, fun, args, kwargs, parent_argnums, parents):
        self.parents = parents
        self.name = fun.__name__
        self.value = value
        self.constants = [args[i] for i in range(len(args)) if i not in parent_argnums]

    def initialize_root(self, x):
        self.parents = []
        self.name, self.value, self.constants = "x", x, []


def f(x):
    y = np.sin(x)
    return np.exp(y) * y + np.cos(x) - 3.0 * x


value, end = trace(GraphNode.new_root(1.5), f, 1.5)
nodes = list(toposort(end))
results = {
    "value": value,
    "names": sorted(node.name for node in nodes),
    "edges": sorted(f"{parent.name} -> {node.name}" for node in nodes for parent in node.parents),
    "values": sorted(float(node.value) for node in nodes),
    "constants": [float(c) for node in nodes for c in node.constants],
}

"""Finds attention in a graph: softmax(Q K^T + mask) V, and its derivative in reverse.

    weights = softmax_weights(where(mask, Q K^T, -inf))            weights * (T V^T - sum(T V^T * weights)) = S
    out = weights V                                                S K, S^T Q, weights^T T

If nothing else reads the scores, the weights and S, both are operations in blocks (`blocked_attention.py`), whose
memory does not grow with the product of the numbers of queries and keys.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from wengert.compiler.forms.blocked_attention import ATTENTION, ATTENTION_PULL
from wengert.compiler.forms.lowering import FLOATS
from wengert.core import machine
from wengert.core.primitive import OUTPUT
from wengert.graph.graph import Graph
from wengert.graph.ir import Constant, Node, Operation, is_a, make_operation
from wengert.graph.passes.rewrite import make_node, rebuild
from wengert.graph.passes.simplify import is_number
from wengert.ops.contraction.products import matmul
from wengert.ops.elementwise.arithmetic import add, multiply, subtract
from wengert.ops.elementwise.choices import _where
from wengert.ops.reductions.sums import _sum
from wengert.ops.shape.reshaping import _transpose
from wengert.ops.special.entropy import softmax_weights

Users = dict[Node, list[Operation]]


class Mask(NamedTuple):
    """What is between a product of queries and keys and its softmax: `added` or `seen`, if any, and `is_causal`.

    `chosen` are the conditions of all choices, from the scores to the softmax.
    """

    operand: Node | None
    is_causal: bool
    chosen: tuple[Node, ...]


class Cotangent(NamedTuple):
    """A product that gives a cotangent, or its transpose."""

    node: Operation
    is_transposed: bool


class Pull(NamedTuple):
    """The derivative of an attention: the cotangent of its result, and those of queries, keys and values."""

    t: Node
    transposed_value: Node
    cotangents: tuple[Cotangent | None, Cotangent | None, Cotangent | None]


class Attention(NamedTuple):
    """An attention: `out` is its result, the product of weights and values, if something reads it."""

    weights: Operation
    query: Node
    transposed_key: Node
    mask: Mask
    out: Operation | None
    pull: Pull | None


def block_attention(graph: Graph) -> Graph:
    """The graph with operations in blocks for every attention whose weights nothing else reads."""
    softmaxes = [node for node in graph.operations if is_a(node, softmax_weights)]
    if not softmaxes:
        return graph
    users: Users = {}
    for node in graph.operations:
        for a in dict.fromkeys(node.args):
            users.setdefault(a, []).append(node)
    finder = AttentionFinder(users, set(graph.outputs))
    found = [attention for node in softmaxes if (attention := finder.find(node)) is not None]
    return rebuild(graph, AttentionRewriter(found).rule) if found else graph


class AttentionFinder:
    """Compares the operations around a softmax with those of an attention and of its derivative."""

    def __init__(self, users: Users, outputs: set[Node]):
        self.users, self.outputs = users, outputs

    def is_read_by(self, node: Node, *readers: Node) -> bool:
        """Whether these operations, and nothing else, read a node."""
        return node not in self.outputs and set(self.users.get(node, ())) == set(readers)

    def find(self, weights: Operation) -> Attention | None:
        """The attention that has these weights; None if they have other uses."""
        if weights.dtype not in FLOATS or weights.ndim < 2 or weights.params["axis"] != (weights.ndim - 1,):
            return None
        length, keys = weights.shape[-2:]
        now = machine.current
        has_few = length < now.min_queries_of_blocked_attention or length * keys < now.min_pairs_of_blocked_attention
        if has_few or 0 in weights.shape or weights in self.outputs:
            return None
        unmasked = self.find_scores(weights)
        outs = [u for u in self.users.get(weights, ()) if is_a(u, matmul) and u.args[0] is weights]
        if unmasked is None or len(outs) > 1:
            return None
        scores, mask = unmasked
        query, transposed_key = scores.args
        found = Attention(weights, query, transposed_key, mask, outs[0] if outs else None, None)
        if not self.is_read_by(weights, *outs):
            found = found._replace(pull=self.find_pull(found, weights))
            if found.pull is None:
                return None
        values = [out.args[1] for out in outs] + ([] if found.pull is None else [*found.pull[:2]])
        operands = query, transposed_key, *values
        is_for = lambda x: x.shape[:-2] == weights.shape[:-2] and x.dtype == weights.dtype and x.size > 0
        return found if values and all(map(is_for, operands)) else None

    def find_scores(self, weights: Operation) -> tuple[Operation, Mask] | None:
        """The product of queries and keys, and what is done to it before the softmax."""
        node: Node = weights.args[0]
        reader: Node = weights
        operand: Node | None = None
        is_causal = False
        chosen: list[Node] = []
        while self.is_read_by(node, reader):
            if is_a(node, matmul):
                return node, Mask(operand, is_causal, tuple(reversed(chosen)))
            if is_a(node, _where) and is_number(node.args[2], -np.inf) and node.args[1].shape == node.shape:
                condition = node.args[0]
                chosen.append(condition)
                if is_causal_mask(condition, weights.shape[-2:]):
                    is_causal = True
                elif operand is None and is_mask(condition, node, "b"):
                    operand = condition
                else:
                    return None
                node, reader = node.args[1], node
            elif is_a(node, add) and operand is None:
                x, y = node.args if is_a(node.args[0], matmul) else node.args[::-1]
                if not is_mask(y, node, "f"):
                    return None
                node, reader, operand = x, node, y
            else:
                return None
        return None

    def find_pull(self, attention: Attention, weights: Operation) -> Pull | None:
        """The derivative of an attention, if nothing else reads its weights."""
        pulled = next((node for node in self.users[weights] if self.is_slope(node, weights)), None)
        if pulled is None:
            return None
        difference = other_operand(pulled, weights)
        assert isinstance(difference, Operation)
        product, total = difference.args
        assert isinstance(product, Operation)
        assert isinstance(total, Operation)
        weighted = total.args[0]
        assert isinstance(weighted, Operation)
        t, transposed_value = product.args
        outs = [] if attention.out is None else [attention.out]
        if any(not is_transpose(transposed_value, out.args[1]) for out in outs):
            return None
        values = self.left_products(weights, t, (*outs, weighted, pulled))
        slope = self.find_choices(pulled, attention.mask.chosen)
        if values is None or slope is None or slope in self.outputs:
            return None
        queries = [
            user
            for user in self.users.get(slope, ())
            if is_a(user, matmul) and user.args[0] is slope and is_transpose(user.args[1], attention.transposed_key)
        ]
        keys = self.left_products(slope, attention.query, queries)
        if keys is None or max(len(queries), len(keys), len(values)) > 1:
            return None
        first = lambda products: products[0] if products else None
        return Pull(
            t, transposed_value, (first([Cotangent(node, False) for node in queries]), first(keys), first(values))
        )

    def is_slope(self, node: Operation, weights: Operation) -> bool:
        """Whether a node is weights * (p - sum(p * weights)) for a product p that nothing else reads."""
        if not is_a(node, multiply):
            return False
        difference = other_operand(node, weights)
        if not is_a(difference, subtract) or not self.is_read_by(difference, node):
            return False
        product, total = difference.args
        if not is_a(product, matmul) or not is_a(total, _sum) or not self.is_read_by(total, difference):
            return False
        weighted = total.args[0]
        is_sum = total.params["axis"] == (weights.ndim - 1,) and total.params["keepdims"]
        is_weighted = is_a(weighted, multiply) and set(weighted.args) == {product, weights}
        return (
            is_sum
            and is_weighted
            and self.is_read_by(weighted, total)
            and self.is_read_by(product, weighted, difference)
        )

    def find_choices(self, node: Operation, conditions: Sequence[Node]) -> Operation | None:
        """The last of the choices between a cotangent and zeros that reverse those of the scores."""
        for condition in reversed(conditions):
            users = self.users.get(node, ())
            if len(users) != 1 or not self.is_read_by(node, users[0]):
                return None
            (choice,) = users
            if not is_a(choice, _where) or choice.args[1] is not node or not is_number(choice.args[2], 0.0):
                return None
            if not is_same_mask(choice.args[0], condition):
                return None
            node = choice
        users = self.users.get(node, ())
        if len(users) == 1 and is_dead_choice(users[0], node, conditions) and self.is_read_by(node, users[0]):
            return users[0]
        return node

    def left_products(self, x: Node, y: Node, others: Sequence[Operation]) -> list[Cotangent] | None:
        """The products x^T y, if nothing but these and some other operations read x."""
        found = []
        for user in self.users.get(x, ()):
            if user in others:
                continue
            if is_a(user, matmul) and user.args[1] is x and is_transpose(user.args[0], y):
                found.append(Cotangent(user, True))
                continue
            products = self.users.get(user, ())
            if not is_transpose(user, x) or user in self.outputs:
                return None
            for product in products:
                if not is_a(product, matmul) or product.args[0] is not user or not is_same_view(product.args[1], y):
                    return None
                found.append(Cotangent(product, False))
        return found


class AttentionRewriter:
    """Puts operations in blocks in the places of the products that give results and cotangents."""

    def __init__(self, found: Sequence[Attention]):
        self.current: dict[Node, Node] = {}
        self.attentions: dict[Node, Operation] = {}
        self.pulls: dict[Node, Operation] = {}
        self.outs = {attention.out: attention for attention in found if attention.out is not None}
        self.cotangents = {
            cotangent.node: (attention, i, cotangent.is_transposed)
            for attention in found
            if attention.pull is not None
            for i, cotangent in enumerate(attention.pull.cotangents)
            if cotangent is not None
        }

    def rule(self, node: Operation, before: Operation) -> Node | None:
        """The result of an operation in blocks; None for other nodes."""
        put = None
        if before in self.outs:
            put = make_operation(OUTPUT, [self.attention(node, self.outs[before])], index=0)
        elif before in self.cotangents:
            attention, index, is_transposed = self.cotangents[before]
            put = make_operation(OUTPUT, [self.pull(node, attention)], index=index)
            put = exchange_last(node, put) if is_transposed else put
        self.current[before] = node if put is None else put
        return put

    def now(self, node: Node) -> Node:
        """A node after the rewriting."""
        return self.current.get(node, node)

    def operands(self, node: Operation, attention: Attention) -> tuple[list[Node], list[Node]]:
        """Queries, keys and values, and the mask if there is one."""
        key = exchange_last(node, self.now(attention.transposed_key))
        if attention.out is not None:
            value = self.now(attention.out.args[1])
        else:
            assert attention.pull is not None
            value = exchange_last(node, self.now(attention.pull.transposed_value))
        mask = attention.mask.operand
        return [self.now(attention.query), key, value], [] if mask is None else [self.now(mask)]

    def attention(self, node: Operation, attention: Attention) -> Operation:
        """The operation that gives averages."""
        made = self.attentions.get(attention.weights)
        if made is None:
            operands, mask = self.operands(node, attention)
            made = make_operation(ATTENTION, [*operands, *mask], is_causal=attention.mask.is_causal)
            made.source = node.source
            self.attentions[attention.weights] = made
        return made

    def pull(self, node: Operation, attention: Attention) -> Operation:
        """The operation that gives cotangents."""
        made = self.pulls.get(attention.weights)
        if made is None:
            assert attention.pull is not None
            forward = self.attention(node, attention)
            results = [make_operation(OUTPUT, [forward], index=i) for i in range(3)]
            operands, mask = self.operands(node, attention)
            args = [self.now(attention.pull.t), *operands, *results, *mask]
            made = make_operation(ATTENTION_PULL, args, is_causal=attention.mask.is_causal)
            made.source = node.source
            self.pulls[attention.weights] = made
        return made


def other_operand(node: Operation, x: Node) -> Node:
    """The operand of a product that is not x."""
    return node.args[1] if node.args[0] is x else node.args[0]


def exchange_last(node: Operation, x: Node) -> Operation:
    """The transposes of the matrices of a stack."""
    return make_node(node, _transpose, x, axes=(*range(x.ndim - 2), x.ndim - 1, x.ndim - 2))


def view_of(node: Node) -> tuple[Node, tuple[int, ...]]:
    """The value behind transposes, and the axis of it that each axis shows."""
    axes = tuple(range(node.ndim))
    while is_a(node, _transpose):
        axes = tuple([node.params["axes"][i] for i in axes])
        node = node.args[0]
    return node, axes


def is_same_view(x: Node, y: Node) -> bool:
    """Whether two nodes have the same elements."""
    return view_of(x) == view_of(y)


def is_transpose(x: Node, y: Node) -> bool:
    """Whether one node has the transposes of the matrices of the other one."""
    base, axes = view_of(y)
    return view_of(x) == (base, (*axes[:-2], axes[-1], axes[-2]))


def is_causal_mask(node: Node, shape: tuple[int, ...]) -> bool:
    """Whether a constant is true for keys up to the number of the query."""
    value = fixed_value(node)
    if value is None or value.dtype != bool or value.shape[-2:] != shape or value.size != shape[0] * shape[1]:
        return False
    return bool(np.array_equal(value.reshape(shape), np.tri(*shape, dtype=bool)))


def fixed_value(node: Node) -> np.ndarray | None:
    """The array of a constant that does not change."""
    return np.asarray(node.value) if isinstance(node, Constant) and not node.is_captured else None


def is_same_mask(x: Node, y: Node) -> bool:
    """Whether two masks are one node, or equal constants."""
    if x is y:
        return True
    first, second = fixed_value(x), fixed_value(y)
    return first is not None and second is not None and np.array_equal(first, second)


def is_dead_choice(choice: Operation, node: Node, conditions: Sequence[Node]) -> bool:
    """Whether a choice puts zeros where cotangents are zero already: at elements that no score depends on."""
    if not is_a(choice, _where) or choice.args[2] is not node or not is_number(choice.args[1], 0.0):
        return False
    dead = fixed_value(choice.args[0])
    known = [value for value in map(fixed_value, conditions) if value is not None]
    return dead is not None and any(not np.any(dead & value) for value in known)


def is_mask(node: Node, scores: Node, kind: str) -> bool:
    """Whether a node broadcasts to scores, with numbers of their dtype, or booleans."""
    is_broadcast = node.ndim <= scores.ndim and all(
        n in (1, m) for n, m in zip(reversed(node.shape), reversed(scores.shape), strict=False)
    )
    is_number = node.dtype == scores.dtype if kind == "f" else node.dtype.kind == kind
    return is_broadcast and is_number and node.size > 1 and node.weak is None

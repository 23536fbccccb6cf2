"""Functions with derivatives written by hand, and values to call them with."""

from __future__ import annotations

import numpy as np

import wengert as wg
from wengert.autograd import Function


class Linear(Function):
    """The textbook example."""

    @staticmethod
    def forward(ctx, input, weight, bias=None):
        ctx.save_for_backward(input, weight, bias)
        output = input @ weight.T
        return output if bias is None else output + bias

    @staticmethod
    def backward(ctx, grad_output):
        input, weight, bias = ctx.saved_tensors
        grad_input = grad_weight = grad_bias = None
        if ctx.needs_input_grad[0]:
            grad_input = grad_output @ weight
        if ctx.needs_input_grad[1]:
            grad_weight = grad_output.T @ input
        if bias is not None and ctx.needs_input_grad[2]:
            grad_bias = grad_output.sum(axis=0)
        return grad_input, grad_weight, grad_bias


class Cube(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x * x

    @staticmethod
    def backward(ctx, t):
        (x,) = ctx.saved_tensors
        return 3.0 * x * x * t


class Exp(Function):
    """Saves its output."""

    @staticmethod
    def forward(ctx, x):
        y = wg.exp(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, t):
        (y,) = ctx.saved_tensors
        return t * y


class Pair(Function):
    """Several outputs, of which the last is an index."""

    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward(x, y)
        product, top = x * y, x.argmax()
        ctx.mark_non_differentiable(top)
        return product, x + y, top

    @staticmethod
    def backward(ctx, t_product, t_sum, t_top):
        x, y = ctx.saved_tensors
        return t_product * y + t_sum, t_product * x + t_sum


class Between(Function):
    """Saves what it computed in between: right at first order, unknown at second."""

    @staticmethod
    def forward(ctx, x):
        squared = x * x
        ctx.save_for_backward(squared)
        return squared * x

    @staticmethod
    def backward(ctx, t):
        (squared,) = ctx.saved_tensors
        return 3.0 * squared * t


def make(forward, backward):
    """A Function in one line."""
    return type("Made", (Function,), {"forward": staticmethod(forward), "backward": staticmethod(backward)})


def leaf(data, dtype=float):
    return wg.tensor(data, requires_grad=True, dtype=dtype)


def normal(*shape, seed=0):
    return leaf(np.random.default_rng(seed).standard_normal(shape))

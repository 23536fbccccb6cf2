"""Custom functions: an exponential that keeps its result, a straight-through rounding, a product with masks."""

import numpy as np
import torch
from torch.autograd import Function, gradcheck

torch.set_default_dtype(torch.float64)
rng = np.random.default_rng(2)


class Exp(Function):
    @staticmethod
    def forward(ctx, x):
        result = torch.exp(x)
        ctx.save_for_backward(result)
        return result

    @staticmethod
    def backward(ctx, grad_output):
        (result,) = ctx.saved_tensors
        return grad_output * result


class RoundThrough(Function):
    @staticmethod
    def forward(ctx, x, step):
        ctx.step = step
        return torch.round(x / step) * step

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output, None


class LinearFunction(Function):
    @staticmethod
    def forward(ctx, input, weight, bias=None):
        ctx.save_for_backward(input, weight, bias)
        output = input.mm(weight.t())
        if bias is not None:
            output += bias.unsqueeze(0).expand_as(output)
        return output

    @staticmethod
    def backward(ctx, grad_output):
        input, weight, bias = ctx.saved_tensors
        grad_input = grad_weight = grad_bias = None
        if ctx.needs_input_grad[0]:
            grad_input = grad_output.mm(weight)
        if ctx.needs_input_grad[1]:
            grad_weight = grad_output.t().mm(input)
        if bias is not None and ctx.needs_input_grad[2]:
            grad_bias = grad_output.sum(0)
        return grad_input, grad_weight, grad_bias


x = torch.tensor(rng.standard_normal((4, 3)), requires_grad=True)
w = torch.tensor(rng.standard_normal((2, 3)), requires_grad=True)
b = torch.tensor(rng.standard_normal(2), requires_grad=True)

out = LinearFunction.apply(Exp.apply(x), w, b)
loss = (RoundThrough.apply(out, 0.25) ** 2).sum()
first = torch.autograd.grad(loss, [x, w, b], create_graph=True)
second = torch.autograd.grad(sum(g.pow(2).sum() for g in first), [x, w])

results = {
    "value": loss.item(),
    "first": [g.detach() for g in first],
    "second": list(second),
    "checked": bool(gradcheck(LinearFunction.apply, (x, w, b), eps=1e-6, atol=1e-4)),
}

"""Products with the Hessian in three ways, a Hessian, a Jacobian, and conjugate gradients on them."""

import numpy as np
import torch
from torch import nn
from torch.autograd.functional import hessian, hvp, jacobian, vjp
from torch.func import functional_call, grad, jvp

torch.set_default_dtype(torch.float64)
rng = np.random.default_rng(25)

model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
with torch.no_grad():
    for p in model.parameters():
        p.copy_(torch.from_numpy(rng.standard_normal(tuple(p.shape))))
x = torch.from_numpy(rng.standard_normal((10, 3)))
y = torch.from_numpy(rng.standard_normal((10, 1)))
loss_fn = nn.MSELoss()

# Double backward, as for influence functions.
params = list(model.parameters())
vectors = [torch.from_numpy(rng.standard_normal(tuple(p.shape))) for p in params]
grads = torch.autograd.grad(loss_fn(model(x), y), params, create_graph=True)
dot = sum((g * v).sum() for g, v in zip(grads, vectors))
products = torch.autograd.grad(dot, params)

# Forward over reverse.
named = {name: p.detach() for name, p in model.named_parameters()}
tangents = dict(zip(named, vectors))


def loss_of(named):
    return (functional_call(model, named, (x,)) - y).pow(2).mean()


_, by_forward = jvp(grad(loss_of), (named,), (tangents,))


def energy(w):
    return (torch.tanh(x @ w) ** 2).sum() + 0.5 * w.dot(w)


w = torch.from_numpy(rng.standard_normal(3))
v = torch.from_numpy(rng.standard_normal(3))
H = hessian(energy, w)
value, product = hvp(energy, w, v)
J = jacobian(lambda w: torch.sin(x @ w), w)
_, pulled = vjp(lambda w: torch.sin(x @ w), w, torch.ones(10))


def conjugate_gradient(product, b, iterations):
    s = torch.zeros_like(b)
    r = b.clone()
    p = r.clone()
    rs = torch.dot(r, r)
    for _ in range(iterations):
        Ap = product(p)
        alpha = rs / torch.dot(p, Ap)
        s = s + alpha * p
        r = r - alpha * Ap
        new = torch.dot(r, r)
        p = r + (new / rs) * p
        rs = new
    return s


newton = conjugate_gradient(lambda p: hvp(energy, w, p)[1], v, 3)
results = {
    "products": list(products),
    "by_forward": dict(by_forward),
    "hessian": H,
    "value": value.item(),
    "product": product,
    "jacobian": J,
    "pulled": pulled,
    "newton": newton,
    "eigenvalues": torch.linalg.eigvalsh(H),
}

"""Hooks on tensors and modules: gradients are scaled, activations are kept."""

import numpy as np
import torch
from torch import nn

torch.set_default_dtype(torch.float64)
rng = np.random.default_rng(3)

model = nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 3))
with torch.no_grad():
    for p in model.parameters():
        p.copy_(torch.tensor(rng.standard_normal(p.shape)))

seen = {"forward": [], "norms": []}


def keep_activation(module, inputs, output):
    seen["forward"].append(output.detach().mean().item())


def double_input(module, args):
    return (2.0 * args[0],)


def note_gradient(module, grad_input, grad_output):
    seen["norms"].append(grad_output[0].norm().item())


handles = [layer.register_forward_hook(keep_activation) for layer in model]
model.register_forward_pre_hook(double_input)
model[2].register_full_backward_hook(note_gradient)
model[0].weight.register_hook(lambda grad: grad.clamp(-0.5, 0.5))

x = torch.tensor(rng.standard_normal((5, 4)), requires_grad=True)
hidden = model[:2](x)
hidden.retain_grad()
loss = model[2](hidden).pow(2).sum() + model(x).mean()
loss.backward()
for handle in handles:
    handle.remove()
model(x)

results = {
    "loss": loss.item(),
    "seen": seen,
    "x_grad": x.grad,
    "hidden_grad": hidden.grad,
    "clamped": model[0].weight.grad,
    "last": model[2].weight.grad,
}

"""Gradients of each sample, and an ensemble of models: vmap, grad and functional_call on modules."""

import copy

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.func import functional_call, grad, grad_and_value, jacrev, stack_module_state, vmap

torch.set_default_dtype(torch.float64)
rng = np.random.default_rng(24)


class SimpleNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(5, 8)
        self.fc2 = nn.Linear(8, 3)

    def forward(self, x):
        return self.fc2(torch.tanh(self.fc1(x.flatten(1))))


def make_model():
    model = SimpleNet()
    with torch.no_grad():
        for p in model.parameters():
            p.copy_(torch.from_numpy(0.5 * rng.standard_normal(tuple(p.shape))))
    return model


model = make_model()
data = torch.from_numpy(rng.standard_normal((6, 5)))
targets = torch.from_numpy(rng.integers(0, 3, 6))

params = {k: v.detach() for k, v in model.named_parameters()}
buffers = {k: v.detach() for k, v in model.named_buffers()}


def compute_loss(params, buffers, sample, target):
    predictions = functional_call(model, (params, buffers), (sample.unsqueeze(0),))
    return F.cross_entropy(predictions, target.unsqueeze(0))


per_sample = vmap(grad(compute_loss), in_dims=(None, None, 0, 0))(params, buffers, data, targets)
with_values = vmap(grad_and_value(compute_loss), (None, None, 0, 0))(params, buffers, data, targets)

one_by_one = []
for sample, target in zip(data, targets):
    model.zero_grad()
    F.cross_entropy(model(sample[None]), target[None]).backward()
    one_by_one.append(model.fc1.weight.grad.clone())
difference = (torch.stack(one_by_one) - per_sample["fc1.weight"]).abs().max()

models = [make_model() for _ in range(3)]
stacked_params, stacked_buffers = stack_module_state(models)
base_model = copy.deepcopy(models[0])


def fmodel(params, buffers, x):
    return functional_call(base_model, (params, buffers), (x,))


ensemble = vmap(fmodel, in_dims=(0, 0, None))(stacked_params, stacked_buffers, data)


def fnet_single(params, x):
    return functional_call(model, params, (x.unsqueeze(0),)).squeeze(0)


# The neural tangent kernel.
jac = vmap(jacrev(fnet_single), (None, 0))(params, data)
ntk = sum(torch.einsum("naf,mbf->nmab", j.flatten(2), j.flatten(2)) for j in jac.values())

results = {
    "per_sample": dict(per_sample),
    "values": with_values[1],
    "difference": round(difference.item(), 12),
    "ensemble": ensemble.detach(),
    "ntk": ntk,
}

"""Gradients accumulated over small batches, and exponential averages of parameters."""

import copy

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.utils import parameters_to_vector, vector_to_parameters
from torch.utils.data import DataLoader, Subset, TensorDataset

torch.set_default_dtype(torch.float64)
rng = np.random.default_rng(30)

model = nn.Sequential(nn.Linear(4, 8), nn.Mish(), nn.Linear(8, 1))
n = parameters_to_vector(model.parameters()).numel()
vector_to_parameters(torch.from_numpy(0.4 * rng.standard_normal(n)), model.parameters())

ema = copy.deepcopy(model)
for p in ema.parameters():
    p.requires_grad_(False)


@torch.no_grad()
def update(decay=0.9):
    for averaged, p in zip(ema.parameters(), model.parameters()):
        averaged.mul_(decay).add_(p, alpha=1 - decay)


swa = torch.optim.swa_utils.AveragedModel(model)
x = torch.from_numpy(rng.standard_normal((24, 4)))
y = torch.sin(x.sum(dim=1, keepdim=True))
data = Subset(TensorDataset(x, y), list(range(20)))
loader = DataLoader(data, batch_size=5)
optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
accumulation_steps = 2

losses, norms = [], []
for epoch in range(2):
    optimizer.zero_grad()
    for i, (inputs, targets) in enumerate(loader):
        loss = F.huber_loss(model(inputs), targets, delta=0.5) / accumulation_steps
        loss.backward()
        if (i + 1) % accumulation_steps == 0:
            norms.append(nn.utils.clip_grad_norm_(model.parameters(), max_norm=0.1, norm_type=2.0).item())
            optimizer.step()
            optimizer.zero_grad()
            update()
            swa.update_parameters(model)
        losses.append(loss.item() * accumulation_steps)

# The same gradient from the whole batch and from its parts.
model.zero_grad()
F.mse_loss(model(x), y).backward()
whole = parameters_to_vector([p.grad for p in model.parameters()])
model.zero_grad()
for xs, ys in zip(x.chunk(4), y.split(6)):
    (F.mse_loss(model(xs), ys) / 4).backward()
parts = parameters_to_vector([p.grad for p in model.parameters()])

results = {
    "losses": losses,
    "norms": norms,
    "ema": parameters_to_vector(ema.parameters()),
    "swa": parameters_to_vector(swa.parameters()).detach(),
    "same": torch.allclose(whole, parts),
    "whole": whole,
}

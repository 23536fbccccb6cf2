"""Checkpoints: a deep residual network whose blocks are computed again in the backward pass."""

import numpy as np
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint, checkpoint_sequential

torch.set_default_dtype(torch.float64)
rng = np.random.default_rng(4)


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.up = nn.Linear(width, 2 * width)
        self.down = nn.Linear(2 * width, width)

    def forward(self, x):
        return x + self.down(nn.functional.gelu(self.up(self.norm(x))))


blocks = nn.ModuleList([Block(6) for _ in range(4)])
for p in blocks.parameters():
    nn.init.constant_(p, 0.0)
    p.data += torch.from_numpy(0.3 * rng.standard_normal(tuple(p.shape)))


def run(x, with_checkpoints):
    for block in blocks:
        x = checkpoint(block, x, use_reentrant=False) if with_checkpoints else block(x)
    return (x**2).mean()


x = torch.from_numpy(rng.standard_normal((3, 6))).requires_grad_()
found = {}
for name, with_checkpoints in (("plain", False), ("checkpointed", True)):
    blocks.zero_grad()
    x.grad = None
    loss = run(x, with_checkpoints)
    loss.backward()
    found[name] = [loss.item(), x.grad.clone(), blocks[0].up.weight.grad.clone(), blocks[3].norm.weight.grad.clone()]

blocks.zero_grad()
x.grad = None
sequence = nn.Sequential(*blocks)
out = checkpoint_sequential(sequence, 2, x, use_reentrant=False)
out.sum().backward()
found["sequential"] = [out.detach(), x.grad, sequence[1].down.bias.grad]

results = found

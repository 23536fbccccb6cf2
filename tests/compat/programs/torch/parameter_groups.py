"""Groups of parameters with their own weight decay and rates; frozen layers; states saved and loaded."""

import io

import numpy as np
import torch
from torch import nn, optim

torch.set_default_dtype(torch.float64)
rng = np.random.default_rng(29)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(nn.Linear(6, 8), nn.LayerNorm(8), nn.Hardswish())
        self.classifier = nn.Linear(8, 3)

    def forward(self, x):
        return self.classifier(self.backbone(x))


def fresh():
    torch.manual_seed(0)
    model = Model()
    model.load_state_dict(initial)
    for p in model.backbone[0].parameters():
        p.requires_grad = False
    decay, no_decay = [], []
    for name, p in model.named_parameters():
        if not p.requires_grad:
            continue
        (no_decay if p.ndim == 1 or name.endswith(".bias") else decay).append(p)
    groups = [{"params": decay, "weight_decay": 1e-2}, {"params": no_decay, "weight_decay": 0.0, "lr": 5e-3}]
    return model, groups


initial = {
    name: torch.from_numpy(0.4 * rng.standard_normal(tuple(v.shape))) for name, v in Model().state_dict().items()
}
x = torch.from_numpy(rng.standard_normal((10, 6)))
y = torch.from_numpy(rng.integers(0, 3, 10))
criterion = nn.CrossEntropyLoss(weight=torch.tensor([1.0, 2.0, 0.5]))

methods = {
    "sgd": lambda groups: optim.SGD(groups, lr=1e-2, momentum=0.9, dampening=0.1),
    "adam": lambda groups: optim.Adam(groups, lr=1e-2, amsgrad=True),
    "adamw": lambda groups: optim.AdamW(groups, lr=1e-2),
    "adamax": lambda groups: optim.Adamax(groups, lr=1e-2),
    "radam": lambda groups: optim.RAdam(groups, lr=1e-2),
    "rmsprop": lambda groups: optim.RMSprop(groups, lr=1e-2, centered=True, momentum=0.5),
}


def train(model, optimizer, steps):
    for _ in range(steps):
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
    return loss.item()


results = {}
for name, make in methods.items():
    model, groups = fresh()
    optimizer = make(groups)
    train(model, optimizer, 3)

    # A checkpoint in memory, from which a second model continues.
    buffer = io.BytesIO()
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": 3}, buffer)
    buffer.seek(0)
    saved = torch.load(buffer)
    other, groups = fresh()
    second = make(groups)
    other.load_state_dict(saved["model"])
    second.load_state_dict(saved["optimizer"])
    results[name] = {
        "loss": train(model, optimizer, 2),
        "continued": train(other, second, 2),
        "weight": model.classifier.weight.detach(),
        "frozen": bool(torch.equal(model.backbone[0].weight, initial["backbone.0.weight"])),
        "lrs": [group["lr"] for group in optimizer.param_groups],
    }

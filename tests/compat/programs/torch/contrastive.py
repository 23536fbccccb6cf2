"""Contrastive losses: InfoNCE with in-batch negatives, and triplets."""

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.set_default_dtype(torch.float64)
rng = np.random.default_rng(20)

encoder = nn.Sequential(nn.Linear(8, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 6))
with torch.no_grad():
    for p in encoder.parameters():
        p.copy_(torch.from_numpy(0.4 * rng.standard_normal(tuple(p.shape))))


def nt_xent(z1, z2, temperature=0.5):
    z = F.normalize(torch.cat([z1, z2], dim=0), dim=1)
    similarity = torch.mm(z, z.t()) / temperature
    n = z1.shape[0]
    similarity.fill_diagonal_(-9e15)
    targets = torch.cat([torch.arange(n, 2 * n), torch.arange(0, n)])
    return F.cross_entropy(similarity, targets)


def clip_loss(image, text, scale):
    logits = scale.exp() * F.normalize(image, dim=-1) @ F.normalize(text, dim=-1).T
    labels = torch.arange(len(logits))
    return (F.cross_entropy(logits, labels) + F.cross_entropy(logits.T, labels)) / 2


scale = nn.Parameter(torch.tensor(np.log(1 / 0.07)))
optimizer = torch.optim.SGD([*encoder.parameters(), scale], lr=0.05, momentum=0.9, weight_decay=1e-4, nesterov=True)
losses = []
for _ in range(3):
    x = rng.standard_normal((6, 8))
    views = [torch.from_numpy(x + 0.1 * rng.standard_normal(x.shape)) for _ in range(2)]
    z1, z2 = map(encoder, views)
    anchor, positive, negative = z1, z2, z2.roll(1, 0)
    loss = nt_xent(z1, z2) + 0.1 * clip_loss(z1, z2, scale)
    loss = loss + F.triplet_margin_loss(anchor, positive, negative, margin=1.0)
    loss = loss + (1 - F.cosine_similarity(anchor, positive)).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())

results = {
    "losses": losses,
    "scale": scale.detach(),
    "scale_grad": scale.grad,
    "weights": [p.detach() for p in encoder.parameters()],
    "distances": torch.cdist(z1, z2).detach(),
}

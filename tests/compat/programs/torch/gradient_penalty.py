"""A critic with a gradient penalty (WGAN-GP): the gradient of the norm of a gradient."""

import numpy as np
import torch
from torch import nn

torch.set_default_dtype(torch.float64)
rng = np.random.default_rng(0)


class Critic(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(features, 16), nn.LeakyReLU(0.2), nn.Linear(16, 16), nn.Tanh(), nn.Linear(16, 1)
        )

    def forward(self, x):
        return self.layers(x)


critic = Critic(5)
with torch.no_grad():
    for p in critic.parameters():
        p.copy_(torch.from_numpy(0.4 * rng.standard_normal(tuple(p.shape))))

optimizer = torch.optim.Adam(critic.parameters(), lr=1e-2, betas=(0.5, 0.9))
losses, penalties = [], []
for _ in range(4):
    real = torch.from_numpy(rng.standard_normal((8, 5)) + 1.0)
    fake = torch.from_numpy(rng.standard_normal((8, 5)))
    alpha = torch.from_numpy(rng.random((8, 1)))
    mixed = (alpha * real + (1 - alpha) * fake).requires_grad_(True)
    score = critic(mixed)
    (gradient,) = torch.autograd.grad(
        outputs=score, inputs=mixed, grad_outputs=torch.ones_like(score), create_graph=True, retain_graph=True
    )
    penalty = ((gradient.view(gradient.size(0), -1).norm(2, dim=1) - 1) ** 2).mean()
    loss = critic(fake).mean() - critic(real).mean() + 10.0 * penalty
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
    penalties.append(penalty.item())

results = {
    "losses": losses,
    "penalties": penalties,
    "parameters": [p.detach().numpy() for p in critic.parameters()],
    "grads": [p.grad.numpy() for p in critic.parameters()],
}

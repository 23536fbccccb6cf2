"""A variational autoencoder: reparametrised draws, and the divergence in closed form."""

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import Bernoulli, Normal, kl_divergence

torch.set_default_dtype(torch.float64)
rng = np.random.default_rng(9)


class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(20, 12)
        self.fc21 = nn.Linear(12, 3)
        self.fc22 = nn.Linear(12, 3)
        self.fc3 = nn.Linear(3, 12)
        self.fc4 = nn.Linear(12, 20)

    def encode(self, x):
        h1 = F.relu(self.fc1(x))
        return self.fc21(h1), self.fc22(h1)

    def reparameterize(self, mu, logvar, eps):
        std = torch.exp(0.5 * logvar)
        return eps.mul(std).add_(mu)

    def decode(self, z):
        return torch.sigmoid(self.fc4(F.relu(self.fc3(z))))

    def forward(self, x, eps):
        mu, logvar = self.encode(x.view(-1, 20))
        return self.decode(self.reparameterize(mu, logvar, eps)), mu, logvar


def loss_function(recon_x, x, mu, logvar):
    BCE = F.binary_cross_entropy(recon_x, x.view(-1, 20), reduction="sum")
    KLD = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())
    return BCE + KLD


model = VAE()
with torch.no_grad():
    for p in model.parameters():
        p.copy_(torch.from_numpy(0.3 * rng.standard_normal(tuple(p.shape))))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
losses = []
for _ in range(4):
    x = torch.from_numpy((rng.random((6, 4, 5)) > 0.6).astype(float))
    eps = torch.from_numpy(rng.standard_normal((6, 3)))
    optimizer.zero_grad()
    recon, mu, logvar = model(x, eps)
    loss = loss_function(recon, x, mu, logvar)
    loss.backward()
    losses.append(loss.item())
    optimizer.step()

# The same bound by distributions.
mu, logvar = model.encode(x.view(-1, 20))
posterior = Normal(mu, (0.5 * logvar).exp())
prior = Normal(torch.zeros_like(mu), torch.ones_like(mu))
z = posterior.mean + posterior.stddev * eps
likelihood = Bernoulli(logits=model.fc4(F.relu(model.fc3(z)))).log_prob(x.view(-1, 20)).sum(-1)
bound = likelihood - kl_divergence(posterior, prior).sum(-1)
model.zero_grad()
bound.mean().backward()

results = {
    "losses": losses,
    "bound": bound.detach(),
    "entropy": posterior.entropy().detach(),
    "grads": [p.grad for p in model.parameters()],
}

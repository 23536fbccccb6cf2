"""REINFORCE and an actor-critic loss with distributions of actions; the actions come from NumPy."""

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import Categorical, Independent, Normal

torch.set_default_dtype(torch.float64)
rng = np.random.default_rng(19)


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.affine1 = nn.Linear(4, 12)
        self.action_head = nn.Linear(12, 3)
        self.value_head = nn.Linear(12, 1)
        self.log_std = nn.Parameter(torch.zeros(2))
        self.mean_head = nn.Linear(12, 2)

    def forward(self, x):
        x = F.relu(self.affine1(x))
        return F.softmax(self.action_head(x), dim=-1), self.value_head(x), self.mean_head(x)


policy = Policy()
with torch.no_grad():
    for p in policy.parameters():
        p.copy_(torch.from_numpy(0.4 * rng.standard_normal(tuple(p.shape))))
optimizer = torch.optim.Adam(policy.parameters(), lr=3e-2)
eps = np.finfo(np.float64).eps.item()

losses, entropies = [], []
for _ in range(3):
    saved, rewards, entropy, control = [], [], 0.0, []
    for _ in range(6):
        state = torch.from_numpy(rng.standard_normal(4)).unsqueeze(0)
        probs, value, mean = policy(state)
        m = Categorical(probs)
        action = torch.tensor([rng.integers(3)])
        gaussian = Independent(Normal(mean, policy.log_std.exp().expand_as(mean)), 1)
        control.append(gaussian.log_prob(torch.from_numpy(rng.standard_normal((1, 2)))))
        saved.append((m.log_prob(action), value))
        entropy = entropy + m.entropy().mean()
        rewards.append(float(rng.random()))

    R, returns = 0.0, []
    for r in rewards[::-1]:
        R = r + 0.99 * R
        returns.insert(0, R)
    returns = torch.tensor(returns)
    returns = (returns - returns.mean()) / (returns.std() + eps)

    policy_losses, value_losses = [], []
    for (log_prob, value), R in zip(saved, returns):
        advantage = R - value.item()
        policy_losses.append(-log_prob * advantage)
        value_losses.append(F.smooth_l1_loss(value, torch.tensor([[R]])))
    loss = torch.stack(policy_losses).sum() + torch.stack(value_losses).sum() - 0.01 * entropy
    loss = loss - 0.1 * torch.cat(control).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
    entropies.append(entropy.item())

# The clipped surrogate of PPO.
old = torch.from_numpy(np.log(rng.uniform(0.2, 0.5, 5)))
logits = torch.from_numpy(rng.standard_normal((5, 3))).requires_grad_()
actions = torch.from_numpy(rng.integers(0, 3, 5))
advantages = torch.from_numpy(rng.standard_normal(5))
ratio = (Categorical(logits=logits).log_prob(actions) - old).exp()
surrogate = -torch.min(ratio * advantages, torch.clamp(ratio, 0.8, 1.2) * advantages).mean()
surrogate.backward()

results = {
    "losses": losses,
    "entropies": entropies,
    "log_std": policy.log_std.detach(),
    "surrogate": surrogate.item(),
    "logits_grad": logits.grad,
}

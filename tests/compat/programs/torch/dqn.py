"""Deep Q-learning: values of the actions taken by gather, targets of a second network, soft updates."""

import copy

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim

torch.set_default_dtype(torch.float64)
rng = np.random.default_rng(15)
GAMMA, TAU = 0.99, 0.1


class DQN(nn.Module):
    def __init__(self, n_observations, n_actions):
        super(DQN, self).__init__()
        self.layer1 = nn.Linear(n_observations, 16)
        self.layer2 = nn.Linear(16, 16)
        self.layer3 = nn.Linear(16, n_actions)

    def forward(self, x):
        x = F.relu(self.layer1(x))
        x = F.relu(self.layer2(x))
        return self.layer3(x)


policy_net = DQN(4, 3)
with torch.no_grad():
    for p in policy_net.parameters():
        p.copy_(torch.from_numpy(0.4 * rng.standard_normal(tuple(p.shape))))
target_net = copy.deepcopy(policy_net)
optimizer = optim.AdamW(policy_net.parameters(), lr=1e-2, amsgrad=True)
criterion = nn.SmoothL1Loss()

losses = []
for _ in range(4):
    state_batch = torch.tensor(rng.standard_normal((8, 4)), dtype=torch.float64)
    action_batch = torch.tensor(rng.integers(0, 3, (8, 1)), dtype=torch.long)
    reward_batch = torch.tensor(rng.standard_normal(8))
    next_states = [torch.tensor(rng.standard_normal(4)) if i % 3 else None for i in range(8)]
    non_final_mask = torch.tensor(tuple(s is not None for s in next_states), dtype=torch.bool)
    non_final_next_states = torch.stack([s for s in next_states if s is not None])

    state_action_values = policy_net(state_batch).gather(1, action_batch)
    next_state_values = torch.zeros(8)
    with torch.no_grad():
        next_state_values[non_final_mask] = target_net(non_final_next_states).max(1).values
    expected = next_state_values * GAMMA + reward_batch
    loss = criterion(state_action_values, expected.unsqueeze(1))
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_value_(policy_net.parameters(), 100)
    optimizer.step()
    losses.append(loss.item())

    target_net_state_dict = target_net.state_dict()
    policy_net_state_dict = policy_net.state_dict()
    for key in policy_net_state_dict:
        target_net_state_dict[key] = policy_net_state_dict[key] * TAU + target_net_state_dict[key] * (1 - TAU)
    target_net.load_state_dict(target_net_state_dict)

with torch.no_grad():
    greedy = policy_net(state_batch).max(1).indices.view(-1, 1)
results = {
    "losses": losses,
    "greedy": greedy,
    "policy": [p.detach() for p in policy_net.parameters()],
    "target": [p.detach() for p in target_net.parameters()],
}

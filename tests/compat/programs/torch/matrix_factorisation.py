"""Ratings from products of embeddings, with biases: explicit ratings and pairs in Bayesian personalised ranking."""

import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

torch.set_default_dtype(torch.float64)
rng = np.random.default_rng(22)


class Ratings(Dataset):
    def __init__(self, users, items, ratings):
        self.users, self.items, self.ratings = users, items, ratings

    def __len__(self):
        return len(self.ratings)

    def __getitem__(self, index):
        return self.users[index], self.items[index], self.ratings[index]


class MatrixFactorization(nn.Module):
    def __init__(self, n_users, n_items, n_factors=4):
        super().__init__()
        self.user_factors = nn.Embedding(n_users, n_factors)
        self.item_factors = nn.Embedding(n_items, n_factors)
        self.user_biases = nn.Embedding(n_users, 1)
        self.item_biases = nn.Embedding(n_items, 1)

    def forward(self, user, item):
        pred = (self.user_factors(user) * self.item_factors(item)).sum(dim=1, keepdim=True)
        pred += self.user_biases(user) + self.item_biases(item)
        return pred.squeeze(dim=1)


n_users, n_items = 6, 9
data = Ratings(rng.integers(0, n_users, 20), rng.integers(0, n_items, 20), rng.uniform(1.0, 5.0, 20))
loader = DataLoader(data, batch_size=8, shuffle=False, drop_last=True)
model = MatrixFactorization(n_users, n_items)
for p in model.parameters():
    p.data = torch.from_numpy(0.3 * rng.standard_normal(tuple(p.shape)))
loss_fn = nn.MSELoss(reduction="sum")
optimizer = torch.optim.Adagrad(model.parameters(), lr=0.1)
losses = []
for epoch in range(2):
    for user, item, rating in loader:
        optimizer.zero_grad()
        prediction = model(user, item)
        loss = loss_fn(prediction, rating)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())

# Ranking: items that were chosen above items that were not.
users = torch.from_numpy(rng.integers(0, n_users, 10))
chosen, other = torch.from_numpy(rng.integers(0, n_items, (2, 10)))
model.zero_grad()
ranking = -torch.nn.functional.logsigmoid(model(users, chosen) - model(users, other)).mean()
ranking.backward()

scores = model.user_factors.weight @ model.item_factors.weight.t()
best = torch.topk(scores, 3, dim=1)
results = {
    "losses": losses,
    "ranking": ranking.item(),
    "item_grad": model.item_factors.weight.grad,
    "best": best.indices,
    "best_scores": best.values.detach(),
    "sorted": torch.sort(scores[0], descending=True)[0].detach(),
}

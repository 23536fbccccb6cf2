"""Graph neural networks with scatter operations: convolution by normalised sums, and attention over neighbours."""

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.set_default_dtype(torch.float64)
rng = np.random.default_rng(21)


class GCNConv(nn.Module):
    def __init__(self, in_channels, out_channels):
        super().__init__()
        self.lin = nn.Linear(in_channels, out_channels, bias=False)
        self.bias = nn.Parameter(torch.empty(out_channels))
        self.reset_parameters()

    def reset_parameters(self):
        self.lin.reset_parameters()
        self.bias.data.zero_()

    def forward(self, x, edge_index):
        n = x.size(0)
        loops = torch.arange(n).repeat(2, 1)
        row, col = torch.cat([edge_index, loops], dim=1)
        degree = torch.zeros(n).index_add_(0, col, torch.ones(col.numel()))
        norm = degree.pow(-0.5)[row] * degree.pow(-0.5)[col]
        messages = norm.view(-1, 1) * self.lin(x)[row]
        out = torch.zeros(n, messages.size(1)).scatter_add(0, col.unsqueeze(-1).expand_as(messages), messages)
        return out + self.bias


class GATConv(nn.Module):
    def __init__(self, in_channels, out_channels):
        super().__init__()
        self.lin = nn.Linear(in_channels, out_channels, bias=False)
        self.att = nn.Parameter(torch.zeros(2 * out_channels))

    def forward(self, x, edge_index):
        h = self.lin(x)
        row, col = edge_index
        score = F.leaky_relu((torch.cat([h[row], h[col]], dim=-1) * self.att).sum(dim=-1), 0.2)
        score = (score - score.max()).exp()
        total = torch.zeros(x.size(0)).scatter_add_(0, col, score)
        weight = score / (total[col] + 1e-16)
        return torch.zeros_like(h).index_add(0, col, weight.unsqueeze(1) * h[row])


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = GCNConv(5, 8)
        self.conv2 = GATConv(8, 8)
        self.conv3 = GCNConv(8, 3)

    def forward(self, x, edge_index):
        x = F.elu(self.conv1(x, edge_index))
        x = torch.relu(self.conv2(x, edge_index))
        return F.log_softmax(self.conv3(x, edge_index), dim=1)


x = torch.from_numpy(rng.standard_normal((7, 5)))
edge_index = torch.tensor([[0, 1, 1, 2, 2, 3, 4, 5, 6, 0], [1, 0, 2, 1, 3, 2, 5, 6, 4, 6]], dtype=torch.long)
y = torch.from_numpy(rng.integers(0, 3, 7))
train_mask = torch.tensor([True, True, False, True, False, True, True])

model = Net()
with torch.no_grad():
    for p in model.parameters():
        p.copy_(torch.from_numpy(0.5 * rng.standard_normal(tuple(p.shape))))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)
losses = []
for _ in range(4):
    model.train()
    optimizer.zero_grad()
    out = model(x, edge_index)
    loss = F.nll_loss(out[train_mask], y[train_mask])
    loss.backward()
    optimizer.step()
    losses.append(loss.item())

accuracy = (out.argmax(dim=1)[~train_mask] == y[~train_mask]).double().mean()
pooled = torch.zeros(2, 3).scatter_reduce(
    0, torch.tensor([0, 0, 0, 0, 1, 1, 1])[:, None].expand(-1, 3), out.detach(), reduce="mean", include_self=False
)
results = {
    "losses": losses,
    "out": out.detach(),
    "accuracy": accuracy.item(),
    "pooled": pooled,
    "att": model.conv2.att.grad,
}

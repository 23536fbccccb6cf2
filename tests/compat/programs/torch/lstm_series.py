"""An LSTM that predicts a series, with two layers, and cells that are stepped by hand."""

import numpy as np
import torch
from torch import nn, optim

torch.set_default_dtype(torch.float64)
rng = np.random.default_rng(7)


class Forecaster(nn.Module):
    def __init__(self, hidden_size):
        super().__init__()
        self.hidden_size = hidden_size
        self.lstm = nn.LSTM(input_size=1, hidden_size=hidden_size, num_layers=2, batch_first=True)
        self.linear = nn.Linear(hidden_size, 1)

    def forward(self, x):
        h0 = torch.zeros(2, x.size(0), self.hidden_size)
        c0 = torch.zeros(2, x.size(0), self.hidden_size)
        out, (hn, cn) = self.lstm(x, (h0, c0))
        return self.linear(out[:, -1, :]), hn, cn


model = Forecaster(6)
for p in model.parameters():
    p.data.copy_(torch.from_numpy(0.5 * rng.standard_normal(tuple(p.shape))))

t = np.linspace(0.0, 12.0, 60)
series = torch.from_numpy(np.sin(t) + 0.5 * np.sin(2.3 * t))
windows = series.unfold(0, 11, 1)
x, y = windows[:, :10].unsqueeze(-1), windows[:, 10:]

criterion = nn.MSELoss()
optimizer = optim.Adam(model.parameters(), lr=0.02)
losses = []
for epoch in range(3):
    model.train()
    optimizer.zero_grad()
    prediction, hn, cn = model(x)
    loss = criterion(prediction, y)
    loss.backward()
    optimizer.step()
    losses.append(loss.item())

cell = nn.LSTMCell(1, 4)
with torch.no_grad():
    for p in cell.parameters():
        p.copy_(torch.from_numpy(0.5 * rng.standard_normal(tuple(p.shape))))
h, c = torch.zeros(3, 4), torch.zeros(3, 4)
outputs = []
for step in range(5):
    h, c = cell(x[:3, step], (h, c))
    outputs += [h]
stacked = torch.stack(outputs, dim=1)
stacked.sum().backward()

results = {
    "losses": losses,
    "prediction": prediction.detach().squeeze(1),
    "hn": hn.detach(),
    "weight_hh": model.lstm.weight_hh_l1.grad,
    "cells": stacked.detach(),
    "cell_grad": cell.weight_ih.grad,
}

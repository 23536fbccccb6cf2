"""A convolutional network that classifies images: convolutions, pooling, batch normalisation, a data loader."""

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.set_default_dtype(torch.float64)
rng = np.random.default_rng(16)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 4, 3, padding=1)
        self.bn1 = nn.BatchNorm2d(4)
        self.conv2 = nn.Conv2d(4, 6, kernel_size=3, stride=1, bias=False)
        self.pool = nn.MaxPool2d(2)
        self.dropout = nn.Dropout(0.25)
        self.fc1 = nn.Linear(6 * 3 * 3, 16)
        self.fc2 = nn.Linear(16, 4)

    def forward(self, x):
        x = F.relu(self.bn1(self.conv1(x)))
        x = F.relu(self.conv2(x))
        x = self.pool(x)
        x = torch.flatten(x, 1)
        x = F.relu(self.fc1(x))
        return F.log_softmax(self.fc2(self.dropout(x)), dim=1)


def train(model, loader, optimizer):
    model.train()
    model.dropout.eval()  # draws of dropout differ between systems
    values = []
    for data, target in loader:
        optimizer.zero_grad()
        loss = F.nll_loss(model(data), target)
        loss.backward()
        optimizer.step()
        values.append(loss.item())
    return values


def test(model, loader):
    model.eval()
    test_loss, correct = 0.0, 0
    with torch.no_grad():
        for data, target in loader:
            output = model(data)
            test_loss += F.nll_loss(output, target, reduction="sum").item()
            pred = output.argmax(dim=1, keepdim=True)
            correct += pred.eq(target.view_as(pred)).sum().item()
    return test_loss / len(loader.dataset), correct


images = torch.from_numpy(rng.standard_normal((24, 1, 8, 8)))
labels = torch.from_numpy(rng.integers(0, 4, 24))
train_loader = DataLoader(TensorDataset(images[:16], labels[:16]), batch_size=6, shuffle=False)
test_loader = DataLoader(TensorDataset(images[16:], labels[16:]), batch_size=4)

model = Net()
with torch.no_grad():
    for p in model.parameters():
        p.copy_(torch.from_numpy(0.2 * rng.standard_normal(tuple(p.shape))))
optimizer = torch.optim.Adadelta(model.parameters(), lr=1.0)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.7)
losses, tests = [], []
for epoch in range(2):
    losses += train(model, train_loader, optimizer)
    tests.append(test(model, test_loader))
    scheduler.step()

results = {
    "losses": losses,
    "tests": tests,
    "running_mean": model.bn1.running_mean,
    "running_var": model.bn1.running_var,
    "batches": model.bn1.num_batches_tracked.item(),
    "lr": optimizer.param_groups[0]["lr"],
    "conv": model.conv1.weight.detach(),
}

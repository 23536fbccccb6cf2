"""A language model of characters: embedding, bidirectional GRU, tied to next characters by cross entropy."""

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.set_default_dtype(torch.float64)
rng = np.random.default_rng(8)

text = "a table of operations and a tape of their derivatives"
chars = sorted(set(text))
stoi = {ch: i for i, ch in enumerate(chars)}
itos = {i: ch for ch, i in stoi.items()}
data = torch.tensor([stoi[c] for c in text], dtype=torch.long)


class CharModel(nn.Module):
    def __init__(self, vocab_size, embedding_dim, hidden_dim):
        super(CharModel, self).__init__()
        self.embedding = nn.Embedding(vocab_size, embedding_dim)
        self.gru = nn.GRU(embedding_dim, hidden_dim, batch_first=True)
        self.fc = nn.Linear(hidden_dim, vocab_size)

    def forward(self, x, hidden=None):
        out, hidden = self.gru(self.embedding(x), hidden)
        return self.fc(out), hidden


model = CharModel(len(chars), 5, 8)
with torch.no_grad():
    for p in model.parameters():
        p.copy_(torch.from_numpy(0.4 * rng.standard_normal(p.size())))

optimizer = torch.optim.RMSprop(model.parameters(), lr=0.01)
losses = []
hidden = None
for step in range(4):
    start = 12 * step
    x, y = data[start : start + 12][None], data[start + 1 : start + 13][None]
    logits, hidden = model(x, hidden)
    loss = F.cross_entropy(logits.reshape(-1, len(chars)), y.flatten())
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_value_(model.parameters(), 0.5)
    optimizer.step()
    hidden = hidden.detach()  # truncated backpropagation through time
    losses.append(loss.item())

with torch.no_grad():
    written, state, char = [], None, data[:1].view(1, 1)
    for _ in range(6):
        logits, state = model(char, state)
        char = logits[:, -1].argmax(dim=-1, keepdim=True)
        written.append(itos[char.item()])

reader = nn.GRU(5, 3, num_layers=2, bidirectional=True)
with torch.no_grad():
    for p in reader.parameters():
        p.copy_(torch.from_numpy(0.4 * rng.standard_normal(p.size())))
outputs, last = reader(torch.from_numpy(rng.standard_normal((7, 2, 5))))

results = {
    "losses": losses,
    "written": "".join(written),
    "hidden": hidden,
    "embedding": model.embedding.weight.detach(),
    "bidirectional": [outputs.detach(), last.detach()],
}

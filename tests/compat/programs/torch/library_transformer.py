"""Encoder and decoder of the library on short sequences with padding."""

import numpy as np
import torch
from torch import nn

torch.set_default_dtype(torch.float64)
rng = np.random.default_rng(6)


class Translator(nn.Module):
    def __init__(self, vocab, width):
        super().__init__()
        self.embedding = nn.Embedding(vocab, width, padding_idx=0)
        encoder_layer = nn.TransformerEncoderLayer(width, nhead=2, dim_feedforward=16, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(encoder_layer, num_layers=2, enable_nested_tensor=False)
        decoder_layer = nn.TransformerDecoderLayer(
            width, nhead=2, dim_feedforward=16, dropout=0.0, batch_first=True, norm_first=True, activation="gelu"
        )
        self.decoder = nn.TransformerDecoder(decoder_layer, num_layers=1, norm=nn.LayerNorm(width))
        self.head = nn.Linear(width, vocab)

    def forward(self, source, target):
        padding = source == 0
        memory = self.encoder(self.embedding(source), src_key_padding_mask=padding)
        mask = torch.triu(torch.full((target.shape[1], target.shape[1]), float("-inf")), diagonal=1)
        out = self.decoder(self.embedding(target), memory, tgt_mask=mask, memory_key_padding_mask=padding)
        return self.head(out)


model = Translator(9, 8)
with torch.no_grad():
    for p in model.parameters():
        p.copy_(torch.tensor(0.3 * rng.standard_normal(tuple(p.shape))))
    model.embedding.weight[0] = 0.0

source = torch.tensor(rng.integers(1, 9, (3, 5)))
source[0, 3:] = 0
source[2, 4:] = 0
target = torch.tensor(rng.integers(1, 9, (3, 4)))

criterion = nn.CrossEntropyLoss(label_smoothing=0.1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
losses = []
for _ in range(3):
    optimizer.zero_grad()
    scores = model(source, target[:, :-1])
    loss = criterion(scores.transpose(1, 2), target[:, 1:])
    loss.backward()
    optimizer.step()
    losses.append(loss.item())

attention = nn.MultiheadAttention(8, 2, batch_first=True)
with torch.no_grad():
    for p in attention.parameters():
        p.copy_(torch.tensor(0.3 * rng.standard_normal(tuple(p.shape))))
query = torch.tensor(rng.standard_normal((2, 3, 8)), requires_grad=True)
out, weights = attention(query, query, query, need_weights=True)
(out.square().sum() + weights[0].sum()).backward()

results = {
    "losses": losses,
    "scores": scores.detach(),
    "embedding_grad": model.embedding.weight.grad,
    "in_proj_grad": model.encoder.layers[0].self_attn.in_proj_weight.grad,
    "attention": [out.detach(), weights.detach(), query.grad],
    "names": " ".join(name for name, _ in model.named_parameters()),
}

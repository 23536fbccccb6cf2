"""A transformer that writes: it learns the next character of ten sonnets of Shakespeare (1609).

`python examples/training/sonnet_transformer.py [picture.png]`. The text is small, and the network learns much of it by
heart; what it writes shows that it can.
"""

import sys
from pathlib import Path

import numpy as np

import wengert as wg
from wengert import nn

TEXT = (Path(__file__).parent / "sonnets.txt").read_text()
ALPHABET = sorted(set(TEXT))


class Writer(nn.Module):
    """Characters and their positions as vectors, some transformer layers, and scores for the next character."""

    def __init__(self, length: int, width: int, heads: int, layers: int, rng):
        self.length = length
        self.characters = nn.Embedding(len(ALPHABET), width, rng=rng)
        self.positions = nn.Embedding(length, width, rng=rng)
        self.layers = nn.ModuleList(
            [
                nn.TransformerEncoderLayer(
                    width, heads, 4 * width, dropout=0.0, batch_first=True, norm_first=True, rng=rng
                )
                for _ in range(layers)
            ]
        )
        self.norm = nn.LayerNorm(width)
        self.scores = nn.Linear(width, len(ALPHABET), rng=rng)

    def forward(self, text):
        n = text.shape[1]
        x = self.characters(text) + self.positions(np.arange(n))
        later = np.triu(np.ones((n, n), bool), 1)  # a character does not see those after it
        for layer in self.layers:
            x = layer(x, src_mask=later)
        return np.moveaxis(self.scores(self.norm(x)), 2, 1)


def write(model: Writer, start: str, length: int, rng, temperature: float = 0.5) -> str:
    """Continue a text, character by character."""
    text = [ALPHABET.index(c) for c in start]
    with wg.no_grad():
        for _ in range(length):
            window = np.array([text[-model.length :]])
            scores = np.asarray(model(window))[0, :, -1] / temperature
            p = np.exp(scores - scores.max())
            text.append(int(rng.choice(len(ALPHABET), p=p / p.sum())))
    return "".join(ALPHABET[i] for i in text)


def main(picture: str | None = None, short: bool = False, seed: int = 0) -> dict[str, float]:
    rng = wg.random.default_rng(seed)
    codes = np.array([ALPHABET.index(c) for c in TEXT])
    length = 32
    windows = np.lib.stride_tricks.sliding_window_view(codes, length + 1)
    batches = wg.data.Batches((windows[:, :-1], windows[:, 1:]), 32, shuffle=True, rng=rng, drop_last=True)

    model = Writer(length, width=64, heads=4, layers=2, rng=rng)
    epochs = 1 if short else 6
    optimizer = wg.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=0.01)
    schedule = wg.optim.OneCycleLR(optimizer, max_lr=4e-3, total_steps=epochs * len(batches))
    history = nn.fit(
        model,
        nn.CrossEntropyLoss(),
        batches,
        optimizer,
        epochs,
        metrics=[nn.metrics.accuracy],
        callbacks=[nn.Schedule(schedule, every="step")],
        before_step=lambda: nn.clip_grad_norm_(model.parameters(), 1.0),
    )
    bits = float(history["loss"][-1] / np.log(2))
    frequencies = np.bincount(codes) / len(codes)
    entropy = -float((frequencies * np.log2(frequencies)).sum())
    print(f"{bits:.2f} bits per character; frequencies alone need {entropy:.2f}\n")
    print(write(model.eval(), "Shall I ", 60 if short else 300, rng))
    if picture:
        history.plot(picture)
    return {"bits": bits, "entropy": entropy}


if __name__ == "__main__":
    main(*sys.argv[1:])

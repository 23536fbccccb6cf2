"""Networks in the words that PyTorch and Wengert share, and the files that PyTorch writes of them.

`python -m tests.nn.torch_network` writes `stored/torch_network.safetensors` and `stored/torch_reader.safetensors`:
weights, an input, and what PyTorch makes of it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "stored"


def network(nn: Any) -> Any:
    """A convolutional network with normalisation, of `torch.nn` or `wg.nn`."""
    return nn.Sequential(
        nn.Conv2d(2, 4, 3, stride=2, padding=1, groups=2),
        nn.BatchNorm2d(4),
        nn.ReLU(),
        nn.ConvTranspose2d(4, 3, 2),
        nn.GroupNorm(3, 3),
        nn.Flatten(),
        nn.Linear(75, 6),
        nn.LayerNorm(6),
        nn.Sequential(nn.GELU(), nn.Linear(6, 5, bias=False)),
    )


def reader(nn: Any) -> Any:
    """A network for sequences of integers below 7, of `torch.nn` or `wg.nn`."""

    class Reader(nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding = nn.Embedding(7, 8)
            self.block = nn.TransformerEncoderLayer(8, 2, 12, dropout=0.0, batch_first=True)
            self.lstm = nn.LSTM(8, 3, num_layers=2, bidirectional=True, batch_first=True)
            self.gru = nn.GRU(6, 4, batch_first=True)
            self.attention = nn.MultiheadAttention(4, 2, batch_first=True)
            self.scores = nn.Linear(4, 5)

        def forward(self, text):
            x = self.gru(self.lstm(self.block(self.embedding(text)))[0])[0]
            return self.scores(x + self.attention(x, x, x)[0])

    return Reader()


NETWORKS = {"network": network, "reader": reader}


def stored_path(name: str) -> Path:
    """The file that PyTorch has written."""
    return FOLDER / f"torch_{name}.safetensors"


def write_network(name: str, inputs: Any) -> None:
    """Train a network of PyTorch for some steps, so that its statistics are not those that it began with."""
    import torch
    from safetensors.torch import save_file

    torch.manual_seed(0)
    model = NETWORKS[name](torch.nn)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    for _ in range(5):
        optimizer.zero_grad()
        model(inputs()).square().mean().backward()
        optimizer.step()
    model.eval()
    x = inputs()
    with torch.no_grad():
        arrays = {**{f"model.{name}": t for name, t in model.state_dict().items()}, "x": x, "y": model(x)}
    arrays["halved"] = arrays["y"].bfloat16()
    arrays = {name: t.contiguous() for name, t in arrays.items()}
    save_file(arrays, stored_path(name), {"format": "pt", "written by": "PyTorch"})
    stored_path(name).chmod(0o644)


if __name__ == "__main__":
    import torch

    write_network("network", lambda: torch.randn(4, 2, 8, 8))
    write_network("reader", lambda: torch.randint(7, (3, 6)))

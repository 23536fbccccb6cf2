"""One network in the words that PyTorch and Wengert share, and the file that PyTorch writes of it.

`python -m tests.nn.torch_network` writes `stored/torch_network.safetensors`: weights, an input, and what PyTorch makes
of it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

STORED = Path(__file__).parent / "stored" / "torch_network.safetensors"


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


def write_network() -> None:
    """Train a network of PyTorch for some steps, so that its statistics are not those that it began with."""
    import torch
    from safetensors.torch import save_file

    torch.manual_seed(0)
    model = network(torch.nn)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    for _ in range(5):
        optimizer.zero_grad()
        model(torch.randn(8, 2, 8, 8)).square().mean().backward()
        optimizer.step()
    model.eval()
    x = torch.randn(4, 2, 8, 8)
    with torch.no_grad():
        arrays = {**{f"model.{name}": t for name, t in model.state_dict().items()}, "x": x, "y": model(x)}
    arrays["halved"] = arrays["y"].bfloat16()
    save_file({name: t.contiguous() for name, t in arrays.items()}, STORED, {"format": "pt", "written by": "PyTorch"})


if __name__ == "__main__":
    write_network()

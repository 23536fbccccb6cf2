"""A variational autoencoder: digits from two numbers each. `python examples/training/digits_vae.py [picture.png]`.

The encoder gives a normal distribution of two numbers for an image, and the decoder an image for two numbers drawn from
it. The loss is the negative evidence lower bound (Kingma and Welling, 2014). The draws are those of a generator that
counts, so that compiled training steps draw, too.
"""

import sys

import numpy as np
from sklearn.datasets import load_digits

import wengert as wg
from wengert import nn


class Autoencoder(nn.Module):
    def __init__(self, hidden: int, rng):
        self.encoder = nn.Sequential(nn.Linear(64, hidden, rng=rng), nn.ReLU(), nn.Linear(hidden, 4, rng=rng))
        self.decoder = nn.Sequential(nn.Linear(2, hidden, rng=rng), nn.ReLU(), nn.Linear(hidden, 64, rng=rng))
        self.rng = wg.random.counter_rng(rng)

    def forward(self, x):
        code = self.encoder(x)
        mean, log_variance = code[:, :2], code[:, 2:]
        z = mean + np.exp(0.5 * log_variance) * self.rng.standard_normal(mean.shape, dtype=np.float32)
        return self.decoder(z), mean, log_variance


def negative_bound(output, x):
    """The cross entropy of the pixels, and the divergence of the codes from the standard normal distribution."""
    logits, mean, log_variance = output
    pixels = nn.functional.binary_cross_entropy_with_logits(logits, x, reduction="sum")
    divergence = 0.5 * (np.exp(log_variance) + mean**2 - 1.0 - log_variance).sum()
    return (pixels + divergence) / len(x)


def draw_codes(model, x, y, path: str) -> None:
    """Where the digits are in the plane of codes, and the images of a grid of codes."""
    from matplotlib.figure import Figure

    with wg.no_grad():
        codes = np.asarray(model.encoder(x))[:, :2]
        steps = np.linspace(-2, 2, 12, dtype=np.float32)
        grid = np.stack(np.meshgrid(steps, -steps), -1).reshape(-1, 2)
        images = 1 / (1 + np.exp(-np.asarray(model.decoder(grid))))
    figure = Figure(figsize=(8, 4), layout="constrained")
    left, right = figure.subplots(1, 2)
    dots = left.scatter(*codes.T, c=y, cmap="tab10", s=6)
    left.legend(*dots.legend_elements(), frameon=False, fontsize=7, loc="upper right")
    left.set(title="codes of the digits", aspect="equal")
    framed = np.pad(images.reshape(12, 12, 8, 8), ((0, 0), (0, 0), (1, 1), (1, 1)))
    right.imshow(framed.transpose(0, 2, 1, 3).reshape(120, 120), cmap="gray_r")
    right.set_title("digits of the codes")
    right.axis("off")
    figure.savefig(path, dpi=120)


def main(picture: str | None = None, short: bool = False, seed: int = 0) -> dict[str, float]:
    rng = wg.random.default_rng(seed)
    x, y = load_digits(return_X_y=True)
    x = (x / 16.0).astype(np.float32)
    train, test = wg.data.split((x, y), (0.8, 0.2), rng=rng)

    model = Autoencoder(256, rng)
    epochs = 20 if short else 150
    optimizer = wg.optim.Adam(model.parameters(), lr=2e-3)
    history = nn.fit(
        model,
        negative_bound,
        wg.data.Batches(train[0], 64, shuffle=True, rng=rng),
        optimizer,
        epochs,
        validation=wg.data.Batches(test[0], len(test[0])),
        callbacks=[nn.Schedule(wg.optim.CosineAnnealingLR(optimizer, epochs))],
    )
    bound = history["val_loss"][-1]
    first = history["val_loss"][0]
    print(f"negative evidence lower bound of images that were not seen: {bound:.2f} nats; at first {first:.2f}")
    if picture:
        draw_codes(model, x, y, picture)
    return {"first": first, "bound": bound}


if __name__ == "__main__":
    main(*sys.argv[1:])

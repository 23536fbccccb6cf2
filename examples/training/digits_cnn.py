"""Handwritten digits, by a small convolutional network: `python examples/training/digits_cnn.py [picture.png]`.

The digits of the training data are moved by up to one pixel, another way in each epoch.
"""

import sys

import numpy as np
from sklearn.datasets import load_digits

import wengert as wg
from wengert import nn


def move_images(batch, rng):
    """A transform: each image of a batch, moved by -1, 0 or 1 pixels in both directions."""
    x, y = batch
    framed = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(framed, x.shape[2:], axis=(2, 3))
    rows, columns = rng.integers(3, size=(2, len(x)))
    return windows[np.arange(len(x)), :, rows, columns].copy(), y


def network(rng):
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1, rng=rng),
        nn.BatchNorm2d(16),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1, rng=rng),
        nn.BatchNorm2d(32),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(128, 10, rng=rng),
    )


def draw_mistakes(model, images, labels, path: str) -> None:
    """The digits that are not recognised, and some that are."""
    from matplotlib.figure import Figure

    with wg.no_grad():
        guess = np.asarray(model.eval()(images)).argmax(1)
    order = np.argsort(guess == labels, kind="stable")[:16]
    figure = Figure(figsize=(8, 2.4), layout="constrained")
    for axes, i in zip(figure.subplots(2, 8).flat, order, strict=True):
        axes.imshow(images[i, 0], cmap="gray_r")
        axes.set_title(f"{labels[i]}" if guess[i] == labels[i] else f"{labels[i]}, not {guess[i]}", fontsize=9)
        axes.axis("off")
    figure.savefig(path, dpi=120)


def main(picture: str | None = None, short: bool = False, seed: int = 0) -> dict[str, float]:
    rng = wg.random.default_rng(seed)
    x, y = load_digits(return_X_y=True)
    x = (x / 16.0).astype(np.float32).reshape(-1, 1, 8, 8)
    train, test = wg.data.split((x, y), (0.8, 0.2), rng=rng)

    model = network(rng)
    epochs = 12 if short else 25
    batches = wg.data.Batches(train, 64, shuffle=True, rng=rng, transform=move_images, prefetch=2)
    optimizer = wg.optim.AdamW(model.parameters(), lr=1e-2, weight_decay=1e-2)
    schedule = wg.optim.OneCycleLR(optimizer, max_lr=1e-2, total_steps=epochs * len(batches))
    history = nn.fit(
        model,
        nn.CrossEntropyLoss(label_smoothing=0.1),
        batches,
        optimizer,
        epochs,
        validation=wg.data.Batches(test, len(test[1])),
        metrics=[nn.metrics.accuracy],
        callbacks=[nn.Schedule(schedule, every="step")],
    )
    print(f"{history['val_accuracy'][-1]:.1%} of {len(test[1])} digits that the network has not seen are recognised")
    if picture:
        draw_mistakes(model, *test, picture)
    return {"accuracy": history["val_accuracy"][-1]}


if __name__ == "__main__":
    main(*sys.argv[1:])

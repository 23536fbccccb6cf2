"""Handwritten digits, by a network of two layers: `python examples/training/digits_mlp.py [picture.png]`."""

import sys

import numpy as np
from sklearn.datasets import load_digits

import wengert as wg
from wengert import nn


def main(picture: str | None = None, short: bool = False, seed: int = 0) -> dict[str, float]:
    rng = wg.random.default_rng(seed)
    x, y = load_digits(return_X_y=True)
    x = (x / 16.0).astype(np.float32)
    train, test = wg.data.split((x, y), (0.8, 0.2), rng=rng)

    model = nn.Sequential(
        nn.Linear(64, 256, rng=rng),
        nn.ReLU(),
        nn.Linear(256, 10, rng=rng),
    )
    epochs = 40 if short else 60
    optimizer = wg.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=0.1)
    batches = wg.data.Batches(train, 64, shuffle=True, rng=rng)
    schedule = wg.optim.CosineAnnealingLR(optimizer, epochs)
    history = nn.fit(
        model,
        nn.CrossEntropyLoss(label_smoothing=0.1),
        batches,
        optimizer,
        epochs,
        validation=wg.data.Batches(test, len(test[1])),
        metrics=[nn.metrics.accuracy],
        callbacks=[nn.Schedule(schedule)],
    )
    print(f"{history['val_accuracy'][-1]:.1%} of {len(test[1])} digits that the network has not seen are recognised")
    if picture:
        history.plot(picture)
    return {"accuracy": history["val_accuracy"][-1]}


if __name__ == "__main__":
    main(*sys.argv[1:])

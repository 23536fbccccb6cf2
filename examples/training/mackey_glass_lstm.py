"""An LSTM that continues a chaotic series: `python examples/training/mackey_glass_lstm.py [picture.png]`.

The series is that of Mackey and Glass (1977), a model of the number of blood cells,

    dx/dt = 0.2 x(t - 17) / (1 + x(t - 17)^10) - 0.1 x(t),

which the network is to predict one step ahead; then it continues the series from its own predictions.
"""

import sys

import numpy as np

import wengert as wg
from wengert import nn


def mackey_glass(n: int, delay: int = 17, steps: int = 10) -> np.ndarray:
    """The series at t = 0, 1, 2, ..., by the classical Runge-Kutta method with the delayed value held fixed."""
    x = np.full((n + delay + 100) * steps, 1.2)
    h = 1.0 / steps
    for i in range(delay * steps, len(x) - 1):
        gain = 0.2 * x[i - delay * steps] / (1 + x[i - delay * steps] ** 10)
        slope = lambda y, gain=gain: gain - 0.1 * y
        k1 = slope(x[i])
        k2 = slope(x[i] + h / 2 * k1)
        k3 = slope(x[i] + h / 2 * k2)
        x[i + 1] = x[i] + h / 6 * (k1 + 2 * k2 + 2 * k3 + slope(x[i] + h * k3))
    return x[::steps][-n:].astype(np.float32)


class Forecast(nn.Module):
    """The change from each element of a sequence to the next, by an LSTM."""

    def __init__(self, hidden: int, rng):
        self.lstm = nn.LSTM(1, hidden, batch_first=True, rng=rng)
        self.change = nn.Linear(hidden, 1, rng=rng)

    def forward(self, x):
        return x + 0.1 * self.change(self.lstm(x)[0])


def continue_series(model: Forecast, start: np.ndarray, n: int) -> np.ndarray:
    """The next n elements, each predicted from the predictions before."""
    x = list(start)
    with wg.no_grad():
        for _ in range(n):
            x.append(float(np.asarray(model(np.array(x[-len(start) :], np.float32)[None, :, None]))[0, -1, 0]))
    return np.array(x[len(start) :])


def main(picture: str | None = None, short: bool = False, seed: int = 0) -> dict[str, float]:
    rng = wg.random.default_rng(seed)
    series = mackey_glass(2500) - np.float32(0.9)
    length = 50
    windows = np.lib.stride_tricks.sliding_window_view(series[:2000], length + 1)[::2, :, None]
    batches = wg.data.Batches((windows[:, :-1], windows[:, 1:]), 32, shuffle=True, rng=rng)

    model = Forecast(32, rng)
    epochs = 5 if short else 40
    optimizer = wg.optim.Adam(model.parameters(), lr=1e-2)
    nn.fit(
        model,
        nn.MSELoss(),
        batches,
        optimizer,
        epochs,
        callbacks=[nn.Schedule(wg.optim.CosineAnnealingLR(optimizer, epochs))],
    )
    held = series[2000:]
    with wg.no_grad():
        predicted = np.asarray(model(held[None, :-1, None]))[0, :, 0]
    error = float(np.sqrt(((predicted - held[1:])[length:] ** 2).mean()) / held.std())
    ahead = continue_series(model, held[:200], 150)
    print(f"error of the next element: {error:.2%} of the standard deviation")
    if picture:
        draw_forecast(held[:350] + 0.9, ahead + 0.9, picture)
    return {"error": error}


def draw_forecast(series, ahead, path: str) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 2.8), layout="constrained")
    axes = figure.subplots()
    axes.plot(series, "k", lw=1, label="series")
    axes.plot(range(200, 350), ahead, "C1", label="continued by the network")
    axes.axvline(200, color="0.7", lw=0.8)
    axes.set(xlabel="t", ylabel="x")
    axes.legend(frameon=False, loc="lower left")
    figure.savefig(path, dpi=120)


if __name__ == "__main__":
    main(*sys.argv[1:])

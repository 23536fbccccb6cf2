"""A physics-informed network: the heat equation, with its second derivatives in the loss.

`python examples/training/heat_equation.py [picture.png]`. The network u(t, x) is trained to satisfy

    du/dt = d2u/dx2 / pi^2,    u(0, x) = sin(pi x),    u(t, 0) = u(t, 1) = 0

on points drawn from the domain. The solution, which it is not shown, is exp(-t) sin(pi x).
"""

import sys

import numpy as np

import wengert as wg
from wengert import nn


class Heat(nn.Module):
    """u = sin(pi x) + t x (1 - x) times a network: the initial and the boundary values hold, whatever the network."""

    def __init__(self, width: int, rng):
        self.network = nn.Sequential(
            nn.Linear(2, width, dtype=np.float64, rng=rng),
            nn.Tanh(),
            nn.Linear(width, width, dtype=np.float64, rng=rng),
            nn.Tanh(),
            nn.Linear(width, 1, dtype=np.float64, rng=rng),
        )

    def u(self, t, x):
        return np.sin(np.pi * x) + t * x * (1 - x) * self.network(np.stack([t, x], -1))[:, 0]

    def forward(self, points):
        """The residual of the equation."""
        t, x = points[:, 0], points[:, 1]
        ones = np.ones_like(x)
        _, u_t = wg.jvp(lambda t: self.u(t, x), (t,), (ones,))
        _, u_xx = wg.jvp(lambda x: wg.jvp(lambda x: self.u(t, x), (x,), (ones,))[1], (x,), (ones,))
        return u_t - u_xx / np.pi**2


def draw_solution(model, path: str) -> None:
    from matplotlib.figure import Figure

    t, x = np.meshgrid(np.linspace(0, 1, 101), np.linspace(0, 1, 101))
    u = np.asarray(model.u(t.ravel(), x.ravel()).detach()).reshape(t.shape)
    figure = Figure(figsize=(8, 3), layout="constrained")
    for axes, values, title in zip(
        figure.subplots(1, 2), (u, u - np.exp(-t) * np.sin(np.pi * x)), ("u(t, x)", "error"), strict=True
    ):
        mesh = axes.pcolormesh(t, x, values, cmap="viridis" if title != "error" else "RdBu")
        axes.set(xlabel="t", ylabel="x", title=title)
        figure.colorbar(mesh)
    figure.savefig(path, dpi=120)


def main(picture: str | None = None, short: bool = False, seed: int = 0) -> dict[str, float]:
    rng = wg.random.default_rng(seed)
    points = rng.uniform(size=(1000, 2))
    model = Heat(16, rng)
    epochs = 100 if short else 400
    optimizer = wg.optim.Adam(model.parameters(), lr=5e-3)
    history = nn.fit(
        model,
        lambda residual, points: (residual**2).mean(),
        wg.data.Batches(points, 250, shuffle=True, rng=rng),
        optimizer,
        epochs,
        callbacks=[nn.Schedule(wg.optim.CosineAnnealingLR(optimizer, epochs))],
    )
    t, x = rng.uniform(size=(2, 1000))
    error = float(abs(np.asarray(model.u(t, x).detach()) - np.exp(-t) * np.sin(np.pi * x)).max())
    print(f"mean square of the residual {history['loss'][-1]:.1e}, largest error of the solution {error:.1e}")
    if picture:
        draw_solution(model, picture)
    return {"error": error}


if __name__ == "__main__":
    main(*sys.argv[1:])

"""Levenberg-Marquardt on products: a fit to data of NIST, equal to that of SciPy.

`python examples/training/levenberg_marquardt.py [picture.png]`. The data are the problem Misra1a of NIST's reference
datasets for nonlinear regression: the volume of a monomolecular layer against pressure, y = b1 (1 - exp(-b2 x)).
"""

import sys

import numpy as np
import scipy.optimize

import wengert as wg
from wengert import nn

X = np.array([77.6, 114.9, 141.1, 190.8, 239.9, 289.0, 332.8, 378.4, 434.8, 477.3, 536.8, 593.1, 689.1, 760.0])
Y = np.array([10.07, 14.73, 17.94, 23.93, 29.61, 35.18, 40.02, 44.82, 50.76, 55.05, 61.01, 66.40, 75.47, 81.78])
CERTIFIED = np.array([2.3894212918e02, 5.5015643181e-04])


class Saturation(nn.Module):
    """b1 (1 - exp(-b2 x)), with b2 in thousandths, so that both parameters are of similar size."""

    def __init__(self):
        self.b1 = nn.Parameter(250.0)
        self.b2 = nn.Parameter(0.5)

    def forward(self, x):
        return self.b1 * (1 - np.exp(-1e-3 * self.b2 * x))


def main(picture: str | None = None, short: bool = False) -> dict[str, float]:
    model = Saturation()
    optimizer = wg.optim.GaussNewton(model)
    losses = [optimizer.step(lambda model: model(X) - Y) for _ in range(30)]

    ours = np.array([model.b1.item(), 1e-3 * model.b2.item()])
    theirs, _ = scipy.optimize.curve_fit(
        lambda x, b1, b2: b1 * (1 - np.exp(-1e-3 * b2 * x)), X, Y, [250.0, 0.5], method="lm", xtol=1e-14, ftol=1e-14
    )
    theirs = theirs * [1.0, 1e-3]
    difference = float(abs(ours / theirs - 1).max())
    certified = float(abs(ours / CERTIFIED - 1).max())
    print(f"b1 = {ours[0]:.8f}, b2 = {ours[1]:.10e}, sum of squares {2 * losses[-1]:.10f}")
    print(f"relative difference to SciPy {difference:.1e}, to the values that NIST certifies {certified:.1e}")
    if picture:
        draw_fit(model, losses, picture)
    return {"difference": difference, "certified": certified}


def draw_fit(model, losses, path: str) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 3), layout="constrained")
    left, right = figure.subplots(1, 2)
    grid = np.linspace(0, 800)
    left.plot(X, Y, "k.", label="measured")
    left.plot(grid, np.asarray(model(grid).detach()), "C0", label="fit")
    left.set(xlabel="pressure", ylabel="volume")
    left.legend(frameon=False)
    right.semilogy(losses, "C0.-")
    right.set(xlabel="step", ylabel="half the sum of squares")
    figure.savefig(path, dpi=120)


if __name__ == "__main__":
    main(*sys.argv[1:])

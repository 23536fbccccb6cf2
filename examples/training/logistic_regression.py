"""Logistic regression by L-BFGS, with the coefficients that scikit-learn finds.

`python examples/training/logistic_regression.py [picture.png]`. The data are measurements of cells, and whether a
tumour is malignant. The loss is that of scikit-learn: the sum of the cross entropies, and half the squared norm of the
coefficients.
"""

import sys

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression

import wengert as wg
from wengert import nn


def draw_coefficients(names, ours, theirs, path: str) -> None:
    from matplotlib.figure import Figure

    order = np.argsort(ours)
    figure = Figure(figsize=(7, 5.5), layout="constrained")
    axes = figure.subplots()
    axes.barh(range(len(order)), ours[order], color="C0", label="Wengert")
    axes.plot(theirs[order], range(len(order)), "k.", label="scikit-learn")
    axes.set_yticks(range(len(order)), names[order], fontsize=7)
    axes.set_xlabel("coefficient")
    axes.legend(frameon=False)
    figure.savefig(path, dpi=120)


def main(picture: str | None = None, short: bool = False) -> dict[str, float]:
    data = load_breast_cancer()
    x, y = data.data, data.target
    x = (x - x.mean(0)) / x.std(0)

    model = nn.Linear(30, 1, dtype=np.float64, rng=0)
    cross_entropy = nn.BCEWithLogitsLoss(reduction="sum")

    def loss(output, target):
        return cross_entropy(output[:, 0], target) + 0.5 * (model.weight**2).sum()

    optimizer = wg.optim.LBFGS(
        model.parameters(), max_iter=200, tolerance_grad=1e-9, tolerance_change=1e-14, line_search_fn="strong_wolfe"
    )
    nn.fit(model, loss, wg.data.Batches((x, y.astype(float)), len(y)), optimizer, epochs=2, progress=False)

    theirs = LogisticRegression(solver="newton-cholesky", tol=1e-12).fit(x, y)
    ours = model.weight.detach().numpy()[0]
    difference = float(abs(ours - theirs.coef_[0]).max())
    accuracy = nn.metrics.accuracy(model(x).detach().numpy()[:, 0], y)
    print(f"accuracy {accuracy:.1%}; the largest difference to a coefficient of scikit-learn is {difference:.1e}")
    if picture:
        draw_coefficients(data.feature_names, ours, theirs.coef_[0], picture)
    return {"accuracy": accuracy, "difference": difference}


if __name__ == "__main__":
    main(*sys.argv[1:])

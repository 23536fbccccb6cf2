"""Thirteen argon atoms.

Atoms that attract each other from afar and repel each other at close range form clusters. For thirteen of them the
best arrangement is an icosahedron around a central atom, with an energy of -44.326801. Descents from random starts
are a batch, and one of them arrives there; the Hessian shows that it is a minimum, with six directions that cost
nothing.
"""

import matplotlib.pyplot as plt
import numpy as np

import wengert as wg

N = 13
FIRST, SECOND = np.triu_indices(N, 1)


def energy(x):
    """The Lennard-Jones potential, in units of its depth and of the diameter of an atom."""
    r6 = (((x[FIRST] - x[SECOND]) ** 2).sum(-1)) ** -3
    return (4.0 * (r6**2 - r6)).sum()


rng = np.random.default_rng(3)
runs = [wg.optimize.minimize(energy, rng.uniform(-1.4, 1.4, (N, 3)), method="L-BFGS-B", options={"maxiter": 2000})
        for _ in range(60)]  # fmt: skip
best = min(runs, key=lambda run: run.fun)
polished = wg.optimize.minimize(energy, best.x, method="BFGS", options={"gtol": 1e-9})
assert abs(polished.fun + 44.326801) < 1e-5

H = wg.hessian(energy)(polished.x).reshape(3 * N, 3 * N)
stiffness = np.linalg.eigvalsh(H)
assert (np.abs(stiffness[:6]) < 1e-3).all()  # three translations, three rotations
assert stiffness[6] > 1.0

figure = plt.figure(figsize=(10, 4))
axis = figure.add_subplot(1, 2, 1, projection="3d")
x = polished.x - polished.x.mean(axis=0)
near = np.linalg.norm(x[FIRST] - x[SECOND], axis=1) < 1.3
for i, j in zip(FIRST[near], SECOND[near], strict=True):
    axis.plot(*x[[i, j]].T, color="0.7", lw=1)
axis.scatter(*x.T, s=250, c=np.linalg.norm(x, axis=1), edgecolor="black", depthshade=False)
axis.set_axis_off()
axis.set_title(f"energy {polished.fun:.6f}")
axis = figure.add_subplot(1, 2, 2)
axis.hist([run.fun for run in runs], bins=30)
axis.set(title="where 60 descents ended", xlabel="energy")
plt.show()

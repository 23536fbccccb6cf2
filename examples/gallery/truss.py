"""The stiffest bridge.

How thick should the bars of a truss be, if there is steel for a few of them only? The compliance, the work of the
load, depends on the thicknesses through a linear system. In general its gradient costs one more solve, but here the
adjoint is the solution itself. Bars that carry nothing vanish.
"""

import matplotlib.pyplot as plt
import numpy as np

import wengert as wg

NODES = np.stack(np.meshgrid(np.arange(9.0), np.arange(4.0)), axis=-1).reshape(-1, 2)
PAIRS = [(i, j) for i in range(36) for j in range(i + 1, 36) if np.abs(NODES[i] - NODES[j]).max() <= 1.0]
FIRST, SECOND = np.array(PAIRS).T
SPANS = NODES[SECOND] - NODES[FIRST]
LENGTHS = np.linalg.norm(SPANS, axis=1)
B = np.zeros((len(FIRST), 72))  # how displacements lengthen the bars
for bar, (i, j) in enumerate(PAIRS):
    B[bar, 2 * j : 2 * j + 2] = SPANS[bar] / LENGTHS[bar]
    B[bar, 2 * i : 2 * i + 2] = -SPANS[bar] / LENGTHS[bar]
fixed = [0, 1, 17]  # a pin at the left, a roller at the right
B = np.delete(B, fixed, axis=1)
load = np.zeros(72)
load[2 * np.arange(1, 8) + 1] = -1.0  # on the lower chord
load = np.delete(load, fixed)


def compliance(area):
    K = (B.T * (area / LENGTHS)) @ B
    return load @ np.linalg.solve(K, load)


both = wg.compile(wg.value_and_grad(compliance))
steel = 0.3 * LENGTHS.sum()
area = np.full(len(FIRST), 0.3)
values = []
for _ in range(150):
    value, slope = both(area)
    values.append(value)
    area = np.maximum(area * np.sqrt(np.maximum(-slope / LENGTHS, 0.0)), 1e-4)  # the optimality criterion
    area *= steel / (area @ LENGTHS)
strain = -slope / LENGTHS
assert value < 0.5 * values[0]
assert np.ptp(strain[area > 0.3]) < 0.1 * strain.max()  # all bars that are used work equally hard

figure, (top, bottom) = plt.subplots(2, 1, figsize=(8, 6), height_ratios=(2, 1))
for bar, (i, j) in enumerate(PAIRS):
    if area[bar] > 1e-2:
        top.plot(*NODES[[i, j]].T, color="C0", lw=3.0 * np.sqrt(area[bar]), solid_capstyle="round")
top.plot(*NODES[[0, 8]].T, "k^", ms=10)
top.quiver(*NODES[1:8].T, np.zeros(7), -np.ones(7), color="C3", scale=14, width=0.005)
top.set(title="bars, as thick as they should be", aspect="equal", ylim=(-0.9, 3.4))
top.axis("off")
bottom.semilogy(values)
bottom.set(title="work of the load", xlabel="step")
plt.tight_layout()
plt.show()

"""Three bodies that chase each other on a figure eight.

Three equal masses can follow one closed curve, a third of a period apart (Chenciner and Montgomery, 2000). The curve
is a minimum of the action, kinetic energy minus potential energy over one period. Here it is a short Fourier series,
and L-BFGS finds its coefficients with the gradient of the action.
"""

import matplotlib.pyplot as plt
import numpy as np

import wengert as wg

TIMES = 2.0 * np.pi * np.arange(240) / 240
WAVES = np.arange(1, 36)
SINES, COSINES = np.sin(np.outer(TIMES, WAVES)), np.cos(np.outer(TIMES, WAVES))


def curve(c):
    """Positions at all times, and velocities; a period takes 2 pi."""
    return SINES @ c, COSINES @ (WAVES[:, None] * c)


def action(c):
    position, velocity = curve(c)
    other = np.roll(position, 80, axis=0)  # the body a third of a period behind
    potential = 1.0 / np.sqrt(((position - other) ** 2).sum(-1))
    return (0.5 * (velocity**2).sum(-1) + potential).mean()


start = np.zeros((len(WAVES), 2))
start[0, 0], start[1, 1] = 1.0, 0.4  # sin t and sin 2t: a figure eight
found = wg.optimize.minimize(action, start, method="L-BFGS-B", tol=1e-14, options={"maxiter": 2000})


def acceleration(x):
    """Newton's law for three bodies, as the gradient of the potential."""
    pairs = ((0, 1), (0, 2), (1, 2))
    return -wg.grad(lambda x: -sum(1.0 / np.sqrt(((x[i] - x[j]) ** 2).sum()) for i, j in pairs))(x)


position, velocity = curve(found.x)
bodies = np.stack([np.roll(position, 80 * k, axis=0) for k in range(3)], axis=1)
forces = wg.vmap(acceleration)(bodies)[:, 0]
kinematics = -SINES @ (WAVES[:, None] ** 2 * found.x)
assert abs(forces - kinematics).max() < 1e-3  # the curve solves the equations of motion

plt.figure(figsize=(7, 3.4))
plt.plot(*np.vstack([position, position[:1]]).T)
plt.quiver(*bodies[16].T, *velocity[[16, 176, 96]].T, width=0.004, color="0.5")
plt.scatter(*bodies[16].T, s=120, c=["C1", "C2", "C3"], zorder=3)
plt.gca().set(title=f"the figure eight; action {found.fun:.5f}", aspect="equal")
plt.show()

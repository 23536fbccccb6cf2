"""A double pendulum, from its Lagrangian.

Physics gives the Lagrangian, kinetic minus potential energy. The equations of motion are its derivatives: the
accelerations solve a linear system whose matrix is the Hessian with respect to the velocities. Nothing is derived by
hand, and the energy that the motion conserves is computed from the same function.
"""

import matplotlib.pyplot as plt
import numpy as np

import wengert as wg


def lagrangian(q, v):
    """Two rods of length and mass one; q holds the angles from the vertical."""
    kinetic = v[0] ** 2 + 0.5 * v[1] ** 2 + v[0] * v[1] * np.cos(q[0] - q[1])
    potential = -9.81 * (2.0 * np.cos(q[0]) + np.cos(q[1]))
    return kinetic - potential


def accelerations(q, v):
    """Solve d/dt (dL/dv) = dL/dq, in which d/dt (dL/dv) = L_vv a + L_vq v."""
    momentum = wg.grad(lagrangian, 1)
    force = wg.grad(lagrangian, 0)(q, v) - wg.jvp(lambda q: momentum(q, v), (q,), (v,))[1]
    return np.linalg.solve(wg.hessian(lagrangian, 1)(q, v), force)


def energy(q, v):
    return v @ wg.grad(lagrangian, 1)(q, v) - lagrangian(q, v)


motion = wg.compile(lambda t, y: np.concatenate([y[2:], accelerations(y[:2], y[2:])]))
times = np.linspace(0.0, 12.0, 1200)
start = np.array([2.0, 2.2, 0.0, 0.0])
path = wg.integrate.solve_ivp(motion, (0.0, 12.0), start, "DOP853", times, rtol=1e-10, atol=1e-10).y

energies = wg.vmap(energy)(path[:2].T, path[2:].T)
assert np.ptp(energies) < 1e-6  # conserved

elbow = np.stack([np.sin(path[0]), -np.cos(path[0])])
bob = elbow + np.stack([np.sin(path[1]), -np.cos(path[1])])
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 4))
left.scatter(*bob, c=times, s=2)
left.plot(*np.stack([np.zeros(2), elbow[:, -1], bob[:, -1]], axis=1), "o-", color="black")
left.set(title="path of the lower bob", aspect="equal", xlim=(-2.2, 2.2), ylim=(-2.2, 2.2))
right.plot(times, energies - energies[0])
right.set(title="change of the energy", xlabel="time")
plt.show()

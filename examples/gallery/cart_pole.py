"""Swinging up a pole.

A cart must swing a hanging pole up and bring it to rest, with the least force. All states and forces on a grid of
times are unknown (direct collocation), and the equations of motion are constraints between neighbouring times. The
optimiser is given their exact Jacobian, as native code.
"""

import matplotlib.pyplot as plt
import numpy as np

import wengert as wg

N, DURATION = 24, 2.0
DT = DURATION / N


def motion(s, force):
    """Cart position, angle from hanging, and their velocities."""
    sine, cosine = np.sin(s[1]), np.cos(s[1])
    denominator = 1.0 + 0.3 * sine**2
    cart = (force + 0.3 * sine * (0.5 * s[3] ** 2 + 9.81 * cosine)) / denominator
    pole = -(force * cosine + 0.15 * s[3] ** 2 * sine * cosine + 1.3 * 9.81 * sine) / (0.5 * denominator)
    return np.stack([s[2], s[3], cart, pole])


def effort(z):
    return DT * (z["force"] ** 2).sum()


def defects(z):
    """What the trapezoidal rule leaves between neighbouring times, and at both ends."""
    s = z["state"]
    change = wg.vmap(motion)(s, z["force"])
    steps = s[1:] - s[:-1] - 0.5 * DT * (change[1:] + change[:-1])
    ends = np.stack([s[0], s[-1] - np.array([1.0, np.pi, 0.0, 0.0])])
    return np.concatenate([steps.ravel(), ends.ravel()])


times = np.linspace(0.0, DURATION, N + 1)
start = {"state": times[:, None] / DURATION * np.array([1.0, np.pi, 0.0, 0.0]), "force": np.zeros(N + 1)}
found = wg.optimize.minimize(effort, start, method="SLSQP", constraints={"type": "eq", "fun": defects},
                             options={"maxiter": 300, "ftol": 1e-8})  # fmt: skip
states, force = found.x["state"], found.x["force"]
assert np.abs(defects(found.x)).max() < 1e-6

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.6), width_ratios=(2, 1))
for k in range(N + 1):
    x, angle = states[k, :2]
    colour = plt.cm.viridis(k / N)
    left.plot([x, x + 0.5 * np.sin(angle)], [0.0, -0.5 * np.cos(angle)], "-", color=colour)
    left.plot(x + 0.5 * np.sin(angle), -0.5 * np.cos(angle), "o", color=colour)
left.axhline(0.0, color="black", lw=0.7)
left.set(title="from hanging to standing", aspect="equal")
right.plot(times, force)
right.set(title=f"force, effort {found.fun:.1f}", xlabel="time")
plt.show()

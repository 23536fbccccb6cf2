"""A robot arm draws a circle.

The hand of an arm with five joints must follow a circle. The Jacobian of the hand's position with respect to the
joints says how the hand moves if they turn; damped least squares inverts it, and the joints that are left over keep
the arm bent.
"""

import matplotlib.pyplot as plt
import numpy as np

import wengert as wg

LENGTHS = np.array([1.0, 0.8, 0.6, 0.4, 0.3])


def joints(q):
    """The positions of all joints; each angle is relative to the rod before."""
    angles = np.cumsum(q)
    return np.stack([np.cumsum(LENGTHS * np.cos(angles)), np.cumsum(LENGTHS * np.sin(angles))])


def hand(q):
    return joints(q)[:, -1]


reach = wg.compile(lambda q: (hand(q), wg.jacobian(hand)(q)))
turn = np.linspace(0.0, 2.0 * np.pi, 120)
targets = np.stack([1.5 + 0.6 * np.cos(turn), 0.6 + 0.6 * np.sin(turn)], axis=1)

q, poses, misses = np.full(5, 0.4), [], []
for target in targets:
    for _ in range(8):
        position, J = reach(q)
        inverse = J.T @ np.linalg.inv(J @ J.T + 1e-6 * np.eye(2))
        rest = 0.1 * (0.35 - q)  # what does not move the hand is free: bend evenly
        q = q + inverse @ (target - position) + (np.eye(5) - inverse @ J) @ rest
    poses.append(joints(q))
    misses.append(np.linalg.norm(hand(q) - target))
assert max(misses) < 1e-4

plt.figure(figsize=(6, 4.5))
for k in range(0, 120, 6):
    plt.plot(*np.concatenate([np.zeros((2, 1)), poses[k]], axis=1), "o-", ms=3, lw=1.5, color=plt.cm.viridis(k / 120))
plt.plot(*targets.T, "k--", lw=1)
plt.gca().set(title="an arm with five joints", aspect="equal")
plt.show()

"""Which measure bends the curve?

In a model of an epidemic, infections depend on the contact rate, on the time until people are isolated, and on how
many are immune. Forward sensitivities, one tangent for each parameter, say at every time what a change of each of
them would do.
"""

import matplotlib.pyplot as plt
import numpy as np

import wengert as wg

DAYS = np.linspace(0.0, 120.0, 121)
NAMES = ("contact rate", "recovery rate", "immune at the start")


def infected(p):
    """Shares of a population that are infected, by a model with susceptible, exposed and infected people."""

    def change(t, y, p):
        infections = p[0] * y[0] * y[2]
        return np.stack([-infections, infections - y[1] / 4.0, y[1] / 4.0 - p[1] * y[2]])

    start = np.stack([0.999 - p[2], 0.0 * p[2] + 0.0005, 0.0 * p[2] + 0.0005])
    return wg.integrate.solve_ivp(change, (0.0, 120.0), start, "DOP853", DAYS, args=(p,), rtol=1e-9, atol=1e-12).y[2]


p = np.array([0.45, 0.18, 0.1])
curve, J = infected(p), wg.jacfwd(infected)(p)
shift = infected(p * np.array([0.99, 1.0, 1.0]))
np.testing.assert_allclose(shift, curve - 0.01 * p[0] * J[:, 0], atol=3e-4)  # to first order
peak = wg.grad(lambda p: infected(p).max())(p)
assert peak[0] > 0.0 > peak[1]

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.7))
left.plot(DAYS, 100.0 * curve)
left.fill_between(
    DAYS, 100.0 * curve, 100.0 * (curve - 0.1 * p[0] * J[:, 0]), alpha=0.3, label="ten per cent fewer contacts"
)
left.set(title="infected, in per cent", xlabel="day")
left.legend(loc="upper right")
for k, name in enumerate(NAMES):
    right.plot(DAYS, p[k] * J[:, k], label=name)
right.axhline(0.0, color="black", lw=0.5)
right.set(title="change for each relative change", xlabel="day")
right.legend()
plt.show()

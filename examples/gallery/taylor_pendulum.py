"""The solution of a differential equation as a series.

Taylor mode computes all derivatives of a solution from the equation alone: each coefficient of the solution follows
from the one before it of the right-hand side. Thirty terms of the pendulum's motion cost little, and show how far a
series reaches: to the nearest singularity, which lies at a complex time.
"""

import matplotlib.pyplot as plt
import numpy as np

import wengert as wg

ORDER = 40


def motion(y):
    return np.stack([y[1], -np.sin(y[0])])


def series(y0, order):
    """Coefficients of the solution: y' = f(y), so (k + 1) y[k + 1] is the coefficient k of f(y)."""
    coefficients = [y0]
    for k in range(order):
        value, rest = wg.jet(motion, (y0,), ([*coefficients[1:], np.zeros_like(y0)],))
        coefficients.append((value if k == 0 else rest[k - 1]) / (k + 1))
    return np.stack(coefficients)


start = np.array([2.0, 0.0])
c = series(start, ORDER)
times = np.linspace(0.0, 4.0, 300)
exact = wg.integrate.solve_ivp(lambda t, y: motion(y), (0.0, 4.0), start, "DOP853", times, rtol=1e-12, atol=1e-12).y[0]
sums = {n: np.polynomial.polynomial.polyval(times, c[: n + 1, 0]) for n in (2, 6, 12, 40)}
assert np.abs(sums[40] - exact)[times < 1.5].max() < 1e-8
even = np.abs(c[10::2, 0])
radius = np.exp(-np.polyfit(np.arange(10, ORDER + 1, 2), np.log(even), 1)[0])

plt.figure(figsize=(7, 4))
plt.plot(times, exact, "k", lw=4, alpha=0.3, label="exact")
for n, values in sums.items():
    plt.plot(times, values, label=f"{n} terms")
plt.axvline(radius, ls=":", color="0.5")
plt.text(radius + 0.03, 2.6, f"radius of convergence {radius:.2f}")
plt.gca().set(title="a pendulum, let go at 115 degrees", xlabel="time", ylabel="angle", ylim=(-3.0, 3.2))
plt.legend(loc="lower left")
plt.show()

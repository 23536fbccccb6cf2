"""The rates of a reaction, and how sure we are of them.

In A -> B -> C only B is measured. Least squares on the solution of the rate equations finds both rates; the Jacobian
of the solution with respect to them, which the fit needs anyway, gives their standard errors and the band around the
curve.
"""

import matplotlib.pyplot as plt
import numpy as np

import wengert as wg

TIMES = np.linspace(0.25, 10.0, 30)


def measure(rates, times):
    """The amount of B at the given times."""

    def change(t, y, k):
        return np.stack([-k[0] * y[0], k[0] * y[0] - k[1] * y[1]])

    y0 = np.array([1.0, 0.0])
    return wg.integrate.solve_ivp(change, (0.0, 10.5), y0, "DOP853", times, args=(rates,), rtol=1e-9, atol=1e-11).y[1]


rng = np.random.default_rng(1)
data = measure(np.array([0.9, 0.35]), TIMES) + 0.02 * rng.standard_normal(len(TIMES))
fit = wg.optimize.curve_fit(lambda t, a, b: measure(np.stack([a, b]), t), TIMES, data, [0.5, 0.5])
assert (np.abs(fit.params - [0.9, 0.35]) < 3.0 * fit.errors).all()

fine = np.linspace(0.01, 10.4, 200)
curve, J = measure(fit.params, fine), wg.jacobian(lambda k: measure(k, fine))(fit.params)
band = 2.0 * np.sqrt(np.einsum("ti,ij,tj->t", J, fit.covariance, J))
a, b = fit.params
exact = a / (b - a) * (np.exp(-a * fine) - np.exp(-b * fine))
np.testing.assert_allclose(curve, exact, atol=1e-8)

plt.figure(figsize=(7, 4))
plt.fill_between(fine, curve - band, curve + band, alpha=0.3, label="two standard errors")
plt.plot(fine, curve)
plt.plot(TIMES, data, "k.", label="measured")
ea, eb = fit.errors
plt.gca().set(title=f"rates {a:.3f} ± {ea:.3f} and {b:.3f} ± {eb:.3f}", xlabel="time", ylabel="amount of B")
plt.legend()
plt.show()

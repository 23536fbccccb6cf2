"""Who carries the risk?

The risk of a portfolio is a homogeneous function of its weights, so by Euler's theorem the weights times its gradient
are shares of the risk that add up to all of it. The efficient frontier minimises the risk for each return, and the
portfolio of equal shares is the minimum of another function of the same gradient.
"""

import matplotlib.pyplot as plt
import numpy as np

import wengert as wg

NAMES = ("bonds", "equity", "emerging", "gold", "property")
RETURNS = np.array([0.02, 0.07, 0.09, 0.035, 0.05])
SPREADS = np.array([0.05, 0.16, 0.24, 0.15, 0.14])
FACTORS = np.array([[1.0, -0.1], [0.1, 0.9], [0.0, 0.85], [0.2, 0.05], [0.2, 0.6]])
C = FACTORS @ FACTORS.T
COVARIANCE = np.outer(SPREADS, SPREADS) * (
    C / np.sqrt(np.outer(np.diagonal(C), np.diagonal(C))) * 0.7 + 0.3 * np.eye(5)
)


def risk(w):
    return np.sqrt(w @ COVARIANCE @ w)


def shares(w):
    return w * wg.grad(risk)(w) / risk(w)


everything = {"type": "eq", "fun": lambda w: w.sum() - 1.0}
equal = np.full(5, 0.2)
frontier = []
for target in np.linspace(0.022, 0.088, 25):
    asked = {"type": "eq", "fun": lambda w, target=target: w @ RETURNS - target}
    frontier.append(wg.optimize.minimize(risk, equal, bounds=(0.0, 1.0), constraints=[everything, asked], tol=1e-10).x)
frontier = np.array(frontier)
uneven = lambda w: ((shares(w) - 0.2) ** 2).sum()
parity = wg.optimize.minimize(uneven, equal, bounds=(0.0, 1.0), constraints=everything, tol=1e-12).x
assert abs(shares(equal).sum() - 1.0) < 1e-12
np.testing.assert_allclose(shares(parity), 0.2, atol=1e-4)

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.8))
left.plot([risk(w) for w in frontier], frontier @ RETURNS, "-")
for w, name in ((equal, "equal weights"), (parity, "equal risk")):
    left.plot(risk(w), w @ RETURNS, "o", label=name)
left.plot(SPREADS, RETURNS, "kx", ms=5)
left.set(title="the efficient frontier", xlabel="risk", ylabel="return")
left.legend()
right.bar(np.arange(5) - 0.2, shares(equal), 0.4, label="equal weights")
right.bar(np.arange(5) + 0.2, shares(parity), 0.4, label="equal risk")
right.set(title="shares of the risk", xticks=range(5), xticklabels=NAMES)
right.legend()
plt.show()

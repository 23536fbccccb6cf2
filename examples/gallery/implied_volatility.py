"""What the market expects, and how sure it can be.

The implied volatility of an option is the solution of an equation: the price of the model equals that of the market.
Newton's method finds it, and the implicit function theorem differentiates it, without going through the steps of the
solver. So we know how an error in the prices changes the volatilities.
"""

import matplotlib.pyplot as plt
import numpy as np

import wengert as wg
from wengert import implicit

STRIKES = np.linspace(75.0, 130.0, 12)


def price(volatility, strike, spot=100.0, time=0.5):
    root = volatility * np.sqrt(time)
    d1 = np.log(spot / strike) / root + 0.5 * root
    cumulative = lambda d: 0.5 * (1.0 + wg.erf(d / np.sqrt(2.0)))
    return spot * cumulative(d1) - strike * cumulative(d1 - root)


def implied(market):
    return implicit.root(lambda v, market: price(v, STRIKES) - market, np.full(len(STRIKES), 0.3), market)


smile = 0.2 + 0.35 * (np.log(STRIKES / 100.0)) ** 2 - 0.12 * np.log(STRIKES / 100.0)
market = price(smile, STRIKES)
found = implied(market)
np.testing.assert_allclose(found, smile, rtol=1e-8)

J = wg.jacobian(implied)(market)
vega = wg.vmap(wg.grad(price))(smile, STRIKES)
np.testing.assert_allclose(np.diagonal(J), 1.0 / vega, rtol=1e-6)  # the inverse function
band = 0.05 * np.abs(np.diagonal(J))  # prices are quoted in steps of ten cents

plt.figure(figsize=(7, 4))
plt.errorbar(STRIKES, 100.0 * found, yerr=100.0 * band, fmt="o-", capsize=3)
plt.gca().set(title="the smile, and what half a tick does to it", xlabel="strike", ylabel="volatility in %")
plt.show()

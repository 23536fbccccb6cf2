"""The Greeks of an option.

Traders hedge with the derivatives of an option's price: delta and gamma with respect to the price of the asset, vega
to the volatility, theta to time. All of them are computed from the formula of the price alone, for a whole surface at
once, and agree with the formulas of textbooks.
"""

import matplotlib.pyplot as plt
import numpy as np

import wengert as wg


def call_price(spot, volatility, time, strike=100.0, rate=0.02):
    """The formula of Black and Scholes for the right to buy at the strike."""
    root = volatility * np.sqrt(time)
    d1 = (np.log(spot / strike) + (rate + 0.5 * volatility**2) * time) / root
    cumulative = lambda d: 0.5 * (1.0 + wg.erf(d / np.sqrt(2.0)))
    return spot * cumulative(d1) - strike * np.exp(-rate * time) * cumulative(d1 - root)


greeks = {
    "delta": wg.grad(call_price, 0),
    "gamma": wg.grad(wg.grad(call_price, 0), 0),
    "vega": wg.grad(call_price, 1),
    "theta": lambda *args: -wg.grad(call_price, 2)(*args),
    "vanna": wg.grad(wg.grad(call_price, 0), 1),
    "speed": wg.grad(wg.grad(wg.grad(call_price, 0), 0), 0),
}
spots, times = np.linspace(60.0, 140.0, 120), np.linspace(0.05, 2.0, 100)
S, T = np.meshgrid(spots, times)
at_points = {name: wg.compile(wg.vmap(greek, in_axes=(0, None, 0))) for name, greek in greeks.items()}
found = {name: greek(S.ravel(), 0.25, T.ravel()) for name, greek in at_points.items()}

d1 = (np.log(S / 100.0) + (0.02 + 0.5 * 0.25**2) * T) / (0.25 * np.sqrt(T))
density = np.exp(-0.5 * d1**2) / np.sqrt(2.0 * np.pi)
np.testing.assert_allclose(found["gamma"], (density / (S * 0.25 * np.sqrt(T))).ravel(), rtol=1e-9)
np.testing.assert_allclose(found["vega"], (S * density * np.sqrt(T)).ravel(), rtol=1e-9)

figure, axes = plt.subplots(2, 3, figsize=(10, 5.5), sharex=True, sharey=True)
for axis, (name, values) in zip(axes.ravel(), found.items(), strict=True):
    picture = axis.pcolormesh(spots, times, values.reshape(S.shape), shading="gouraud", cmap="viridis")
    figure.colorbar(picture, ax=axis)
    axis.set_title(name)
figure.supxlabel("price of the asset")
figure.supylabel("years to expiry")
plt.tight_layout()
plt.show()

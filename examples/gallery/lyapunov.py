"""How chaotic is the Lorenz system?

Two nearby states part exponentially, at the rate of the largest Lyapunov exponent. Forward mode carries tangents
along with the state, exactly and without a step size, so that all three exponents come out of one compiled loop:
tangents are pushed by `jvp`, and made orthogonal again by a QR decomposition in every step.
"""

import matplotlib.pyplot as plt
import numpy as np

import wengert as wg

DT = 0.01


def lorenz(s):
    return np.stack([10.0 * (s[1] - s[0]), s[0] * (28.0 - s[2]) - s[1], s[0] * s[1] - 8.0 / 3.0 * s[2]])


def runge_kutta(s):
    k1 = lorenz(s)
    k2 = lorenz(s + 0.5 * DT * k1)
    k3 = lorenz(s + 0.5 * DT * k2)
    k4 = lorenz(s + DT * k3)
    return s + DT / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)


def step(state, _):
    s, tangents = state
    pushed = wg.vmap(lambda t: wg.jvp(runge_kutta, (s,), (t,))[1], in_axes=1, out_axes=1)(tangents)
    q, r = np.linalg.qr(pushed)
    after = runge_kutta(s)
    return (after, q), (after, np.log(np.abs(np.diagonal(r))))


@wg.compile
def exponents(s):
    _, (path, growth) = wg.scan(step, (s, np.eye(3)), None, length=20_000)
    return path, np.cumsum(growth, axis=0)


start = runge_kutta(np.array([1.0, 1.0, 20.0]))
path, growth = exponents(start)
rates = growth / (DT * np.arange(1, len(path) + 1))[:, None]
assert abs(rates[-1].sum() + 41.0 / 3.0) < 0.01  # the divergence of the flow
assert abs(rates[-1][0] - 0.906) < 0.05

figure = plt.figure(figsize=(10, 4))
axis = figure.add_subplot(1, 2, 1, projection="3d")
axis.plot(*path[:6000].T, lw=0.3)
axis.set_axis_off()
axis = figure.add_subplot(1, 2, 2)
axis.semilogx(DT * np.arange(1, len(path) + 1), rates)
axis.axhline(0.0, color="black", lw=0.5)
axis.set(title=f"exponents {', '.join(f'{r:.2f}' for r in rates[-1])}", xlabel="time", ylim=(-16, 4))
plt.show()

"""What struck the string?

A string is displaced, let go, and heard at one point only. The displacement is found from the sound: a simulation of
the wave equation is compiled, and the gradient of the misfit runs backward through all of its time steps.
"""

import matplotlib.pyplot as plt
import numpy as np

import wengert as wg

N, STEPS = 100, 400
X = np.linspace(0.0, 1.0, N)


def listen(displacement):
    """The motion of one point of a string that is fixed at both ends."""

    def step(state, _):
        now, before = state
        inner = now[2:] - 2.0 * now[1:-1] + now[:-2]
        after = np.pad(2.0 * now[1:-1] - before[1:-1] + 0.81 * inner - 0.004 * (now - before)[1:-1], 1)
        return (after, now), after[23]

    return wg.scan(step, (displacement, displacement), None, length=STEPS)[1]


truth = np.exp(-(((X - 0.35) / 0.08) ** 2)) - 0.6 * np.exp(-(((X - 0.7) / 0.05) ** 2))
truth[0] = truth[-1] = 0.0
rng = np.random.default_rng(0)
heard = listen(truth) + 0.01 * rng.standard_normal(STEPS)


def misfit(inner):
    displacement = np.pad(inner, 1)
    rough = ((displacement[1:] - displacement[:-1]) ** 2).sum()
    return ((listen(displacement) - heard) ** 2).sum() + 0.01 * rough


found = wg.optimize.minimize(misfit, np.zeros(N - 2), method="L-BFGS-B", options={"maxiter": 300})
estimate = np.pad(found.x, 1)
assert np.sqrt(((estimate - truth) ** 2).mean()) < 0.05

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.5))
left.plot(heard, lw=0.8)
left.set(title="what was heard", xlabel="time step")
right.plot(X, truth, lw=5, alpha=0.3, label="true displacement")
right.plot(X, estimate, "k", lw=1, label="from the sound")
right.set(title="what struck the string")
right.legend()
plt.show()

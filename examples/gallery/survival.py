"""How long do machines last, if most still run?

Some machines failed, and others were still running when the study ended: for those only a lower bound of the lifetime
is known. A Weibull model takes both into account. Its Hessian gives standard errors, and the likelihood on a grid
shows how well the ellipse of these errors describes what the data say.
"""

import matplotlib.pyplot as plt
import numpy as np

import wengert as wg

rng = np.random.default_rng(5)
lifetimes = 10.0 * rng.weibull(1.8, 80)
end = rng.uniform(4.0, 14.0, 80)
times, failed = np.minimum(lifetimes, end), lifetimes < end


def negative_log_likelihood(p):
    """p holds the logarithms of the shape and of the scale."""
    shape, scale = np.exp(p)
    hazard = (times / scale) ** shape
    return (hazard - failed * (np.log(shape / scale) + (shape - 1.0) * np.log(times / scale))).sum()


found = wg.optimize.minimize(negative_log_likelihood, np.zeros(2), method="trust-exact", tol=1e-9)
covariance = np.linalg.inv(wg.hessian(negative_log_likelihood)(found.x))
errors = np.sqrt(np.diagonal(covariance))
assert (np.abs(found.x - np.log([1.8, 10.0])) < 3.0 * errors).all()

grid = np.stack(np.meshgrid(*[v + 3.5 * e * np.linspace(-1, 1, 60) for v, e in zip(found.x, errors, strict=True)]), -1)
drop = np.array([[negative_log_likelihood(p) for p in row] for row in grid]) - found.fun
turn = np.linspace(0.0, 2.0 * np.pi, 100)
ellipse = found.x[:, None] + 2.0 * np.linalg.cholesky(covariance) @ np.stack([np.cos(turn), np.sin(turn)])

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.8))
t = np.linspace(0.0, 20.0, 200)
shape, scale = np.exp(found.x)
left.plot(t, np.exp(-((t / scale) ** shape)), label="fit")
left.plot(t, np.exp(-((t / 10.0) ** 1.8)), "--", color="0.5", label="truth")
left.plot(times[~failed], np.full((~failed).sum(), 0.02), "|", color="C2", label="still running")
left.plot(times[failed], np.full(failed.sum(), 0.05), "|", color="C3", label="failed")
left.set(title="share that survives", xlabel="years")
left.legend()
right.contour(*np.exp(grid).transpose(2, 0, 1), drop, [0.5, 2.0, 4.5])
right.plot(*np.exp(ellipse), "k--", lw=1, label="two standard errors, by the Hessian")
right.set(title=f"shape {shape:.2f}, scale {scale:.1f}", xlabel="shape", ylabel="scale")
right.legend()
plt.show()

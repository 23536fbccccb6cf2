"""SciPy's functions that follow the array API standard, on tensors: each value and gradient against differences of
SciPy's own values.

Run as a program with SCIPY_ARRAY_API=1 in the environment, because SciPy reads it when it is imported.
"""

import numpy as np
import scipy.cluster.vq
import scipy.fft
import scipy.integrate
import scipy.optimize
import scipy.special
import scipy.stats

import wengert as wg

X = np.array([[0.5, 1.2, 2.0], [0.1, 0.9, 1.4]])

FUNCTIONS = {
    "logsumexp": lambda x: scipy.special.logsumexp(x, axis=1),
    "softmax": lambda x: scipy.special.softmax(x, axis=1)[:, 0],
    "log_softmax": lambda x: scipy.special.log_softmax(x, axis=1)[:, 0],
    "xlogy": lambda x: scipy.special.xlogy(x, x),
    "gammaln": scipy.special.gammaln,
    "gmean": lambda x: scipy.stats.gmean(x, axis=1),
    "hmean": lambda x: scipy.stats.hmean(x, axis=1),
    "zscore": lambda x: scipy.stats.zscore(x, axis=1)[:, 0],
    "skew": lambda x: scipy.stats.skew(x, axis=1),
    "kurtosis": lambda x: scipy.stats.kurtosis(x, axis=1),
    "moment": lambda x: scipy.stats.moment(x, 2, axis=1),
    "sem": lambda x: scipy.stats.sem(x, axis=1),
    "ttest_1samp": lambda x: scipy.stats.ttest_1samp(x, 0.3, axis=1).statistic,
    "entropy": lambda x: scipy.stats.entropy(x, axis=1),
    "variation": lambda x: scipy.stats.variation(x, axis=1),
    "whiten": lambda x: scipy.cluster.vq.whiten(x)[:, 0],
    "fft": lambda x: abs(scipy.fft.fft(x)),
    "rfft": lambda x: abs(scipy.fft.rfft(x)),
    "rosen": scipy.optimize.rosen,
    "trapezoid": lambda x: scipy.integrate.trapezoid(x, axis=1),
}


def differences(f):
    step, slopes = 1e-6, np.zeros(X.shape)
    for i in np.ndindex(X.shape):
        e = np.zeros(X.shape)
        e[i] = step
        slopes[i] = (f(X + e).sum() - f(X - e).sum()) / (2 * step)
    return slopes


if __name__ == "__main__":
    for name, f in FUNCTIONS.items():
        x = wg.tensor(X, requires_grad=True)
        y = f(x)
        np.testing.assert_allclose(y.detach().numpy(), f(X), rtol=1e-12, atol=1e-13, err_msg=name)
        y.sum().backward()
        assert x.grad is not None
        np.testing.assert_allclose(x.grad.numpy(), differences(f), rtol=1e-6, atol=1e-7, err_msg=name)
        print(name)

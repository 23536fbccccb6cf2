"""The Poisson distribution: `autograd.scipy.stats.poisson`."""

from scipy import stats as scipy_stats

from wengert import stats
from wengert.compat.autograd.differences import ABSENT
from wengert.compat.autograd.numpy.numpy_wrapper import on_values
from wengert.compat.differences import without

__all__ = ["cdf", "logpmf", "pmf"]

__getattr__ = without(__name__, ABSENT)

cdf = on_values(scipy_stats.poisson.cdf, stats.poisson.cdf)
logpmf = on_values(scipy_stats.poisson.logpmf, stats.poisson.logpmf)
pmf = on_values(scipy_stats.poisson.pmf, stats.poisson.pmf)

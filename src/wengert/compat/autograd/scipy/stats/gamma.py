"""The gamma distribution: `autograd.scipy.stats.gamma`."""

from scipy import stats as scipy_stats

from wengert import stats
from wengert.compat.autograd.differences import ABSENT
from wengert.compat.autograd.numpy.numpy_wrapper import on_values
from wengert.compat.differences import without

__all__ = ["cdf", "logpdf", "pdf"]

__getattr__ = without(__name__, ABSENT)

cdf = on_values(scipy_stats.gamma.cdf, stats.gamma.cdf)
logpdf = on_values(scipy_stats.gamma.logpdf, stats.gamma.logpdf)
pdf = on_values(scipy_stats.gamma.pdf, stats.gamma.pdf)
